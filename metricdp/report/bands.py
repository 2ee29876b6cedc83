"""Service bands: disjoint rings of distance to the nearest site."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from metricdp.arguments import Floats, Ints, file_path, shown
from metricdp.atomic import drafted, write_whole
from metricdp.errors import InputError
from metricdp.metrics.units import in_units_of
from metricdp.report.layers import Layers, band_of
from metricdp.report.plan_files import add_layers, band_layers, ending_of
from metricdp.solvers.estimate.intervals import Interval


@dataclass(frozen=True, eq=False)
class Bands:
    """Distance bands around the sites of a solution; made by `Solution.bands`.

    Attributes
    ----------
    limits : list of float, length n
        Upper ends of the bands, in the units of the universe; a last band beyond them has none.
    label : ndarray of int64, shape (n_points,)
        Index of each point's band, from 0 to n.
    demand : ndarray of float64, shape (n + 1,), or None
        Demand in each band, noisy if the weights are; None without weights.
    interval : Interval or None
        The demand with intervals, arrays of shape (n + 1,), if it comes from a release.
    metric : Metric
        The universe.
    distance : ndarray of float64, shape (n_points,)
        Distance of each point from or to its nearest center.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> bands = mdp.k_median(metric, k=1).bands([1, 2])
    >>> bands.label, bands.demand
    (array([2, 2, 1, 0, 0, 0, 1, 2, 2]), array([3., 2., 4.]))
    """

    limits: list[float]
    label: Ints
    demand: Floats | None
    interval: Interval | None
    metric: Any
    distance: Floats
    _plan: Any

    @property
    def unit(self) -> str:
        """Unit of distances."""
        return str(self.metric.measured)

    @property
    def share(self) -> Floats | None:
        """Share of the demand in each band."""
        if self.demand is None:
            return None
        total = self.demand.sum()
        return self.demand / total if total > 0 else np.full(len(self.demand), np.nan)

    def to_columns(self) -> dict[str, list[Any]]:
        """One row for each band: ``band`` from 1, ``from``, ``to`` (None for the last), ``unit``,
        ``points``; with weights ``demand`` and ``share``; for a release ``low`` and ``high`` of the
        demand.
        """
        n = len(self.limits) + 1
        facts: dict[str, list[Any]] = {"band": list(range(1, n + 1))}
        facts |= {"from": [0.0, *self.limits], "to": [*self.limits, None], "unit": [self.unit] * n}
        facts["points"] = np.bincount(self.label, minlength=n).tolist()
        if self.demand is not None and self.share is not None:
            facts |= {"demand": self.demand.tolist(), "share": self.share.tolist()}
        if self.interval is not None:
            low, high = np.asarray(self.interval.low), np.asarray(self.interval.high)
            facts |= {"low": low.tolist(), "high": high.tolist()}
        return facts

    def to_frame(self) -> Any:
        """`to_columns` as a data frame of pandas.

        Raises
        ------
        MissingExtraError
            pandas is not installed (extra: geo).
        """
        from metricdp.methods import views

        return views.frame(self.to_columns())

    def to_geopandas(self, layer: Literal["areas", "streets"] = "areas") -> Any:
        """The bands as a GeoDataFrame: areas made of the Voronoi cells of the universe's points,
        without overlaps, or streets, cut where a limit is reached.

        Raises
        ------
        InputError
            The universe has no coordinates, or no edges for streets.
        MissingExtraError
            The extra ``geo`` is not installed.
        """
        layers: Layers = self._plan.layers()
        if layer not in ("areas", "streets"):
            raise InputError(f"layer must be 'areas' or 'streets', got {shown(layer)}")
        made = layers.band_areas if layer == "areas" else layers.band_streets
        return layers.frame(self.to_columns(), made(self.limits))

    def page(self, *, title: str | None = None, attribution: str | None = None) -> str:
        """A self-contained HTML page: streets and ground colored by band, sites, and a table.
        Raises InputError for a box.
        """
        from metricdp.report.heat.page import bands_page

        return bands_page(self, self._plan, title, attribution)

    def save(self, path: str | PathLike[str], **page: Any) -> Path:
        """Write atomically: ``.gpkg``, the layers ``bands`` and ``band_streets`` with styles;
        ``.geojson``, the areas; ``.html``, the page (options as `Bands.page`). Returns the path.

        Raises
        ------
        InputError
            Another ending; errors as `to_geopandas`.
        """
        target = file_path(path, "path")
        ending = ending_of(path, self.metric, (".gpkg", ".geojson", ".html"))
        if ending == ".html":
            return write_whole(target, self.page(**page))
        with drafted(target) as draft:
            if ending == ".geojson":
                areas = self.to_geopandas()
                areas = areas if areas.crs is None else areas.to_crs(4326)
                areas.to_file(draft, driver="GeoJSON")
            else:
                add_layers(draft, band_layers(self), {"METRICDP_UNIT": self.unit})
        return target


def checked_ends(limits: Any, metric: Any) -> list[float]:
    """The ends of bands in the units of a metric, after a check."""
    if isinstance(limits, str) or not isinstance(limits, Iterable):
        raise InputError(f"bands need distances, such as [500, 1000]; got {shown(limits)}")
    ends = [in_units_of(metric, limit, "limits") for limit in limits]
    if not ends or min(ends) <= 0 or ends != sorted(set(ends)):
        raise InputError(f"bands need growing positive distances, such as [500, 1000]; got {ends}")
    return ends


def bands_of(
    limits: Iterable[Any], metric: Any, distance: Floats, weights: Floats | None, plan: Any
) -> Bands:
    """The bands of a solution; arguments as the attributes of `Bands`."""
    ends = checked_ends(limits, metric)
    label = band_of(ends, distance)
    demand, interval = None, None
    if weights is not None:
        mass = np.maximum(weights, 0.0)
        demand = np.bincount(label, mass, len(ends) + 1).astype(np.float64)
    if getattr(plan.release, "has_intervals", False):
        n = len(label)
        interval = plan.release.load_intervals(np.arange(n), label, np.ones(n), len(ends) + 1)
        demand = np.asarray(interval.estimate)
    return Bands(ends, label, demand, interval, metric, distance, plan)
