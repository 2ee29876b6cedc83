"""Private evaluation: how well given centers serve the demand, with confidence intervals.

1. Assign every place to its nearest center, with distances clipped at a public threshold
   (`metricdp.partitions.service`).
2. Release, each with a share of the budget: the sum of distances, for the mean; histograms of the
   distance bands asked about (`within`) and of narrow bands, for median and 90th percentile; the
   number of records of each center. `against` adds the sum of differences of distances to two
   sets of centers, `by` sums of distances in each area, where a record adds to one area only.
3. Compute intervals from the distribution of the noise (`metricdp.solvers.estimate.intervals`).
   They hold for every demand.

**Privacy.** Only the queries of step 2 read records, by sequential composition, in epsilon or with
a delta. Bands and the clipping threshold come from public facts or earlier releases. Intervals are
post-processing.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from math import isfinite
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from metricdp.accounting import Budget, BudgetSlice, Cost
from metricdp.arguments import Amount, Bools, Floats, listed, positive
from metricdp.errors import InputError
from metricdp.kernels.scores import CAP
from metricdp.methods.asking import Account, Ask, Statement, Terms, driven, price_in_shares
from metricdp.methods.demand_release import Release
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.units import in_words, positive_in_units_of, unit_shown
from metricdp.options import Centers, Length
from metricdp.partitions.areas import Areas
from metricdp.partitions.service import (
    BITS,
    AreaDistances,
    ClippedDistances,
    DistanceBands,
    DistanceDifferences,
    Nearest,
    Service,
)
from metricdp.privacy import CountQuery, HistogramQuery, PrivateDemand
from metricdp.privacy.queries import TotalsQuery
from metricdp.releases import Mechanism, Receipt
from metricdp.releases import Release as Released
from metricdp.report.words import short
from metricdp.running.attesting import Description, attest, provenance
from metricdp.running.charging import Accountant, checked_universe
from metricdp.running.runner import Run
from metricdp.solvers.estimate.intervals import Interval, Noisy, Verdict, verdict

LARGE = 1e6
"""An interval of a ratio that reaches it is reported as unbounded above."""


@dataclass(frozen=True)
class ByArea:
    """Figures of each area, each with a 95 % interval.

    Attributes
    ----------
    names : tuple of str, length n
    records : Interval of arrays, shape (n,)
    mean : Interval of arrays, shape (n,)
        Mean distance of the area's records to their nearest center; distances are not clipped.
    relative : Interval of arrays, shape (n,), or None
        The area's cost divided by its cost with the centers of `against`. If no bound can be
        reported, the estimate is NaN and the upper end infinite.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
    >>> by = ["west"] * 5 + ["east"] * 4
    >>> report = mdp.evaluate(metric, demand, [1], epsilon=4, by=by)
    >>> report.areas.names, report.areas.worst, report.areas.mean.estimate.round().tolist()
    (('east', 'west'), 'east', [6.0, 0.0])
    """

    names: tuple[str, ...]
    records: Interval
    mean: Interval
    relative: Interval | None

    @classmethod
    def read(
        cls, answers: Noisy, where: Sequence[slice], amounts: Sequence[AreaDistances]
    ) -> ByArea:
        """From noisy sums of each area, for the centers and, if asked, those of `against`.

        Parameters
        ----------
        answers : Noisy
        where : sequence of slice
            The slice of the sums among the answers, for each set of centers.
        amounts : sequence of AreaDistances
        """
        names, reach = amounts[0].names, amounts[0].reach
        counts, means, ratios = [], [], []
        for i in range(len(names)):
            everyone, far = _vectors(answers, where[0], reach, i)
            counts.append(answers.number(everyone).ends)
            most = float(reach[i])
            mean = answers.ratio(far, everyone, (0.0, most))
            rounded = most / 2**BITS  # far parts are rounded down by less than one
            means.append((mean.estimate, mean.low, min(mean.high + rounded, most)))
            for place, other in zip(where[1:], amounts[1:]):
                theirs = _vectors(answers, place, other.reach, i)[1]
                ratio = answers.ratio(far, theirs, (0.0, LARGE))
                known = ratio.high < LARGE
                ratios.append(ratio.ends if known else (np.nan, ratio.low, np.inf))
        relative = Interval(*np.array(ratios).T) if ratios else None
        return cls(names, Interval(*np.array(counts).T), Interval(*np.array(means).T), relative)

    @property
    def worst(self) -> str | None:
        """The area with the largest estimated mean distance or, with `against`, relative cost,
        among those whose number of records is significantly positive; None if there are none.
        """
        figure = self.mean if self.relative is None else self.relative
        known = np.where(self.records.low > 0, figure.estimate, np.nan)
        return None if np.isnan(known).all() else self.names[int(np.nanargmax(known))]

    def to_columns(self) -> dict[str, list[Any]]:
        """One row for each area: its name, and each figure with the ends of its interval."""
        columns: dict[str, list[Any]] = {"area": list(self.names)}
        for name in ("records", "mean", "relative"):
            figure = getattr(self, name)
            if figure is not None:
                keys = (name, f"{name}_low", f"{name}_high")
                columns |= {key: end.tolist() for key, end in zip(keys, figure.ends)}
        return columns

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form: `worst` and an entry for each area, with null for unknown figures."""
        columns = self.to_columns()
        ends = {"estimate": "", "low": "_low", "high": "_high"}
        entries = []
        for i, name in enumerate(self.names):
            entry: dict[str, Any] = {"area": name}
            for figure in ("records", "mean", "relative"):
                if figure in columns:
                    values = {end: columns[figure + tail][i] for end, tail in ends.items()}
                    entry[figure] = {end: v if isfinite(v) else None for end, v in values.items()}
            entries.append(entry)
        return {"worst": self.worst, "areas": entries}


def _vectors(answers: Noisy, where: slice, reach: Floats, i: int) -> tuple[Floats, Floats]:
    """Coefficients of the i-th area's number of records, and of its sum of distances."""
    everyone, far = np.zeros((2, len(answers.values)))
    everyone[where.start + 2 * i : where.start + 2 * i + 2] = 1.0
    far[where.start + 2 * i + 1] = reach[i]
    return everyone, far


Universe = Metric | EuclideanSpace

SHARES = {
    "distances": Fraction(45, 100),
    "bands": Fraction(33, 100),
    "narrow": Fraction(12, 100),
    "loads": Fraction(10, 100),
}
"""Shares of the budget, without `against` and `by`."""
AREAS = ("areas", "other areas")
ASIDE = dict.fromkeys(("against", *AREAS), Fraction(1, 4))
"""Shares of additional queries (`against`, `by`, both together), taken from all others alike."""
NARROW = np.array([*range(1, 10), 9.4, 9.7, 9.9]) / 10
"""The edges of narrow bands are these quantiles of the expected demand's distances."""
CLIP_QUANTILE = 0.99
"""Distances are clipped at this quantile of the expected demand's distances."""
TAIL = 6
"""Bands from the clipping threshold to the farthest place: more bound the mean more tightly, and
add noise.
"""

DESCRIPTION = Description(
    "evaluate",
    "Distance bands and the clip follow from the universe's points spread evenly, or from the "
    "weights of an earlier release; the shares of epsilon are fixed constants.",
    "95 % intervals of means, shares, quantiles and loads from the noisy counts and sums by the "
    "known distribution of the noise alone; counts are held to be no less than 0.",
)


@dataclass(frozen=True)
class Comparison:
    """Mean distance to the centers less mean distance to the other centers.

    Attributes
    ----------
    difference : Interval
        Mean over records, in the metric's unit.
    verdict : {"yes", "no", "cannot tell"}
        Whether the centers serve better than the others.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
    >>> report = mdp.evaluate(metric, demand, [1, 7], epsilon=4, against=[0, 8])
    >>> report.against.verdict, bool(report.against.difference.estimate < 0)
    ('yes', True)
    """

    difference: Interval
    verdict: Verdict

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        return {"difference": self.difference.to_dict(), "better": self.verdict}


@dataclass(frozen=True)
class Evaluation:
    """How well centers serve private demand: estimates, and a 95 % interval of each.

    Attributes
    ----------
    records : Interval
        Number of records (with users: of kept ones; of users, where each has one unit of weight).
    mean, median, p90 : Interval
        Distance of a record to its nearest center, in the metric's unit: mean, median and 90th
        percentile.
    mean_capped : Interval
        Mean of distances clipped at `clip`: a narrower interval, of another quantity.
    clip : float
        The public clipping threshold.
    clipped : Interval
        Share of the records farther away than `clip`, 0 to 1.
    within : tuple of float
        The distances asked about.
    share : Interval of arrays, shape (len(within),)
        Share of the records within each of them, 0 to 1.
    loads : Interval of arrays, shape (k,)
        Records nearest to each center, in the order given.
    against : Comparison or None
    areas : ByArea or None
    receipt : Receipt or None
        What the evaluation cost; None for a plan.
    unit : str or None
        Of distances, where it is known: ``"m"``.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
    >>> report = mdp.evaluate(metric, demand, [1, 7], epsilon=4, within=[2])
    >>> bool(report.mean.estimate < 1), report.loads.estimate.shape
    (True, (2,))
    """

    records: Interval
    mean: Interval
    mean_capped: Interval
    median: Interval
    p90: Interval
    clip: float
    clipped: Interval
    within: tuple[float, ...]
    share: Interval
    loads: Interval
    against: Comparison | None
    receipt: Receipt | None
    unit: str | None = None
    areas: ByArea | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        named = ("records", "mean", "mean_capped", "median", "p90", "clipped", "share", "loads")
        figures: dict[str, Any] = {name: getattr(self, name).to_dict() for name in named}
        figures["within"], figures["clip"] = list(self.within), self.clip
        figures["level"] = self.mean.level
        if self.against is not None:
            figures["against"] = self.against.to_dict()
        if self.areas is not None:
            figures["by_area"] = self.areas.to_dict()
        if self.receipt is not None:
            figures["receipt"] = self.receipt.to_dict()
        return figures

    def __str__(self) -> str:
        far, clip = self._distance_text, self._distance_text(self.clip)
        lines = [f"{'':24}{'estimate':>12}  {100 * self.mean.level:g} % interval"]
        lines.append(_line("records", self.records, short))
        lines.append(_line("mean distance", self.mean, far))
        lines.append(_line(f"mean up to {clip}", self.mean_capped, far))
        lines.append(_line("median distance", self.median, far))
        lines.append(_line("90th percentile", self.p90, far))
        lines.append(_line(f"beyond {clip}", self.clipped, _percent_text))
        for i, limit in enumerate(self.within):
            lines.append(_line(f"within {far(limit)}", self.share, _percent_text, i))
        for i in range(len(self.loads.estimate)):
            lines.append(_line(f"load of center {i + 1}", self.loads, short, i))
        if self.against is not None:
            lines.append(_line("less than the others'", self.against.difference, far))
            lines.append(f"serves better than the others: {self.against.verdict}")
        if self.areas is not None:
            for i, name in enumerate(self.areas.names):
                lines.append(_line(f"mean in {name}", self.areas.mean, far, i))
                if (ratios := self.areas.relative) is not None:
                    lines.append(_line(f"cost / others' in {name}", ratios, "{:.3g}".format, i))
            lines.append(f"worst served: {self.areas.worst or 'not known'}")
        return "\n".join(lines)

    def _distance_text(self, distance: float) -> str:
        return in_words(distance, self.unit)


def evaluate(
    universe: Universe,
    demand: PrivateDemand,
    centers: Centers,
    *,
    epsilon: Amount,
    delta: Amount = 0,
    ledger: Budget | None = None,
    within: Length | Sequence[Length] = (),
    against: Centers | None = None,
    by: Any = None,
    release: Release | None = None,
    clip: Length | None = None,
) -> Evaluation:
    """How well centers serve private demand, with a 95 % interval for every figure.

    Parameters
    ----------
    universe : Metric or EuclideanSpace
    demand : PrivateDemand
        In this same universe object.
    centers : iterable of ids, or array_like of shape (k, d) in a box
        Public, or from an earlier release; k is at least 1.
    epsilon : int, float, str, Decimal or Fraction
        What this call may spend.
    delta : same
        If positive, queries get Gaussian noise where that is smaller.
    ledger : Ledger or BudgetSlice, optional
        Is charged before any data is read; a fresh one (add-remove) by default.
    within : float or str, or sequence of these
        Distances, in the universe's units or with a unit (``"5 min"``): what share of the records
        is within each of them of a center?
    against : iterable of ids, or array_like, optional
        Other centers: do these serve better?
    by : mapping, sequence, GeoDataFrame or GeoSeries, optional
        Public areas, such as districts: a label for each point, by id or in the order of
        ``metric.ids``, or polygons, named by their index. How well is each of them served
        (`Evaluation.areas`)? With `against`, also the cost of each relative to the others'.
    release : release of `metricdp.release`, optional
        An earlier release: edges of bands and `clip` are quantiles for its weights instead of for
        demand spread evenly over the universe.
    clip : float or str, optional
        Clipping threshold of distances, public or from an earlier release. By default 1 % of
        the expected records are beyond it. `Evaluation.mean` bounds what clipping takes away by
        counts of `TAIL` bands (`docs/evaluation.md`).

    Raises
    ------
    InputError
        A bad argument; nothing was charged.
    BudgetError
        The ledger does not hold it; nothing was read.

    Notes
    -----
    **Privacy.** (epsilon, delta)-DP: see the module. Of each user, only kept records count.

    Every interval holds for every demand. In a box the mean's interval grows with the box, so it
    should be tight. O(n · k) time in a box; in a finite universe one search from all centers.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(11), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [0] * 30_000 + [4] * 10_000)
    >>> report = mdp.evaluate(metric, demand, [0, 10], epsilon=1, within=[3])
    >>> bool(abs(report.mean.estimate - 1) < 0.1), bool(abs(report.share.estimate[0] - 0.75) < 0.1)
    (True, True)
    >>> bool(abs(report.loads.estimate[0] - 40_000) < 1000)
    True
    """
    accountant = Accountant(checked_universe(universe), demand, ledger)
    weight_units = demand.weight_units if isinstance(demand, PrivateDemand) else 1
    design = _Design.of(universe, centers, within, against, by, release, clip, weight_units)

    budget = accountant.charge(price_in_shares, design.confirm, [(epsilon, delta)], "evaluate")
    asked = {
        "centers": design.service.k,
        "within": ", ".join(f"{limit:g}" for limit in design.within),
        "clip": design.clip,
        "against": "none" if against is None else "other centers",
        "by": f"{len(design.areas[0].names)} public areas" if design.areas else "none",
        "release": "none" if release is None else "an earlier one",
    }
    made = provenance("evaluate", demand, budget, DESCRIPTION, asked)
    return attest(_measured(design, demand, budget), made)


def plan_evaluation(
    universe: Universe,
    centers: Centers,
    *,
    records: float,
    epsilon: Amount,
    delta: Amount = 0,
    within: Length | Sequence[Length] = (),
    against: Centers | None = None,
    by: Any = None,
    release: Release | None = None,
    clip: Length | None = None,
) -> Evaluation:
    """The intervals that `evaluate` would give, from public information alone, at no cost.

    Parameters
    ----------
    universe, centers, epsilon, delta, within, against, by, release, clip
        As for `evaluate` (add-remove neighbors, records as units).
    records : float
        A public guess of the number of records.

    Returns
    -------
    Evaluation
        For demand distributed as in the release, else evenly over the universe's points. Only the
        widths of its intervals are meaningful.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(11), weight=None)
    >>> wide = mdp.plan_evaluation(metric, [0, 10], records=1000, epsilon=0.1).mean.half_width
    >>> bool(wide > mdp.plan_evaluation(metric, [0, 10], records=1000, epsilon=1).mean.half_width)
    True
    """
    design = _Design.of(checked_universe(universe), centers, within, against, by, release, clip)
    price = price_in_shares(Terms.offered(epsilon, delta))
    return _planned(design, positive(records, "records"), price)


@dataclass(frozen=True)
class _Design:
    """The public part of an evaluation: its queries, and how intervals follow from the answers."""

    service: Service
    within: tuple[float, ...]
    clip: float
    bands: DistanceBands
    narrow: DistanceBands
    differences: DistanceDifferences | None
    places: Any
    density: Floats
    areas: tuple[AreaDistances, ...]
    queries: dict[str, TotalsQuery | HistogramQuery]

    @classmethod
    def of(
        cls,
        universe: Universe,
        centers: Centers,
        within: Length | Sequence[Length],
        against: Centers | None,
        by: Any,
        release: Release | None,
        clip: Length | None,
        weight_units: int = 1,
    ) -> _Design:
        """Check the arguments, and choose the clipping threshold and the edges of bands."""
        service = Service(universe, centers)
        limits = _limits(universe, within)
        places, density = _expected(universe, release)
        distance = service.served(places)[1]
        usual = _quantiles(distance, density, np.array([CLIP_QUANTILE]))[0]
        threshold = float(usual) if clip is None else positive_in_units_of(universe, clip, "clip")
        threshold = min(threshold, service.farthest) or service.farthest or 1.0
        edges = {limit for limit in (*limits, threshold) if limit < service.farthest}
        if threshold < service.farthest:
            edges |= set(np.geomspace(threshold, service.farthest, TAIL + 1)[1:-1].tolist())
        fine = np.unique(_quantiles(distance, density, NARROW))
        bands = DistanceBands(service, sorted(edges))
        narrow = DistanceBands(service, fine[(fine > 0) & (fine < service.farthest)].tolist())
        shift = weight_units.bit_length() - 1  # with shares, sums are rounded to whole users
        queries: dict[str, TotalsQuery | HistogramQuery] = {
            "distances": TotalsQuery(ClippedDistances(service, threshold), BITS, shift),
            "bands": HistogramQuery(bands),
            "narrow": HistogramQuery(narrow),
            "loads": HistogramQuery(Nearest(service)),
        }
        differences = None
        services = [service]
        if against is not None:
            services.append(Service(universe, against))
            differences = DistanceDifferences(*services)
            queries["against"] = TotalsQuery(differences, BITS, shift)
        drawn = [] if by is None else [Areas.of(universe, by)] * len(services)
        areas = tuple(map(AreaDistances, services, drawn))
        for name, amounts in zip(AREAS, areas):
            queries[name] = TotalsQuery(amounts, BITS, shift)
        public = (places, density, areas)
        return cls(service, limits, threshold, bands, narrow, differences, *public, queries)

    @property
    def shares(self) -> dict[str, Fraction]:
        """Share of the budget of each query; they sum to 1."""
        aside = {name: share for name, share in ASIDE.items() if name in self.queries}
        rest = 1 - sum(aside.values())
        return {name: share * rest for name, share in SHARES.items()} | aside

    def confirm(self, terms: Terms) -> None:
        """Refuse, before the charge, a price with shares too small for any noise scale."""
        for name, query in self.queries.items():
            terms.scale_of(Ask(query, self.shares[name]))

    def work(self, terms: Terms) -> Generator[Any, Any, Evaluation]:
        """Ask every query once, with its share of the budget.

        Four queries each count all records. That these totals are equal narrows the intervals.
        """
        counting = [self.vector(name, 1.0) for name in self.queries if name not in ASIDE]
        equal = np.array([counting[0] - other for other in counting[1:]])
        known = equal, np.zeros(len(equal))
        if CountQuery().sensitivity(terms.neighboring, terms.max_contributions) == 0:
            # under replace-one the number of records is public: exact, and free
            total = float((yield Ask(CountQuery(), Fraction(1))).values[0]) / terms.weight_units
            known = np.array(counting), np.full(len(counting), total)
        releases: list[Released] = []
        for name, query in self.queries.items():
            releases.append((yield Ask(query, self.shares[name])))
        noise = [r.receipt.mechanisms[0] for r in releases for _ in r.values]
        shifts = np.array([r.query.shift for r in releases for _ in r.values])
        values = np.concatenate([r.values for r in releases]).astype(np.float64)
        spread = np.array([m.scale for m in noise])
        # an answer within 40 noise scales of the cap may have saturated: no bound holds for it
        # (noise exceeds that with probability e^-40)
        saturated = np.abs(values) >= CAP - 40 * spread
        off = np.where(saturated, np.inf, shifts > 0)  # rounding down is off by less than one
        whole = terms.weight_units / 2.0**shifts
        sums = [isinstance(r.query, TotalsQuery) for r in releases for _ in r.values]
        units = np.where(sums, 2.0**-BITS, 1.0)
        distributions = [m.name for m in noise]
        read = Noisy(values, spread, distributions, units / whole, known, off)
        return self.report(read, (yield Account()).receipt)

    @cached_property
    def places_of(self) -> dict[str, slice]:
        """The slice of each query's answers among all answers."""
        sizes = [query.n_values for query in self.queries.values()]
        ends = np.cumsum(sizes)
        return {name: slice(e - n, e) for name, n, e in zip(self.queries, sizes, ends.tolist())}

    def vector(self, name: str, values: ArrayLike) -> Floats:
        """Coefficients of a linear statistic of all answers that uses only one query's."""
        every = np.zeros(self.places_of[next(reversed(self.queries))].stop)
        every[self.places_of[name]] = values
        return every

    def report(self, answers: Noisy, receipt: Receipt | None) -> Evaluation:
        """Compute estimates and intervals from the noisy answers."""
        everyone = self.vector("distances", 1.0)
        far = self.vector("distances", [0.0, self.clip])
        capped = answers.ratio(far, everyone, (0.0, self.clip))
        rounding = self.clip / 2**BITS  # far parts are rounded down by less than one
        narrow = self.places_of["narrow"], self.narrow.bounds
        beyond = self._share(answers, self.bands.bounds[:-1] >= self.clip)
        limits = [self._share(answers, self.bands.bounds[1:] <= limit) for limit in self.within]
        shares = np.array([share.ends for share in limits]).reshape(-1, 3)
        high = min(capped.high + rounding, self.clip)
        return Evaluation(
            records=answers.number(everyone),
            mean=self._mean(answers, far, everyone, rounding),
            mean_capped=Interval(capped.estimate, capped.low, high),
            median=answers.quantile(0.5, *narrow),
            p90=answers.quantile(0.9, *narrow),
            clip=self.clip,
            clipped=beyond,
            within=self.within,
            share=Interval(*shares.T),
            loads=answers.counts(self.places_of["loads"]),
            against=self._comparison(answers, everyone),
            areas=self._by_area(answers),
            receipt=receipt,
            unit=unit_shown(self.service.universe),
        )

    def _mean(self, answers: Noisy, far: Floats, everyone: Floats, rounding: float) -> Interval:
        """The mean distance: a record beyond the threshold is between the edges of its band."""
        bounds = self.bands.bounds
        most = max(float(bounds[-1]), self.clip)
        beyond = (np.maximum(ends - self.clip, 0.0) for ends in (bounds[:-1], bounds[1:]))
        sums = (far + self.vector("bands", distance) for distance in beyond)
        nearest, farthest = (answers.ratio(one, everyone, (0.0, most)) for one in sums)
        middle = (nearest.estimate + farthest.estimate) / 2
        return Interval(middle, nearest.low, min(farthest.high + rounding, most))

    def _share(self, answers: Noisy, inside: Bools) -> Interval:
        """Share of the records in the bands of a mask."""
        if inside.all() or not inside.any():
            exact = float(inside.all())
            return Interval(exact, exact, exact)
        those = self.vector("bands", inside.astype(np.float64))
        return answers.ratio(those, self.vector("bands", 1.0), (0.0, 1.0))

    def _by_area(self, answers: Noisy) -> ByArea | None:
        where = [self.places_of[name] for name in AREAS if name in self.queries]
        return ByArea.read(answers.independent(), where, self.areas) if where else None

    def _comparison(self, answers: Noisy, everyone: Floats) -> Comparison | None:
        if self.differences is None:
            return None
        reach = self.differences.reach
        found = answers.ratio(self.vector("against", reach), everyone, (-reach, reach))
        difference = Interval(found.estimate, found.low, found.high + reach / 2**BITS)
        return Comparison(difference, verdict(difference))


def _measured(design: _Design, demand: PrivateDemand, budget: BudgetSlice) -> Evaluation:
    """The evaluation of the gate's answers."""
    run = Run(demand, budget)
    return run.drive(design.work(run.terms))


def _planned(design: _Design, records: float, price: Cost) -> Evaluation:
    """The evaluation of expected answers, with the noise that they would get."""
    amounts = records * design.density
    terms = Terms(price, "add-remove")
    distribution = "discrete Gaussian" if terms.in_rho else "discrete Laplace"

    def put(request: Ask | Account) -> Released | Statement:
        if isinstance(request, Account):
            return Statement(Fraction(0), (), terms.nothing())
        query = request.query
        answer: Floats
        if isinstance(query, TotalsQuery):
            answer = amounts @ query.measured.amounts(design.places).astype(np.float64)
        else:
            parts = query.partition.encode(design.places)  # type: ignore[attr-defined]
            answer = np.bincount(parts, amounts, query.n_values).astype(np.float64)  # type: ignore
        noise = Mechanism(distribution, str(query), 1, terms.scale_of(request), Fraction(0))
        receipt = Receipt.of([noise], terms.neighboring, terms.unit)
        return Released(np.rint(answer), query, receipt)

    return replace(driven(design.work(terms), put), receipt=None)


def _limits(universe: Universe, within: Length | Sequence[Length]) -> tuple[float, ...]:
    if isinstance(within, int | float | str | np.integer | np.floating):
        within = [within]
    given = listed(within, "within")
    return tuple(sorted({positive_in_units_of(universe, limit, "within") for limit in given}))


def _expected(universe: Universe, release: Release | None) -> tuple[Any, Floats]:
    """Places and the share of the demand expected at each, from an earlier release or evenly."""
    if release is not None:
        if getattr(release, "universe", None) is universe:
            weights = np.maximum(np.asarray(release.weights, np.float64), 0.0)
            places: Any = np.arange(len(weights))
        elif getattr(release, "space", None) is universe:
            places, weights = release.coreset()
            places = universe.clip(places)
            weights = np.maximum(weights, 0.0)
        else:
            raise InputError("release must be one of metricdp.release in this same universe")
        if weights.sum() > 0:
            return places, weights / weights.sum()
    return universe.expected()


def _quantiles(values: Floats, shares: Floats, at: Floats) -> Floats:
    order = np.argsort(values, kind="stable")
    cumulated = np.cumsum(shares[order])
    place = np.searchsorted(cumulated, at * cumulated[-1])
    return values[order][np.minimum(place, len(values) - 1)]


def _percent_text(share: float) -> str:
    return f"{100 * share:.3g} %"


def _line(name: str, figure: Interval, text: Callable[[float], str], i: int = 0) -> str:
    """A table row: a figure, or the i-th of several, and the ends of its interval."""
    estimate, low, high = (text(float(np.atleast_1d(end)[i])) for end in figure.ends)
    return f"{name:24}{estimate:>12}  {low} to {high}"
