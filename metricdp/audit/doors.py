"""How records go on inside the gate: as counts, Poisson subsamples, and under maps."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import metricdp as mdp
from metricdp.accounting import Cost, Ledger
from metricdp.arrays import Ints
from metricdp.audit.exact import Case, Chance
from metricdp.audit.patch import patched
from metricdp.audit.worlds import (
    FORMS,
    PRICE,
    RELATIONS,
    Demand,
    asked,
    counted,
    demands,
    in_parts,
    worlds,
)
from metricdp.privacy import CostQuery, CountQuery, PrivateDemand, SwapQuery, mapped, subsampled
from metricdp.records.engines import Tally

MUCH = partial(Cost.of, 5)
HALF = 0.5
"""Share of a subsampled demand."""


def door_cases() -> Iterator[Case]:
    """All cases."""
    yield from _tallied()
    yield from _subsampled()
    yield from _mapped()


# Counts in place of records


def _as_tally(universe: Any, records: Sequence[Any], users: Any, m: int | None) -> Any:
    """Records as an engine hands them over: how many at each point."""
    positions = np.array([list(universe.ids).index(r) for r in records], dtype=np.int64)
    tally = Tally(positions, np.ones(len(positions), dtype=np.int64))
    return PrivateDemand(universe, [])._restricted(tally, universe)


def _tallied() -> Iterator[Case]:
    world = worlds()["a path"]
    path = world.universe
    calls: dict[str, tuple[Callable[..., Any], float]] = {
        "HistogramQuery": (counted, 0.5),
        "CountQuery": (partial(asked, CountQuery, PRICE), 0.0),
        "CostQuery": (partial(asked, partial(CostQuery, path), MUCH), 0.2),
        "SwapQuery": (partial(asked, partial(SwapQuery, path, [path.ids[1]]), MUCH), 0.05),
        "split, counts": (partial(in_parts, CountQuery), 0.3),
    }
    for kind, (call, reach) in calls.items():
        for relation in RELATIONS:
            form = (demands(4, 2), relation, None, (5, 0), reach)
            essential = relation == "add-remove" and kind in ("HistogramQuery", "CostQuery")
            name = f"a tally, {kind}"
            yield Case(name, world, call, *form, hold=_as_tally, essential=essential)


# Subsampling


def _tossed(demand: Demand) -> list[tuple[int, ...]]:
    """A coin for each record."""
    return list(itertools.product((0, 1), repeat=sum(map(len, demand))))


def _coin_bytes(order: tuple[int, ...], n_bytes: int) -> bytes:
    """As 32-bit numbers, small where a record stays."""
    coins = np.array([0 if kept else 2**32 - 1 for kept in order] or [0], np.uint32)
    return np.resize(coins, n_bytes // 4).tobytes()


class _Binomial:
    """A generator whose binomials count the scripted coins of each point's records in turn."""

    def __init__(self, entropy: Any) -> None:
        self._coins = iter(np.asarray(entropy) == 0)

    def binomial(self, counts: Ints, share: float) -> Ints:
        """How many of each count stay, at a share of a half."""
        if share != HALF:
            raise AssertionError("coins are fair here")
        return np.array([sum(next(self._coins) for _ in range(c)) for c in counts], dtype=np.int64)


def _subsampled() -> Iterator[Case]:
    def sample(demand: PrivateDemand, ledger: Ledger) -> Any:
        with patched(np.random, "default_rng", _Binomial):
            fewer = subsampled(demand, HALF)
        return counted(fewer, ledger)

    # a sample of half tells at most ln((1 + exp(epsilon)) / 2) of epsilon
    case = partial(Case, call=sample, demands=demands(3, 2), reach=0.2)
    for relation in RELATIONS:
        form: dict[str, Any] = {"relation": relation, "essential": relation == "add-remove"}
        form["chance"] = Chance(_tossed, _coin_bytes)
        yield case("subsampled", worlds()["a box"], **form)
        yield case("subsampled tally", worlds()["a line"], **form, hold=_as_tally)


# Maps


class _Halved:
    """A public map: the box at half its size."""

    def __init__(self, universe: Any) -> None:
        self.universe = universe

    def encode(self, records: NDArray[Any]) -> NDArray[Any]:
        """Half of each point."""
        return records / 2


def _mapped() -> Iterator[Case]:
    smaller = mdp.EuclideanSpace([0.0], [1.2])

    def elsewhere(demand: PrivateDemand, ledger: Ledger) -> Any:
        return counted(mapped(demand, _Halved(demand.universe), smaller), ledger)

    world = worlds()["a box"]
    for relation, m in FORMS:
        some = demands(3, 2) if m is None else demands(3, 2, 2, 3)
        form = (some, relation, m)
        yield Case("mapped, counts", world, elsewhere, *form, reach=0.3, essential=m is None)
