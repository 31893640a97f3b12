"""A lab that runs, and a browser that looks at it. Whatever the page complains about on its console fails the test."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from playwright.sync_api import sync_playwright

ROOT = Path(__file__).resolve().parents[3]
BINARY = os.environ.get("WSTAR_BINARY", str(ROOT / "target/debug/wstar"))
# The environment in which the Python package is tested has what the package needs.
PYTHON = os.environ.get("WSTAR_PYTHON", str(ROOT / "target/python/venv/bin/python"))
SHOTS = ROOT / "target/lab"
BROWSERS = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"]


class Lab:
    """A server of its own, so that a test may also end it."""

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
    assert found, "no Chromium: apt-get install chromium, or name one in CHROMIUM"
    with sync_playwright() as driver:
        # The sandbox needs rights that root in a container does not have; the page is our own.
        launched = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield launched
        launched.close()


class Page:
    """A page of the lab, and what a person does with it."""

    def __init__(self, page, address):
        self.page = page
        self.address = address
        self.complaints = []
        page.on("console", lambda said: self.complaints.append(said.text) if said.type == "error" else None)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))

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
        """How many fits have come back."""
        return int(self.page.get_attribute("body", "data-ready") or 0)

    def after(self, act):
        """Acts, and waits for the fit that follows."""
        before = self.fitted()
        act()
        self.until(lambda: self.fitted() > before)

    def until(self, holds, seconds=10):
        for _ in range(int(seconds * 50)):
            if holds():
                return
            self.page.wait_for_timeout(20)
        raise AssertionError("it did not come to pass")

    def box(self):
        return self.page.locator("#plane").bounding_box()

    def click_plane(self, x, y):
        """Clicks at a share of the plane's width and height."""
        box = self.box()
        self.page.mouse.click(box["x"] + x * box["width"], box["y"] + y * box["height"])

    def points(self):
        """The points that the address holds."""
        words = self.page.url.split("#", 1)[1].split("&")
        text = next((word[7:] for word in words if word.startswith("points=")), "")
        return [point for point in text.split(";") if point]


@pytest.fixture
def visit(browser, lab):
    """Opens pages; at the end none may have complained."""
    opened = []

    def make(scene="", *, address=None, **options):
        context = browser.new_context(**{"viewport": {"width": 1360, "height": 900}, **options})
        page = Page(context.new_page(), address or lab.address)
        opened.append((context, page))
        return page.open(scene)

    yield make
    complaints = [text for _, page in opened for text in page.complaints]
    for context, _ in opened:
        context.close()
    assert complaints == []
