"""The topics of NIST SP 800-226 (March 2025), answered from the receipt or left to a person."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

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
    known = [Point(topic, question, answer, True) for topic, question, answer in _known(facts)]
    asked = [
        Point(topic, question, answers.get(name) or blank(name), name in answers)
        for topic, question, name in _PERSONAL
    ]
    order = {topic: i for i, topic in enumerate(_TOPICS)}
    return sorted([*known, *asked], key=lambda point: order[point.topic])


_GUARANTEE = "Guarantee"
_UNIT = "Unit of privacy"
_ALGORITHM = "Algorithm and utility"
_MODEL = "Trust and queries"
_HAZARDS = "Implementation"
_BELOW = "Security and collection"
_TOPICS = (_GUARANTEE, _UNIT, _ALGORITHM, _MODEL, _HAZARDS, _BELOW)

_PERSONAL = (
    (_GUARANTEE, "Why are these parameters strong enough here?", "epsilon_reason"),
    (_GUARANTEE, "What else was published from the same data, and how?", "other_releases"),
    (_UNIT, "Does the unit cover all that one person adds to the data?", "unit_reason"),
    (_ALGORITHM, "Is the result accurate enough, for small groups too?", "fitness"),
    (_ALGORITHM, "Did anybody look at the raw data to choose something?", "exploration"),
    (_MODEL, "Who are the parties, and who is trusted with what?", "actors"),
    (_MODEL, "Is what is taken for public really public?", "public_universe"),
    (_BELOW, "Who can reach the raw data, and how is that guarded?", "access"),
    (_BELOW, "How were the data collected, and how long are they kept?", "collection"),
)


def _known(facts: Facts) -> list[tuple[str, str, str]]:
    return [
        (_GUARANTEE, "Which definition of differential privacy?", _definition(facts)),
        (_GUARANTEE, "Which values of its parameters, for everything?", f"{facts.price()}."),
        (_GUARANTEE, "What is not covered?", facts.unprotected()),
        (_GUARANTEE, "How do several releases add up?", facts.composition()),
        (_GUARANTEE, "What is spent of the whole budget, and left?", facts.ledger()),
        (
            _UNIT,
            "Whose data is protected, and how much of it?",
            f"{facts.protected().capitalize()}.",
        ),
        (_UNIT, "Which data sets are neighbors?", facts.adjacency()),
        (_ALGORITHM, "Which mechanisms?", "; ".join(facts.mechanism_lines()) + "."),
        (_ALGORITHM, "Are bounds (clipping, categories) free of the data?", _BOUNDS),
        (_ALGORITHM, "How were parameters chosen?", " ".join(facts.choices())),
        (_ALGORITHM, "What is done to noisy answers, and can it bias them?", _after(facts)),
        (_MODEL, "Which trust model?", _MODELS[facts.model]),
        (_MODEL, "May analysts ask freely?", _QUERIES),
        (_HAZARDS, "Is noise free of floating point?", facts.implementation()[0]),
        (_HAZARDS, "Where does randomness come from?", _RANDOM),
        (_HAZARDS, "Can time, errors or sizes tell?", _CHANNELS),
        (_HAZARDS, "Was the implementation tested?", facts.audited()),
        (_HAZARDS, "Which software exactly?", facts.implementation()[3]),
    ]


def _definition(facts: Facts) -> str:
    kind = "(epsilon, delta)-differential privacy" if facts.delta else "pure differential privacy"
    return f"{kind}, {facts.receipt['neighboring']} neighbors, {facts.model.lower()} model."


def _after(facts: Facts) -> str:
    told: Any = facts.made.get("afterwards") or "NOT ON THE RECEIPT"
    return f"{told} Estimates of small counts lean towards what is expected of them."


_MODELS = {
    "Central": "Central: a curator holds the raw records and adds the noise.",
    "Local": "Local: every device adds noise to its own item; nobody holds raw records.",
    "Shuffle": "Shuffle: devices add noise, a trusted shuffler mixes; server and shuffler must not "
    "work together.",
    "Federated": "Federated: every holder adds a share of the noise to its own counts; only their "
    "sum is seen. Computational; some holders may work together with the coordinator.",
}
_BOUNDS = (
    "Yes: boxes, partitions, clipping radii and contribution bounds are public arguments or follow "
    "from released values; all parts are released, empty ones too."
)
_QUERIES = (
    "No: a call is charged to the ledger before the data are read, and refused when the budget is "
    "spent. One ledger must stand for all data of a population."
)
_RANDOM = (
    "OpenSSL's generator through OpenDP and the operating system's; noise cannot be seeded. Both "
    "are trusted to be unpredictable."
)
_CHANNELS = (
    "Messages, logs, reprs and pickles hold nothing private, refusals come before the data are "
    "read. Run times, memory use and file sizes of the raw data do depend on it: do not publish "
    "them (THREATS.md)."
)
