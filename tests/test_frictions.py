"""The page of frictions names tests that exist."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
NAMED = re.compile(r"`(tests/[a-z0-9_/]+\.py)::(test_[a-z0-9_]+)`")


def test_every_friction_has_tests_that_exist():
    page = (ROOT / "docs/frictions.md").read_text(encoding="utf-8")
    frictions = re.split(r"^- ", page, flags=re.MULTILINE)[1:]
    assert len(frictions) >= 35
    assert all(NAMED.search(friction) for friction in frictions)
    named = NAMED.findall(page)
    assert len(named) == page.count("  - `")  # every line of the inner lists is one
    missing = [
        f"{file}::{test}"
        for file, test in named
        if not re.search(rf"^def {test}\(", (ROOT / file).read_text("utf-8"), re.MULTILINE)
    ]
    assert missing == []
