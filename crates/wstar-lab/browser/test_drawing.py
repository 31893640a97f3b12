"""Data that are drawn, chosen from the menu, or read from a file."""

import re
import subprocess

from conftest import BINARY


def test_a_model_is_fitted_to_points_drawn_by_mouse(visit):
    page = visit("points=&method=perceptron")
    assert "No points yet" in page.text("#claim-sentence")
    page.click_plane(0.3, 0.3)
    page.click_plane(0.35, 0.5)
    page.until(lambda: "All points are of class A" in page.text("#claim-sentence"))
    page.click("[data-class='1']")
    page.click_plane(0.7, 0.5)
    page.after(lambda: page.click_plane(0.75, 0.35))
    page.until(lambda: "possible" in page.text("#claim-sentence"))
    assert "wrong: 0 of 4 points" in page.text("#errors")
    page.until(lambda: len(page.points()) == 4)
    assert [point[0] for point in page.points()] == ["A", "A", "B", "B"]


def test_spray_drag_erase_and_undo(visit):
    page = visit("points=A0,0;B1,1&method=logistic")
    page.click("button[data-tool='spray']")
    page.click_plane(0.7, 0.2)
    page.until(lambda: len(page.points()) == 6)
    page.click("button[data-tool='erase']")
    page.mouse.click(*pixel(page, 1, 1))
    page.until(lambda: len(page.points()) == 5)
    page.click("#undo")
    page.until(lambda: len(page.points()) == 6)
    page.keyboard.press("Control+z")
    page.until(lambda: page.points() == ["A0,0", "B1,1"])

    page.click("button[data-tool='drag']")
    x, y = pixel(page, 1, 1)
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x - 60, y + 40, steps=5)
    page.mouse.up()
    page.until(lambda: page.points()[0] == "A0,0" and page.points()[1] != "B1,1")
    x, y = map(float, page.points()[1][1:].split(","))
    assert x < 1 and y < 1


def pixel(page, x, y):
    """The pixel of a point of the plane, whose coordinates are ticks of the axes."""
    return page.evaluate(
        """([x, y]) => {
            const tick = (axis, value) => [...document.querySelectorAll(axis + ' .tick')]
                .find((one) => Number(one.textContent) === value).querySelector('line').getBoundingClientRect();
            return [tick('#axis-x', x).x, tick('#axis-y', y).y];
        }""",
        [x, y],
    )


def test_many_columns_have_a_projection(visit):
    page = visit("points=&method=softmax")
    page.after(lambda: page.select_option("#data", "set:wine"))
    page.until(lambda: "of 178 points" in page.text("#errors"))
    page.after(lambda: page.select_option("#first-column", "component 1"))
    page.after(lambda: page.select_option("#second-column", "component 2"))
    assert "component+1|component+2" in page.url
    # The two components separate the three cultivars except for a few wines, a textbook result.
    wrong = re.search(r"wrong: (\d+) of 178", page.text("#errors"))
    assert wrong and int(wrong[1]) < 10
    again = visit(page.url.split("#", 1)[1])
    again.until(lambda: wrong[0] in again.text("#errors"))


def test_sets_recipes_and_columns(visit):
    page = visit("points=&method=logistic")
    page.after(lambda: page.select_option("#data", "set:iris"))
    assert "For two classes only" in page.text("#claim-sentence")
    page.after(lambda: page.click("#claim-sentence button"))
    assert page.input_value("#method") == "softmax"
    page.until(lambda: "of 150 points" in page.text("#errors"))
    page.after(lambda: page.select_option("#first-column", "petal length"))
    page.after(lambda: page.select_option("#second-column", "petal width"))
    page.until(lambda: "wrong: 6 of 150" in page.text("#errors") or "wrong: 5 of 150" in page.text("#errors"))
    assert "petal+length|petal+width" in page.url

    page.after(lambda: page.select_option("#data", "make:separable"))
    page.after(lambda: page.select_option("#method", "hard-margin"))
    narrow = page.text("#claim-sentence")
    page.fill("#margin", "2")
    page.after(lambda: page.keyboard.press("Tab"))
    assert page.text("#claim-sentence") != narrow

    page.after(lambda: page.select_option("#data", "set:diabetes"))
    assert page.input_value("#method") == "least-squares"
    assert "R²" in page.text("#errors")


def test_other_points_leave_a_lesson(visit):
    page = visit("lesson=perceptron")
    page.after(lambda: page.select_option("#data", "set:iris"))
    assert "start" not in page.url and "lesson" not in page.url
    assert not page.is_visible("#lesson-text")
    page.until(lambda: "of 150 points" in page.text("#errors"))
    page.after(lambda: page.click("#undo"))
    assert len(page.points()) == 3


def drop(page, name, text):
    """Drops a file on the page as a user does."""
    page.evaluate(
        """([name, text]) => {
            const transfer = new DataTransfer();
            transfer.items.add(new File([text], name));
            document.dispatchEvent(new DragEvent('drop', { dataTransfer: transfer, bubbles: true, cancelable: true }));
        }""",
        [name, text],
    )


def test_a_dropped_file_is_drawn(visit):
    page = visit("points=&method=perceptron")
    page.after(
        lambda: drop(page, "people.csv", "height,weight,kind\n1.5,50,a\n1.6,55,a\n1.8,80,b\n1.9,90,b\n")
    )
    assert "of 4 points" in page.text("#errors")
    names = page.text("#classes")
    assert "a" in names and "b" in names
    assert "height" in page.text_content("#axis-names")
    page.reload()
    page.wait_for_selector("body[data-ready]")
    assert "of 4 points" in page.text("#errors")


def test_a_bad_file_fails_with_the_error_of_the_command_line(visit, tmp_path):
    text = "height,weight,kind\n1.5,50,a\n1.6,55\n"
    (tmp_path / "people.csv").write_text(text)
    expected = subprocess.run(
        [BINARY, "train", "people.csv"], cwd=tmp_path, capture_output=True, text=True, check=False
    ).stderr
    page = visit("points=&method=perceptron")
    drop(page, "people.csv", text)
    page.until(lambda: "people.csv:3" in page.text("#claim-sentence"))
    shown = page.text("#claim-sentence").removesuffix("choose another file").strip()
    assert f"wstar: {shown}" == expected.strip()


def test_the_keyboard_alone_is_sufficient(visit):
    page = visit("points=&method=perceptron")
    page.evaluate("document.activeElement.blur()")
    for _ in range(40):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.id") == "plane":
            break
    assert page.evaluate("document.activeElement.id") == "plane"

    def press(key, times):
        for _ in range(times):
            page.keyboard.press(f"Shift+{key}")

    press("ArrowLeft", 4)
    page.keyboard.press("Enter")
    press("ArrowRight", 6)
    page.keyboard.press("2")
    page.keyboard.press("Enter")
    press("ArrowUp", 2)
    page.keyboard.press("Enter")
    page.until(lambda: "wrong: 0 of 3 points" in page.text("#errors"))
    page.keyboard.press("Delete")
    page.until(lambda: len(page.points()) == 2)
    # Move the focus to the steps, step back, and move on to the method.
    page.keyboard.press("Tab")
    for _ in range(12):
        if page.evaluate("document.activeElement.id") == "back":
            break
        page.keyboard.press("Tab")
    before = page.text("#step")
    page.keyboard.press("Enter")
    assert page.text("#step") != before
    for _ in range(60):
        if page.evaluate("document.activeElement.id") == "method":
            break
        page.keyboard.press("Tab")
    page.after(lambda: page.keyboard.type("soft margin"))
    assert page.input_value("#method") == "svm"
