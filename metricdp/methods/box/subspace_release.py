"""Where records are in a box of many dimensions, and along which directions: what is told before
candidates are drawn.

1. The *plan*, from public facts: d, the noise, and a guess or a noisy number of records. It names
   the shares of all reads, and how many directions q are looked for (`planned`).
2. The private mean: shells around the middle of the box tell the ball that holds the records; their
   sum from there, clipped at it. Shells around the mean, in turn, tell whether the box was so loose
   that it pays to do so once more from there.
3. Directions. For orthogonal public u in turn, the sum of sign(<u, x - mean>)·(x - mean), clipped:
   about n·sqrt(2/pi)·C·u / sqrt(<u, C·u>) for records of covariance C. Where q = d, u are the axes
   and one round tells C; else q random directions, and a second round along those that the first
   found, tell the principal ones.
4. The *frame*: the box itself where q = d, else the coordinates along q directions from the mean;
   and an ellipsoid in it, which holds most of the records.

*Scaled sums.* Full sums are taken in coordinates divided by scales s, and multiplied by them
afterwards: the noise of coordinate j is then s_j times that of a sum of vectors of length ``|x /
s|``. The sum of all noise is least for s_j² in proportion to the standard deviation of coordinate
j, which is at most sqrt((mean - lower)·(upper - mean)), a function of the released mean.

**Privacy.** All reads are `HistogramQuery`, `SumsQuery` and `LevelsQuery` of records, or of their
images under maps that are functions of public facts and of earlier releases
(`metricdp.privacy.mapped`), paid from one budget in shares (`metricdp.methods.box.votes_release`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from metricdp.accounting import Pool
from metricdp.kernels.points import nearest_centers
from metricdp.kernels.projections import projected
from metricdp.methods.box.space_release import BITS, Array, deviation
from metricdp.methods.shares import Purse
from metricdp.metrics.space import EuclideanSpace
from metricdp.privacy import HistogramQuery, LevelsQuery, PrivateDemand, SumsQuery, mapped
from metricdp.releases import Release

N_SHELLS, RATIO = 48, 2.0 ** (-1 / 3)
"""Shells: the outermost ends at the diagonal of the box, each at this fraction of the one around
it; the last is a ball.
"""
STANDS_OUT = 4.0
"""A shell counts if its noisy count is so many standard deviations of its noise: a false one far
out would set the radius.
"""
WITHIN, WITHIN_ALL, WITHIN_ALONG = 0.9, 0.98, 0.3
"""Quantiles of the distances at which sums are clipped: for the mean, for all directions, and for
few of many.
"""
FEWEST_AXES, MOST_AXES, AXES_FACTOR = 3, 48, 1 / 3
"""Directions of a frame: in proportion to the root of the number of records per noise of a sum."""
MOST_MEANS = 4
"""Means told one after another, each from a smaller ball."""
LEAST_SIGNAL, CLEAR_SIGNAL = 0.3, 2.0
"""Below the first, directions cannot be told from noise, and a mean is all that is released; beyond
the second, C is asked for in full.
"""
LEAST_SCALE = 0.01
"""Of a coordinate's width: distance of the mean from the ends of the box that counts at least."""


Reach = Callable[[float], float]
"""Quantile of distances, told already."""


@dataclass(frozen=True)
class Shares:
    """Parts of the budget of every read, in order; their sum is what is spent."""

    around: Fraction
    mean: Fraction
    near: Fraction
    directions: Fraction
    counts: Fraction
    sums: Fraction
    shells: Fraction
    counts_2: Fraction
    sums_2: Fraction
    last_shells: Fraction
    last_sums: Fraction

    @classmethod
    def percent(cls, *parts: int) -> Shares:
        """From integers that add up to 100."""
        return cls(*(Fraction(part, 100) for part in parts))

    def total(self, last: bool) -> Fraction:
        """Of all reads, or of those before the last step."""
        parts: tuple[Fraction, ...] = astuple(self)
        return sum(parts if last else parts[:-2], Fraction(0))


COUNT_SHARE = Fraction(1, 100)
VOTES = Shares.percent(3, 2, 1, 0, 8, 17, 2, 10, 32, 2, 23)
SHAPED = Shares.percent(3, 2, 1, 5, 8, 15, 2, 9, 31, 2, 22)
SUBSPACE = Shares.percent(2, 9, 1, 21, 4, 7, 1, 5, 15, 2, 33)
ALONE = Shares.percent(4, 94, 0, 0, 2, 0, 0, 0, 0, 0, 0)


@dataclass(frozen=True)
class Plan:
    """A design: its name, its shares, and the number of directions of its frame."""

    name: str
    shares: Shares
    n_axes: int


def planned(dimension: int, records: float, noise: float, pooled: bool) -> Plan:
    """The design for a box of more than three dimensions, from public facts and a released or
    guessed number of records.

    Let N = records / noise. The frame has q = N^(1/2) / 3 directions, 3 to 48, d at most. Where q <
    d, the sums that tell the directions stand out of their noise by about N·c / sqrt(d·q) with
    Gaussian noise, N·c / (q·sqrt(d)) with that of Laplace, whose shares count in full and not by
    their roots. Below 0.3: `ALONE`, the private mean; else `SUBSPACE`. Where q = d: `SHAPED`, or
    `VOTES` if the ratio for d directions is below 2.

    Parameters
    ----------
    dimension : int
    records : float
    noise : float
        Standard deviation of a coordinate of the sum of unit vectors, in steps of their length, if
        the whole budget were spent on it.
    pooled : bool
        Whether noise is Gaussian.
    """
    per_noise = max(records, 0.0) / noise
    q = int(min(np.clip(round(AXES_FACTOR * per_noise**0.5), FEWEST_AXES, MOST_AXES), dimension))
    full = q == dimension
    share = float((SHAPED if full else SUBSPACE).directions) / (1 if full else 2)
    spread = np.sqrt(q) if pooled else q
    signal = (
        0.8
        * per_noise
        * (share**0.5 if pooled else share)
        / (spread * np.sqrt(dimension) * np.sqrt(min(12, dimension)))
    )
    if full:
        return Plan("votes", SHAPED, q) if signal > CLEAR_SIGNAL else Plan("votes", VOTES, q)
    return Plan("subspace", SUBSPACE, q) if signal > LEAST_SIGNAL else Plan("mean", ALONE, 0)


class Shells:
    """A box cut by the distance to the nearest of a few centers, in geometric steps from the
    diagonal down.
    """

    def __init__(self, space: EuclideanSpace, centers: Array) -> None:
        self.universe, self.centers, self.n_parts = space, centers, N_SHELLS
        self.edges = space.diameter_bound() * RATIO ** np.arange(1, N_SHELLS)

    def encode(self, records: Array) -> NDArray[np.int64]:
        """Shell of each point, shape (n,): 0 is the outermost."""
        return np.searchsorted(
            -self.edges, -np.sqrt(nearest_centers(records, self.centers)[1]), side="right"
        )

    def quantile(self, counts: Array, noise: float, share: float) -> float:
        """Outer radius of the shell in which the quantile of the noisy counts lies; those within
        the noise count as 0, if not all are.
        """
        outer = self.universe.diameter_bound() * RATIO ** np.arange(N_SHELLS)
        kept = np.where(counts > STANDS_OUT * noise, counts, 0.0)
        if not kept.any():
            kept[np.argmax(counts)] = max(counts.max(), 0.0)
        mass = np.cumsum(kept[::-1])
        return (
            float(outer[::-1][np.searchsorted(mass, share * mass[-1])])
            if mass[-1] > 0
            else float(outer[0])
        )

    def force(self, counts: Array, noise: float, radius: float) -> float:
        """Mean over the records of min(1, radius / distance): what is left of their pulls, vectors
        clipped at the radius.
        """
        kept = np.where(counts > STANDS_OUT * noise, counts, 0.0)
        distance = self.universe.diameter_bound() * RATIO ** (np.arange(N_SHELLS) + 0.5)
        return float(kept @ (radius / np.maximum(distance, radius)) / max(kept.sum(), 1.0))


class Halves:
    """A box cut in two by a plane: part 0 is the side to which its normal points."""

    n_parts = 2

    def __init__(self, space: EuclideanSpace, point: Array, normal: Array) -> None:
        self.universe, self.at = space, np.flatnonzero(normal)
        self.point, self.normal = point[self.at], normal[None, self.at]

    def encode(self, records: Array) -> NDArray[np.int64]:
        """Side of each point, shape (n,)."""
        seen = (
            records
            if len(self.at) == records.shape[1]
            else np.ascontiguousarray(records[:, self.at])
        )
        return (projected(seen, self.point, self.normal)[:, 0] < 0).astype(np.int64)


class Scaled:
    """Coordinates from a point of the box, divided by scales: a map for `metricdp.privacy.mapped`,
    and the box of its images.
    """

    def __init__(self, universe: EuclideanSpace, point: Array, scales: Array) -> None:
        self.universe, self.point, self.scales = universe, point, scales
        self.space = EuclideanSpace(
            (universe.lower - point) / scales, (universe.upper - point) / scales
        )

    def encode(self, records: Array) -> Array:
        """Images of points, shape (n, d)."""
        images = records - self.point
        images /= self.scales
        return images

    def back(self, images: Array) -> Array:
        """Points of images, shape (n, d)."""
        return images * self.scales + self.point


class Frame:
    """Coordinates of a box along a few orthogonal directions, or its own, and an ellipsoid there.

    Parameters
    ----------
    universe : EuclideanSpace
    point : ndarray of float64, shape (d,)
        The origin, where there are axes; in any case the middle of the ellipsoid.
    axes : ndarray of float64, shape (q, d), optional
        Unit vectors, orthogonal to one another.
    ellipsoid : ndarray of float64, shape (q, q)
        Its semi-axes, one a row, in the frame's coordinates.

    Attributes
    ----------
    space : EuclideanSpace
        What holds the images of the box.
    middle : ndarray of float64, shape (q,)
    """

    def __init__(
        self, universe: EuclideanSpace, point: Array, axes: Array | None, ellipsoid: Array
    ) -> None:
        self.universe, self.point, self.axes, self.ellipsoid = universe, point, axes, ellipsoid
        self.space, self.middle = universe, point
        if axes is not None:
            reach = np.abs(axes) @ np.maximum(universe.upper - point, point - universe.lower)
            self.space, self.middle = EuclideanSpace(-reach, reach), np.zeros(len(axes))

    def inside(self, demand: PrivateDemand) -> PrivateDemand:
        """The demand in the frame's coordinates."""
        return demand if self.axes is None else mapped(demand, self, self.space)

    def encode(self, records: Array) -> Array:
        """Coordinates of points, shape (n, q)."""
        return records if self.axes is None else projected(records, self.point, self.axes)

    def outside(self, places: Array) -> Array:
        """Points of the box, shape (n, d)."""
        return places if self.axes is None else self.universe.clip(self.point + places @ self.axes)

    def drawn(self, n: int, rng: np.random.Generator, reach: float = 1.0) -> Array:
        """Uniform points of the ellipsoid, every other one of one `reach` times as wide, moved into
        the frame's box, shape (n, q).
        """
        wide = np.where(np.arange(n) % 2, reach, 1.0)[:, None]
        return self.space.clip(
            self.middle + wide * ball(n, len(self.ellipsoid), rng) @ self.ellipsoid
        )


def ball(n: int, d: int, rng: np.random.Generator) -> Array:
    """Uniform points of the unit ball, shape (n, d)."""
    points = rng.normal(size=(n, d))
    return points / np.linalg.norm(points, axis=1, keepdims=True) * rng.random((n, 1)) ** (1 / d)


def scales_around(space: EuclideanSpace, mean: Array) -> Array:
    """Scales for sums from a released mean, shape (d,): roots of the largest standard deviations
    that the box leaves, 1 in the middle.
    """
    width = space.upper - space.lower
    low, high = (
        np.maximum(away, LEAST_SCALE * width) for away in (mean - space.lower, space.upper - mean)
    )
    scales = (low * high) ** 0.25
    return scales / scales.mean()


def distance_told(
    purse: Purse,
    demand: PrivateDemand,
    space: EuclideanSpace,
    centers: Array,
    share: Fraction,
    within: float,
) -> float:
    """Quantile of the distances to the nearest of a few centers, paid for with a share, down to
    what a sum can be clipped at.
    """
    return reached(purse, demand, space, share, centers)(within)


def noise_of_shells(release: Release) -> float:
    """Standard deviation of the noise of shells, for `STANDS_OUT`; of Laplace noise, whose tails
    are longer, half as much again.

    A shell far out that is large by chance would make a loose box's ball as wide as the box.
    """
    noise = deviation(release)
    return noise if release.receipt.mechanisms[0].rho is not None else 1.5 * noise


def reached(
    purse: Purse,
    demand: PrivateDemand,
    space: EuclideanSpace,
    share: Fraction,
    centers: Array | None = None,
) -> Reach:
    """All quantiles of the distances to the nearest of a few centers, the origin by default, as
    `distance_told`.
    """
    shells = Shells(space, np.zeros((1, space.dimension)) if centers is None else centers)
    release = purse.ask(HistogramQuery(shells), share, demand)
    counts, noise, least = (
        release.values.astype(float),
        noise_of_shells(release),
        space.diameter_bound() * 2.0**-19,
    )
    return lambda within: max(shells.quantile(counts, noise, within), least)


class Whole:
    """A box in one part."""

    n_parts = 1

    def __init__(self, space: EuclideanSpace) -> None:
        self.universe = space

    def encode(self, records: Array) -> NDArray[np.int64]:
        """Part of each point, shape (n,)."""
        return np.zeros(len(records), np.int64)


def private_mean(
    purse: Purse, space: EuclideanSpace, records: float, shares: Shares
) -> tuple[Array, Reach | None]:
    """Mean of the records, clipped at the ball that holds most of them, shape (d,), and their
    distances from it, if they have a share.

    In a loose box these may turn out to be less than twice the noise of the mean, and less than
    half the radius at which records were clipped: then, unless the mean is all noise, both are told
    again from there, for as much as before.
    """
    d = space.dimension
    scaled = Scaled(
        space,
        (space.lower + space.upper) / 2,
        scales_around(space, (space.lower + space.upper) / 2),
    )
    demand = mapped(purse.demand, scaled, scaled.space)
    radius = distance_told(purse, demand, scaled.space, np.zeros((1, d)), shares.around, WITHIN)
    for _ in range(MOST_MEANS):
        query = SumsQuery(HistogramQuery(Whole(scaled.space)), BITS, np.zeros((1, d)), [radius])
        summed = purse.ask(query, shares.mean, demand)
        step = query.steps[0] / max(records, 1.0)
        offset, error = summed.values * step, deviation(summed) * step * np.sqrt(d)
        offset *= min(1.0, radius / max(float(np.linalg.norm(offset)), 1e-300))
        mean = np.asarray(space.clip(scaled.back(offset[None]))[0])
        if not shares.near:
            return mean, None
        scaled = Scaled(
            space, mean, scales_around(space, mean) if shares.directions else np.ones(d)
        )
        demand = mapped(purse.demand, scaled, scaled.space)
        reach = reached(purse, demand, scaled.space, shares.near)
        if reach(WITHIN) > min(2 * error, radius / 2) or error > radius / 4:
            break
        radius = reach(WITHIN)
    return mean, reach


def told_frame(
    purse: Purse,
    plan: Plan,
    mean: Array,
    records: float,
    rng: np.random.Generator,
    reach: Reach | None = None,
) -> Frame:
    """The frame around a released mean, and the ellipsoid that most records are in; `reach` as from
    `private_mean`, or asked for.
    """
    space: EuclideanSpace = purse.demand.universe  # type: ignore[assignment]
    d, q, shares = space.dimension, plan.n_axes, plan.shares
    scaled = Scaled(space, mean, scales_around(space, mean))
    demand = mapped(purse.demand, scaled, scaled.space)
    if not shares.directions:
        reach = reach or reached(purse, purse.demand, space, shares.near, mean[None])
        return Frame(space, mean, None, reach(WITHIN_ALL) * np.eye(d))
    radius = (reach or reached(purse, demand, scaled.space, shares.near))(
        WITHIN_ALL if q == d else WITHIN_ALONG
    )
    axes = np.eye(d) if q == d else np.linalg.qr(rng.normal(size=(d, q)))[0].T
    rounds = 1 if q == d else 2
    for _ in range(rounds):
        levels, origin = [], np.zeros(d)
        for axis in axes:
            side = HistogramQuery(Halves(scaled.space, origin, axis * scaled.scales))
            levels.append(SumsQuery(side, BITS, np.zeros(d), [radius, radius], folded=True))
        told = purse.ask(LevelsQuery(tuple(levels)), shares.directions / rounds, demand)
        step = float(levels[0].steps[0])
        pulls = (
            told.values.reshape(q, d)
            * step
            * scaled.scales
            / (np.sqrt(2 / np.pi) * max(records, 1.0))
        )
        noise = deviation(told) * step / max(records, 1.0)
        along = np.maximum((pulls * axes).sum(axis=1), noise)  # standard deviations along the axes
        _, variances, axes = np.linalg.svd(
            along[:, None] * pulls if q == d else pulls, full_matrices=False
        )
    lengths = np.sqrt(q + 2) * (np.sqrt(variances) if q == d else variances)
    if q == d:
        return Frame(space, mean, None, lengths[:, None] * axes)
    return Frame(space, mean, axes, np.diag(lengths))


def noise_of_sums(purse: Purse) -> float:
    """Standard deviation of a coordinate of a sum of unit vectors of the box, in their length, if
    the whole grant paid for it.
    """
    grant, m = purse.grant, purse.demand.max_contributions
    sums = SumsQuery(HistogramQuery(Whole(purse.demand.universe)), BITS)  # type: ignore[arg-type]
    if isinstance(grant, Pool):
        return (
            float(np.sqrt(sums.squared_sensitivity(grant.neighboring, m) / (2 * float(grant.rho))))
            / 2**BITS
        )
    return (
        float(np.sqrt(2.0))
        * sums.sensitivity(grant.neighboring, m)
        / float(grant.epsilon)
        / 2**BITS
    )
