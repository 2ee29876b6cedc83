"""What only a person knows: each a named blank until somebody answers it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metricdp.errors import InputError

BLANK = "FOR YOU TO ANSWER"
"""Begins every blank, so that none is taken for an answer."""

QUESTIONS = {
    "name": "a name of what is published",
    "curator": "who publishes it",
    "curator_type": "what the publisher is: Government, Industry or Nonprofit",
    "description": "what is published, in a sentence for the registry's readers",
    "intended_use": "what it is meant to be used for",
    "region": "which region the data describe, or whose law applies",
    "sector": "Technology, Healthcare, Education, Government, Energy or Finance",
    "units": "about how many people or records there are, if that may be told",
    "unit_reason": (
        "why this unit of privacy is the right one: can a person have several records, and do "
        "records concern several people?"
    ),
    "epsilon_reason": "why this epsilon (and delta) was thought right, and who decided",
    "actors": "who holds the raw data, who sees results, and who is trusted with what",
    "access": "who can reach the raw data and the machine, and how that is guarded",
    "collection": "how the data were collected, with what consent, and how long they are kept",
    "exploration": (
        "what anybody looked at in the raw data beforehand, and whether a choice rests on it"
    ),
    "future": "whether data will be added, and whether more will be published from them",
    "other_releases": "what else was published from the same data, in particular without privacy",
    "public_universe": "that the universe (network, places, box) is public and not made from data",
    "fitness": "whether the error is small enough for the use, for small groups too",
    "author": "who fills in this record",
}
"""By name: what is to be answered."""

CHOICES = {
    "curator_type": ("Government", "Industry", "Nonprofit"),
    "sector": ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance"),
}


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
