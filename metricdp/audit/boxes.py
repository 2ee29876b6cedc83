"""What is audited as a black box: queries and selections, on two neighbors each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from metricdp.accounting import Cost, Ledger, selection_epsilon
from metricdp.audit import blackbox
from metricdp.audit.report import Finding
from metricdp.audit.worlds import finest, worlds
from metricdp.privacy import CoverageQuery, HistogramQuery, PrivateDemand, measure, select

Runs = tuple[int, int]
"""How many in the short form, how many in the full one."""
TWO = "two points"


def box_checks() -> Iterator[tuple[str, bool, Callable[[bool], Finding]]]:
    """(name, in the short form, check)."""
    one = partial(Cost.of, 1)
    pool = partial(Cost.zcdp, 2, Fraction(1, 1000))
    for name, call, pair, relation, cost, runs, essential in (
        ("HistogramQuery", _counts, ((0,), ()), "add-remove", one, (600, 4000), True),
        (
            "HistogramQuery, replace-one",
            _counts,
            ((0,), (1,)),
            "replace-one",
            one,
            (1500, 4000),
            False,
        ),
        (
            "HistogramQuery, Gaussian",
            _counts,
            ((0,), (1,)),
            "replace-one",
            pool,
            (600, 1500),
            False,
        ),
        ("CoverageQuery", _cover, ((0,), ()), "add-remove", one, (600, 20_000), True),
        (
            "5 selections from a pool",
            partial(_cover, times=5),
            ((0,), ()),
            "add-remove",
            pool,
            (1500, 4000),
            False,
        ),
    ):
        full = f"{name}, black box"
        yield full, essential, partial(_check, full, call, pair, relation, cost, runs)


def _check(
    name: str,
    call: Callable[..., Any],
    pair: Any,
    relation: Any,
    price: Callable[[], Any],
    runs: Runs,
    quick: bool,
) -> Finding:

    place = worlds()[TWO]
    cost = price()
    samples = []
    for places in pair:
        demand = PrivateDemand(place.universe, [place.places[i] for i in places])
        outputs = [
            call(demand, Ledger(cost.epsilon, cost.delta, neighboring=relation), cost)
            for _ in range(runs[0 if quick else 1])
        ]
        longest = max(map(len, outputs))  # outputs of different lengths are told apart by it
        samples.append(np.array([[*row, *(longest - len(row)) * [0], len(row)] for row in outputs]))
    wide = max(s.shape[1] for s in samples)
    p, q = (
        np.hstack([s[:, :-1], np.zeros((len(s), wide - s.shape[1]), s.dtype), s[:, -1:]])
        for s in samples
    )
    return blackbox.judged(name, p, q, float(cost.epsilon), float(cost.delta))


def _counts(demand: Any, ledger: Any, cost: Any) -> Sequence[int]:
    return measure(
        demand,
        HistogramQuery(finest(demand.universe)),
        cost.epsilon,
        ledger.charge(cost),
        cost.delta,
    ).values.tolist()


def _cover(demand: Any, ledger: Any, cost: Any, times: int = 1) -> Sequence[int]:
    grant = ledger.charge(cost)
    query = CoverageQuery(demand.universe, 0)
    each = selection_epsilon(cost, times)
    return [select(demand, query, each, grant)[0] for _ in range(times)]
