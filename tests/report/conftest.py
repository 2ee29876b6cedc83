"""A browser for the tests of pages."""

from __future__ import annotations

import shutil
import warnings
from collections.abc import Iterator
from typing import Any

import pytest

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "google-chrome", "chromium-browser"))), None
)


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Driven by playwright; for a module, since it keeps an event loop in this thread."""
    sync = pytest.importorskip(
        "playwright.sync_api", reason="needs playwright from PyPI to drive a browser"
    )
    if CHROMIUM is None:
        pytest.skip("needs chromium or google-chrome on the path")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with sync.sync_playwright() as driver:
            program = driver.chromium.launch(
                executable_path=CHROMIUM, args=["--no-sandbox", "--disable-gpu"]
            )
            yield program
            program.close()
