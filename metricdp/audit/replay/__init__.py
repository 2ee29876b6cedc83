"""The replay verifier: real calls on a demand, repeated on every neighbor with the same outputs.

A first run draws real noise and is written down (`transcript`). The call then runs on a neighbor,
which is handed the same outputs. It must ask the same questions at the same prices and return the
same bytes, and the exact loss of the transcript (`losses`) must not exceed what was charged.
Nothing here imports a query, a noise or a price of the package.

Unlike `metricdp.audit.exact`, it follows methods on the paths that they take on real demand.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from metricdp.audit.replay.subjects import subjects
from metricdp.audit.replay.verifying import Relation, Subject, Verdict, medium, tiny, verify
from metricdp.audit.report import Check, Finding

CHECK = "replay"
MOST = 6
"""Tiny demands of a row, in full."""
SHORT = 6
"""Neighbors of each, in the short form."""
CLAIM = "the same questions; loss ≤ 1 of the price"


def replay_checks() -> Iterator[Check]:
    """One for each row of the table."""
    for subject in subjects():
        for relation in subject.relations:
            short = subject.essential and relation in subject.short
            yield Check.of(named(subject, relation), short, _checked, subject, relation)


def named(subject: Subject, relation: Relation) -> str:
    """Name of a row."""
    return f"replay, {subject.name}, {subject.unit.name}, {relation}"


def verified(subject: Subject, relation: Relation, quick: bool) -> Verdict:
    """On two points all demands of up to three records, or two of users, with all of their
    neighbors; elsewhere tiny demands and a medium one, each with up to a dozen of its neighbors
    drawn by public coins. The short way: a tiny demand and a medium one.
    """
    if quick:
        some = [tiny(subject, 1)[-1], medium(subject, 0)]
        return verify(subject, relation, some, min(subject.neighbors, SHORT))
    if len(subject.places) == 2:
        most = 3 if list(subject.unit.sizes) == [1] else 2
        some = [d for d in tiny(subject, most) if sum(len(places) for _, places in d) <= most]
        return verify(subject, relation, [*some, medium(subject, 0)])
    some = tiny(subject, 1)
    few = some if len(some) <= MOST else random.Random(subject.name).sample(some, MOST)
    return verify(subject, relation, [*few, medium(subject, 0)], subject.neighbors)


def _checked(name: str, subject: Subject, relation: Relation, quick: bool) -> Finding:
    verdict = verified(subject, relation, quick)
    found = verdict.fault or f"{verdict.pairs:,} pairs, worst {verdict.worst:.4f}"
    excess = float("inf") if verdict.fault and not verdict.broken else verdict.worst
    return Finding(name, CLAIM, found, CHECK, not verdict.fault, excess=excess)
