"""The report in a browser: both themes, no error or request, accessibility, and no need for scripts."""

import random
import subprocess
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from conftest import BINARY, SHOTS
from test_look import RULES

REPORTS = {
    "breast-cancer": ["@breast-cancer", "--standardize"],
    "iris": ["@iris"],
    "diabetes": ["@diabetes"],
    "spam": ["@spam", "--holdout", "0.3"],
    "plane": ["plane.csv", "--method", "svm"],
    "perceptron": ["@breast-cancer", "--method", "perceptron", "--epochs", "30"],
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory):
    """A report for each kind of model."""
    folder = tmp_path_factory.mktemp("reports")
    draw = random.Random(3)
    rows = [
        f"{draw.gauss(160 + 12 * (i % 2), 6):.2f},{draw.gauss(4 + 3 * (i % 2), 1):.2f},{'ab'[i % 2]}"
        for i in range(160)
    ]
    (folder / "plane.csv").write_text("\n".join(["height,weight,kind", *rows]) + "\n")

    def run(*arguments):
        done = subprocess.run([BINARY, *arguments], check=False, cwd=folder, capture_output=True, text=True)
        assert done.returncode < 2, done.stderr
        return done

    for name, (data, *options) in REPORTS.items():
        run("train", data, *options, "--out", f"{name}.json", "--quiet")
        assert run("report", f"{name}.json", data, "-o", f"{name}.html").returncode == 0
    return folder


@pytest.fixture
def read(browser, reports):
    """Opens reports; fails if a page logged an error or a warning, or requested anything except itself."""
    contexts, errors, requests = [], [], []

    def opened(name, **options):
        context = browser.new_context(**{"viewport": {"width": 1280, "height": 900}, **options})
        contexts.append(context)
        page = context.new_page()
        page.on(
            "console",
            lambda message: errors.append(message.text) if message.type in ("error", "warning") else None,
        )
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: requests.append(request.url))
        page.goto((reports / f"{name}.html").as_uri())
        return page

    yield opened
    for context in contexts:
        context.close()
    assert errors == []
    assert all(url.startswith("file:") and url.endswith(".html") for url in requests), requests


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", REPORTS)
def test_a_report_is_complete_and_accessible(read, name, theme):
    page = read(name, color_scheme=theme)
    assert page.locator(".verdict strong").inner_text() == "Proved:"
    figures = page.locator("figure svg")
    assert figures.count() >= 3
    for i in range(figures.count()):
        box = figures.nth(i).bounding_box()
        assert box["width"] > 300 and box["height"] > 150
    found = Axe().run(page, options=RULES).response["violations"]
    assert [(one["id"], [node["html"][:120] for node in one["nodes"]][:3]) for one in found] == []
    Path(SHOTS).mkdir(parents=True, exist_ok=True)
    page.screenshot(path=str(SHOTS / f"report-{name}-{theme}.png"), full_page=True)


def test_pictures_take_the_colours_of_the_theme(read):
    page = read("iris", color_scheme="light")
    paper = "getComputedStyle(document.querySelector('figure svg rect')).fill"
    assert page.evaluate(paper) == "rgb(255, 255, 255)"
    page.click("#theme")
    assert page.evaluate(paper) == "rgb(20, 24, 29)"
    assert page.inner_text("#theme") == "Light colours"
    page.click("#theme")
    assert page.evaluate(paper) == "rgb(255, 255, 255)"


def test_labels_stay_within_their_pictures(read):
    for name in REPORTS:
        page = read(name)
        outside = page.evaluate(
            """() => [...document.querySelectorAll("figure svg")].flatMap((svg) => {
              const frame = svg.getBoundingClientRect();
              return [...svg.querySelectorAll("text")].filter((text) => {
                const box = text.getBoundingClientRect();
                return box.left < frame.left - 1 || box.right > frame.right + 1
                  || box.top < frame.top - 1 || box.bottom > frame.bottom + 1;
              }).map((text) => text.textContent);
            })"""
        )
        assert outside == [], name


@pytest.mark.parametrize("width", [320, 680])
def test_a_narrow_report_does_not_scroll_horizontally(read, width):
    for name in ("breast-cancer", "spam", "diabetes"):
        page = read(name, viewport={"width": width, "height": 700})
        assert page.evaluate("document.documentElement.scrollWidth") <= width, name
    page.screenshot(path=str(SHOTS / f"report-{width}.png"), full_page=True)


def test_no_script_is_needed(read):
    page = read("breast-cancer", java_script_enabled=False)
    assert page.locator("figure").count() >= 8
    assert page.is_hidden("#theme")
    assert "Proved:" in page.inner_text("main")
