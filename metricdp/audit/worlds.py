"""Tiny universes, all their small demands, and all pairs of neighbors among them."""

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from typing import Any

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from metricdp.accounting import Cost, Ledger
from metricdp.arguments import Ints
from metricdp.audit.patch import all_patched
from metricdp.methods import question
from metricdp.methods.box import default, halved, quadtree
from metricdp.metrics import EuclideanMetric, EuclideanSpace, GraphMetric, PrecomputedMetric
from metricdp.privacy import (
    CoverQuery,
    HistogramQuery,
    PrivateDemand,
    _vault,
    cover,
    gate,
    measure,
    select,
    split,
)
from metricdp.privacy.scores import SelectionQuery
from metricdp.releases import Neighboring

Demand = tuple[tuple[int, ...], ...]
"""A tuple of users, each a tuple of the indices of their records' places."""
EPSILON = Fraction(7, 10)
"""Price of counts and of methods."""
PRICE = partial(Cost.of, EPSILON)
RELATIONS: tuple[Neighboring, ...] = ("add-remove", "replace-one")
FORMS = tuple(itertools.product(RELATIONS, (None, 2)))
"""Relation, and records kept of each user (None: records are protected), of most cases."""


@dataclass(frozen=True, eq=False)
class World:
    """A public universe, and the few places where records may be."""

    name: str
    universe: Any
    places: Sequence[Any]


@dataclass(frozen=True, eq=False)
class Labels:
    """A partition of a finite universe, by the label of each point."""

    universe: Any
    labels: tuple[int, ...]
    n_parts: int

    def encode(self, records: NDArray[Any]) -> Ints:
        """Label of each position."""
        return np.asarray(self.labels, dtype=np.int64)[records]


@dataclass(frozen=True, eq=False)
class UnitCells:
    """The box [0, 3] cut at 1 and 2."""

    universe: Any
    n_parts: int = 3

    def encode(self, records: NDArray[Any]) -> Ints:
        """Cell of each point."""
        return np.minimum(records[:, 0].astype(np.int64), 2)


@dataclass(frozen=True, eq=False)
class Coded:
    """A partition, or a map of records, by a function of them."""

    universe: Any
    encode: Callable[[NDArray[Any]], NDArray[Any]]
    n_parts: int = 3


def finest(universe: Any) -> Labels:
    """The partition with one part for each point."""
    return Labels(universe, tuple(range(len(universe))), len(universe))


@contextmanager
def small_nets() -> Iterator[None]:
    """Use few points for nets of boxes in a block: nets are public, their size is not audited."""
    nets = (question, "NET_POINTS"), (quadtree, "POINTS")
    cells = (halved, "MOST_CELLS"), (default, "MOST")
    with all_patched((module, name, 24) for module, name in nets + cells):
        yield


@cache
def worlds() -> dict[str, World]:
    """Two points, three, two of them at distance 0, a path graph, a line of vectors, a box."""
    two = PrecomputedMetric([[0.0, 1.0], [1.0, 0.0]], ids=["a", "b"])
    three = PrecomputedMetric([[0.0, 1, 2], [1, 0.0, 2], [2, 2, 0.0]], ids=["a", "b", "c"])
    pair = PrecomputedMetric([[0.0, 0, 3], [0, 0.0, 3], [3, 3, 0.0]], ids=["a", "a'", "b"])
    path = GraphMetric(nx.path_graph(4), weight=None)
    line = EuclideanMetric([[0.0], [1.0], [2.5]], ids=["x", "y", "z"])
    box = EuclideanSpace([0.0], [3.0])
    places = {
        "two points": (two, two.ids),
        "three points": (three, three.ids),
        "a zero-distance pair": (pair, pair.ids),
        "a path": (path, path.ids),
        "a line": (line, line.ids),
        "a box": (box, [[0.5], [1.5], [99.0]]),
    }
    return {name: World(name, universe, list(where)) for name, (universe, where) in places.items()}


def demands(
    n_places: int, n_users: int, most_records: int = 1, most_in_all: float = math.inf
) -> list[Demand]:
    """All demands of up to `n_users` users with 1 to `most_records` records each."""
    kinds = kinds_of_users(n_places, range(1, most_records + 1))
    chosen = itertools.combinations_with_replacement
    every = (d for size in range(n_users + 1) for d in chosen(kinds, size))
    return [d for d in every if sum(map(len, d)) <= most_in_all]


def kinds_of_users(n_places: int, sizes: Iterable[int]) -> list[tuple[int, ...]]:
    """All multisets of places for users with these numbers of records."""
    chosen = itertools.combinations_with_replacement
    return [kind for size in sizes for kind in chosen(range(n_places), size)]


def neighbors(one: Demand, other: Demand, relation: Neighboring) -> bool:
    """Whether two demands differ by one added, or one exchanged user."""
    small, large = sorted((one, other), key=len)
    rest = list(large)
    missing = 0
    for user in small:
        if user in rest:
            rest.remove(user)
        else:
            missing += 1
    if relation == "add-remove":
        return missing == 0 and len(rest) == 1
    return len(one) == len(other) and missing == 1


def neighboring_pairs(
    all_demands: Sequence[Demand], relation: Neighboring
) -> list[tuple[int, int]]:
    """Ordered pairs of indices of neighbors."""
    pairs = itertools.permutations(range(len(all_demands)), 2)
    return [(i, j) for i, j in pairs if neighbors(all_demands[i], all_demands[j], relation)]


def coins(demand: Demand, m: int) -> list[tuple[int, ...]]:
    """All outcomes of contribution bounding, as ranks of records that make it keep each choice."""
    first = itertools.accumulate([0, *map(len, demand)])
    users = [range(start, start + len(user)) for start, user in zip(first, demand)]
    kept_of = (itertools.combinations(user, min(m, len(user))) for user in users)
    n_records = sum(map(len, demand))
    found = []
    for choice in itertools.product(*kept_of):
        kept = {record for some in choice for record in some}
        order = [*sorted(kept), *(record for record in range(n_records) if record not in kept)]
        found.append(tuple(order.index(record) for record in range(n_records)))
    return found


def small_demands(world: World, m: int | None) -> list[Demand]:
    """Demands that distinguish sensitivities: three records, or two users of unequal size."""
    if m is None:
        return demands(len(world.places), 3)
    if len(world.places) == 2:
        return demands(2, 2, m + 1, m + 3)
    return demands(len(world.places), 2, 2, 3)


def asked(query: Any, price: Callable[[], Cost], demand: PrivateDemand, ledger: Ledger) -> Any:
    """The answer to one query, charged to a ledger. The query, if it is a function, and the price
    are evaluated within the call, as either may contain a mutant.
    """
    cost = price()
    return answered(query, cost, demand, ledger.charge(cost))


def answered(query: Any, cost: Cost, demand: PrivateDemand, budget: Any) -> Any:
    """The answer to one query at a price, by the gate's function for its kind."""
    query = query() if callable(query) else query
    if isinstance(query, CoverQuery):
        return cover(demand, query, cost, budget)
    if isinstance(query, SelectionQuery):
        return select(demand, query, cost.epsilon, budget)
    return measure(demand, query, cost.epsilon, budget, cost.delta)


def counted(demand: PrivateDemand, ledger: Ledger) -> Any:
    """Noisy counts of all points, or of the cells of the box."""
    universe = demand.universe
    cells = finest(universe) if hasattr(universe, "ids") else UnitCells(universe)
    return asked(HistogramQuery(cells), PRICE, demand, ledger)


def in_parts(query: Any, demand: PrivateDemand, ledger: Ledger) -> Any:
    """The answers to one query about the records of each point."""
    parts = split(demand, finest(demand.universe), EPSILON, ledger)
    return [answered(query, PRICE(), part, budget) for part, budget in parts]


def emptiness(demand: Any, epsilon: Fraction, budget: Any) -> int:
    """Randomized response to "is there a record?", whose privacy loss is exactly epsilon."""
    budget.draw(epsilon)
    empty = len(_vault._open(demand)) == 0
    choose = vars(gate)["choose"]  # by its name in the gate, which recordings replace
    scores = [np.array([empty, not empty], dtype=np.int64)]
    return int(choose(scores, epsilon, "exponential mechanism"))
