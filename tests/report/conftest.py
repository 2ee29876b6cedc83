"""A browser for the tests of pages: one for a module, a window for each page that is opened."""

import shutil
import warnings

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "google-chrome", "chromium-browser"))), None
)


@pytest.fixture(scope="module")
def browser():
    """Driven by playwright; for a module, since it keeps an event loop in this thread."""
    sync = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright from PyPI to drive a browser"
    )
    if CHROMIUM is None:
        pytest.skip("needs chromium or google-chrome on the path")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with sync.sync_playwright() as driver:
            args = ["--no-sandbox", "--disable-gpu"]
            program = driver.chromium.launch(executable_path=CHROMIUM, args=args)
            yield program
            program.close()


@pytest.fixture
def show(browser):
    """Open a page in a window of its own. In the end its console must have said nothing, and it
    must have thrown nothing and asked nothing of the network.
    """
    windows, troubles = [], []

    def go(path, width=900, height=640, **options):
        window = browser.new_context(viewport={"width": width, "height": height}, **options)
        window.set_default_timeout(90_000)
        windows.append(window)
        page = window.new_page()
        page.on("console", lambda message: troubles.append(message.text))
        page.on("pageerror", lambda error: troubles.append(str(error)))

        def asked(request):
            troubles.extend([request.url] if request.url.startswith("http") else [])

        page.on("request", asked)
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=all]", state="attached")
        return page

    yield go
    for window in windows:
        window.close()
    assert troubles == []


def settle(page):
    """Wait until what was asked for is drawn."""
    page.evaluate("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")


def until(page, there):
    """Wait until an expression of the page's is true: its policy forbids what playwright's own
    waiting needs.
    """
    for _ in range(900):
        if page.evaluate(there):
            return
        page.wait_for_timeout(100)
    raise AssertionError(f"never {there}")


def canvas(page):
    """What is drawn, as text to compare."""
    settle(page)
    return str(page.evaluate("document.getElementById('ground').toDataURL()"))


def seen(page):
    """Width, left and bottom of what is shown, in the plane's units."""
    settle(page)
    at = page.evaluate("document.getElementById('stage').seen()")
    view = at["view"]
    wide, high = at["wide"] * view["per"], at["high"] * view["per"]
    return wide, view["x"] - wide / 2, view["y"] - high / 2


def disks(page):
    """The centers on the screen: x, y, radius, number's place (pixels of the stage), record."""
    settle(page)
    return list(page.evaluate("document.getElementById('stage').seen().circles"))


def written(path, page):
    path.write_text(page, encoding="utf-8")
    return path
