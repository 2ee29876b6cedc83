"""Checks that randomness cannot be repeated by a seed, and that no data are read uncharged."""

import math
import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np

import metricdp as mdp
from metricdp.accounting import BudgetSlice, Cost, Ledger
from metricdp.audit.patch import patched
from metricdp.audit.report import Check, Finding, refuted
from metricdp.audit.worlds import answered, counted, finest, worlds
from metricdp.errors import MetricDPError
from metricdp.metrics import EuclideanMetric
from metricdp.metrics.set_systems import Balls
from metricdp.privacy import (
    CentersQuery,
    CostQuery,
    CoverageQuery,
    CoverQuery,
    HistogramQuery,
    PrivateDemand,
    SwapQuery,
    _vault,
    select,
)


def fresh_checks() -> Iterator[Check]:
    """All checks."""
    for what, draw in (
        ("noise", _noise),
        ("selections", _selections),
        ("contribution bounding", _kept),
    ):
        yield Check.of(f"{what}, generators seeded alike", True, _unrepeatable, draw)
    for name in ("nothing read before it is paid for", "nothing read by refused calls"):
        yield Check.of(name, True, _paid_first)


def _unrepeatable(name: str, draw: Callable[[], Any], quick: bool) -> Finding:
    """Draw twice after seeding every generator: equal draws have probability below 10^-20."""
    draws = []
    state = random.getstate(), np.random.get_state()  # noqa: NPY002
    try:
        for _ in range(2):
            random.seed(7)
            np.random.seed(7)  # noqa: NPY002
            draws.append(draw())
    finally:
        random.setstate(state[0])
        np.random.set_state(state[1])  # noqa: NPY002
    same = draws[0] == draws[1]
    found = "equal draws" if same else "unequal draws"
    return refuted(name, "fresh draws", found, "freshness", same)


def _noise() -> Any:
    universe = EuclideanMetric(np.arange(30.0)[:, None])
    return counted(PrivateDemand(universe, []), Ledger(1)).values.tolist()


def _selections() -> Any:
    universe = EuclideanMetric(np.arange(1000.0)[:, None])
    demand = PrivateDemand(universe, [])
    budget = Ledger(1).charge(1)
    return [select(demand, CoverageQuery(universe, 0), "1/100", budget)[0] for _ in range(10)]


def _kept() -> Any:
    universe = EuclideanMetric(np.arange(200.0)[:, None])
    users = np.repeat(np.arange(40), 5)
    demand = PrivateDemand(universe, range(200), user=users, max_contributions=2)
    return _vault._open(demand).tolist()


def _paid_first(name: str, quick: bool) -> Finding:
    """Each opening of the vault must follow a charge of its own; refused calls open nothing."""
    events: list[str] = []
    real_open, real_take = _vault._open, BudgetSlice._take

    def opened(holder: object) -> Any:
        events.append("open")
        return real_open(holder)

    def took(budget: Any, cost: Any) -> None:
        real_take(budget, cost)
        events.append("pay")

    refused = name.endswith("refused calls")
    broken = []
    for what, call in _calls(refused):
        events.clear()
        with patched(_vault, "_open", opened), patched(BudgetSlice, "_take", took):
            try:
                call()
            except MetricDPError:
                pass
            else:
                if refused:
                    broken.append(f"{what}: not refused")
        balance = 0
        for event in events:
            balance += 1 if event == "pay" else -1
            if balance < 0 or (refused and event == "open"):
                broken.append(f"{what}: data read unpaid")
                break
        if not refused and "open" not in events:
            broken.append(f"{what}: nothing read at all")
    found = broken[0] if broken else "in order"
    excess = math.inf if "unpaid" in found else 0.0
    return Finding(name, "payment, then data", found, "order of events", not broken, excess=excess)


def _calls(refused: bool) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Calls of every entry point of the gate, on a ledger that holds their price or not."""
    universe = worlds()["two points"].universe
    demand = mdp.PrivateDemand(universe, ["a", "b", "b"])
    half = "1/4" if refused else "1/2"
    for query in (
        HistogramQuery(finest(universe)),
        CostQuery(universe),
        CoverageQuery(universe, 0),
        SwapQuery(universe, ["a"]),
        CentersQuery(universe, ["a", "b"]),
        CoverQuery(finest(universe), [(Balls(universe, 0), 2)]),
    ):
        ask = partial(answered, query, Cost.of("1/2"), demand)
        yield type(query).__name__, lambda ask=ask: ask(Ledger(1).charge(half))  # type: ignore[misc]
    yield "k_median", lambda: mdp.k_median(universe, demand, 1, epsilon="1/2", ledger=Ledger(half))
    yield "release", lambda: mdp.release(universe, demand, epsilon="1/2", ledger=Ledger(half))
