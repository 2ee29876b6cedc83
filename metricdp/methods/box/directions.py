"""Private location and principal directions of the records of a box of many dimensions.

1. The *design*: the budget shares of all reads and the number q of directions, from d, the noise
   and a guessed or noisy number of records (`chosen_design`).
2. The private mean, shrunk by its noise, and the records' distances from it. Histograms of shells
   give the ball that holds most records; the sum for the mean is clipped to it.
3. Directions. For orthogonal public u, the clipped sum of sign(<u, x - mean>)·(x - mean) is about
   n·sqrt(2/pi)·C·u / sqrt(<u, C·u>) for covariance C: a step of subspace iteration. With q < d a
   second step starts from the directions that the first found.
4. The *subspace* along q directions, and an ellipsoid that holds most of the records.

Sums are taken in coordinates divided by scales, which minimize the total noise.

**Privacy.** All reads are `HistogramQuery`, `SumsQuery` and `LevelsQuery` of records or of their
images under public maps (`metricdp.privacy.mapped`), in shares of one budget.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import astuple, dataclass
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from metricdp.arguments import Floats
from metricdp.methods.asking import Account, Ask, Image, clipped_sums, deviation
from metricdp.methods.box.descent import DistancesTogether, measured_together, shrinkage
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.cells import HalfSpaces, Scaled, Subspace, WholeBox
from metricdp.privacy.queries import LevelsQuery
from metricdp.releases import Release

WITHIN = 0.9
WITHIN_ALL = 0.98
WITHIN_ALONG = 0.3
"""Quantiles of distances at which sums are clipped: for means, for q = d and q < d directions."""
FEWEST_AXES = 3
MOST_AXES = 48
AXES_FACTOR = 1 / 3
"""Directions of a subspace: proportional to the root of records per noise deviation of a sum."""
MOST_MEANS = 4
"""Means released one after another at most, each clipped to a smaller ball."""
LEAST_SIGNAL = 0.3
CLEAR_SIGNAL = 2.0
"""Signal over noise of the directions' sums: below the first only a mean is released, above the
second the sums of all d directions.
"""
LEAST_SCALE = 0.01
"""Least distance of the mean from the ends of the box in a scale, as a share of the side."""


@dataclass(frozen=True)
class Shares:
    """Budget shares of all reads, in their order; what they add up to is spent.

    `middle_shells` and `mean_shells`: shells around the box's middle and around the mean; `counts`,
    `sums`, `shells`, `counts_2`, `sums_2`: the two rounds; `last_shells`, `last_sums`: the step.
    """

    middle_shells: Fraction
    mean: Fraction
    mean_shells: Fraction
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

    def times(self, factor: Fraction) -> Shares:
        """Each times a factor."""
        parts: tuple[Fraction, ...] = astuple(self)
        return Shares(*(part * factor for part in parts))

    def total(self, last: bool) -> Fraction:
        """The sum of all shares, or of those before the last step."""
        parts: tuple[Fraction, ...] = astuple(self)
        return sum(parts if last else parts[:-2], Fraction(0))


BALL = Shares.percent(3, 2, 1, 0, 8, 17, 2, 10, 32, 2, 23)
ELLIPSOID = Shares.percent(3, 2, 1, 5, 8, 15, 2, 9, 31, 2, 22)
SUBSPACE = Shares.percent(2, 9, 3, 21, 4, 7, 1, 5, 15, 2, 31)
ALONE = Shares.percent(4, 86, 8, 0, 2, 0, 0, 0, 0, 0, 0)
"""Designs: rounds in a ball or an ellipsoid of the whole box, rounds along few directions, and no
rounds at all.
"""


@dataclass(frozen=True)
class Design:
    """A design: its name, its budget shares, and the number of directions of its subspace."""

    name: str
    shares: Shares
    n_axes: int


def chosen_design(dimension: int, records: float, noise: float, in_rho: bool) -> Design:
    """The design for a box of more than three dimensions, from public facts and the number of
    records.

    With N = records / noise, q = N^(1/2) / 3 directions, from 3 to 48 and at most d. The sums'
    signal over noise is about N·c / sqrt(d·q) with Gaussian noise, N·c / (q·sqrt(d)) with Laplace.
    For q < d: `ALONE` if it is below 0.3, else `SUBSPACE`. For q = d: `BALL` if it is below 2, else
    `ELLIPSOID`.
    """
    per_noise = max(records, 0.0) / noise
    q = int(min(np.clip(round(AXES_FACTOR * per_noise**0.5), FEWEST_AXES, MOST_AXES), dimension))
    full = q == dimension
    share = float((ELLIPSOID if full else SUBSPACE).directions) / (1 if full else 2)
    spread = np.sqrt(q) if in_rho else q
    signal = (
        0.8
        * per_noise
        * (share**0.5 if in_rho else share)
        / (spread * np.sqrt(dimension) * np.sqrt(min(12, dimension)))
    )
    if full:
        return Design("rounds", ELLIPSOID if signal > CLEAR_SIGNAL else BALL, q)
    if signal > LEAST_SIGNAL:
        return Design("subspace", SUBSPACE, q)
    return Design("mean", ALONE, 0)


def scales_around(space: EuclideanSpace, mean: Floats) -> Floats:
    """Scales of the coordinates for sums of offsets from a mean, shape (d,), of mean 1: roots of
    the largest standard deviations that the box allows around it.
    """
    width = space.upper - space.lower
    low, high = (
        np.maximum(away, LEAST_SCALE * width) for away in (mean - space.lower, space.upper - mean)
    )
    scales = (low * high) ** 0.25
    found: Floats = scales / scales.mean()
    return found


class Mean(NamedTuple):
    """A released mean (d,), and the distances of the records from it."""

    point: Floats
    distances: DistancesTogether


def private_mean(seen: Image, records: float, shares: Shares) -> Generator[Any, Any, Mean]:
    """Release the mean of the records, clipped to the ball that holds most of them, and their
    distances from it. If the ball turns out much smaller, as in a loose box, both are released
    again from the first mean, for the same shares, as long as the budget lasts.
    """
    space: EuclideanSpace = seen.universe
    d = space.dimension
    middle = (space.lower + space.upper) / 2
    scaled = Scaled(space, middle, scales_around(space, middle))
    image = seen.mapped(scaled, scaled.space)
    radius = (yield from measured_together(image, None, shares.middle_shells)).clipping(WITHIN)
    for attempt in range(MOST_MEANS):
        query = clipped_sums(WholeBox(scaled.space), np.zeros((1, d)), [radius])
        summed = yield Ask(query, shares.mean, image)
        step = query.steps[0] / max(records, 1.0)
        offset = summed.values * step
        error = deviation(summed) * step * np.sqrt(d)
        length = float(np.linalg.norm(offset))
        offset *= min(1.0, radius / max(length, 1e-300))
        if attempt == 0:
            offset *= shrinkage(length, error)
        mean = np.asarray(space.clip(scaled.back(offset[None]))[0])
        scales = scales_around(space, mean) if shares.directions else np.ones(d)
        scaled = Scaled(space, mean, scales)
        image = seen.mapped(scaled, scaled.space)
        distances = yield from measured_together(image, None, shares.mean_shells)
        smaller = distances.clipping(WITHIN)
        # a smaller ball would not reduce the error much
        tight = smaller > min(2 * error, radius / 2) or error > radius / 4
        if tight or (yield Account()).left < shares.mean + shares.mean_shells:
            break
        radius = smaller
    return Mean(mean, distances)


def private_subspace(
    seen: Image, q: int, shares: Shares, mean: Mean, records: float, rng: np.random.Generator
) -> Generator[Any, Any, Subspace]:
    """Release the subspace of q directions around a mean, and the ellipsoid of most records."""
    space: EuclideanSpace = seen.universe
    d = space.dimension
    share = shares.directions
    distances = mean.distances
    if not share:
        return Subspace(space, mean.point, None, distances.clipping(WITHIN_ALL) * np.eye(d))
    scaled = Scaled(space, mean.point, scales_around(space, mean.point))
    image = seen.mapped(scaled, scaled.space)
    whole = q == d
    radius = distances.clipping(WITHIN_ALL if whole else WITHIN_ALONG)
    axes = np.eye(d) if whole else np.linalg.qr(rng.normal(size=(d, q)))[0].T
    rounds = 1 if whole else 2
    for _ in range(rounds):
        sums, noise = yield from signed_sums(image, scaled, axes, radius, share / rounds)
        means = sums / (np.sqrt(2 / np.pi) * max(records, 1.0))
        # C·u is a mean times the deviation along u; with q < d the means give axes and lengths
        deviations = np.maximum((means * axes).sum(axis=1), noise / max(records, 1.0))
        images = deviations[:, None] * means if whole else means
        _, singular, axes = np.linalg.svd(images, full_matrices=False)
    lengths = np.sqrt(singular) if whole else singular
    # noise lengthens the semi-axes: bound their norm by the records' median distance
    lengths *= min(1.0, distances.quantile(0.5) / max(float(np.linalg.norm(lengths)), 1e-300))
    lengths *= np.sqrt(q + 2)
    if whole:
        return Subspace(space, mean.point, None, lengths[:, None] * axes)
    return Subspace(space, mean.point, axes, np.diag(lengths))


def signed_sums(
    image: Image, scaled: Scaled, axes: Floats, radius: float, share: Fraction
) -> Generator[Ask, Release, tuple[Floats, float]]:
    """Release, for axes u (q, d), the clipped sums of sign(<u, x>)·x, shape (q, d); return them and
    the standard deviation of their noise.
    """
    q, d = axes.shape
    levels = []
    for axis in axes:
        side = HalfSpaces(scaled.space, np.zeros(d), axis * scaled.scales)
        levels.append(clipped_sums(side, np.zeros(d), [radius, radius], folded=True))
    release = yield Ask(LevelsQuery(tuple(levels)), share, image)
    step = float(levels[0].steps[0])
    return release.values.reshape(q, d) * step * scaled.scales, deviation(release) * step
