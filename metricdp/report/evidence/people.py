"""What only a person knows: each a named blank until somebody answers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metricdp.errors import InputError
from metricdp.report.assets import words

BLANK = "FOR YOU TO ANSWER"
"""Begins every blank, so that none is taken for an answer."""

QUESTIONS: dict[str, str] = words()["questions"]
"""By name: what is to be answered."""

CHOICES: dict[str, list[str]] = words()["choices"]


def blank(name: str) -> str:
    """The text of a blank."""
    return f"{BLANK} ({name}): {QUESTIONS[name]}"


def checked_answers(given: Any) -> dict[str, str]:
    """Answers by name, each a text."""
    if given is None:
        return {}
    if not isinstance(given, Mapping):
        raise InputError("answers must be a mapping from names of blanks to texts")
    for name, text in given.items():
        if name not in QUESTIONS:
            known = ", ".join(QUESTIONS)
            raise InputError(f"there is no blank {str(name)[:80]!r}; there are: {known}")
        if not isinstance(text, str | int) or isinstance(text, bool) or not str(text).strip():
            raise InputError(f"the answer to {name} must be a text")
        if name in CHOICES and text not in CHOICES[name]:
            raise InputError(f"the answer to {name} must be one of {', '.join(CHOICES[name])}")
        if name == "units" and not str(text).replace(",", "").strip().isdecimal():
            raise InputError("the answer to units must be a whole number")
    return {str(name): str(text).strip() for name, text in given.items()}
