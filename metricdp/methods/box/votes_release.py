"""The default method in a box of many dimensions: two rounds of counts and means in the Voronoi
cells of candidates, and one private step.

1. Release the number of records, unless it is public or guessed. It makes the plan: the shares of
   all reads, and whether the rounds take place in the whole box or along few directions
   (`metricdp.methods.box.subspace_release`, which says how steps 2 and 3 work).
2. Release the mean, and the radius that holds the records around it.
3. Release the directions along which the records spread: a frame, with an ellipsoid in it.
4. Draw public random candidates in the ellipsoid. Release every Voronoi cell's count and the sum of
   its records, from the candidate and clipped: the means of the cells that stand out of the noise
   tell where the records are.
5. Draw the second round's candidates there: those means, and around each of them random ones, the
   more the larger its count. Release shells around them, whose quantile clips the second round's
   sums, then counts and sums as before. The means and counts of the cells that stand out are a
   coreset for any number of questions.
6. Cluster the coreset (`metricdp.solvers.lloyd`).
7. A call for k centers keeps a part for one step on the records, in all dimensions: shells around
   the centers tell where to clip, then the sum of every center's records moves it. In the whole box
   as in `metricdp.methods.box.space_release`; else all centers move together first, where noise is
   least, and then each by what its sum leaves (`shifted`).

Where there are many more records than they need (`ENOUGH`), steps 2 to 6 and the last one's shells
read a random sample of them: then a further record costs the time of the count and of one step's
sums. Where directions could not be told from noise, steps 3 to 7 are left out, and the mean gets
the budget.

**Privacy.** All reads are `CountQuery`, `HistogramQuery`, `SumsQuery` and `LevelsQuery` of records
or their images, paid from one budget in fixed shares: where there is a delta a pool of rho, with
discrete Gaussian noise, (epsilon, delta)-DP together by zCDP composition; else shares of epsilon,
with discrete Laplace noise, so epsilon-DP by sequential composition. Plan, frame, candidates, radii
and centers are functions of public facts and of what was released before.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.accounting import Cost, Grant, Pool
from metricdp.kernels.points import nearest_centers
from metricdp.methods.box.space_release import (
    BITS,
    Array,
    BoxRelease,
    Cells,
    deviation,
    starts_for,
    stepped,
    unequal,
)
from metricdp.methods.box.subspace_release import (
    COUNT_SHARE,
    MOST_AXES,
    Frame,
    Plan,
    Scaled,
    Shells,
    ball,
    distance_told,
    noise_of_shells,
    noise_of_sums,
    planned,
    private_mean,
    scales_around,
    told_frame,
)
from metricdp.methods.method import Method
from metricdp.methods.question import Question
from metricdp.methods.result import Result
from metricdp.methods.shares import Purse, affordable, purse_price
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.privacy import CountQuery, HistogramQuery, PrivateDemand, SumsQuery, mapped
from metricdp.releases import Neighboring, Receipt, Release
from metricdp.solvers.lloyd import lloyd
from metricdp.solvers.stopping import Deadline

ENOUGH, RECORDS_PER_NOISE = 1 << 18, 1 << 15
"""The rounds see a random sample of so many records, or of so many for each standard deviation of a
sum's noise, if that is more.
"""
FEWEST, MOST, EVER = 16, 256, 1024
"""Candidates of a round, where the number of centers is not known; where it is, up to so many, …"""
A_CENTER = (4, 12)
"""… at least and at most for each center, or half of the most."""
SCATTER = (0.2, 0.8)
"""Sizes of the ellipsoids around the first round's means in which candidates of the second are
drawn, in steps from candidate to mean.
"""
NEAR = 0.6
"""Size of the ellipsoids around the means of a release, in that of the records', in which centers
are drawn beyond their number.
"""


@dataclass(frozen=True)
class Sizes:
    """What depends on whether the noise of sums is small beside the records' distances.

    Attributes
    ----------
    fewest : int
        Candidates, whatever k.
    records_per_noise : float
        Every candidate should have this many records per √q and standard deviation of its count's
        noise.
    reach : float
        Every other candidate of the first round is drawn so many times as far away: clusters may
        lie outside of the ellipsoid.
    stands_out : float
        A count stands out of its noise by so many standard deviations.
    public, farthest : float
        Quantiles of distances at which the sums of the first and the second round are clipped:
        those of random points of the ellipsoid, and of the records. Where two clusters of one cell
        are clipped near, they look like one.
    clipped : dict
        The same in the last step, for k-median and for k-means.
    """

    fewest: int
    records_per_noise: float
    reach: float
    stands_out: float
    public: float
    farthest: float
    clipped: dict[int, float]


WHOLE = Sizes(0, 2.0, 2.0, 3.0, 0.9, 0.995, {1: 0.5, 2: 0.9})
ALONG = Sizes(8, 1.2, 1.0, 2.0, 0.6, 0.6, {1: 0.2, 2: 0.2})
"""In a frame of the whole box, and in one of fewer directions."""


class VotesRelease(BoxRelease):
    """A private release of where the demand is in a box: means and counts of cells that stand out
    of the noise.

    Attributes
    ----------
    universe : EuclideanMetric
        Those means; the candidates, counted alike, if nothing stands out.
    space : EuclideanSpace
    plan : Plan
        The design, and how the budget was shared.
    frame : Frame
        Where the two rounds took place.
    partition : Cells
        Around the second round's candidates, in the frame's coordinates.
    weights : ndarray of float64, shape (n_means,), read-only
        Noisy counts.
    histogram : Release
        The noisy counts of all cells, of the sample that the rounds read.
    receipt : Receipt
    """

    def __init__(
        self,
        plan: Plan,
        frame: Frame,
        cells: Cells,
        histogram: Release,
        means: Array,
        weights: Array,
        receipt: Receipt,
    ) -> None:
        self.space, self.plan, self.frame, self.partition, self.histogram = (
            frame.universe,
            plan,
            frame,
            cells,
            histogram,
        )
        self._places = means
        super().__init__(EuclideanMetric(frame.outside(means)), weights, receipt, in_space=True)

    def __repr__(self) -> str:
        design = f"{self.plan.name}, {self.partition.n_parts:,} cells"
        return f"VotesRelease({self.space.name}, {design}, epsilon {float(self.receipt.epsilon):g})"

    def _found(self, k: int, power: int, seed: int, deadline: Deadline) -> Array:
        places, rng = self._places, np.random.default_rng(seed)
        missing, size = max(k - len(places), 0), self.frame.ellipsoid
        found = lloyd(
            places,
            self.weights,
            k - missing,
            power=power,
            seed=seed,
            starts=starts_for(k),
            deadline=deadline,
        )
        others = (
            places[rng.choice(len(places), missing, p=self.weights / self.weights.sum())]
            + NEAR * ball(missing, len(size), rng) @ size
        )
        return self.frame.outside(np.concatenate([found, others]))


@dataclass(frozen=True, kw_only=True)
class VotesMethod(Method):
    """`votes_release`, the solver on its coreset, and one private step: what the default method is
    in a box of many dimensions.

    **Privacy.** epsilon-DP, or, with a delta, (epsilon, delta)-DP, by the module's text.
    """

    name = "partition"
    summary = "noisy counts and means around candidates, in two rounds, and one private step"
    in_space = True
    releases = True

    def price(self, epsilon: Any, delta: Any) -> Cost:
        """Epsilon alone, or a pool of rho where there is a delta."""
        return purse_price(epsilon, delta)

    def check(
        self, demand: PrivateDemand, question: Question, price: Cost, neighboring: Neighboring
    ) -> None:
        """Refuse an epsilon too small for the noise."""
        space: Any = demand.universe
        affordable(demand, space, price, COUNT_SHARE, neighboring, min(MOST_AXES, space.dimension))

    def answer(self, demand: PrivateDemand, grant: Grant, question: Question) -> Result:
        """Centers, and the release they were computed from, which cost less than they did."""
        purse = Purse(demand, grant, Fraction(1))
        noisy = votes_release(
            purse, k=question.k, records_hint=self.records_hint, seed=question.seed, last=True
        )
        moved = last_step(purse, noisy, noisy.centers(question), question.power)
        return Result(moved, question.k, self.name, purse.receipt, noisy)

    def release(self, demand: PrivateDemand, grant: Grant, seed: int) -> VotesRelease:
        """Spend the whole grant on a release alone."""
        return votes_release(
            Purse(demand, grant, Fraction(1)), records_hint=self.records_hint, seed=seed
        )


def votes_release(
    purse: Purse,
    *,
    k: int | None = None,
    records_hint: float | None = None,
    seed: int = 0,
    last: bool = False,
) -> VotesRelease:
    """A plan, a frame, and in it two rounds of counts and means; see the module's text for the
    steps and the guarantee.

    Parameters
    ----------
    purse : Purse
        Of demand in an `EuclideanSpace`.
    k : int, optional
        Centers that will be asked for, if that is known: more of them get more candidates.
    records_hint : float, optional
        A public guess of the number of records, in place of the noisy one.
    seed : int
        Public coins of the directions and candidates.
    last : bool
        Keep the shares of a last step.

    Notes
    -----
    For q directions and M candidates O(n · (M + d) · q) in all: some ten passes over the n records
    (or a sample), two for every direction.
    """
    space: Any = purse.demand.universe
    rng, d = np.random.default_rng([seed, 11]), space.dimension
    noise, pooled = noise_of_sums(purse), isinstance(purse.grant, Pool)
    total = (
        float(purse.ask(CountQuery(), COUNT_SHARE).values[0])
        if records_hint is None
        else float(records_hint)
    )
    share = purse.thin(max(ENOUGH, RECORDS_PER_NOISE * noise) / max(total, 1.0))
    total *= share
    plan = planned(d, total, noise, pooled)
    shares = plan.shares
    purse.spread(shares.total(last))
    mean, reach = private_mean(purse, space, total, shares)
    purse.spread(shares.total(last) - shares.around - shares.mean - shares.near)
    if plan.name == "mean":
        cells = Cells(space, mean[None])
        counted = purse.ask(HistogramQuery(cells), shares.counts)
        frame = Frame(space, mean, None, np.zeros((d, d)))
        return VotesRelease(
            plan,
            frame,
            cells,
            counted,
            mean[None],
            np.maximum(counted.values, 1.0) / share,
            purse.receipt,
        )
    frame = told_frame(purse, plan, mean, total, rng, reach)
    q, demand = len(frame.middle), frame.inside(purse.demand)
    sizes = WHOLE if q == d else ALONG
    fewest, most = min(FEWEST, MOST), MOST
    if k is not None:
        fewest, most = (
            int(np.clip(k * each, low, EVER))
            for each, low in zip(A_CENTER, (min(FEWEST, MOST), MOST // 2))
        )
    noise_of_count = purse.count_noise(shares.counts) * np.sqrt(q)
    n_candidates = int(
        np.clip(total / (sizes.records_per_noise * noise_of_count), sizes.fewest or fewest, most)
    )
    first = frame.drawn(n_candidates, rng, sizes.reach)
    public = float(
        np.quantile(
            np.sqrt(nearest_centers(frame.drawn(500, rng, sizes.reach), first)[1]), sizes.public
        )
    )
    cells, counted, means, weights = voted(
        purse, demand, first, public, (shares.counts, shares.sums), sizes.stands_out
    )
    second = (
        frame.space.clip(around(means, weights, n_candidates, first, frame.ellipsoid, rng))
        if len(means)
        else first
    )
    near = distance_told(purse, demand, frame.space, second, shares.shells, sizes.farthest)
    parts = (shares.counts_2, shares.sums_2)
    cells, counted, means, weights = voted(
        purse, demand, second, near if len(means) else public, parts, sizes.stands_out
    )
    if not len(means):
        means, weights = (
            (first, np.ones(len(first))) if q == d else (frame.middle[None], np.ones(1))
        )
    return VotesRelease(plan, frame, cells, counted, means, weights / share, purse.receipt)


def voted(
    purse: Purse,
    demand: PrivateDemand,
    candidates: Array,
    radius: float,
    parts: tuple[Fraction, Fraction],
    stands_out: float,
) -> tuple[Cells, Release, Array, Array]:
    """One round: cells of the candidates, their noisy counts, and means and counts of those that
    stand out of the noise.
    """
    space: Any = demand.universe
    cells = Cells(space, candidates)
    query = HistogramQuery(cells)
    counted = purse.ask(query, parts[0], demand)
    radius = max(radius, space.diameter_bound() * 2.0**-19)
    sums = SumsQuery(query, BITS, candidates, np.full(len(candidates), radius))
    summed = purse.ask(sums, parts[1], demand)
    counts = counted.values.astype(float)
    blur = deviation(summed) * sums.steps[0] * np.sqrt(space.dimension)
    good = counts > np.maximum(stands_out * deviation(counted), blur / radius)
    offsets = summed.values.reshape(candidates.shape)[good] * sums.steps[0] / counts[good, None]
    length = np.linalg.norm(offsets, axis=1, keepdims=True)
    offsets *= np.minimum(1.0, radius / np.maximum(length, 1e-300))
    return cells, counted, space.clip(candidates[good] + offsets), counts[good]


def around(
    means: Array,
    weights: Array,
    n_candidates: int,
    first: Array,
    ellipsoid: Array,
    rng: np.random.Generator,
) -> Array:
    """The means, and random points around them in proportion to their weights, up to `n_candidates`
    in all.
    """
    spare = max(n_candidates - len(means), 0)
    parent = rng.choice(len(means), spare, p=weights / weights.sum())
    gap = np.sqrt(nearest_centers(means, first)[1])[parent, None] * rng.uniform(
        *SCATTER, (spare, 1)
    )
    size = float(np.sqrt((ellipsoid**2).sum() / len(ellipsoid)))
    return np.concatenate(
        [
            means,
            means[parent]
            + gap * (ball(spare, means.shape[1], rng) @ ellipsoid) / max(size, 1e-300),
        ]
    )


def last_step(purse: Purse, release: VotesRelease, centers: Array, power: int) -> Array:
    """Shells around the centers tell where to clip, and how records lie in a cell; then one private
    step (`stepped`, `shifted`).
    """
    shares = release.plan.shares
    if not shares.last_sums:
        return centers
    whole = len(release.frame.middle) == release.space.dimension
    point = release.frame.point
    scaled = Scaled(
        release.space, point, np.ones(len(point)) if whole else scales_around(release.space, point)
    )
    demand = purse.demand if whole else mapped(purse.demand, scaled, scaled.space)
    shells: Shells = (
        Shells(release.space, centers) if whole else Shells(scaled.space, scaled.encode(centers))
    )
    seen = purse.ask(HistogramQuery(shells), shares.last_shells, demand)
    counts = seen.values.astype(float)
    radius = shells.quantile(
        counts, noise_of_shells(seen), (WHOLE if whole else ALONG).clipped[power]
    )
    label = nearest_centers(release.universe.points, centers)[0]  # type: ignore[attr-defined]
    mass = np.bincount(label, release.weights, len(centers)).astype(np.float64)
    if power == 1 or not whole:
        mass *= shells.force(counts, noise_of_shells(seen), radius)
    if not whole:
        everyone = mapped(purse.everyone, scaled, scaled.space)
        return shifted(purse, scaled, everyone, centers, radius, mass, shares.last_sums)
    price = purse.price(shares.last_sums)
    moved, receipt = stepped(
        purse.everyone,
        release.space,
        centers,
        np.full(len(centers), radius),
        mass,
        price,
        purse.grant,
    )
    purse.receipts.append(receipt)
    return moved


def shifted(
    purse: Purse,
    scaled: Scaled,
    demand: PrivateDemand,
    centers: Array,
    radius: float,
    mass: Array,
    share: Fraction,
) -> Array:
    """Move centers by their records' scaled sums: all together, then each by what is left."""
    space, k = scaled.universe, len(centers)
    radius = max(radius, scaled.space.diameter_bound() * 2.0**-19)
    query = SumsQuery(
        HistogramQuery(Unscaled(scaled, centers)), BITS, scaled.encode(centers), np.full(k, radius)
    )
    release = purse.ask(query, share, demand)
    pull = release.values.reshape(centers.shape) * query.steps[0] * scaled.scales
    noise = deviation(release) * query.steps[0] * float(np.linalg.norm(scaled.scales))
    good, each = mass > 0, np.maximum(mass, 1.0)
    total = max(float(mass[good].sum()), 1.0)
    shift = pull.sum(axis=0) / total
    shift *= trust(float(np.linalg.norm(shift)), noise * np.sqrt(k) / total)
    left = pull / each[:, None] - shift
    left *= (good * trust(np.linalg.norm(left, axis=1), noise / each))[:, None]
    moves = shift + left
    moves *= np.minimum(
        1.0, radius / np.maximum(np.linalg.norm(moves / scaled.scales, axis=1), 1e-300)
    )[:, None]
    return unequal(space, centers + moves)


def trust(length: Any, noise: Any) -> Any:
    """What James and Stein leave of a vector of some length, of which noise is so long."""
    return np.maximum(1 - (noise / np.maximum(length, 1e-300)) ** 2, 0.0)


class Unscaled(Cells):
    """Voronoi cells of centers of a box, for the images of its points under a scaling."""

    def __init__(self, scaled: Scaled, centers: Array) -> None:
        super().__init__(scaled.space, centers)
        self.scaled = scaled

    def encode(self, records: Array) -> NDArray[np.int64]:
        """Cell of each image, shape (n,)."""
        return super().encode(self.scaled.back(records))
