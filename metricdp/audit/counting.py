"""Cases of counts and histograms under their exact distributions, single and composed; of Poisson
subsamples, stable transformations and pre-aggregated counts inside the gate; and of whole methods.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import product
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

import metricdp as mdp
from metricdp.accounting import Cost, Ledger
from metricdp.arguments import Ints
from metricdp.audit.exact import Case, Chance
from metricdp.audit.patch import patched
from metricdp.audit.worlds import (
    EPSILON,
    FORMS,
    PRICE,
    RELATIONS,
    Coded,
    Demand,
    Labels,
    UnitCells,
    asked,
    counted,
    demands,
    emptiness,
    finest,
    in_parts,
    small_demands,
    worlds,
)
from metricdp.errors import BudgetError
from metricdp.methods.caps import Caps
from metricdp.metrics import EuclideanMetric
from metricdp.partitions.box.quadtree import ShiftedQuadtree
from metricdp.privacy import (
    CostQuery,
    CountQuery,
    HistogramQuery,
    LevelsQuery,
    PrivateDemand,
    SumsQuery,
    SwapQuery,
    _vault,
    mapped,
    measure,
    moved,
    preaggregated,
    split,
    subsampled,
)
from metricdp.privacy.queries import TotalsQuery
from metricdp.records.engines.sources import Listed, Tally

GAUSS = (Fraction(4), Fraction(1, 1000))
RHO_BUDGET = partial(Cost.zcdp, *GAUSS)
MUCH = partial(Cost.of, 5)
HALF = 0.5
"""Sampling probability of a subsampled demand."""
FIRST = "partition"
"""The method of the short form."""
UNITS: tuple[int | None, ...] = (None, 1, 2)


def counting_cases() -> Iterator[Case]:
    """All cases."""
    own = (_counts, _gaussians, _composed, _asked, _evaluated, _tallied, _subsampled, _mapped)
    for make in (*own, _snapped, _capped, _priced):
        yield from make()


def _counts() -> Iterator[Case]:
    every = worlds()
    for name in ("two points", "three points", "a zero-distance pair", "a box"):
        world = every[name]
        box = name == "a box"
        fine = HistogramQuery(UnitCells(world.universe) if box else finest(world.universe))
        queries: dict[str, Any] = {"HistogramQuery": fine, "CountQuery": CountQuery()}
        if box:
            sums = partial(SumsQuery, fine, 3, [[1.0], [1.0], [1.5]], [0.25, 0.25, 0.5])
            levels = sums(folded=True), SumsQuery(fine, 3, [1.0], 0.25)
            queries |= {"SumsQuery": SumsQuery(fine, bits=3), "SumsQuery from centers": sums()}
            queries["SumsQuery, folded, in levels"] = LevelsQuery(levels)
        if name == "two points":
            empty, whole = (Labels(world.universe, *of) for of in (((0, 2), 3), ((0, 0), 1)))
            queries["HistogramQuery with an empty part"] = HistogramQuery(empty)
            queries["LevelsQuery"] = LevelsQuery((HistogramQuery(whole), fine))
        for (kind, query), relation, m in product(queries.items(), RELATIONS, UNITS):
            essential = (
                name == "two points"
                and m != 1
                and kind != "HistogramQuery with an empty part"
                and not (m and (kind == "LevelsQuery" or relation == "replace-one"))
            )
            reach = 0.999
            if kind == "LevelsQuery" and relation == "replace-one":
                reach = 0.5  # the top level never changes, so its share of the bound is not used
            if kind == "CountQuery" and relation == "replace-one" and m != 2:
                reach = 0.0  # sensitivity 0: exact, and the same for all neighbors
            if m == 2 and name != "two points":
                reach = 0.3  # users of two records
            if kind.startswith("SumsQuery"):
                # the bound is for opposite ends of the box, where no place is
                essential = m is None
                reach = min(reach, 0.8 if kind == "SumsQuery" else 1.0)
            call = partial(asked, query, PRICE)
            some = small_demands(world, m)
            yield Case(kind, world, call, some, relation, m, reach=reach, essential=essential)


def _gaussians() -> Iterator[Case]:
    world = worlds()["two points"]
    fine = HistogramQuery(finest(world.universe))
    name, call = "HistogramQuery, Gaussian", partial(asked, fine, RHO_BUDGET)
    for relation, m in FORMS:
        some = demands(2, 3) if m is None else demands(2, 2, 2)
        yield Case(
            name, world, call, some, relation, m, GAUSS, 0.9, rho=RHO_BUDGET().rho, essential=True
        )


def _composed() -> Iterator[Case]:
    world = worlds()["two points"]
    query = HistogramQuery(finest(world.universe))
    one_part = HistogramQuery(Labels(world.universe, (0, 0), 1))
    parts = partial(in_parts, one_part)

    def worst(demand: PrivateDemand, ledger: Ledger) -> Any:
        parts = split(demand, finest(world.universe), EPSILON, ledger)
        return [emptiness(part, EPSILON, budget) for part, budget in parts]

    def twice(demand: PrivateDemand, ledger: Ledger) -> Any:
        budget = ledger.charge(EPSILON)
        answers: list[Any] = [measure(demand, one_part, EPSILON / 2, budget) for _ in range(2)]
        try:
            answers.append(measure(demand, one_part, EPSILON / 2, budget))
        except BudgetError as refused:
            return [*answers, str(refused)]
        return answers

    def refused(demand: PrivateDemand, ledger: Ledger) -> Any:
        return measure(demand, query, EPSILON, ledger.charge(EPSILON / 2))

    line = EuclideanMetric([[0.0], [1.0], [2.0]])

    def elsewhere(demand: PrivateDemand, ledger: Ledger) -> Any:
        return counted(moved(demand, UnitCells(demand.universe), line), ledger)

    box = worlds()["a box"]
    for relation, m in product(RELATIONS, UNITS):
        some = small_demands(world, None) if m is None else demands(2, 2, 2)
        form = (some, relation, m, (4, 0))
        reach = 0.999 if m is None else 0.4
        yield Case("split, counts", world, parts, *form, reach, essential=m is None)
        # under replace-one two parts lose at most twice their epsilon
        reach = 0.4 if relation == "replace-one" and m == 2 else 0.999
        yield Case("split, any mechanism", world, worst, *form, reach, essential=m != 1)
        some = small_demands(box, m)
        reach = 0.999 if m is None else 0.3
        name = "moved, counts"
        yield Case(name, box, elsewhere, some, relation, m, reach=reach, essential=m == 2)
    some = small_demands(world, None)
    for relation in RELATIONS:
        name, short = "a budget slice spent in pieces", relation == "add-remove"
        yield Case(name, world, twice, some, relation, budget=(4, 0), reach=0.0, essential=short)
    name = "a call beyond its budget slice"
    yield Case(name, world, refused, some, "add-remove", reach=0.0, refused=True, essential=True)


def _snapped() -> Iterator[Case]:
    """Records too far from the universe are dropped (`max_snap`), each independently. Under
    replace-one that is refused, as the number of the others is then not public.
    """
    line = worlds()["a line"]
    for relation, m in FORMS:
        refused = relation == "replace-one"
        form = (demands(3, 2, m or 1), relation, m, (2, 0), 0.0 if refused else 0.5)
        call, name = _number_and_counts, "from_coordinates, max_snap"
        yield Case(name, line, call, *form, refused=refused, hold=_near, essential=m is None)


def _near(universe: Any, records: Sequence[Any], users: Any, m: int | None) -> Any:
    """A demand whose third place is too far from the line."""
    points = np.array([[dict(zip("xyz", (0.0, 1.0, 99.0)))[r]] for r in records]).reshape(-1, 1)
    kept = {"user": users, "max_contributions": m}
    return PrivateDemand.from_coordinates(universe, points, max_snap=0.3, **kept)


def _number_and_counts(demand: PrivateDemand, ledger: Ledger) -> Any:
    return [asked(CountQuery, PRICE, demand, ledger), counted(demand, ledger)]


@dataclass(frozen=True, eq=False)
class TwoEnds:
    """Amounts in the box [0, 3]: 8, divided between its ends by position."""

    universe: Any
    n_values: int = 2

    def amounts(self, records: NDArray[Any]) -> Ints:
        """Amounts (n, 2), which sum to 8."""
        right = np.floor(records[:, 0] * (8 / 3)).astype(np.int64)
        return np.stack([8 - right, right], axis=1)


@dataclass(frozen=True, eq=False)
class Heavy:
    """Amounts -8, 9 (beyond the bound, so it counts 0) and 8 of three points."""

    universe: Any
    n_values: int = 1

    def amounts(self, records: NDArray[Any]) -> Ints:
        """Amounts (n, 1)."""
        return np.array([-8, 9, 8])[records][:, None]


def _evaluated() -> Iterator[Case]:
    """Sums of amounts, as used by private evaluation."""
    kinds: Any = ("", "a box", TwoEnds), (" beyond the bound", "three points", Heavy)
    for (more, place, amounts), (relation, m) in product(kinds, FORMS):
        name, world = f"TotalsQuery{more}", worlds()[place]
        some = demands(len(world.places), 2, m or 1)
        call = partial(asked, TotalsQuery(amounts(world.universe), bits=3), PRICE)
        yield Case(name, world, call, some, relation, m, reach=0.6, essential=m is None)


KEY = b"\x5a"
"""A fixed secret key, as the guarantee holds for each key."""
_URANDOM = os.urandom


def _capped() -> Iterator[Case]:
    """Histograms of the parts of the caps, and of one part that contains two of them."""
    world = worlds()["two points"]
    fine = HistogramQuery(finest(world.universe))
    coarse = HistogramQuery(Labels(world.universe, (0, 0), 1))
    key = Chance(lambda demand: [()], lambda outcome, n: KEY * n if n == 32 else _URANDOM(n))
    for name, caps, query in (
        ("caps of 2 parts", (2, 1), fine),
        ("caps of 1 part of 2", (1, 2), fine),
        ("caps of 2 parts, a coarser histogram", (2, 1), coarse),
    ):
        for relation in RELATIONS:
            # exchanged users of two parts cannot differ in both of two points
            reach = 0.9
            if relation == "replace-one" and caps == (2, 1):
                reach = 0.4 if query is fine else 0.05
            form = (demands(2, 2, 3), relation, caps[0] * caps[1], GAUSS, reach)
            held: dict[str, Any] = {
                "hold": partial(_held, Caps(*caps, areas=finest(world.universe)))
            }
            case = partial(Case, name, world, partial(asked, query, RHO_BUDGET), *form, **held)
            yield case(rho=RHO_BUDGET().rho, chance=key, essential=relation == "add-remove")


def _held(caps: Any, universe: Any, records: Any, users: Any, m: Any) -> Any:
    """A demand with users named by their records, so that neighbors give others the same names."""
    own: dict[Any, str] = {}
    for user, record in zip(users, records):
        own[user] = f"{own.get(user, '')}-{record}"
    known: Counter[str] = Counter()
    names = {}
    for user, kind in own.items():
        known[kind] += 1
        names[user] = f"{kind} {known[kind]}"
    return PrivateDemand(universe, records, user=[names[user] for user in users], caps=caps)


def _priced() -> Iterator[Case]:
    """A query whose partition tries to change it while it is answered."""

    def ask(demand: PrivateDemand, ledger: Ledger) -> Any:
        class Cells(UnitCells):
            def encode(self, records: Any) -> Any:
                for query in made:
                    with suppress(AttributeError):
                        query.bits = 5
                return super().encode(records)

        made: list[Any] = []
        query = SumsQuery(HistogramQuery(Cells(demand.universe)), bits=3)
        made.append(query)
        return asked(query, PRICE, demand, ledger)

    box = worlds()["a box"]
    some = demands(len(box.places), 2)
    case = partial(Case, world=box, demands=some, relation="add-remove", essential=True)
    kept = partial(HistogramQuery, Keeping(box.universe))
    yield case("a query changed after its price", call=ask, reach=0.8)
    yield case("a partition that keeps records", call=partial(asked, kept, PRICE))


@dataclass(eq=False)
class Keeping:
    """A partition with a state, which depends on earlier records."""

    universe: Any
    n_parts: int = 3
    seen: int = 0

    def encode(self, records: Any) -> Any:
        """Cell of each point, shifted by the number of earlier records."""
        before = self.seen
        self.seen += len(records)
        return (UnitCells(self.universe).encode(records) + before) % 3


def _as_tally(universe: Any, records: Sequence[Any], users: Any, m: int | None) -> Any:
    """A demand as an engine makes it: counts by point."""
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


def _tossed(demand: Demand) -> list[tuple[int, ...]]:
    """All outcomes of a coin for each record."""
    return list(product((0, 1), repeat=sum(map(len, demand))))


def _coin_bytes(order: tuple[int, ...], n_bytes: int) -> bytes:
    """Random bytes, as 32-bit numbers that are small where a record stays."""
    coins = np.array([0 if kept else 2**32 - 1 for kept in order] or [0], np.uint32)
    return np.resize(coins, n_bytes // 4).tobytes()


class _Binomial:
    """A generator whose binomials are sums of scripted coins of each point's records."""

    def __init__(self, entropy: Any) -> None:
        self._coins = iter(np.asarray(entropy) == 0)

    def binomial(self, counts: Ints, share: float) -> Ints:
        """A binomial sample of each count, with probability a half."""
        if share != HALF:
            raise AssertionError("coins are fair here")
        return np.array([sum(next(self._coins) for _ in range(c)) for c in counts], dtype=np.int64)


def _subsampled() -> Iterator[Case]:
    def sample(demand: PrivateDemand, ledger: Ledger) -> Any:
        with patched(np.random, "default_rng", _Binomial):
            fewer = subsampled(demand, HALF)
        return counted(fewer, ledger)

    # amplification by sampling: the loss is at most ln((1 + exp(epsilon)) / 2)
    case = partial(Case, call=sample, demands=demands(3, 2), reach=0.2)
    for relation in RELATIONS:
        form: dict[str, Any] = {"relation": relation, "essential": relation == "add-remove"}
        form["chance"] = Chance(_tossed, _coin_bytes)
        yield case("subsampled", worlds()["a box"], **form)
        yield case("subsampled tally", worlds()["a line"], **form, hold=_as_tally)


def _mapped() -> Iterator[Case]:
    smaller = mdp.EuclideanSpace([0.0], [1.2])

    def elsewhere(demand: PrivateDemand, ledger: Ledger) -> Any:
        return counted(
            mapped(demand, Coded(demand.universe, lambda points: points / 2), smaller), ledger
        )

    world = worlds()["a box"]
    for relation, m in FORMS:
        some = demands(3, 2) if m is None else demands(3, 2, 2, 3)
        form = (some, relation, m)
        yield Case("mapped, counts", world, elsewhere, *form, reach=0.3, essential=m is None)
        case = Case("counts by paths", world, _by_paths, *form, reach=0.3, hold=_as_listed)
        yield replace(case, essential=m is None and relation == "add-remove")


def _by_paths(demand: PrivateDemand, ledger: Ledger) -> Any:
    """Pre-aggregated counts of a quadtree's cells."""
    tree = ShiftedQuadtree(cast(Any, demand.universe))
    query = HistogramQuery(tree.root_cell().split([0]).split([1, 2]))
    return asked(query, PRICE, preaggregated(demand, tree), ledger)


def _as_listed(universe: Any, records: Sequence[Any], users: Any, m: int | None) -> Any:
    """A demand as an engine makes it: records that are summed block by block."""
    demand = PrivateDemand(universe, records, user=users, max_contributions=m)
    return demand._restricted(Listed(_vault._open(demand)), universe)


def _asked() -> Iterator[Case]:
    """Whole calls of `k_median` with each method, and of `release`."""
    for method in mdp.METHODS:
        name = "two points" if mdp.methods.BY_NAME[method].in_finite else "a box"
        world = worlds()[name]
        some = demands(len(world.places), 2 if name == "two points" else 1)
        reach = 0.9 if method == FIRST else 0.0
        for relation in RELATIONS:
            call = partial(_answer, method)
            kind = f"k_median, {method}"
            essential = method == FIRST and relation == "add-remove"
            yield Case(kind, world, call, some, relation, reach=reach, essential=essential)
    two = worlds()["two points"]
    for kind, hint, relation in (
        ("release", None, RELATIONS[0]),
        ("release, hint", 50.0, RELATIONS[1]),
    ):
        call = partial(_release, hint)
        form = (demands(2, 2), relation, None, (1, 0), 0.9)
        yield Case(kind, two, call, *form, journal=True, essential=bool(hint))


def _answer(method: str, demand: Any, ledger: Ledger) -> Any:
    asked: dict[str, Any] = {"epsilon": EPSILON, "ledger": ledger, "method": method}
    return mdp.k_median(demand.universe, demand, 2, **asked)


def _release(hint: float | None, demand: Any, ledger: Ledger) -> Any:
    asked: dict[str, Any] = {"epsilon": EPSILON, "ledger": ledger, "records_hint": hint}
    noisy = mdp.release(demand.universe, demand, **asked)
    return [noisy, noisy.histogram, noisy.k_median(1), noisy.k_means(2), noisy.receipt]
