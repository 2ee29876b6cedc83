"""Figures of an answer with credible intervals, and its stability: free post-processing of a
release.

Intervals are those of `metricdp.solvers.estimate.credible`, which hold under a model
(``docs/evaluation.md``). `metricdp.evaluate` pays for intervals that hold for every demand.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Floats, Ints, floats, shown
from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.metrics.units import in_units_of, in_words, unit_shown
from metricdp.options import Centers
from metricdp.partitions.service import Service
from metricdp.progress import progress
from metricdp.solvers.estimate.credible import Credible
from metricdp.solvers.estimate.intervals import Interval
from metricdp.solvers.estimate.smoothing import drawn_demand
from metricdp.solvers.kmedian import solve

REDRAWN = 24
"""Draws of the demand from the posterior for which centers are searched again."""
AnotherSearch = Callable[[Floats], tuple[Ints, float]]
"""From other weights to the positions of new centers, and the share by which these are better than
the centers asked about.
"""
SURE = 0.9
"""Probability from which on a center is called sure."""


@dataclass(frozen=True)
class Stability:
    """The stability of centers: how they change when they are searched again on demand drawn from
    the posterior of a release.

    `stays` (k,): the share of draws in which a center stays at its point; `moves` (k,): median
    distance from a center to the nearest new one; `near` (k,): the probability that a new center is
    within a distance of the center, ``(h + 1) / (n_draws + 2)`` where h draws had one (Laplace's
    rule of succession); `within`: that distance; `gain` (n_draws,): the share of the value by which
    new centers are better for the demand drawn.
    """

    stays: Floats
    moves: Floats
    n_draws: int
    near: Floats
    within: float
    gain: Floats

    @property
    def doubt(self) -> Floats:
        """Probability that no new center is near, shape (k,)."""
        return 1.0 - self.near

    def sentence(self, unit: str | None = None) -> str:
        """A sentence: how many centers are sure, the least sure one, and the gain of new ones."""
        least, gain = int(np.argmin(self.near)), 100 * np.quantile(self.gain, (0.5, 0.9))
        return (
            f"{np.count_nonzero(self.near >= SURE):,} of {len(self.near):,} centers are sure: "
            f"found within {in_words(self.within, unit)} in nine of ten draws of the demand. Least "
            f"sure is center {least + 1} ({100 * self.near[least]:.0f} %). Found anew they would "
            f"be {gain[0]:.1f} % better for the demand drawn, seldom more than {gain[1]:.1f} %."
        )

    def of_site(self, i: int) -> str:
        """The text of a map about a center."""
        return f"{100 * self.near[i]:.0f} % sure"

    def to_columns(self) -> dict[str, list[Any]]:
        """Columns of a table of centers: ``sure`` and ``moves``."""
        return {"sure": self.near.tolist(), "moves": self.moves.tolist()}

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        each = {"stays": self.stays, "moves": self.moves, "near": self.near, "gain": self.gain}
        listed = {name: values.tolist() for name, values in each.items()}
        return {**listed, "draws": self.n_draws, "within": self.within}


@dataclass(frozen=True)
class Summary:
    """An answer's figures with their intervals: of the noisy release, never of the demand itself.

    `mean`: mean distance of the demand to its nearest center; `loads`: demand of each territory,
    arrays of shape (k,); `records`: estimated demand in all; `stability`: None unless asked for;
    `unit`: of distances, such as ``"m"``, or None.
    """

    centers: list[Any]
    mean: Interval
    loads: Interval
    records: float
    stability: Stability | None = None
    unit: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form."""
        plain: dict[str, Any] = {
            "basis": "release",
            "level": self.mean.level,
            "mean": self.mean.to_dict(),
            "loads": self.loads.to_dict(),
            "demand": self.records,
        }
        if self.stability is not None:
            plain["stability"] = self.stability.to_dict()
        return plain

    def __str__(self) -> str:
        mean, low, high = (
            in_words(end, self.unit) for end in (self.mean.estimate, self.mean.low, self.mean.high)
        )
        lines = [
            f"mean distance {mean} [{low} to {high}], {100 * self.mean.level:g} % credible",
            f"{'center':>16}  {'demand':>10}  {'from':>10}  {'to':>10}"
            + ("" if self.stability is None else f"  {'stays':>6}  {'moves':>10}"),
        ]
        for i, center in enumerate(self.centers):
            ends = (self.loads.estimate[i], self.loads.low[i], self.loads.high[i])
            name = " ".join(f"{x:.5g}" for x in center) if isinstance(center, list) else str(center)
            line = f"{name:>16}  " + "  ".join(f"{value:>10,.0f}" for value in ends)
            if self.stability is not None:
                moved = in_words(float(self.stability.moves[i]), self.unit)
                line += f"  {self.stability.stays[i]:>6.0%}  {moved:>10}"
            lines.append(line)
        return "\n".join(lines)


class Places(NamedTuple):
    """The posterior of a release's demand, and the `places` that it weights: positions of a finite
    `universe`, or points in the cells of a box.
    """

    credible: Credible
    universe: Any
    places: NDArray[Any]

    def served(self, centers: Centers) -> tuple[Ints, Floats]:
        """The nearest center of every place, and the distance to it."""
        return Service(self.universe, centers).served(self.places)


def mean_distance(places: Places, centers: Centers, within: Any, level: float) -> Interval:
    """Mean distance to the nearest center; with `within`, the share of demand that near to one."""
    level = checked_level(level)
    _, away = places.served(centers)
    if within is None:
        return places.credible.mean(away, level)
    limit = in_units_of(places.universe, within, "within")
    return places.credible.mean((away <= limit).astype(np.float64), level, rising=True)


def summarized(
    places: Places, centers: Sequence[Any], stability: Stability | None, level: float
) -> Summary:
    """The `Summary` of centers on a release; errors as `mean_distance`."""
    level = checked_level(level)
    found = places.credible
    labels, away = places.served(centers)
    mean, loads = found.mean(away, level), found.sums(labels, len(centers), level)
    unit = unit_shown(places.universe)
    return Summary(list(centers), mean, loads, found.total, stability, unit)


def check_stability(metric: Metric) -> None:
    """Refuse the stability of noisy weights on a table of costs, before any charge."""
    if metric.sites is not metric.ids:
        raise InputError(
            "stability=True needs centers that are points of the universe: how far one site of a "
            "table of costs is from another is not known"
        )


def stability_of(
    counts: Credible,
    metric: Metric,
    positions: Ints,
    within: Any,
    search: AnotherSearch | None = None,
) -> Stability:
    """The `Stability` of centers, by a search, default k-median, for each posterior draw."""
    check_stability(metric)
    distance = np.asarray(metric.nearest_to(positions)[1], np.float64)
    limit = (
        0.5 * counts.mean(distance).estimate
        if within is None
        else in_units_of(metric, within, "within")
    )
    stays, moves, gain = [], [], []
    k = len(positions)
    bar = progress(total=REDRAWN, label="stability", unit="draw")
    for weights in drawn_demand(counts, REDRAWN).T:
        if search is not None:
            found, better = search(weights)
            away = np.asarray(metric.nearest_to(found)[1], np.float64)
        else:
            found = solve(metric, weights, k).centers
            away = np.asarray(metric.nearest_to(found)[1], np.float64)
            before = float(weights @ distance)
            better = 1.0 - float(weights @ away) / before if before > 0 else 0.0
        stays.append(np.isin(positions, found))
        moves.append(away[positions])
        gain.append(max(better, 0.0))
        bar.update(1)
    bar.close()
    near = ((np.array(moves) <= limit).sum(axis=0) + 1) / (REDRAWN + 2)
    stayed, moved = np.mean(stays, axis=0), np.median(moves, axis=0)
    return Stability(stayed, moved, REDRAWN, near, float(limit), np.array(gain))


def checked_level(level: Any) -> float:
    """A probability strictly between 0 and 1."""
    chance = floats(level, "level")
    if chance.ndim or not 0 < chance < 1:
        raise InputError(f"level must be between 0 and 1, such as 0.95; got {shown(level)}")
    return float(chance)
