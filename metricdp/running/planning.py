"""Predicts the accuracy at each epsilon by simulation: the real mechanism on synthetic demand.

Accuracy depends on the universe, k, the number of records and their distribution. The first two are
public and the third is the caller's guess. Synthetic demand is spread evenly, and around hot spots
of several widths. The mechanism's centers are compared with those of the same solver without noise.
The least epsilon for a target (nine runs in ten cost at most a given factor of the best known) is
estimated from these runs.

**Privacy.** No argument is private. A plan costs nothing and may be published, as long as `records`
is a public guess and not a count of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from fractions import Fraction
from html import escape
from typing import Any, Literal, NamedTuple

import numpy as np

from metricdp.accounting import Ledger, exact
from metricdp.arguments import Amount, Floats, Ints, chosen, count, listed, shown
from metricdp.columns import aligned
from metricdp.errors import InputError
from metricdp.methods.expected import Expectation
from metricdp.methods.method import Method
from metricdp.methods.question import Result, checked_time_limit
from metricdp.methods.registry import answering, expecting
from metricdp.methods.remarks import percent, remark
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.units import in_words, unit_shown
from metricdp.options import Centers, Coins, coins
from metricdp.partitions.areas import Areas
from metricdp.progress import progress
from metricdp.releases import Neighboring
from metricdp.running.charging import checked_universe
from metricdp.running.made_up import SHAPES, BoxWorld, FiniteWorld, Shape
from metricdp.running.privately import private_answer
from metricdp.solvers.stopping import clock

LADDER = ("0.05", "0.1", "0.2", "0.5", "1", "2", "5", "10")
"""Default budgets that a plan with a target tries."""
REPEATS = 6
"""Synthetic demands of each shape. With 3, a sixth of 200 plans gave too small an epsilon, with 6
a thirtieth, at twice the time.
"""
NINE_IN_TEN = 0.9
"""Share of runs that must stay within the target, and the quantile reported as "9 in 10"."""
CERTAIN = 0.95
"""Share of bootstrap resamples for which the reported epsilon suffices: see `REPEATS`."""
_RESAMPLES = 200
"""Bootstrap resamples: more would change the reported digits less than other demands do."""


class Needed(NamedTuple):
    """The epsilon that a target needs.

    Attributes
    ----------
    epsilon : float or None
        Upper confidence bound: enough for nine runs in ten, for about nine plans in ten. None if
        the largest budget tried is not enough.
    estimate : float or None
        Point estimate of the least epsilon.
    """

    epsilon: float | None
    estimate: float | None


def needed(epsilons: tuple[Fraction, ...], excess: Floats, target: float) -> Needed:
    """The least epsilon for a target.

    Parameters
    ----------
    epsilons : tuple of Fraction
        Ascending.
    excess : ndarray of float64, shape (n_epsilons, n_demands)
        Relative excess cost of each run over the best known.
    target : float
        Largest cost / best known of nine runs in ten; above 1.

    Notes
    -----
    The 0.9-quantile of the excess is computed at each budget and interpolated in between, linearly
    in logarithms. `Needed.epsilon` suffices for 95 % of bootstrap resamples of the demands.

    Examples
    --------
    >>> from fractions import Fraction
    >>> from metricdp.running.planning import needed
    >>> excess = np.array([[0.4, 0.4], [0.1, 0.1], [0.025, 0.025]])
    >>> needed((Fraction(1, 4), Fraction(1), Fraction(4)), excess, 1.05)
    Needed(epsilon=2.0, estimate=2.0)
    """
    sizes = np.array([float(epsilon) for epsilon in epsilons])
    n_demands = excess.shape[1]
    if not n_demands:
        return Needed(None, None)
    coins = np.random.default_rng(0)
    resampled = [
        _least(sizes, excess[:, coins.integers(0, n_demands, n_demands)], target - 1)
        for _ in range(_RESAMPLES)
    ]
    likely = _least(sizes, excess, target - 1)
    enough = max(float(np.quantile(resampled, CERTAIN, method="higher")), likely)
    return Needed(_rounded(enough), _rounded(likely))


def _least(sizes: Floats, excess: Floats, allowed: float) -> float:
    """The epsilon from which on the quantile is at most `allowed`; infinite if there is none."""
    high = np.quantile(excess, NINE_IN_TEN, axis=1, method="higher")
    high = np.maximum.accumulate(high[::-1])[::-1]  # a larger budget is never worse
    if high[-1] > allowed:
        return np.inf
    i = int(np.argmax(high <= allowed))
    if i == 0:
        return float(sizes[0])
    if not np.isfinite(high[i - 1]):
        return float(sizes[i])
    below = max(high[i], allowed / 10)  # zero has no logarithm
    part = np.log(high[i - 1] / allowed) / np.log(high[i - 1] / below)
    return float(sizes[i - 1] * (sizes[i] / sizes[i - 1]) ** part)


def _rounded(epsilon: float) -> float | None:
    """Rounded up to two digits; None if infinite."""
    if not np.isfinite(epsilon):
        return None
    step = 10.0 ** (np.floor(np.log10(epsilon)) - 1)
    return float(f"{np.ceil(epsilon / step - 1e-9) * step:.2g}")


def checked_target(target: float | str) -> float:
    """The ratio of costs from a number, as 1.03, or a percentage above the best, as "3%"."""
    rule = f"target must be a ratio above 1, as 1.03, or a percentage, as '3%'; got {shown(target)}"
    text = str(target).strip()
    ratio = 0.0
    with suppress(ValueError):
        ratio = 1 + float(text[:-1]) / 100 if text.endswith("%") else float(text)
    if isinstance(target, bool) or not 1 < ratio < 1e6:
        raise InputError(rule)
    return ratio


Objective = Literal["k-median", "k-means"]
EPSILONS = ("0.1", "0.5", "1", "2")
"""Default budgets of a plan without a target."""
MOST = 2**31 - 1
"""Largest number of records, of records of one user, and of repeats."""


class Forecast(NamedTuple):
    """Relative excess cost over the best centers known, of runs on synthetic demand at one epsilon:
    its median and 0.9-quantile (`high`); the median over runs of the mean distance.

    Examples
    --------
    >>> metric = mdp.EuclideanMetric([[0, 0], [1, 0], [5, 5], [6, 5]])
    >>> planned = mdp.plan(metric, records=500, k=2, epsilons=[1, 4], repeats=1)
    >>> planned.forecast(1).runs, planned.forecast(1)._fields
    (5, ('median', 'high', 'mean_distance', 'runs'))
    """

    median: float
    high: float
    mean_distance: float
    runs: int

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; null if the best centers known cost nothing."""
        return {
            "median": _finite(self.median),
            "nine_in_ten": _finite(self.high),
            "mean_distance": _finite(self.mean_distance),
            "runs": self.runs,
        }


class AreaCosts(NamedTuple):
    """Exact costs of the synthetic records in each public area with `private` centers (n_epsilons,
    n_shapes, repeats, n_areas), and with `noiseless` centers (n_shapes, repeats, n_areas).
    """

    names: tuple[str, ...]
    private: Floats
    noiseless: Floats

    def excess(self, i: int) -> dict[str, tuple[float, float]]:
        """Median and 0.9-quantile of (cost / cost without noise - 1) by area, at the i-th epsilon;
        areas without cost are left out.
        """
        found = {}
        for at, name in enumerate(self.names):
            cost, best = self.private[i, ..., at], self.noiseless[..., at]
            ran = best > 0
            if ran.any():
                found[name] = _quantiles(cost[ran] / best[ran] - 1)
        return found


@dataclass(frozen=True, eq=False, repr=False)
class Plan:
    """The result of `plan`, all of it public.

    Attributes
    ----------
    universe : Metric or EuclideanSpace
    records, k : int
    method, objective, neighboring : str
    max_contributions : int
    epsilons : tuple of Fraction
        Ascending.
    shapes : tuple of Shape
    cost : ndarray of float64, shape (n_epsilons, n_shapes, repeats)
        Exact cost of the private centers on the synthetic demand; NaN for runs without time.
    reference, blind : ndarray of float64, shape (n_shapes, repeats)
        Cost of the best centers known (found without noise, or better ones found with noise), and
        of centers chosen without any data.
    example : tuple of Result
        For each epsilon, the result for the first synthetic demand of the shape `example_shape`.
    example_centers : list
        Centers of that demand without noise.
    example_shape : str
    target : float or None
        Largest cost / best known for nine runs in ten, if asked for.
    areas : AreaCosts or None
        Costs by area, if `by` was given: ``areas.excess(0)`` of each area.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> planned = mdp.plan(metric, records=9000, k=2, target=1.5, epsilons=[1, 9], repeats=1)
    >>> planned.epsilon, planned.runs, planned.forecast(1).runs, planned.forecast(1, shape=0).runs
    (1.0, 5, 5, 1)
    >>> [row[0] for row in planned.rows()]
    ['epsilon', '1', '9', 'no data']
    """

    universe: Metric | EuclideanSpace
    records: int
    k: int
    method: str
    objective: Objective
    neighboring: Neighboring
    max_contributions: int
    epsilons: tuple[Fraction, ...]
    shapes: tuple[Shape, ...]
    cost: Floats
    reference: Floats
    blind: Floats
    example: tuple[Result, ...] = field(repr=False)
    example_centers: Centers | None = field(repr=False)
    example_shape: str = ""
    target: float | None = None
    areas: AreaCosts | None = None

    @property
    def needed(self) -> Needed:
        """The least epsilon for the target: an upper confidence bound, and an estimate.

        Raises
        ------
        InputError
            The plan was made without a target.
        """
        if self.target is None:
            raise InputError("the least epsilon needs a target: plan(..., target=1.03)")
        ran = ~np.isnan(self.cost[0])
        excess = [_excess(cost[ran], self.reference[ran]) for cost in self.cost]
        found = needed(self.epsilons, np.array(excess), self.target)
        return found if self.runs >= len(self.shapes) else Needed(None, found.estimate)

    @property
    def epsilon(self) -> float | None:
        """Enough epsilon for the target in nine runs of ten; None if no budget tried is enough, or
        the time was too short to try every shape of demand.
        """
        return self.needed.epsilon

    def forecast(self, i: int | None, shape: int | None = None) -> Forecast:
        """Forecast at the i-th epsilon (None: without any data), of all runs or of one shape."""
        at = slice(None) if shape is None else slice(shape, shape + 1)
        cost = (self.blind if i is None else self.cost[i])[at].ravel()
        ran = ~np.isnan(cost)
        if not ran.any():
            return Forecast(np.nan, np.nan, np.nan, 0)
        cost, reference = cost[ran], self.reference[at].ravel()[ran]
        power = 1.0 if self.objective == "k-median" else 0.5
        mean = float(np.median((cost / self.records) ** power))
        median, high = _quantiles(_excess(cost, reference))
        return Forecast(median, high, mean, len(cost))

    def extremes(self, i: int | None) -> tuple[float, float]:
        """Median excess of the easiest and of the hardest shape at the i-th epsilon (None: without
        any data).
        """
        by_shape = [self.forecast(i, j) for j, _ in enumerate(self.shapes)]
        medians = [forecast.median for forecast in by_shape if forecast.runs]
        return min(medians), max(medians)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form; nothing in it is private."""
        asked = ("records", "k", "method", "objective", "neighboring", "max_contributions")
        levels = [
            {"epsilon": float(e), "epsilon_exact": str(e), **self._row(i)}
            for i, e in enumerate(self.epsilons)
        ]
        goal = {} if self.target is None else {"cost": self.target, **self.needed._asdict()}
        return {
            **{name: getattr(self, name) for name in asked},
            **({"target": goal} if goal else {}),
            "basis": "simulation on made-up demand",
            "levels": levels,
            "without_data": self._row(None),
        }

    def _row(self, i: int | None) -> dict[str, Any]:
        by = {} if self.areas is None or i is None else {"by_area": self.areas.excess(i)}
        return {
            **by,
            **self.forecast(i).to_dict(),
            "range": [_finite(excess) for excess in self.extremes(i)],
            "shapes": {s.name: self.forecast(i, j).to_dict() for j, s in enumerate(self.shapes)},
        }

    def rows(self) -> list[tuple[str, ...]]:
        """The table: a header, one row for each epsilon, and one without any data."""
        typical = "mean distance" if self.objective == "k-median" else "rms distance"
        shapes = (shape.name for shape in self.shapes)
        head = ("epsilon", "median", "9 in 10 below", "medians by shape", *shapes, typical)
        columns = [(f"{float(e):g}", i) for i, e in enumerate(self.epsilons)] + [("no data", None)]
        return [head, *((name, *self._cells(i)) for name, i in columns)]

    def _cells(self, i: int | None) -> list[str]:
        whole = self.forecast(i)
        by_shape = [percent(self.forecast(i, j).median) for j, _ in enumerate(self.shapes)]
        low, high = (percent(excess) for excess in self.extremes(i))
        spread = low if low == high else f"{low} to {high}"
        typical = in_words(whole.mean_distance, unit_shown(self.universe))
        return [percent(whole.median), percent(whole.high), spread, *by_shape, typical]

    @property
    def runs(self) -> int:
        """Number of synthetic demands that each epsilon was tried on."""
        return int((~np.isnan(self.cost[0])).sum())

    def remark(self) -> str:
        """One or two sentences on what epsilon achieves at this size, or an empty text."""
        sentence = ""
        if self.target is not None:
            sentence = self._answer()
        elif self.runs >= len(self.shapes):  # else some shapes have not been tried
            forecasts = [self.forecast(i) for i in range(len(self.epsilons))]
            sentence = remark(self.epsilons, forecasts, self.forecast(None))
        return " ".join(filter(None, [sentence, self._worst_area()]))

    def _worst_area(self) -> str:
        """A sentence on the area with the largest excess at the least epsilon."""
        excess = {} if self.areas is None else self.areas.excess(0)
        if not excess:
            return ""
        name = max(excess, key=lambda one: excess[one])  # of equal medians the one of longer tail
        median, high = map(percent, excess[name])
        return (
            f"Of {len(excess)} areas {name} loses most at epsilon {float(self.epsilons[0]):g}: "
            f"{median} over centers without noise, nine runs in ten below {high}."
        )

    def _answer(self) -> str:
        """A sentence on the least epsilon for the target."""
        found = self.needed
        goal = f"at most {percent(float(self.target or 1) - 1)} over the best in nine draws of ten"
        if self.runs < len(self.shapes):
            return (
                f"Too few made-up demands ({self.runs}) to say what is enough for {goal}: it takes "
                f"more time."
            )
        if found.epsilon is None:
            return f"No epsilon up to {float(self.epsilons[-1]):g} is surely enough for {goal}."
        return (
            f"For {goal}: epsilon {found.epsilon:g} (best guess {found.estimate:g}; from "
            f"{self.runs} made-up demands)."
        )

    def caption(self) -> str:
        """What was simulated, and the limits of the figures."""
        runs = self.runs
        records = f"{self.records:,} made-up records"
        shapes = ", ".join(s.name for j, s in enumerate(self.shapes) if self.forecast(0, j).runs)
        users = (
            f", up to {self.max_contributions:,} of one user" if self.max_contributions > 1 else ""
        )
        return (
            f"Cost of private centers beyond that of the best known, mostly found without noise "
            f"(k = {self.k:,}, {self.objective}, "
            f"method {self.method}, {self.neighboring} neighbors), over {runs} runs an epsilon on "
            f"{records}{users}: {shapes}; medians by shape: of the easiest and the hardest of "
            "these. Made up: nothing private took part. Real demand may lie otherwise, and with "
            "fewer records the excess is larger. "
            '"no data": centers of the public universe itself.'
        )

    def __str__(self) -> str:
        return "\n".join([*aligned(self.rows()), *filter(None, [self.remark()]), self.caption()])

    def __repr__(self) -> str:
        text = ", ".join(
            f"{float(e):g}: {percent(self.forecast(i).median)}" for i, e in enumerate(self.epsilons)
        )
        return f"Plan({self.records:,} records, k={self.k:,}, median excess by epsilon {text})"

    def _repr_html_(self) -> str:
        head, *rows = self.rows()
        cells = "".join(f"<th>{escape(c)}</th>" for c in head)
        body = "".join(
            "<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows
        )
        table = f"<table><thead><tr>{cells}</tr></thead><tbody>{body}</tbody></table>"
        paragraph = f"<p><b>{escape(self.remark())}</b></p>" if self.remark() else ""
        return f"{table}{paragraph}<p>{escape(self.caption())}</p>"


def plan(
    universe: Metric | EuclideanSpace,
    *,
    records: int,
    k: int,
    epsilons: Iterable[Amount] | None = None,
    target: float | str | None = None,
    delta: Amount = 0,
    method: str | Method = "partition",
    expected: Expectation | None = None,
    objective: Objective = "k-median",
    by: Any = None,
    neighboring: Neighboring = "add-remove",
    max_contributions: int = 1,
    repeats: int | None = None,
    shapes: Sequence[Shape] = SHAPES,
    seed: int = 0,
    rng: Coins | None = None,
    time_limit: float | None = None,
    watch: Callable[[str, Fraction, float], None] | None = None,
) -> Plan:
    """Predict the accuracy at each epsilon by public simulation.

    Parameters
    ----------
    universe : Metric or EuclideanSpace
    records : int
        A public guess of the number of records.
    k : int
    epsilons : iterable of int, float, str, Decimal or Fraction, optional
        Distinct; by default 0.1, 0.5, 1 and 2, with a target eight values from 0.05 to 10.
    target : float or str, optional
        Largest allowed cost divided by the best known (1.03, or "3%"): `Plan.epsilon` is then
        enough for nine runs in ten.
    delta : same
        Delta that a call may spend, for methods that can use it.
    method : str or Method
    expected : array_like, mapping, pair, Release or "streets", optional
        As `k_median`; synthetic demand and its hot spots follow it.
    objective : {"k-median", "k-means"}
    by : mapping, sequence, GeoDataFrame or GeoSeries, optional
        Public areas, as for `evaluate`: the excess cost of each is reported (`Plan.areas`).
    neighboring : {"add-remove", "replace-one"}
    max_contributions : int
        Records kept of one user: each synthetic user has that many.
    repeats : int, optional
        Synthetic demands of each shape: by default 3, with a target 6. Each is tried at all
        epsilons.
    shapes : sequence of Shape
    seed, rng : int; Generator, SeedSequence or int
        Public randomness (`metricdp.options.coins`) of demand and solvers. Noise is
        never seeded, so figures differ a little between calls.
    time_limit : float, optional
        Seconds after which no further demand is tried; one always is. Every shape is tried once
        before any is tried twice.
    watch : callable, optional
        Called after every run with the name of the shape, epsilon, and the relative excess cost
        over the best known so far.

    Raises
    ------
    InputError
        A bad argument.

    Notes
    -----
    One run of the method for each shape, repeat and epsilon, and one search without noise for each
    shape and repeat, all shorter than those of `k_median`.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.grid_2d_graph(8, 8), weight=None)
    >>> planned = plan(metric, records=2000, k=3, epsilons=["0.01", 5], repeats=2)
    >>> planned.forecast(1).median < planned.forecast(0).median
    True
    """
    allowed = None if target is None else checked_target(target)
    usual = EPSILONS if allowed is None else LADDER
    budgets = checked_epsilons(usual if epsilons is None else epsilons)
    recipe = expecting(answering(method, checked_universe(universe)), universe, expected)
    shapes = _checked_shapes(shapes)
    n = count(records, "records", 1, MOST)
    m = count(max_contributions, "max_contributions", 1, MOST)
    often = 3 if allowed is None else REPEATS
    rounds = count(often if repeats is None else repeats, "repeats", 1, MOST)
    seed = coins(seed, rng)
    power = 2 if chosen(objective, ("k-median", "k-means"), "objective") == "k-means" else 1
    weights = getattr(recipe, "expected", None)
    known = {} if weights is None else {"expected": weights}
    made_in: Any = FiniteWorld if universe.kind == "finite" else BoxWorld
    world = made_in(universe, k, power, seed, **known)
    limit = checked_time_limit(time_limit)
    start = clock()
    areas = None if by is None else Areas.of(universe, by)
    size = (len(shapes), rounds, 1 if areas is None else len(areas.names))
    cost = np.full((len(budgets), *size), np.nan)
    noiseless, blind = np.full((2, *size), np.nan)
    reference = np.full(size[:2], np.nan)
    shown = len(shapes) // 2
    blind_centers = world.blind()
    example: _Demand | None = None
    total = len(shapes) * rounds * (len(budgets) + 1)
    steps = progress(total=total, label="simulating", unit="run")
    for done, (r, s) in enumerate(_schedule(rounds, len(shapes), shown)):
        spent = clock() - start
        # Stop if the next demand would end after the limit, at the mean time so far.
        if limit is not None and done and spent * (done + 1) / done > limit:
            break
        made: Any = world.draw(shapes[s], n, np.random.default_rng([seed, s, r]))
        where = np.zeros(n, np.int64) if areas is None else areas.label(made)
        one = _Demand(world, made, where, size[2])
        steps.update()
        private = world.demand(made, m)
        for i, epsilon in enumerate(budgets):
            ledger = Ledger(epsilon, delta, neighboring)
            result, _ = private_answer(recipe, private, ledger, (epsilon, delta), world.question)
            cost[i, s, r], excess = one.tried(result)
            if watch is not None:
                watch(shapes[s].name, epsilon, excess)
            steps.update()
        noiseless[s, r] = one.refined()
        reference[s, r] = one.best
        blind[s, r] = one.costs(blind_centers)
        example = example or one
    steps.close()
    assert example is not None, "one demand is always tried"
    return Plan(
        universe,
        n,
        int(k),
        recipe.name,
        objective,
        neighboring,
        m,
        budgets,
        tuple(shapes),
        cost.sum(axis=-1),
        reference,
        blind.sum(axis=-1),
        tuple(replace(result, universe=universe, power=power) for result in example.results),
        example.centers[0],
        shapes[shown].name,
        allowed,
        None if areas is None else AreaCosts(areas.names, cost, noiseless),
    )


class _Demand:
    """One synthetic demand: the centers found for it (`centers`, first those without noise), and
    the least cost of any of them (`best`).

    `where` (n_records,): the area of each record, of `n_areas`.
    """

    def __init__(self, world: Any, made: Any, where: Ints, n_areas: int) -> None:
        self.world, self.made, self.where, self.n_areas = world, made, where, n_areas
        self.results: list[Result] = []
        self.centers: list[Any] = [world.search(made)]
        self.best = float(self.costs(self.centers[0]).sum())

    def costs(self, centers: Centers) -> Floats:
        """Exact costs by area, (n_areas,)."""
        cost = self.world.costs(self.made, centers)
        return np.bincount(self.where, cost, self.n_areas).astype(np.float64)

    def tried(self, result: Result) -> tuple[Floats, float]:
        """Costs by area of these private centers, and their excess over the best so far."""
        self.results.append(result)
        self.centers.append(result.centers)
        cost = self.costs(result.centers)
        total = float(cost.sum())
        self.best = min(self.best, total)
        return cost, float(_excess(total, self.best))

    def refined(self) -> Floats:
        """Costs by area of the best centers known: the union of all, searched once more."""
        self.centers[0] = self.world.refined(self.made, self.centers)
        cost = self.costs(self.centers[0])
        self.best = min(self.best, float(cost.sum()))
        return cost


def _checked_shapes(shapes: Sequence[Shape]) -> Sequence[Shape]:
    if not shapes or not all(
        isinstance(s, Shape) and s.spots >= 0 and 0 < s.share <= 1 and 0 <= s.heavy <= 1
        for s in shapes
    ):
        raise InputError(
            "shapes must be at least one Shape(name, spots, share), with a share above 0 and at "
            "most 1"
        )
    return shapes


def _schedule(rounds: int, n_shapes: int, first: int) -> list[tuple[int, int]]:
    """Pairs of a repeat and a shape: all shapes once before the next repeat, `first` first.

    >>> _schedule(1, 3, 1)
    [(0, 1), (0, 0), (0, 2)]
    """
    order = sorted(range(n_shapes), key=lambda s: (s != first, s))
    return [(r, s) for r in range(rounds) for s in order]


def checked_epsilons(epsilons: Iterable[Any]) -> tuple[Fraction, ...]:
    """Distinct positive budgets as exact rationals, ascending."""
    given = listed([epsilons] if isinstance(epsilons, str) else epsilons, "epsilons")
    if not 1 <= len(given) <= 12:
        raise InputError(f"epsilons must be 1 to 12 numbers, got {len(given)}")
    for value in given:
        Ledger(value)  # its own rule and message
    budgets = tuple(sorted(exact(value) for value in given))
    if len(set(budgets)) != len(budgets):
        raise InputError(
            "epsilons must be distinct: each level is a release of its own, and paid for"
        )
    return budgets


def _quantiles(excess: Floats) -> tuple[float, float]:
    """The median and the 0.9-quantile."""
    median, high = np.quantile(excess, (0.5, NINE_IN_TEN), method="higher")
    return float(median), float(high)


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _excess(cost: Floats | float, reference: Floats | float) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.divide(cost, reference)
        return np.where(reference > 0, ratio - 1, np.where(cost > 0, np.inf, 0.0))
