"""The default method in a box of many dimensions: two rounds of counts and means in the Voronoi cells of candidates, and one private step.

1. Release how many records lie in each of a few shells around the middle of the box: their number, and the radius that holds them.
2. Draw public random candidates in that ball. Release every Voronoi cell's count and the sum of its records, from the candidate and
   clipped: the means of the cells that stand out of the noise tell where the records are.
3. Draw the second round's candidates there: those means, and around each of them random ones, the more the larger its count. Release
   shells around them, whose quantile clips the second round's sums, then counts and sums as before. The means and counts of the cells
   that stand out are a coreset for any number of questions.
4. Cluster the coreset (`metricdp.solvers.lloyd`).
5. A call for k centers keeps a part for one step on the records: shells around the centers tell where to clip, then the sum of every
   center's records moves it, as in `metricdp.algorithms.space_release`.

**Privacy.** All reads are `HistogramQuery` and `SumsQuery`, paid from one budget in fixed shares: where there is a delta a pool of rho,
with discrete Gaussian noise, (epsilon, delta)-DP together by zCDP composition; else shares of epsilon, with discrete Laplace noise, so
epsilon-DP by sequential composition. Candidates, radii and centers are functions of public facts and of what was released before.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.accounting import Cost, Grant, Pool, zcdp_epsilon
from metricdp.accounting.cost import ZCDP
from metricdp.algorithms.method import Method
from metricdp.algorithms.question import Question
from metricdp.algorithms.result import Result
from metricdp.algorithms.space_release import BITS, Array, BoxRelease, Cells, deviation, starts_for, stepped
from metricdp.kernels.points import nearest_centers
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.privacy import HistogramQuery, PrivateDemand, Query, SumsQuery, measure
from metricdp.privacy.noise import gaussian_scale, laplace_scale
from metricdp.releases import Neighboring, Receipt, Release
from metricdp.solvers.lloyd import lloyd
from metricdp.solvers.stopping import Deadline

AROUND, COUNTS, SUMS, SHELLS, COUNTS_2, SUMS_2, LAST_SHELLS, LAST_SUMS = (Fraction(p, 100) for p in (3, 8, 20, 2, 10, 32, 2, 23))
"""Shares of the budget of every read, in order. A release without a last step divides its shares by what they add up to."""
FEWEST, MOST, EVER = 16, 256, 1024
"""Candidates of a round; for many centers up to so many, …"""
A_CENTER = (4, 20)
"""… at least and at most for each, …"""
RECORDS_PER_NOISE = 2.0
"""… of which each should have this many records per √d and standard deviation of its count's noise."""
N_SHELLS, RATIO = 24, 2.0 ** (-1 / 3)
"""Shells: the outermost ends at the diagonal of the box, each at this fraction of the one around it; the last is a ball."""
SCATTER = (0.2, 0.8)
"""Radii of the balls around the first round's means in which candidates of the second are drawn, in steps from candidate to mean."""
FARTHEST = 0.98
"""Quantile of the distances at which the second round's sums are clipped: two clusters of one cell must not look like one."""
STANDS_OUT, OUTLIERS, CLIPPED = 3.0, 0.01, {1: 0.5, 2: 0.9}
"""A count stands out of its noise by so many standard deviations; records left outside the ball of candidates; quantile of distances at
which sums are clipped, for k-median and for k-means."""


class Shells:
    """A box cut by the distance to the nearest of a few centers, in geometric steps from the diagonal down."""

    def __init__(self, space: EuclideanSpace, centers: Array) -> None:
        self.universe, self.centers, self.n_parts = space, centers, N_SHELLS
        self.edges = space.diameter_bound() * RATIO ** np.arange(1, N_SHELLS)

    def encode(self, records: Array) -> NDArray[np.int64]:
        """Shell of each point, shape (n,): 0 is the outermost."""
        return np.searchsorted(-self.edges, -np.sqrt(nearest_centers(records, self.centers)[1]), side="right")

    def quantile(self, counts: Array, noise: float, share: float) -> float:
        """Outer radius of the shell in which the quantile of the noisy counts lies; those within the noise count as 0."""
        outer = self.universe.diameter_bound() * RATIO ** np.arange(N_SHELLS)
        mass = np.cumsum(np.where(counts > STANDS_OUT * noise, counts, 0.0)[::-1])
        return float(outer[::-1][np.searchsorted(mass, share * mass[-1])]) if mass[-1] > 0 else float(outer[0])


class VotesRelease(BoxRelease):
    """A private release of where the demand is in a box: means and counts of cells that stand out of the noise.

    Attributes
    ----------
    universe : EuclideanMetric
        Those means; one point in the middle of the box, of weight 0, if nothing stands out.
    space : EuclideanSpace
    partition : Cells
        Around the second round's candidates.
    weights : ndarray of float64, shape (n_means,), read-only
        Noisy counts.
    histogram : Release
        The noisy counts of all cells.
    receipt : Receipt
    """

    def __init__(self, cells: Cells, histogram: Release, means: Array, weights: Array, receipt: Receipt) -> None:
        self.space, self.partition, self.histogram = cells.universe, cells, histogram
        super().__init__(EuclideanMetric(means), weights, receipt, in_space=True)

    def __repr__(self) -> str:
        return f"VotesRelease({self.space.name}, {self.partition.n_parts:,} cells, epsilon {float(self.receipt.epsilon):g})"

    def _found(self, k: int, power: int, seed: int, deadline: Deadline) -> Array:
        points, weights = self.universe.points, self.weights  # type: ignore[attr-defined]
        return lloyd(points, weights, k, power=power, seed=seed, starts=starts_for(k), deadline=deadline)


@dataclass(frozen=True, kw_only=True)
class VotesMethod(Method):
    """`votes_release`, the solver on its coreset, and one private step: what the default method is in a box of many dimensions.

    **Privacy.** epsilon-DP, or, with a delta, (epsilon, delta)-DP, by the module's text.
    """

    name = "partition"
    summary = "noisy counts and means around candidates, in two rounds, and one private step"
    in_space = True
    releases = True

    def price(self, epsilon: Any, delta: Any) -> Cost:
        """Epsilon alone, or a pool of rho where there is a delta."""
        cost = Cost.of(epsilon, delta)
        return Cost.zcdp(cost.epsilon, cost.delta) if cost.delta and cost.epsilon > 0 else cost

    def check(self, demand: PrivateDemand, question: Question, price: Cost, neighboring: Neighboring) -> None:
        """Refuse an epsilon too small for the noise."""
        space: Any = demand.universe
        sums = SumsQuery(HistogramQuery(Cells(space, space.lower[None])), BITS)
        if price.pooled:
            gaussian_scale(sums.squared_sensitivity(neighboring, demand.max_contributions), (price.rho or Fraction(0)) * SHELLS)
        else:
            laplace_scale(sums.sensitivity(neighboring, demand.max_contributions), price.epsilon * SHELLS)

    def answer(self, demand: PrivateDemand, grant: Grant, question: Question) -> Result:
        """Centers, and the release they were computed from, which cost less than they did."""
        purse = Purse(demand, grant, Fraction(1))
        noisy = votes_release(purse, k=question.k, records_hint=self.records_hint, seed=question.seed)
        moved = last_step(purse, noisy, noisy.centers(question), question.power)
        return Result(moved, question.k, self.name, purse.receipt, noisy)

    def release(self, demand: PrivateDemand, grant: Grant, seed: int) -> VotesRelease:
        """Spend the whole grant on a release alone."""
        purse = Purse(demand, grant, 1 - LAST_SHELLS - LAST_SUMS)
        return votes_release(purse, records_hint=self.records_hint, seed=seed)


class Purse:
    """Fixed shares of one grant, as much of its rho or of its epsilon, and the receipts of what they paid for.

    Parameters
    ----------
    demand : PrivateDemand
    grant : Grant
    whole : Fraction
        What the shares that will be asked for add up to.
    """

    def __init__(self, demand: PrivateDemand, grant: Grant, whole: Fraction) -> None:
        self.demand, self.grant, self.whole, self.receipts = demand, grant, whole, list[Receipt]()

    def price(self, share: Fraction) -> Any:
        """A share, as the gate takes it."""
        part = share / self.whole
        if isinstance(self.grant, Pool):
            rho = self.grant.rho * part
            return Cost(zcdp_epsilon(rho, self.grant.delta), self.grant.delta, rho, ZCDP)
        return self.grant.epsilon * part

    @property
    def receipt(self) -> Receipt:
        """Of all that was asked: under the pool's price once all of a pool is spent, else what the mechanisms cost together."""
        if isinstance(self.grant, Pool) and self.grant.spent_rho < self.grant.rho:
            return Receipt.combined(self.receipts).paid(self.grant.spent, self.grant.spent_delta, ZCDP)
        return self.grant.receipt(self.receipts)

    def ask(self, query: Query, share: Fraction) -> Release:
        """Measure, paid with a share."""
        release = measure(self.demand, query, self.price(share), self.grant)
        self.receipts.append(release.receipt)
        return release

    def count_noise(self, share: Fraction) -> float:
        """Standard deviation that the noise of a histogram paid with a share will have."""
        m = self.demand.max_contributions
        price = self.price(share)
        if isinstance(price, Cost):
            twice = 1 if self.grant.neighboring == "add-remove" else 2
            return float(np.sqrt(m * m * twice / (2 * float(price.rho or 1))))
        return HistogramQuery.sensitivity_of(self.grant.neighboring, m) / float(price) * np.sqrt(2.0)


def votes_release(purse: Purse, *, k: int = 1, records_hint: float | None = None, seed: int = 0) -> VotesRelease:
    """Two rounds of counts and means; see the module's text for the steps and the guarantee.

    Parameters
    ----------
    purse : Purse
        Of demand in an `EuclideanSpace`.
    k : int
        Centers that will be asked for, if that is known: more of them get more candidates.
    records_hint : float, optional
        A public guess of the number of records, in place of the noisy one.
    seed : int
        Public coins of the candidates.

    Notes
    -----
    Six passes over the n records, O(n · M · d) in all for M <= 256 candidates.
    """
    space: Any = purse.demand.universe
    rng, middle, d = np.random.default_rng([seed, 11]), (space.lower + space.upper) / 2, space.dimension
    shells = Shells(space, middle[None])
    outer = purse.ask(HistogramQuery(shells), AROUND)
    noise = deviation(outer)
    counts = outer.values.astype(float)
    radius = shells.quantile(counts, noise, 1 - OUTLIERS)
    total = counts.sum() if records_hint is None else records_hint
    fewest, most = (int(np.clip(k * each, low, EVER)) for each, low in zip(A_CENTER, (min(FEWEST, MOST), MOST)))
    n_candidates = int(np.clip(total / (RECORDS_PER_NOISE * purse.count_noise(COUNTS) * np.sqrt(d)), fewest, most))
    first = space.clip(middle + radius * ball(n_candidates, d, rng))
    public = np.sqrt(nearest_centers(space.clip(middle + radius * ball(500, d, rng)), first)[1])
    cells, counted, means, weights = voted(purse, space, first, np.quantile(public, CLIPPED[2]), COUNTS, SUMS)
    if len(means):
        second = around(means, weights, n_candidates, first, rng)
        shells = Shells(space, space.clip(second))
        around_second = purse.ask(HistogramQuery(shells), SHELLS)
        near = shells.quantile(around_second.values.astype(float), deviation(around_second), FARTHEST)
    else:
        second, near = first, float(np.quantile(public, CLIPPED[2]))
        purse.ask(HistogramQuery(Shells(space, first)), SHELLS)
    cells, counted, means, weights = voted(purse, space, space.clip(second), near, COUNTS_2, SUMS_2)
    if not len(means):
        means, weights = first, np.ones(len(first))
    return VotesRelease(cells, counted, means, weights, purse.receipt)


def voted(
    purse: Purse, space: EuclideanSpace, candidates: Array, radius: float, count_share: Fraction, sum_share: Fraction
) -> tuple[Cells, Release, Array, Array]:
    """One round: cells of the candidates, their noisy counts, and means and counts of those that stand out of the noise."""
    cells = Cells(space, candidates)
    query = HistogramQuery(cells)
    counted = purse.ask(query, count_share)
    radius = max(radius, space.diameter_bound() * 2.0**-19)
    sums = SumsQuery(query, BITS, candidates, np.full(len(candidates), radius))
    summed = purse.ask(sums, sum_share)
    counts = counted.values.astype(float)
    blur = deviation(summed) * sums.steps[0] * np.sqrt(space.dimension)
    good = counts > np.maximum(STANDS_OUT * deviation(counted), blur / radius)
    offsets = summed.values.reshape(candidates.shape)[good] * sums.steps[0] / counts[good, None]
    length = np.linalg.norm(offsets, axis=1, keepdims=True)
    offsets *= np.minimum(1.0, radius / np.maximum(length, 1e-300))
    return cells, counted, space.clip(candidates[good] + offsets), counts[good]


def ball(n: int, d: int, rng: np.random.Generator) -> Array:
    """Uniform points of the unit ball, shape (n, d)."""
    points = rng.normal(size=(n, d))
    return points / np.linalg.norm(points, axis=1, keepdims=True) * rng.random((n, 1)) ** (1 / d)


def around(means: Array, weights: Array, n_candidates: int, first: Array, rng: np.random.Generator) -> Array:
    """The means, and random points around them in proportion to their weights, up to `n_candidates` in all."""
    spare = max(n_candidates - len(means), 0)
    parent = rng.choice(len(means), spare, p=weights / weights.sum())
    gap = np.sqrt(nearest_centers(means, first)[1])[parent, None] * rng.uniform(*SCATTER, (spare, 1))
    return np.concatenate([means, means[parent] + gap * ball(spare, means.shape[1], rng)])


def last_step(purse: Purse, release: VotesRelease, centers: Array, power: int) -> Array:
    """Shells around the centers tell where to clip, and how records lie in a cell; then one private step (`stepped`)."""
    space, shells = release.space, Shells(release.space, centers)
    seen = purse.ask(HistogramQuery(shells), LAST_SHELLS)
    counts = seen.values.astype(float)
    radius = shells.quantile(counts, deviation(seen), CLIPPED[power])
    label = nearest_centers(release.universe.points, centers)[0]  # type: ignore[attr-defined]
    mass = np.bincount(label, release.weights, len(centers)).astype(np.float64)
    if power == 1:
        kept = np.where(counts > STANDS_OUT * deviation(seen), counts, 0.0)
        distance = space.diameter_bound() * RATIO ** (np.arange(N_SHELLS) + 0.5)
        mass *= kept @ (radius / np.maximum(distance, radius)) / max(kept.sum(), 1.0)
    moved, receipt = stepped(purse.demand, space, centers, np.full(len(centers), radius), mass, purse.price(LAST_SUMS), purse.grant)
    purse.receipts.append(receipt)
    return moved
