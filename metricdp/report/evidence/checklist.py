"""The topics of NIST SP 800-226 (March 2025), answered from the receipt or left to a person."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from metricdp.report.assets import words
from metricdp.report.evidence.facts import Facts
from metricdp.report.evidence.people import blank


class Point(NamedTuple):
    """A point of the checklist.

    `answered`: false: for a person to answer; `answer` then says what.
    """

    topic: str
    question: str
    answer: str
    answered: bool


def checklist(facts: Facts, answers: Mapping[str, str]) -> list[Point]:
    """All points, in order."""
    points = []
    for topic, questions in words()["checklist"].items():
        for question, said in questions.items():
            kind, name = said[0], said[1:]
            if kind == "?":
                answer = answers.get(name) or blank(name)
                points.append(Point(topic, question, answer, name in answers))
            else:
                answer = ANSWERS[name](facts) if kind == "=" else said
                points.append(Point(topic, question, answer, True))
    return points


def _definition(facts: Facts) -> str:
    kind = "(epsilon, delta)-differential privacy" if facts.delta else "pure differential privacy"
    return f"{kind}, {facts.receipt['neighboring']} neighbors, {facts.model.lower()} model."


def _after(facts: Facts) -> str:
    told: Any = facts.made.get("afterwards") or "NOT ON THE RECEIPT"
    return f"{told} Estimates of small counts lean towards what is expected of them."


ANSWERS: dict[str, Callable[[Facts], str]] = {
    "definition": _definition,
    "price": lambda facts: f"{facts.price()}.",
    "unprotected": Facts.unprotected,
    "composition": Facts.composition,
    "ledger": Facts.ledger,
    "protected": lambda facts: f"{facts.protected().capitalize()}.",
    "adjacency": Facts.adjacency,
    "mechanisms": lambda facts: "; ".join(facts.mechanism_lines()) + ".",
    "choices": lambda facts: " ".join(facts.choices()),
    "afterwards": _after,
    "model": lambda facts: words()["models"][facts.model]["says"],
    "floating_point": lambda facts: facts.implementation()[0],
    "audited": Facts.audited,
    "software": lambda facts: facts.implementation()[3],
}
"""By the name that the table has after ``=``."""
