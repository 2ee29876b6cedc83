"""Exact delta of the private covering loop (repeated exponential mechanism) against its price, over
so many rounds that the bound is tight.

Sets are disjoint and may be selected again. The demand is one unit or none at the first set.
Scripted runs of the real gate yield scores and eta, from which the distribution of the privacy loss
is computed round by round.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import permutations, product
from typing import Any

import numpy as np

from metricdp.accounting import Cost, Ledger
from metricdp.arguments import Floats, Ints
from metricdp.audit import distributions
from metricdp.audit.patch import patched
from metricdp.audit.report import Check, Finding, weighed
from metricdp.audit.worlds import finest
from metricdp.metrics.ground import GroundSet
from metricdp.metrics.set_systems import ListedSets
from metricdp.privacy import CoverQuery, PrivateDemand, cover, gate
from metricdp.releases import Neighboring

CHECK = "exact distribution of many rounds"
REACH = 0.3
"""Least share of delta that the worst neighbors must need where the bound of the loop is tight."""
State = tuple[bool, bool]
"""Whether the first and the second set have been selected."""
STATES: tuple[State, ...] = ((False, False), (True, False), (False, True), (True, True))


@dataclass(frozen=True)
class Loop:
    """A covering loop: relation, records `m` of a user, price, number of rounds and of sets."""

    name: str
    relation: Neighboring
    m: int
    epsilon: Any
    delta: Any
    rounds: int
    sets: int
    reach: float = REACH

    def __str__(self) -> str:
        users = f", users of {self.m}" if self.m > 1 else ""
        return f"covering loop, {self.name}, {self.relation}{users}"


LOOPS = (
    Loop("whole-loop bound", "add-remove", 1, 1, "1/100", 40, 8),
    Loop("whole-loop bound", "replace-one", 1, 1, "1/100", 40, 8, reach=0.1),
    Loop("whole-loop bound", "add-remove", 3, 1, "1/100", 40, 8),
    Loop("whole-loop bound", "replace-one", 3, 1, "1/100", 40, 8, reach=0.1),
    Loop("zCDP", "replace-one", 2, 1, "1/1000000", 8, 3, reach=0.0),
    Loop("large epsilon", "add-remove", 1, 30, "1/10", 64, 16),
)


def covering_checks() -> Iterator[Check]:
    """All loops."""
    for loop in LOOPS:
        yield Check.until(str(loop), loop.m < 3, _held, loop)


def _held(name: str, loop: Loop, quick: bool, enough: float = math.inf) -> Finding:
    """The largest delta that any pair of neighbors needs at the charged epsilon; the search stops
    at the first above `enough` times the charged delta.
    """
    units = [[0] * loop.m, [0] * (loop.m - 1) + [1], [1] * loop.m]
    everyone = [[], *units] if loop.relation == "add-remove" else units
    needed = 0.0
    price = (Fraction(1), Fraction(1))
    for left, right in permutations(everyone, 2):
        if loop.relation == "add-remove" and left and right:
            continue
        if needed > enough * price[1]:
            break
        p, q = dict[State, Floats](), dict[State, Floats]()
        for (chances, demand), state in product(((p, left), (q, right)), STATES):
            chances[state], price = _chances(loop, demand, state)
        needed = max(needed, _hockey_stick(loop, p, q, float(price[0])))
    delta = float(price[1])
    claim, found = f"δ ≤ {delta:.3g} at ε {float(price[0]):.4g}", f"δ ≥ {needed:.3g}"
    return weighed(name, claim, found, CHECK, needed / delta, needed < loop.reach * delta)


def _chances(
    loop: Loop, places: Sequence[int], state: State
) -> tuple[Floats, tuple[Fraction, Fraction]]:
    """Log probabilities of the sets in a round from `state`, and the charged epsilon and delta."""
    universe = GroundSet(range(loop.sets))
    sets = ListedSets(np.arange(loop.sets + 1), np.arange(loop.sets), loop.sets)
    user = {"user": [0] * len(places), "max_contributions": loop.m} if loop.m > 1 else {}
    demand = PrivateDemand(universe, places, **user)  # type: ignore[arg-type]
    script = [number for number, selected in enumerate(state) if selected]
    seen: list[Floats] = []

    def scripted(blocks: Iterable[Ints], eta: Fraction, distribution: str) -> int:
        scores = np.concatenate(list(blocks))
        seen.append(distributions.DISTRIBUTIONS[distribution](scores, eta))
        return script[len(seen) - 1] if len(seen) <= len(script) else loop.sets - 1

    ledger = Ledger(loop.epsilon, loop.delta, neighboring=loop.relation)
    query = CoverQuery(finest(universe), [(sets, 1)] * loop.rounds)
    cost = Cost.of(loop.epsilon, loop.delta)
    with patched(gate, "choose", scripted):
        cover(demand, query, cost, ledger.charge(cost))
    rest = seen[len(script) :]
    if len(seen) != loop.rounds or not all(np.array_equal(rest[0], row) for row in rest):
        raise AssertionError("rounds in one state have different distributions")
    return rest[0], (ledger.spent, ledger.spent_delta)


def _hockey_stick(
    loop: Loop, p: dict[State, Floats], q: dict[State, Floats], epsilon: float
) -> float:
    """Hockey-stick divergence of all sequences of selections, grouped by privacy loss."""
    distribution: dict[tuple[State, float], float] = {((False, False), 0.0): 1.0}
    for _ in range(loop.rounds):
        after: dict[tuple[State, float], float] = defaultdict(float)
        for (state, ratio), probability in distribution.items():
            rest_p, rest_q = (
                float(np.logaddexp.reduce(chances[state][2:], initial=-np.inf))
                for chances in (p, q)
            )
            first, second = ((float(p[state][i]), float(q[state][i])) for i in range(2))
            for then, log_p, log_q in (
                ((True, state[1]), *first),
                ((state[0], True), *second),
                (state, rest_p, rest_q),
            ):
                if log_p > -math.inf:
                    after[then, round(ratio + log_p - log_q, 10)] += probability * math.exp(log_p)
        distribution = after
    return sum(
        probability * -math.expm1(min(epsilon - ratio, 0.0))
        for (_, ratio), probability in distribution.items()
    )
