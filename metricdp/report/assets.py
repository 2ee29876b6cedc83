"""The files that pages are made of, HTML, CSS and JavaScript, and putting text in their places."""

from __future__ import annotations

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
    """What evidence says in words: ``evidence/words.toml``."""
    return tomllib.loads(asset("evidence/words.toml"))


def filled(page: str, pieces: Mapping[str, str]) -> str:
    """Put a text in place of every ``@@NAME@@`` of a page; the caller escapes what needs it.

    What was put in is not looked at again, whatever it holds.
    """
    head, *rest = page.split("@@")
    return head + "".join(pieces[text] if i % 2 == 0 else text for i, text in enumerate(rest))
