"""What is held to its exact law: every query of the gate, alone and composed, and every method on
every kind of universe.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from metricdp.audit.capping import capping_cases, contribution_cases
from metricdp.audit.centers import center_cases
from metricdp.audit.doors import door_cases
from metricdp.audit.evaluating import evaluation_cases
from metricdp.audit.exact import Case
from metricdp.audit.looking import look_cases
from metricdp.audit.papers import paper_cases
from metricdp.audit.patch import patched
from metricdp.audit.prices import price_cases
from metricdp.audit.rounds import round_cases
from metricdp.audit.searching import search_cases
from metricdp.audit.sharing import sharing_cases
from metricdp.audit.snapping import snap_cases
from metricdp.audit.tape import Tape, recorded
from metricdp.audit.worlds import (
    RELATIONS,
    Demand,
    Labels,
    UnitCells,
    World,
    demands,
    finest,
    small_nets,
    worlds,
)

EPSILON = Fraction(7, 10)
SELECT = Fraction(2)
LARGE = Fraction(5)
"""Of counts; of selections; and, for selections, so large that few records come close to the worst
demand of all.
"""
GAUSS = (Fraction(4), Fraction(1, 1000))
POOL = (Fraction(6), Fraction(1, 100))
SPENT = "selections until a pool is spent"
LONG = ("lloyd", "k-variates", "balcan", "coreset")
"""Methods of many reads or parts: their laws are followed in the full form only."""

UNITS: tuple[int | None, ...] = (None, 1, 3)


def cases() -> Iterator[tuple[Case, bool]]:
    """All cases, and whether each is in the short form too, where those are left out whose
    mechanism another case shows.
    """
    own = (_counts, _gaussians, _selections, _pools, _covers, _composed, _methods, _rounds, _levels)
    more = (search_cases, round_cases, center_cases, evaluation_cases, paper_cases, door_cases)
    users = (sharing_cases, capping_cases, contribution_cases)
    for make in (*own, *more, snap_cases, look_cases, *users, price_cases):
        yield from make()


def small_demands(world: World, m: int | None) -> list[Demand]:
    """Demands that tell the sensitivities apart: three records, or two users of whom one has more
    records than are kept.
    """
    if m is None:
        return demands(len(world.places), 3)
    if len(world.places) == 2:
        return [d for d in demands(2, 2, m + 1) if sum(map(len, d)) <= m + 3]
    return [d for d in demands(len(world.places), 2, 2) if sum(map(len, d)) <= 3]


def _measure(query: Any, epsilon: Any, delta: Any, demand: Any, ledger: Any) -> Any:
    from metricdp.privacy import measure

    return measure(demand, query, epsilon, ledger.charge(epsilon, delta), delta)


def _counts() -> Iterator[tuple[Case, bool]]:
    from metricdp.privacy import CountQuery, HistogramQuery, LevelsQuery, SumsQuery

    every = worlds()
    for name in ("two points", "three points", "a zero-distance pair", "a box"):
        world = every[name]
        box = name == "a box"
        fine = HistogramQuery(UnitCells(world.universe) if box else finest(world.universe))
        queries: dict[str, Any] = {"HistogramQuery": fine, "CountQuery": CountQuery()}
        if box:
            queries["SumsQuery"] = SumsQuery(fine, bits=3)
            folded = SumsQuery(fine, 3, [[1.0], [1.0], [1.5]], [0.25, 0.25, 0.5], folded=True)
            queries["SumsQuery, folded, in levels"] = LevelsQuery(
                (folded, SumsQuery(fine, 3, [1.0], 0.25))
            )
            queries["SumsQuery from centers"] = SumsQuery(
                fine, 3, [[1.0], [1.0], [1.5]], [0.25, 0.25, 0.5]
            )
        if name == "two points":
            queries["HistogramQuery with an empty part"] = HistogramQuery(
                Labels(world.universe, (0, 2), 3)
            )
            queries["LevelsQuery"] = LevelsQuery(
                (HistogramQuery(Labels(world.universe, (0, 0), 1)), fine)
            )
        for kind, query in queries.items():
            for relation in RELATIONS:
                for m in UNITS:
                    essential = (
                        name == "two points"
                        and m != 1
                        and kind != "HistogramQuery with an empty part"
                    )
                    reach = 0.999
                    if kind == "LevelsQuery" and relation == "replace-one":
                        # the top level does not move: its share of the bound is not reached
                        reach = 0.5
                    if kind == "CountQuery" and relation == "replace-one" and m != 3:
                        reach = 0.0  # sensitivity 0: exact, and the same for all neighbors
                    if m == 3 and name != "two points":
                        reach = 0.3  # users of two records
                    if kind.startswith(
                        "SumsQuery"
                    ):  # of the whole box: the places are not at its opposite ends
                        essential = m is None
                        reach = min(reach, 0.8 if kind == "SumsQuery" else 1.0)
                    call = partial(_measure, query, EPSILON, 0)
                    yield (
                        Case(kind, world, call, small_demands(world, m), relation, m, reach=reach),
                        essential,
                    )


def _gaussians() -> Iterator[tuple[Case, bool]]:
    from metricdp.accounting import Cost
    from metricdp.privacy import HistogramQuery, LevelsQuery

    world = worlds()["two points"]
    fine = HistogramQuery(finest(world.universe))
    rho = Cost.zcdp(*GAUSS).rho

    def pooled(query: Any, demand: Any, ledger: Any) -> Any:
        from metricdp.privacy import measure

        cost = Cost.zcdp(*GAUSS)
        return measure(demand, query, cost.epsilon, ledger.charge(cost), cost.delta)

    for relation in RELATIONS:
        for m in (None, 2):
            some = demands(2, 3) if m is None else demands(2, 2, 2)
            yield (
                Case(
                    "HistogramQuery, Gaussian",
                    world,
                    partial(pooled, fine),
                    some,
                    relation,
                    m,
                    GAUSS,
                    0.9,
                    rho=rho,
                ),
                True,
            )
    levels = LevelsQuery((fine,) * 1)
    yield (
        Case(
            "LevelsQuery, Gaussian",
            world,
            partial(pooled, levels),
            demands(2, 3),
            "replace-one",
            None,
            GAUSS,
            0.9,
            rho=rho,
        ),
        False,
    )


def _selections() -> Iterator[tuple[Case, bool]]:
    from metricdp.privacy import CostQuery, CoverageQuery

    def one(query: Any, demand: Any, ledger: Any) -> Any:
        from metricdp.privacy import select

        return select(demand, query, LARGE, ledger.charge(LARGE))

    every = worlds()
    for name in ("two points", "three points", "a path"):
        world = every[name]
        universe = world.universe
        some = demands(len(world.places), 5 if len(world.places) == 2 else 3)
        queries = {
            "CostQuery": CostQuery(universe),
            "CostQuery, squared": CostQuery(universe, power=2),
            "CostQuery, one center": CostQuery(universe, [universe.ids[0]], cap=1.0),
            "CoverageQuery": CoverageQuery(universe, 0),
        }
        for kind, query in queries.items():
            for relation in RELATIONS:
                for m in (None, 2):
                    if m is not None:
                        some_users = [
                            d for d in demands(len(world.places), 2, 3) if sum(map(len, d)) <= 4
                        ]
                    chosen = some if m is None else some_users
                    reach = (
                        0.85
                        if name == "two points" and m is None and kind != "CostQuery, one center"
                        else 0.2
                    )
                    essential = name == "two points" and kind in ("CostQuery", "CoverageQuery")
                    yield (
                        Case(
                            kind, world, partial(one, query), chosen, relation, m, (LARGE, 0), reach
                        ),
                        essential,
                    )


def _pools() -> Iterator[tuple[Case, bool]]:
    """Selections from a pool: the exact law of all answers together, each chosen in view of those
    before.
    """
    from metricdp.accounting import Cost, selection_epsilon
    from metricdp.errors import BudgetError
    from metricdp.privacy import CostQuery, CoverageQuery, select

    cost = Cost.zcdp(*POOL)

    def covering(times: int, demand: Any, ledger: Any) -> Any:
        grant = ledger.charge(cost)
        each = selection_epsilon(cost, times)
        return [
            select(demand, CoverageQuery(demand.universe, 0), each, grant) for _ in range(times)
        ]

    def greedy(times: int, demand: Any, ledger: Any) -> Any:
        grant = ledger.charge(cost)
        each = selection_epsilon(cost, times)
        centers: list[Any] = []
        for _ in range(times):
            position, receipt = select(demand, CostQuery(demand.universe, centers), each, grant)
            centers.append(demand.universe.ids[position])
        return centers, receipt

    def until_spent(demand: Any, ledger: Any) -> Any:
        grant = ledger.charge(cost)
        each = selection_epsilon(cost, 3)
        answers: list[Any] = []
        while True:
            try:
                answers.append(select(demand, CoverageQuery(demand.universe, 0), each, grant))
            except BudgetError as refused:
                return [*answers, str(refused)]

    def any_mechanism(demand: Any, ledger: Any) -> Any:
        pool = ledger.charge(cost)
        each = selection_epsilon(cost, 4)
        answers: list[Any] = []
        while True:
            try:
                answers.append(_emptiness(demand, each, pool.charge(Cost.selection(each))))
            except BudgetError as refused:
                return [*answers, str(refused)]

    every = worlds()
    yield (
        Case(
            "any mechanism, until a pool is spent",
            every["two points"],
            any_mechanism,
            demands(2, 2),
            "add-remove",
            None,
            POOL,
            0.5,
            rho=cost.rho,
        ),
        True,
    )
    yield (
        Case(
            SPENT,
            every["two points"],
            until_spent,
            demands(2, 4),
            "add-remove",
            None,
            POOL,
            0.5,
            rho=cost.rho,
        ),
        True,
    )
    for relation in RELATIONS:
        for times in (1, 4):
            yield (
                Case(
                    f"{times} selections from a pool",
                    every["two points"],
                    partial(covering, times),
                    demands(2, 6),
                    relation,
                    None,
                    POOL,
                    0.5,
                    rho=cost.rho,
                ),
                times == 4,
            )
        yield (
            Case(
                "3 greedy centers from a pool",
                every["three points"],
                partial(greedy, 3),
                demands(3, 3),
                relation,
                None,
                POOL,
                0.01,
                rho=cost.rho,
            ),
            False,
        )


def _covers() -> Iterator[tuple[Case, bool]]:
    """Covering loops of few rounds, whose whole law can be followed; `metricdp.audit.covering` has
    the long ones.
    """
    from metricdp.accounting import Cost
    from metricdp.metrics.set_systems import Balls, ListedSets
    from metricdp.privacy import CoverQuery, cover

    def covering(stages: Any, budget: tuple[Any, Any], demand: Any, ledger: Any) -> Any:
        query = CoverQuery(finest(demand.universe), stages)
        return cover(demand, query, Cost.of(*budget), ledger.charge(*budget))

    every = worlds()
    for name in ("two points", "three points", "a path"):
        world = every[name]
        points = len(world.places)
        listed = ListedSets(np.arange(points + 1), np.arange(points), points)
        overlapping = ListedSets([0, 2, 3], [0, 1, 1], points)
        queries: dict[str, Any] = {
            "CoverQuery": ([(listed, 1), (listed, 1)], (LARGE, 0)),
            "CoverQuery, overlapping sets": ([(overlapping, 2), (listed, 1)], (LARGE, 0)),
            "CoverQuery, balls": (
                [(Balls(world.universe, 0), 1), (Balls(world.universe, 1), 1)],
                (LARGE, 0),
            ),
        }
        if points == 2:
            queries["CoverQuery, with delta"] = ([(listed, 1)] * 4, (1, Fraction(1, 10)))
        for kind, (stages, budget) in queries.items():
            for relation in RELATIONS:
                for m in (None, 2):
                    some = (
                        demands(points, 5 if points == 2 else 2)
                        if m is None
                        else small_demands(world, m)
                    )
                    reach = (
                        0.7 if name == "two points" and m is None and kind == "CoverQuery" else 0.0
                    )
                    essential = name == "two points" and m is None and kind != "CoverQuery, balls"
                    yield (
                        Case(
                            kind,
                            world,
                            partial(covering, stages, budget),
                            some,
                            relation,
                            m,
                            budget,
                            reach,
                        ),
                        essential,
                    )

    def published(demand: Any, ledger: Any) -> Any:
        import metricdp as mdp

        printed = mdp.methods.MaxCoverage(published=True, picks=1)
        return mdp.k_median(
            demand.universe, demand, 1, epsilon=4, delta="1/10", ledger=ledger, method=printed
        )

    def hashed(demand: Any, ledger: Any) -> Any:
        import metricdp as mdp

        found = mdp.methods.MaxCoverage(net_dimensions=0, picks=1)
        return mdp.k_means(demand.universe, demand, 2, epsilon=4, ledger=ledger, method=found)

    for relation in RELATIONS:
        some = demands(2, 2)
        yield (
            Case(
                "k_median, max-coverage as published",
                every["two points"],
                published,
                some,
                relation,
                None,
                (4, "1/10"),
                0.01,
            ),
            True,
        )
        yield (
            Case(
                "k_means, max-coverage by hashing",
                every["a box"],
                hashed,
                demands(3, 1),
                relation,
                None,
                (4, 0),
                0.01,
            ),
            False,
        )


def _composed() -> Iterator[tuple[Case, bool]]:
    from metricdp.errors import BudgetError
    from metricdp.metrics import EuclideanMetric
    from metricdp.privacy import HistogramQuery, measure, moved, split

    world = worlds()["two points"]
    query = HistogramQuery(finest(world.universe))
    one_part = HistogramQuery(Labels(world.universe, (0, 0), 1))

    def parts(demand: Any, ledger: Any) -> Any:
        halves = split(demand, finest(world.universe), EPSILON, ledger)
        return [measure(part, one_part, EPSILON, grant) for part, grant in halves]

    def worst(demand: Any, ledger: Any) -> Any:
        return [
            _emptiness(part, EPSILON, grant)
            for part, grant in split(demand, finest(world.universe), EPSILON, ledger)
        ]

    def twice(demand: Any, ledger: Any) -> Any:
        grant = ledger.charge(EPSILON)
        answers = [
            measure(demand, one_part, EPSILON / 2, grant),
            measure(demand, one_part, EPSILON / 2, grant),
        ]
        try:
            answers.append(measure(demand, one_part, EPSILON / 2, grant))
        except BudgetError as refused:
            return [*answers, str(refused)]
        return answers

    def refused(demand: Any, ledger: Any) -> Any:
        return measure(demand, query, EPSILON, ledger.charge(EPSILON / 2))

    line = EuclideanMetric([[0.0], [1.0], [2.0]])

    def elsewhere(demand: Any, ledger: Any) -> Any:
        there = moved(demand, UnitCells(demand.universe), line)
        return measure(there, HistogramQuery(finest(line)), EPSILON, ledger.charge(EPSILON))

    for relation in RELATIONS:
        for m in (None, 1, 2):
            some = small_demands(world, None) if m is None else demands(2, 2, 2)
            yield (
                Case(
                    "split, counts",
                    world,
                    parts,
                    some,
                    relation,
                    m,
                    (4, 0),
                    0.999 if m is None else 0.4,
                ),
                m is None,
            )
            reach = (
                0.4 if relation == "replace-one" and m == 2 else 0.999
            )  # two parts cannot tell more than twice their epsilon
            yield (
                Case("split, any mechanism", world, worst, some, relation, m, (4, 0), reach),
                m != 1,
            )
            box = worlds()["a box"]
            reach = 0.999 if m is None else 0.3
            yield (
                Case(
                    "moved, counts",
                    box,
                    elsewhere,
                    small_demands(box, m),
                    relation,
                    m,
                    (1, 0),
                    reach,
                ),
                m == 2,
            )
        some = small_demands(world, None)
        yield (
            Case("a grant spent in pieces", world, twice, some, relation, None, (4, 0), 0.0),
            relation == "add-remove",
        )
    yield (
        Case(
            "a call beyond its grant",
            world,
            refused,
            small_demands(world, None),
            "add-remove",
            None,
            (1, 0),
            0.0,
            refused=True,
        ),
        True,
    )


def _emptiness(demand: Any, epsilon: Fraction, grant: Any) -> int:
    """Randomized response to "is anyone here?": epsilon-DP, and one record more turns its whole
    epsilon, however many a user may have.
    """
    from metricdp.privacy import _vault, gate

    grant.draw(epsilon)
    empty = len(_vault._open(demand)) == 0
    return gate.choose(
        [np.array([empty, not empty], dtype=np.int64)], epsilon, "exponential mechanism"
    )


def _offered(method: str, world: World) -> bool:
    """Whether a method answers in this kind of universe at all, by trying it on nobody."""
    import metricdp as mdp

    try:
        with recorded(Tape()), small_nets():
            mdp.k_median(
                world.universe, mdp.PrivateDemand(world.universe, []), 1, epsilon=1, method=method
            )
    except mdp.InputError:
        return False
    return True


def _methods() -> Iterator[tuple[Case, bool]]:
    import metricdp as mdp

    def answers(ask: Callable[..., Any], method: str, demand: Any, ledger: Any) -> Any:
        return ask(demand.universe, demand, 2, epsilon=EPSILON, ledger=ledger, method=method)

    def release(hint: float | None, demand: Any, ledger: Any) -> Any:
        noisy = mdp.release(
            demand.universe, demand, epsilon=EPSILON, ledger=ledger, records_hint=hint
        )
        return [noisy, noisy.histogram, noisy.k_median(1), noisy.k_means(2), noisy.receipt]

    for name, world in worlds().items():
        few = 1 if name in ("a box", "a zero-distance pair") else 2
        for method in mdp.METHODS:
            if not _offered(method, world):
                continue
            reach = (
                (0.8 if name == "a box" else 0.9) if method == "partition" else 0.0
            )  # in a box the last step has 15 %
            for relation in RELATIONS:
                for m in (None, 2) if name == "two points" else (None,):
                    some = [
                        d
                        for d in demands(len(world.places), few, 1 if m is None else 3)
                        if sum(map(len, d)) <= 4
                    ]
                    both = name == "two points" or (name, method) == ("a box", "partition")
                    for ask in (mdp.k_median, mdp.k_means) if both else (mdp.k_median,):
                        case = Case(
                            f"{ask.__name__}, {method}",
                            world,
                            partial(answers, ask, method),
                            some,
                            relation,
                            m,
                            (1, 0),
                            reach,
                        )
                        first = "two points" if mdp.methods.BY_NAME[method].in_finite else "a box"
                        yield (
                            case,
                            ask is mdp.k_median
                            and name == first
                            and m is None
                            and method not in LONG,
                        )
        some = demands(len(world.places), few)
        for kind, hint, relation in (
            ("release", None, "add-remove"),
            ("release, hint", 50.0, "replace-one"),
        ):
            case = Case(
                kind,
                world,
                partial(release, hint),
                some,
                relation,
                None,
                (1, 0),
                0.9,
                journal=name == "two points",
            )
            yield case, name == ("a path" if hint is None else "two points")


def _rounds() -> Iterator[tuple[Case, bool]]:
    """The default method in a box of four dimensions: all designs that a number of records leads
    to, by Laplace and by Gaussian noise.
    """
    import metricdp as mdp
    from metricdp.accounting import Cost
    from metricdp.methods import shares
    from metricdp.methods.box import rounds

    space = mdp.EuclideanSpace([0.0] * 4, [1.0] * 4)
    world = World("a box in R^4", space, [[0.0] * 4, [1.0] * 4])

    def ask(design: str, hint: float, delta: Any, demand: Any, ledger: Any) -> Any:
        with ExitStack() as stack:
            # the tape's noise goes beyond sums of a few records in 2^3 steps
            stack.enter_context(patched(shares, "SUM_BITS", 3))
            stack.enter_context(patched(rounds, "A_CENTER", (1, 2)))
            result = mdp.k_means(
                space, demand, 1, epsilon=EPSILON, delta=delta, ledger=ledger, records_hint=hint
            )
        if result.release.design.name != design:
            raise AssertionError(f"{result.release.design.name} in place of {design}")
        return [result, result.release, result.release.histogram, result.release.k_median(1)]

    for few, relation in enumerate(RELATIONS, 1):
        for delta, hints in ((0, (10**6, 350, 1)), (Fraction(1, 100), (10**6, 70, 1))):
            rho = Cost.zcdp(EPSILON, delta).rho if delta else None
            for design, hint in zip(("rounds", "subspace", "mean"), hints):
                name = f"k_means, {design}{', Gaussian' if delta else ''}"
                reach = (
                    0.2
                    if (relation, design, bool(delta)) == ("replace-one", "rounds", True)
                    else 0.5
                )
                call = partial(ask, design, float(hint * few), delta)
                yield (
                    Case(
                        name,
                        world,
                        call,
                        demands(2, 1),
                        relation,
                        None,
                        (1, delta),
                        reach,
                        rho=rho,
                        steps=True,
                        limit=20,
                    ),
                    False,
                )


def _levels() -> Iterator[tuple[Case, bool]]:
    """The methods hst and quadtree with several levels, by their papers' shares."""
    import metricdp as mdp

    def ask(demand: Any, ledger: Any) -> Any:
        printed = mdp.methods.DPHST(levels=2, budget="geometric")
        result = mdp.k_median(
            demand.universe, demand, 2, epsilon=EPSILON, ledger=ledger, method=printed
        )
        return [result, result.release.counts.measured]

    for relation in RELATIONS:
        yield (
            Case(
                "k_median, hst by levels",
                worlds()["a path"],
                ask,
                demands(4, 1),
                relation,
                None,
                (1, 0),
                0.9,
            ),
            True,
        )

    def cells(demand: Any, ledger: Any) -> Any:
        printed = mdp.methods.Quadtree(published=True, depth=2, threshold=0.02, steps=0)
        result = mdp.k_median(
            demand.universe, demand, 2, epsilon=EPSILON, ledger=ledger, method=printed
        )
        return [result, result.release.counts.measured]

    for relation in RELATIONS:
        yield (
            Case(
                "k_median, quadtree by levels",
                worlds()["a box"],
                cells,
                demands(3, 1),
                relation,
                None,
                (1, 0),
                0.5,
            ),
            True,
        )
