"""Fixtures: a running lab and a browser. An error on the console of the page fails the test."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[3]
BINARY = os.environ.get("WSTAR_BINARY", str(ROOT / "target/debug/wstar"))
# The environment of the tests of the Python package, which has the dependencies of the package.
PYTHON = os.environ.get("WSTAR_PYTHON", str(ROOT / "target/python/venv/bin/python"))
SHOTS = ROOT / "target/lab"
BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]


class Lab:
    """A separate server, so that a test can also stop it."""

    def __init__(self):
        self.process = subprocess.Popen([BINARY, "lab", "--no-open"], stdout=subprocess.PIPE, text=True)
        self.address = self.process.stdout.readline().strip()
        assert self.address.startswith("http://127.0.0.1:"), self.address

    def close(self):
        self.process.kill()
        self.process.wait()


@pytest.fixture(scope="session")
def lab():
    running = Lab()
    yield running
    running.close()


@pytest.fixture(scope="session")
def browser():
    found = os.environ.get("CHROMIUM") or next(filter(None, map(shutil.which, BROWSERS)), None)
    assert found, "no Chromium: apt-get install chromium, or set CHROMIUM to its path"
    with sync_playwright() as driver:
        # The sandbox needs rights that root in a container does not have; the page is our own.
        launched = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield launched
        launched.close()


class Page:
    """A page of the lab, with the actions of a user."""

    def __init__(self, page, address):
        self.page = page
        self.address = address
        self.errors = []
        page.on(
            "console", lambda message: self.errors.append(message.text) if message.type == "error" else None
        )
        page.on("pageerror", lambda error: self.errors.append(str(error)))

    def open(self, scene=""):
        self.page.goto("about:blank")
        self.page.goto(f"{self.address}#{scene}")
        self.page.wait_for_selector("body[data-ready]")
        return self

    def __getattr__(self, name):
        return getattr(self.page, name)

    def text(self, selector):
        return self.page.inner_text(selector)

    def fitted(self):
        """The number of completed fits."""
        return int(self.page.get_attribute("body", "data-ready") or 0)

    def after(self, act):
        """Runs `act`, and waits for the fit that follows."""
        before = self.fitted()
        act()
        self.until(lambda: self.fitted() > before)

    def until(self, condition, seconds=10):
        for _ in range(int(seconds * 50)):
            if condition():
                return
            self.page.wait_for_timeout(20)
        raise AssertionError(f"the condition was not met within {seconds} s")

    def box(self):
        return self.page.locator("#plane").bounding_box()

    def click_plane(self, x, y):
        """Clicks at a fraction of the width and the height of the plane."""
        box = self.box()
        self.page.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])

    def points(self):
        """The points in the address."""
        words = self.page.url.split("#", 1)[1].split("&")
        text = next((word[7:] for word in words if word.startswith("points=")), "")
        return [point for point in text.split(";") if point]


@pytest.fixture
def visit(browser, lab):
    """Opens pages; fails if a page logged an error."""
    opened = []

    def make(scene="", *, address=None, **options):
        context = browser.new_context(**{"viewport": {"width": 1360, "height": 900}, **options})
        page = Page(context.new_page(), address or lab.address)
        opened.append((context, page))
        return page.open(scene)

    yield make
    errors = [text for _, page in opened for text in page.errors]
    for context, _ in opened:
        context.close()
    assert errors == []
