"""What is audited as a black box: queries and selections, on two neighbors each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from metricdp.accounting import Cost, Ledger, selection_epsilon
from metricdp.audit import blackbox
from metricdp.audit.report import Check, Finding
from metricdp.audit.worlds import answered, finest, worlds
from metricdp.privacy import CoverageQuery, HistogramQuery, PrivateDemand, select
from metricdp.releases import Neighboring

Runs = tuple[int, int]
"""How many in the short form, how many in the full one."""
TWO = "two points"


def box_checks() -> Iterator[Check]:
    """All checks."""
    one = partial(Cost.of, 1)
    zcdp = partial(Cost.zcdp, 2, Fraction(1, 1000))
    comes, moves = ((0,), ()), ((0,), (1,))
    several = partial(_cover, times=5)
    for name, call, pair, relation, cost, runs, essential in (
        ("HistogramQuery", _counts, comes, "add-remove", one, (600, 4000), True),
        ("HistogramQuery, replace-one", _counts, moves, "replace-one", one, (1500, 4000), False),
        ("HistogramQuery, Gaussian", _counts, moves, "replace-one", zcdp, (600, 1500), False),
        ("CoverageQuery", _cover, comes, "add-remove", one, (600, 20_000), True),
        (
            "5 selections from a zCDP accountant",
            several,
            comes,
            "add-remove",
            zcdp,
            (1500, 4000),
            False,
        ),
    ):
        yield Check.of(f"{name}, black box", essential, _check, call, pair, relation, cost, runs)


def _check(
    name: str,
    call: Callable[..., Any],
    pair: tuple[tuple[int, ...], tuple[int, ...]],
    relation: Neighboring,
    price: Callable[[], Cost],
    runs: Runs,
    quick: bool,
) -> Finding:
    place = worlds()[TWO]
    cost = price()
    samples = []
    for places in pair:
        demand = PrivateDemand(place.universe, [place.places[i] for i in places])
        ledgers = (Ledger(cost.epsilon, cost.delta, relation) for _ in range(runs[not quick]))
        outputs = [call(demand, ledger, cost) for ledger in ledgers]
        longest = max(map(len, outputs))  # outputs of different lengths are distinguished by it
        samples.append(np.array([[*row, *(longest - len(row)) * [0], len(row)] for row in outputs]))
    wide = max(s.shape[1] for s in samples)
    p, q = (
        np.hstack([s[:, :-1], np.zeros((len(s), wide - s.shape[1]), s.dtype), s[:, -1:]])
        for s in samples
    )
    return blackbox.judged(name, p, q, float(cost.epsilon), float(cost.delta))


def _counts(demand: PrivateDemand, ledger: Ledger, cost: Cost) -> Sequence[int]:
    query = HistogramQuery(finest(demand.universe))
    return answered(query, cost, demand, ledger.charge(cost)).values.tolist()


def _cover(demand: PrivateDemand, ledger: Ledger, cost: Cost, times: int = 1) -> Sequence[int]:
    budget = ledger.charge(cost)
    query = CoverageQuery(worlds()[TWO].universe, 0)
    each = selection_epsilon(cost, times)
    return [select(demand, query, each, budget)[0] for _ in range(times)]
