"""The topics of NIST SP 800-226 (March 2025), answered from the receipt or left to a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from metricdp.report.assets import words
from metricdp.report.evidence.facts import Facts
from metricdp.report.evidence.named import filler


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
    fill = filler(facts, answers)
    return [
        Point(topic, question, fill.text(said), said[:2] != "{?" or said[2:-1] in answers)
        for topic, questions in words()["checklist"].items()
        for question, said in questions.items()
    ]
