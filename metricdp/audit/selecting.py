"""Cases of selections under their exact distributions: single, from a zCDP accountant, and covering
loops. Long covering loops (repeated exponential mechanism), over so many rounds that the bound is
tight, are compared by their exact delta with their price.

In long loops sets are disjoint and may be selected again. The demand is one unit or none at the
first set. Scripted runs of the real gate yield scores and eta, from which the distribution of the
privacy loss is computed round by round.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache, partial
from itertools import permutations, product
from typing import Any

import numpy as np

from metricdp.accounting import Cost, Ledger, selection_epsilon
from metricdp.arguments import Floats, Ints
from metricdp.audit import distributions
from metricdp.audit.exact import Case
from metricdp.audit.patch import patched
from metricdp.audit.report import Check, Finding, weighed
from metricdp.audit.worlds import (
    FORMS,
    RELATIONS,
    asked,
    demands,
    emptiness,
    finest,
    small_demands,
    worlds,
)
from metricdp.errors import BudgetError
from metricdp.metrics import PrecomputedMetric
from metricdp.metrics.set_systems import Balls, ListedSets
from metricdp.metrics.vectors import GroundSet
from metricdp.privacy import (
    CentersQuery,
    CostQuery,
    CoverageQuery,
    CoverQuery,
    PrivateDemand,
    SwapQuery,
    cover,
    gate,
    select,
)
from metricdp.records.engines.sources import Tally
from metricdp.releases import Neighboring

COVER_CHECK = "exact distribution of many rounds"
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
    return weighed(name, claim, found, COVER_CHECK, needed / delta, needed < loop.reach * delta)


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


LARGE = Fraction(5)
"""Epsilon so large that demands of few records come close to the worst one."""
MUCH = partial(Cost.of, LARGE)
RHO_BUDGET = (Fraction(6), Fraction(1, 100))
SPENT = "selections until a zCDP accountant is spent"


def selecting_cases() -> Iterator[Case]:
    """All selections of the gate."""
    for make in (_selections, _zcdp_cases, _covers, _single, _searches):
        yield from make()


def _selections() -> Iterator[Case]:
    every = worlds()
    for name in ("two points", "three points", "a path"):
        world = every[name]
        universe = world.universe
        queries = {
            "CostQuery": CostQuery(universe),
            "CostQuery, squared": CostQuery(universe, power=2),
            "CostQuery, one center": CostQuery(universe, [universe.ids[0]], cap=1.0),
            "CoverageQuery": CoverageQuery(universe, 0),
        }
        points = len(world.places)
        two = points == 2
        for (kind, query), (relation, m) in product(queries.items(), FORMS):
            some = demands(points, 5 if two else 3) if m is None else demands(points, 2, 3, 4)
            reach = 0.85 if two and m is None and kind != "CostQuery, one center" else 0.2
            essential = two and kind in ("CostQuery", "CoverageQuery")
            essential = essential and (m is None or relation == "add-remove")
            form = (some, relation, m, (LARGE, 0), reach)
            yield Case(kind, world, partial(asked, query, MUCH), *form, essential=essential)


@cache
def _each(times: int) -> Fraction:
    """Epsilon of each of a number of selections from the accountant."""
    return selection_epsilon(Cost.zcdp(*RHO_BUDGET), times)


def _zcdp_cases() -> Iterator[Case]:
    """Adaptive selections charged to one zCDP accountant, judged together."""
    cost = Cost.zcdp(*RHO_BUDGET)
    two = worlds()["two points"]
    coverage = partial(CoverageQuery, two.universe, 0)

    def covering(times: int, demand: PrivateDemand, ledger: Ledger) -> Any:
        budget = ledger.charge(cost)
        each = _each(times)
        return [select(demand, coverage(), each, budget) for _ in range(times)]

    def until_spent(demand: PrivateDemand, ledger: Ledger) -> Any:
        budget = ledger.charge(cost)
        return _until_refused(lambda: select(demand, coverage(), _each(3), budget))

    def any_mechanism(demand: PrivateDemand, ledger: Ledger) -> Any:
        accountant, each = ledger.charge(cost), _each(4)
        return _until_refused(
            lambda: emptiness(demand, each, accountant.charge(Cost.selection(each)))
        )

    case = partial(Case, world=two, budget=RHO_BUDGET, reach=0.5, rho=cost.rho)
    short: dict[str, Any] = {"relation": "add-remove", "essential": True}
    name = "any mechanism, until a zCDP accountant is spent"
    yield case(name, call=any_mechanism, demands=demands(2, 2), **short)
    yield case(SPENT, call=until_spent, demands=demands(2, 4), **short)
    for relation, times in product(RELATIONS, (1, 4)):
        form: dict[str, Any] = {
            "relation": relation,
            "essential": times == 4 and relation == "add-remove",
        }
        name, call = f"{times} selections from a zCDP accountant", partial(covering, times)
        yield case(name, call=call, demands=demands(2, 6), **form)


def _until_refused(ask: Callable[[], Any]) -> list[Any]:
    """All answers until the budget is spent, and the message of the refusal."""
    answers: list[Any] = []
    while True:
        try:
            answers.append(ask())
        except BudgetError as refused:
            return [*answers, str(refused)]


def _covers() -> Iterator[Case]:
    """Covering loops of few rounds (long ones: `metricdp.audit.selecting`)."""

    every = worlds()
    for name in ("two points", "three points", "a path"):
        world = every[name]
        points = len(world.places)
        listed = ListedSets(np.arange(points + 1), np.arange(points), points)
        overlapping = ListedSets([0, 2, 3], [0, 1, 1], points)
        balls = [(Balls(world.universe, radius), 1) for radius in (0, 1)]
        queries: dict[str, Any] = {
            "CoverQuery": ([(listed, 1), (listed, 1)], (LARGE, 0)),
            "CoverQuery, overlapping sets": ([(overlapping, 2), (listed, 1)], (LARGE, 0)),
            "CoverQuery, balls": (balls, (LARGE, 0)),
        }
        if points == 2:
            queries["CoverQuery, with delta"] = ([(listed, 1)] * 4, (1, Fraction(1, 10)))
        for (kind, (stages, budget)), (relation, m) in product(queries.items(), FORMS):
            few = demands(points, 5 if points == 2 else 2)
            some = few if m is None else small_demands(world, m)
            essential = name == "two points" and m is None and kind == "CoverQuery"
            form = (some, relation, m, budget, 0.7 if essential else 0.0)
            query = partial(CoverQuery, finest(world.universe), stages)
            call = partial(asked, query, partial(Cost.of, *budget))
            yield Case(kind, world, call, *form, essential=essential)


SMALL = Fraction(1, 100)
"""Epsilon so small that a selection is nearly uniform."""


def _single() -> Iterator[Case]:
    """Queries on a path of four vertices, where one record at an end attains the sensitivity."""
    world = worlds()["a path"]
    path = world.universe
    between = partial(SwapQuery, path, candidates=[0, 3])
    several = [[0, 1], [1, 3], [1, 2]]
    queries: dict[str, tuple[Any, float]] = {
        "SwapQuery": (partial(between, [1, 2]), 0.7),
        "SwapQuery, squared": (partial(between, [1, 2], power=2), 0.7),
        "SwapQuery, one center": (partial(between, [1]), 0.85),
        "SwapQuery, one center, cap": (partial(between, [1], cap=1.0), 0.85),
        "SwapQuery, one opened": (partial(SwapQuery, path, [1, 2], opened=[1]), 0.3),
        "CentersQuery": (partial(CentersQuery, path, [[0], [3]]), 0.85),
        "CentersQuery, squared": (partial(CentersQuery, path, several, power=2), 0.7),
    }
    short = ("SwapQuery", "CentersQuery", "SwapQuery, one center, cap")
    for (kind, (query, reach)), (relation, m) in product(queries.items(), FORMS):
        some = demands(4, 3) if m is None else demands(4, 2, 3, 3)
        essential = kind in short and (m is None or kind == "SwapQuery")
        least = reach if m is None and relation == "add-remove" else reach / 3
        form = (some, relation, m, (LARGE, 0), least)
        yield Case(kind, world, partial(asked, query, MUCH), *form, essential=essential)


def _searches() -> Iterator[Case]:
    world = worlds()["a path"]

    def after_a_swap(demand: PrivateDemand, ledger: Ledger) -> Any:
        """The second selection uses sums updated after the first, which is nearly uniform."""
        budget = ledger.charge(LARGE + SMALL)
        query = SwapQuery(world.universe, [1])
        index, first = select(demand, query, SMALL, budget)
        second = select(demand, query.swapped(index), LARGE, budget)
        return [index, first, second, str(query), repr(budget)]

    for relation in RELATIONS:
        some = demands(4, 3)
        name, essential = "a swap after a swap", relation == "add-remove"
        form = (some, relation, None, (6, 0), 0.2)
        yield Case(name, world, after_a_swap, *form, essential=essential)


CHECK = "score by score"
FAR = 671_088_640.0
"""A cost so large that the sum of 13,743,895,347 records' costs is the last to fit int64."""


def saturation_checks() -> Iterator[Check]:
    """The check of saturated scores."""
    yield Check.of("swaps of very many records", True, _swaps)


def _swaps(name: str, quick: bool) -> Finding:
    """No score may change by more than the sensitivity, and none may overflow."""
    universe = PrecomputedMetric([[0.0, FAR, FAR], [FAR, 0.0, FAR], [FAR, FAR, 0.0]])
    query = SwapQuery(universe, [1])
    claim = query.sensitivity("add-remove", 1)
    worst = 0
    for n in (0, 2**31, 13_743_895_346, 13_743_895_347, 2**40, 2**60):
        some: Iterator[Any] = (Tally(np.array([0]), np.array([size])) for size in (n, n + 1))
        one, more = (np.concatenate(list(query.blocks(held))).tolist() for held in some)
        worst = max(worst, *(abs(a - b) for a, b in zip(one, more)))
        if max(*one, *more) > 0:
            worst = max(worst, *one, *more)
    share = worst / claim if claim else math.inf
    return weighed(name, f"a score moves by {claim:,} at most", f"{worst:,}", CHECK, share)
