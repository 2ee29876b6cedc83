"""Replay verifier: whole calls on a demand, replayed on each neighbor with the same noisy outputs.

A first run with real noise is recorded (`transcript`). The call is then run on a neighbor, with the
recorded outputs in place of noise. It must ask the same queries at the same prices and return the
same bytes, and the exact privacy loss of the transcript (`losses`) must be at most the charge.
Nothing here imports a query, a noise or a price of the package.

Unlike `metricdp.audit.exact`, it tests methods on larger demands, whose adaptive paths differ.
"""

import random
from collections.abc import Iterator

from metricdp.audit.replay.subjects import subjects
from metricdp.audit.replay.verifying import Neighboring, Subject, Verdict, medium, tiny, verify
from metricdp.audit.report import Check, Finding

CHECK = "replay"
MOST = 6
"""Most tiny demands of a row, in the full form."""
SHORT = 6
"""Most neighbors of each demand, in the short form."""
CLAIM = "the same questions; loss ≤ 1 of the price"


def replay_checks() -> Iterator[Check]:
    """A check for each subject and relation."""
    for subject in subjects():
        for relation in subject.relations:
            short = subject.essential and relation in subject.short
            yield Check.of(named(subject, relation), short, _checked, subject, relation)


def named(subject: Subject, relation: Neighboring) -> str:
    """Name of a check."""
    return f"replay, {subject.name}, {subject.unit.name}, {relation}"


def verified(subject: Subject, relation: Neighboring, quick: bool) -> Verdict:
    """Verify a subject. On two points: all demands of up to three records (of users: two), with all
    neighbors. Elsewhere: tiny demands and a medium one, each with at most a dozen neighbors, drawn
    by public coins. In the short form: one tiny demand and a medium one.
    """
    if quick:
        some = [tiny(subject, 1)[-1], medium(subject, 0)]
        return verify(subject, relation, some, min(subject.neighbors, SHORT))
    if len(subject.places) == 2:
        most = 3 if list(subject.unit.sizes) == [1] else 2
        some = [d for d in tiny(subject, most) if sum(len(places) for _, places in d) <= most]
        return verify(subject, relation, [*some, medium(subject, 0)])
    some = tiny(subject, 1)
    some = some if len(some) <= MOST else random.Random(subject.name).sample(some, MOST)
    return verify(subject, relation, [*some, medium(subject, 0)], subject.neighbors)


def _checked(name: str, subject: Subject, relation: Neighboring, quick: bool) -> Finding:
    verdict = verified(subject, relation, quick)
    found = verdict.fault or f"{verdict.pairs:,} pairs, worst {verdict.worst:.4f}"
    excess = float("inf") if verdict.fault and not verdict.broken else verdict.worst
    return Finding(name, CLAIM, found, CHECK, not verdict.fault, excess=excess)
