"""Steps, proofs, links and comparisons: the page must show the results of the engine."""

import json
import os
import re
import shlex
import subprocess

import pytest
from conftest import BINARY, PYTHON, ROOT, Lab
from test_drawing import pixel

GOLDEN = ["(−2, 4, 3)", "(−3, 3, 3)", "(−3, 3, 3)", "(−3, 3, 3)", "(−4, 2, 3)", "(−4, 2, 3)", "(−3, 2, 4)"]


def weights(page):
    return re.search(r"w = (\([^)]*\))", page.text("#frame-text"))[1]


def test_the_golden_trace_step_by_step_and_back(visit):
    page = visit("lesson=perceptron")
    assert weights(page) == "(−3, 4, 2)"
    for expected in GOLDEN:
        page.click("#forward")
        assert weights(page) == expected
    assert "4 mistakes so far" in page.text("#claim-sentence")
    for expected in reversed(GOLDEN[:-1]):
        page.click("#back")
        assert weights(page) == expected
    page.locator("#scrub").fill("2")
    assert weights(page) == "(−3, 3, 3)"
    assert "step=2" in page.url
    page.click("#last")
    assert weights(page) == "(−3, 2, 4)"
    assert "wrong: 0 of 3" in page.text("#errors")
    assert "holds" in page.text("#claim-sentence")


def test_playing_shows_all_steps_and_stops(visit):
    page = visit("lesson=perceptron")
    page.wait_for_timeout(600)
    assert page.text("#step").startswith("step 0"), "it plays without a click"
    page.select_option("#speed", "fast")
    page.click("#play")
    page.until(lambda: page.text("#step") == "step 12 of 12")
    assert page.get_attribute("#play", "aria-label") == "play"


def test_inseparable_points_show_their_proof(visit):
    page = visit("points=A0,0;A1,1;B3,0;B4,1&method=hard-margin")
    assert "no line has more" in page.text("#claim-sentence")
    page.click("#prove")
    page.until(lambda: "A line separates A and B" in page.text("#verdict"))
    # A point of B among those of A: no line separates the classes any more.
    page.after(lambda: page.goto(f"{page.address}#points=A0,0;A1,1;B3,0;B4,1;B0.5,0.5&method=hard-margin"))
    page.until(lambda: "No line separates A and B" in page.text("#verdict"))
    assert page.locator(".proving").count() >= 3
    assert page.locator(".meeting").count() == 1
    page.after(lambda: page.click("text=use the soft margin"))
    assert page.input_value("#method") == "svm"
    assert page.locator(".support").count() > 0


def test_a_link_reproduces_the_page(visit):
    page = visit("make=overlap,80,3,0.5,1&method=svm&.C=0.3")
    page.after(lambda: page.select_option("#set-loss", "squared-hinge"))
    page.click("#back")
    page.click("#back")
    page.until(lambda: "step=" in page.url and "squared-hinge" in page.url)
    other = visit(page.url.split("#", 1)[1])
    for shown in ["#claim-sentence", "#frame-text", "#step", "#errors"]:
        assert other.text(shown) == page.text(shown)
    assert other.url == page.url
    assert other.get_attribute(".boundary", "data-boundary") == page.get_attribute(
        ".boundary", "data-boundary"
    )


@pytest.mark.parametrize(
    "scene",
    [
        "points=A0,0;A1,2;B3,0;B4,1;A2,1;B2,0.5&method=logistic&.C=2.5",
        "points=B0,1;A1,0;A0,0&method=perceptron&.start=-3,4,2&.ties=positive",
        "set=iris|petal+length|petal+width&method=softmax&.C=10",
        "points=A0,0;A1,2;A3,2.5;A4,5&method=least-squares",
        "points=A0,0;A1,2;A3,2.5;A4,5;A5,1&method=lad",
    ],
)
def test_the_copied_command_makes_the_same_model(visit, tmp_path, scene):
    page = visit(scene)
    page.click("#command-button")
    command = page.text("#shell")
    first, _, rest = command.partition("\n")
    words = shlex.split(first.replace("<<'END'", ""))
    done = subprocess.run(
        [BINARY, *words[1:], "--json"],
        cwd=tmp_path,
        input=rest.removesuffix("END"),
        capture_output=True,
        text=True,
        check=False,
    )
    model = json.loads(done.stdout)
    page.click("#command-close")
    shown = page.get_attribute(".boundary >> nth=0", "data-boundary")
    if shown is None:
        assert len(model["classes"]) == 3
        errors = round(model["train"]["error"] * model["rows"])
        assert f"wrong: {errors} of" in page.text("#errors")
        return
    numbers = [float(number) for number in shown.split(",")]
    assert numbers == pytest.approx([model["intercept"][0], *model["weights"][0]], rel=1e-9)


def run_python(page, folder, shown):
    """Runs the page's Python code on the points that it offers for download; returns the code and the value of `shown`."""
    page.click("#command-button")
    with page.expect_download() as started:
        page.click("#csv")
    started.value.save_as(folder / "points.csv")
    lines = page.text("#python")
    page.click("#command-close")
    done = subprocess.run(
        [
            PYTHON,
            "-W",
            "error",
            "-c",
            f"{lines}\nassert model.verify(X, y)\nprint([float(v) for v in {shown}])",
        ],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT / "python")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, lines + done.stderr
    return lines, json.loads(done.stdout.splitlines()[-1])


OVERLAP = "points=A0,0;A1,2;B3,0;B4,1;A2,1.5;B2,0.5;A3,1;B1,1"
APART = "points=A0,0;A1,2;B3,0;B4,1;A2,3;B2,0.5"


@pytest.mark.parametrize(
    "scene",
    [
        f"{OVERLAP}&method=logistic&.C=2.5",
        f"{OVERLAP}&method=logistic&.penalty=none",
        f"{OVERLAP}&method=logistic&.penalty=l1&.C=20",
        f"{OVERLAP}&method=logistic&.penalty=elastic-net&.C=20",
        f"{OVERLAP}&method=svm",
        f"{OVERLAP}&method=svm&.loss=squared-hinge&.C=0.5&.no_intercept=true",
        f"{OVERLAP}&method=svm&.loss=squared-hinge&.penalty=l1",
        f"{OVERLAP}&method=lda",
        f"{OVERLAP}&method=mse-classifier",
        f"{OVERLAP}&method=mse-classifier&.penalty=l2&.C=4",
        f"{APART}&method=hard-margin",
        f"{APART}&method=hard-margin&classes=ham|spam,+or+worse",
        "make=separable,40,1,0.5,1&method=svm&.C=10",
        "points=A0,0;A1,2;A3,2.5;A4,5&method=least-squares",
        "points=A0,0;A1,2;A3,2.5;A4,5;A5,1&method=lad",
    ],
)
def test_the_python_code_makes_the_same_model(visit, tmp_path, scene):
    page = visit(scene)
    plane = "[model.intercept_, *model.coef_]" if "A4,5" in scene else "[*model.intercept_, *model.coef_[0]]"
    lines, numbers = run_python(page, tmp_path, plane)
    assert "not available" not in lines
    shown = [float(number) for number in page.get_attribute(".boundary >> nth=0", "data-boundary").split(",")]
    assert numbers == pytest.approx(shown, rel=1e-4, abs=1e-6)


@pytest.mark.parametrize(
    "method", ["perceptron", "voted-perceptron", "averaged-perceptron", "pocket", "kozinec"]
)
def test_the_python_code_also_separates(visit, tmp_path, method):
    """For methods whose line depends on the order of the rows."""
    page = visit(f"{APART}&method={method}")
    assert "wrong: 0 of" in page.text("#errors")
    lines, wrong = run_python(page, tmp_path, "model.predict(X) != y")
    assert "not available" not in lines
    assert wrong == [0.0] * 6


@pytest.mark.parametrize("method", ["min-error", "naive-bayes", "softmax"])
def test_the_python_code_has_the_same_number_of_errors(visit, tmp_path, method):
    page = visit(f"{OVERLAP}&method={method}")
    lines, wrong = run_python(page, tmp_path, "model.predict(X) != y")
    assert "not available" not in lines
    assert f"wrong: {sum(wrong):.0f} of 8" in page.text("#errors")


def test_settings_that_python_lacks_are_reported(visit):
    page = visit(f"{OVERLAP}&method=perceptron&.ties=positive&.rule=worst")
    page.click("#command-button")
    assert "# not available in Python: rule, score 0 is" in page.text("#python")
    page = visit(f"{OVERLAP}&method=minimax")
    page.click("#command-button")
    assert "no estimator" in page.text("#python")


@pytest.mark.parametrize("link", ["set=iris|petal+length|nothing", "set=nothing", "make=nothing,60,0,0.5,1"])
def test_a_link_to_absent_points_shows_an_error(visit, link):
    page = visit(f"{link}&method=softmax")
    assert "nothing" in page.text("#claim-sentence")
    assert page.url.endswith(f"#{link}&method=softmax")
    assert page.input_value("#method") == "softmax"
    page.after(lambda: page.select_option("#data", "set:iris"))
    page.until(lambda: "of 150 points" in page.text("#errors"))


def test_the_points_can_be_downloaded(visit):
    page = visit("points=A0,0;A1,2;B3,0.5&classes=ham|spam,+or+worse&axes=free|money&method=logistic")
    page.click("#command-button")
    with page.expect_download() as started:
        page.click("#csv")
    text = started.value.path().read_text()
    assert text == 'free,money,class\n0,0,ham\n1,2,ham\n3,0.5,"spam, or worse"\n'
    assert "wstar.LogisticRegression().fit" in page.text("#python")


def test_support_vectors_and_slacks_are_drawn(visit):
    page = visit("make=overlap,60,2,0.5,0.9&method=svm&.C=1")
    assert page.locator(".support").count() > 3
    assert page.locator(".slack").count() > 0
    assert page.locator(".level").count() == 2
    page.click("#claim-more summary")
    assert "P, the objective" in page.text("#claim-numbers")
    assert page.locator("#claim-theorem math").count() > 0
    assert page.locator("#losses .rug").count() == 60, "every point at its margin"
    few = page.locator(".support").count()
    page.after(lambda: page.locator("#set-C").fill("-3"))
    assert page.locator(".support").count() > few, "a small C has more support vectors"


def test_three_classes_have_three_regions(visit):
    page = visit("make=three,60,1,0.5,1&method=svm")
    assert page.locator(".boundary").count() == 3
    assert page.text("#step") == "no steps: solved at once", "three separate problems have no common path"
    softmax = visit("make=three,60,1,0.5,1&method=softmax")
    softmax.until(lambda: softmax.text("#step").startswith("step"))
    softmax.click("#back")
    assert softmax.locator(".boundary").count() == 3


def test_a_hovered_point_shows_its_log_odds(visit):
    page = visit("points=A0,0;A1,2;B3,0;B4,1;A2,1;B2,0.5&method=logistic")
    page.mouse.move(*pixel(page, 4, 1))
    page.until(lambda: page.is_visible("#readout"))
    shown = page.text("#readout")
    assert "log-odds" in shown and "P(B)" in shown
    terms = [float(text.replace("−", "-")) for text in page.locator("#readout dd").all_inner_texts()]
    assert sum(terms[:3]) == pytest.approx(terms[3], abs=2e-3)


def test_a_line_of_the_user_is_judged(visit):
    page = visit("points=A0,0;A1,0;B3,0;B4,0&method=logistic&line=-2,1,0")
    page.until(lambda: "fewest possible" in page.text("#own-result"))
    assert "Your line: 0 errors, margin 1." in page.text("#own-result")
    handle = page.locator(".handle").first
    box = handle.bounding_box()
    page.mouse.move(box["x"] + 9, box["y"] + 9)
    page.mouse.down()
    page.mouse.move(box["x"] + 300, box["y"] + 9, steps=6)
    page.mouse.up()
    page.until(lambda: "Your line: 0 errors, margin 1." not in page.text("#own-result"))
    page.until(lambda: "line=-2,1,0" not in page.url)
    page.locator(".handle").first.focus()
    before = page.url
    page.keyboard.press("ArrowLeft")
    page.until(lambda: page.url != before)


def test_methods_side_by_side(visit):
    page = visit("lesson=outliers")
    page.click("#compare-button")
    # Read in one call: a completed fit starts another comparison.
    look = """() => [
        document.querySelector("#compare-status").innerText,
        Object.fromEntries([...document.querySelectorAll(".card")].map((card) =>
            [card.querySelector("h3").innerText, card.querySelector("[data-errors]").innerText])),
    ]"""
    seen = []

    def compared():
        seen[:] = page.page.evaluate(look)
        return "A line can get all points right" in seen[0]

    page.until(compared)
    cards = seen[1]
    assert len(cards) == 6
    assert cards["logistic regression"] == "0 errors (the fewest)"
    assert int(cards["least squares on ±1"].split()[0]) >= 3, "outliers shift the line"


def test_the_margin_interval_narrows(visit):
    page = visit("lesson=kozinec")
    ends = r"margin of ([\d.]*\d), and none has more than ([\d.]*\d)"
    late = [float(end) for end in re.search(ends, page.text("#claim-sentence")).groups()]
    page.locator("#scrub").fill("20")
    early = [float(end) for end in re.search(ends, page.text("#claim-sentence")).groups()]
    assert early[0] <= late[0] <= late[1] <= early[1]
    assert early[1] - early[0] > late[1] - late[0]


def test_a_descent_is_drawn_on_its_contours(visit):
    page = visit("lesson=descent")
    page.until(lambda: page.is_visible("#surface-drawing"))
    assert page.locator(".contour").count() > 5
    end = page.get_attribute("#surface-now", "cx")
    page.click("#first")
    assert page.get_attribute("#surface-now", "cx") != end
    objectives = []
    for step in ("1", "20", "119"):
        page.locator("#scrub").fill(step)
        objectives.append(float(re.search(r"J = ([\d.]+)", page.text("#frame-text"))[1]))
    assert objectives == sorted(objectives, reverse=True)


def test_separable_classes_have_no_maximum(visit):
    page = visit("points=A0,0;A1,1;B3,0;B4,1&method=logistic&.penalty=none")
    assert "There is no optimum" in page.text("#claim-sentence")


def test_a_stopped_server_is_reported(visit):
    running = Lab()
    page = visit("lesson=soft", address=running.address)
    running.close()
    page.locator("#set-C").fill("1")
    page.until(lambda: "wstar lab" in page.text("#claim-sentence"))
    assert "try again" in page.text("#claim-sentence")
    page.errors.clear()
