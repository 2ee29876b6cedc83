"""HTML, CSS and JavaScript files of pages, and the templates' substitution."""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any


@cache
def asset(name: str) -> str:
    """Return the text of a file of this package."""
    return files("metricdp.report").joinpath(*name.split("/")).read_text(encoding="utf-8")


@cache
def words() -> dict[str, Any]:
    """The texts of evidence: ``evidence/words.toml``."""
    return tomllib.loads(asset("evidence/words.toml"))


def filled(page: str, pieces: Mapping[str, str]) -> str:
    """Replace every ``@@NAME@@`` of a page by a text, which the caller has escaped.

    Replacements are not scanned again.
    """
    head, *rest = page.split("@@")
    return head + "".join(pieces[text] if i % 2 == 0 else text for i, text in enumerate(rest))
