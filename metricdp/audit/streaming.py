"""Streams on tiny universes: what all days together cost, exactly, for every pair of neighbors.

All that a stream ever releases are sums of counts, each with one draw of noise of its own. So the
real code runs day by day on every small demand with draws that are told apart: draw number j adds
j · 10^6 to every count, and its scale is noted. What is released then shows which draw hides it and
what exact sum is beneath. For independent Laplace noise the largest log ratio of the probabilities
of all releases of two neighbors is exactly the sum of |difference| / scale; for Gaussian noise the
zCDP parameter is the sum of difference² / (2 scale²). A draw that hides two sums hides neither; a
sum without a draw is told.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from metricdp.audit.patch import patched
from metricdp.audit.report import Finding
from metricdp.audit.worlds import RELATIONS, Demand, demands, neighboring_pairs
from metricdp.releases import Neighboring

CHECK = "exact law"
TAG = 10**6
SLACK = 1e-9


@dataclass(frozen=True)
class Days:
    """One kind of stream on two points, for a few days.

    Attributes
    ----------
    name : str
    options : dict
        Of `metricdp.Stream`.
    days : int
        That are tried; beyond the horizon they must be refused.
    shape : tuple of (base, levels)
        Of every tree: the best for so few days would be days alone.
    relation : str
    first : int
        Days of the first block, where the horizon is unknown.
    """

    name: str
    options: dict[str, Any]
    days: int
    shape: tuple[int, int]
    relation: Neighboring
    first: int = 2

    def __str__(self) -> str:
        return f"Stream, {self.name}, {self.relation}"

    @property
    def users(self) -> bool:
        """Whether users are protected."""
        return self.options.get("unit") == "user"

    def demands(self) -> list[Demand]:
        """Units in order, each with the numbers of its records: 2 · day + place."""
        if not self.users:
            return demands(2 * self.days, 2)
        some = demands(2 * self.days, 1, self.days)
        return [d for d in some if all(len({r // 2 for r in u}) == len(u) for u in d)]


@dataclass
class Told:
    """What one run released, hidden by which draws."""

    sums: list[tuple[int, np.ndarray]] = field(default_factory=list)
    scales: list[float] = field(default_factory=list)
    epsilon: float = 0.0
    rho: float = 0.0


def stream_checks() -> Iterator[tuple[str, bool, Callable[[bool], Finding]]]:
    """Event level and user level, known and unknown horizons, windows, both kinds of noise."""
    for relation in RELATIONS:
        for case, essential in (
            (Days("event level, 4 days", {"horizon": 4}, 4, (2, 3), relation), True),
            (Days("event level, unknown horizon", {}, 5, (2, 2), relation), False),
            (Days("event level, window", {"window": 2}, 4, (2, 2), relation), False),
            (Days("event level, half-life", {"half_life": 1.0}, 3, (2, 1), relation), False),
            (
                Days(
                    "event level, Gaussian", {"horizon": 4, "delta": "1/1000"}, 4, (2, 3), relation
                ),
                False,
            ),
            (
                Days("user level, 2 days", {"horizon": 2, "unit": "user"}, 3, (2, 2), relation),
                True,
            ),
            (
                Days(
                    "user level, Gaussian",
                    {"horizon": 2, "unit": "user", "delta": "1/1000"},
                    2,
                    (2, 1),
                    relation,
                ),
                False,
            ),
        ):
            yield str(case), essential, partial(_examined, case)


def _examined(case: Days, quick: bool) -> Finding:
    some = case.demands()
    told = [_run(case, demand) for demand in some]
    worst = 0.0
    for i, j in neighboring_pairs(some, case.relation):
        worst = max(worst, _loss(told[i], told[j]))
    claim = told[0].rho or told[0].epsilon
    what = "ρ" if told[0].rho else "ε"
    excess = worst / claim
    return Finding(
        str(case),
        f"{what} ≤ {claim:.6g}",
        f"{what} ≥ {worst:.6g}",
        CHECK,
        passed=0.3 <= excess <= 1 + SLACK,
        excess=excess,
    )


def _run(case: Days, demand: Demand) -> Told:
    """All releases of one run of the real code."""
    import metricdp as mdp
    from metricdp.accounting import continual as shapes
    from metricdp.privacy.noise import Noise
    from metricdp.running import stream as streams

    metric = mdp.PrecomputedMetric([[0.0, 1.0], [1.0, 0.0]], ids=["a", "b"])
    told = Told()

    def drawn(noise: Any, values: Any) -> Any:
        told.scales.append(noise.scale)
        return values + TAG * len(told.scales)

    real = streams.observe

    def observed(counter: Any, private: Any) -> Any:
        after, ended = real(counter, private)
        told.sums += [(int(v.min()) // TAG, v % TAG) for v in ended.values()]
        return after, ended

    with ExitStack() as stack:
        fixed = lambda days, gaussian: case.shape  # noqa: E731
        for name in ("best_for_totals", "best_for_windows"):
            stack.enter_context(patched(shapes, name, fixed))
        stack.enter_context(patched(shapes, "FIRST", case.first))
        stack.enter_context(patched(Noise, "__call__", drawn))
        stack.enter_context(patched(streams, "observe", observed))
        ledger = mdp.Ledger(1, "1/100", neighboring=case.relation)
        stream = mdp.Stream(metric, epsilon=1, ledger=ledger, parts=2, **case.options)
        told.epsilon = float(ledger.spent)
        told.rho = float(stream.counting.cost.rho or 0) if ledger.spent_delta else 0.0
        for day in range(case.days):
            try:
                stream.step(_of_day(case, metric, demand, day))
            except mdp.InputError:
                break
    return told


def _of_day(case: Days, metric: Any, demand: Demand, day: int) -> Any:
    from metricdp.privacy import PrivateDemand

    rows = [(i, r % 2) for i, unit in enumerate(demand) for r in unit if r // 2 == day]
    users = [i for i, _ in rows] if case.users else None
    return PrivateDemand(metric, ["ab"[place] for _, place in rows], user=users)


def _loss(some: Told, other: Told) -> float:
    """Log ratio of the probabilities of all releases at worst, or rho."""
    if some.scales != other.scales or len(some.sums) != len(other.sums):
        return math.inf
    change: dict[int, np.ndarray] = {}
    for (tag, one), (same, two) in zip(some.sums, other.sums):
        difference = np.abs(one - two)
        if tag != same or (tag == 0 and difference.any()):
            return math.inf
        if tag in change and (change[tag] != difference).any():
            return math.inf  # two sums of one draw: their difference is exact
        change[tag] = difference
    total = 0.0
    for tag, difference in change.items():
        scale = some.scales[tag - 1]
        power = 2 if some.rho else 1
        total += float((difference**power).sum()) / (2 * scale**2 if some.rho else scale)
    return total
