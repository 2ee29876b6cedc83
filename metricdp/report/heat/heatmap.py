"""Heat map of demand: densities at the points of a universe, as tables, files and a page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any, Literal

import numpy as np

from metricdp.arguments import Floats, Ints, chosen, file_path
from metricdp.atomic import drafted, write_whole
from metricdp.errors import InputError
from metricdp.metrics.units import in_words, unit_shown
from metricdp.report.canvas.network import DrawnUniverse
from metricdp.report.colors import HEAT
from metricdp.report.layers import Layers, crs_of
from metricdp.report.plan_files import add_layers, ending_of, figure_bytes
from metricdp.report.point_files import write_points
from metricdp.report.styles import colored

_CLEAR = 2.0
"""In standard errors: densities below it are gray. Higher hides more noise, and more demand."""
_PER = {"m": (1000.0, "km"), "s": (60.0, "min")}
"""Length to which densities refer, by the unit of distances: its size and name."""
ENDINGS = (".html", ".png", ".tif", ".gpkg", ".geojson", ".csv", ".parquet")


@dataclass(frozen=True, eq=False)
class Heatmap:
    """Densities of demand; made by `metricdp.heatmap` and `Release.heatmap`.

    Attributes
    ----------
    universe : Metric
    density : ndarray of float64, shape (n_points,)
        Demand per unit of street length, or per point in a universe without edges, in the order of
        ``universe.ids``.
    standard_error : ndarray of float64, shape (n_points,), or None
        Standard errors of the densities; None if a release's noise is not known for each point.
    bandwidth : float
        Distance over which each point's demand was spread, in the universe's units.
    lengths : ndarray of float64, shape (n_points,)
        Street length of each point (half of each incident edge), or 1: ``density @ lengths`` is the
        total demand.
    receipt : Receipt or None
        Receipt of the release; None for public weights.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(50), weight=None)
    >>> homes = mdp.PrivateDemand(metric, [7] * 3000 + [40] * 3000)
    >>> heat = mdp.release(metric, homes, epsilon=2).heatmap()
    >>> int(heat.density[:20].argmax()), bool(heat.density[7] > 5 * heat.standard_error[7])
    (7, True)
    """

    universe: Any
    density: Floats
    standard_error: Floats | None
    bandwidth: float
    lengths: Floats
    receipt: Any = None

    def __repr__(self) -> str:
        width = in_words(self.bandwidth, unit_shown(self.universe))
        return f"Heatmap({self.universe.name}, bandwidth {width})"

    @property
    def per(self) -> tuple[float, str]:
        """Factor and unit in which densities are stated: 1000 and ``"km"`` for meters."""
        if self.universe.network is None and self.universe.graph is None:
            return 1.0, "point"
        unit = unit_shown(self.universe)
        return _PER.get(unit or "", (1.0, "unit of length" if unit is None else unit))

    @property
    def breaks(self) -> Floats:
        """Lower ends of the colors: the highest density, halved one to six times; shape (6,)."""
        return float(self.density.max(initial=0.0)) * 2.0 ** -np.arange(6.0, 0.0, -1.0)

    @property
    def classes(self) -> Ints:
        """Index of each point's color in `HEAT`: 0 below all breaks and below two standard
        errors.
        """
        found = np.searchsorted(self.breaks, self.density, side="right").astype(np.int64)
        if self.standard_error is not None:
            found[self.density < _CLEAR * self.standard_error] = 0
        return found

    def to_columns(self) -> dict[str, list[Any]]:
        """One row for each point: ``vertex``, ``density`` and, if known, ``standard_error``."""
        figures = {name: cells.tolist() for name, cells in self._figures().items()}
        return {"vertex": list(self.universe.ids), **figures}

    def to_frame(self) -> Any:
        """`to_columns` as a data frame of pandas."""
        from metricdp.methods import views

        return views.frame(self.to_columns())

    def to_geopandas(self, layer: Literal["points", "streets"] = "points") -> Any:
        """A GeoDataFrame in the universe's coordinate system: points with the columns of
        `to_columns`, or edges with the means of their ends; ``color`` as on the page.

        Raises
        ------
        InputError
            The universe has no coordinates, or no edges for streets.
        MissingExtraError
            The extra ``geo`` is not installed.
        """
        chosen(layer, ("points", "streets"), "layer")
        layers = Layers(self.universe, np.zeros(1, np.int64), {})
        import shapely

        colors = np.array(HEAT)[self.classes]
        if layer == "points":
            kept = np.isfinite(layers.xy).all(axis=1)
            columns = {"vertex": [str(name) for name in self.universe.ids], **self._figures()}
            held = {name: np.asarray(cells)[kept] for name, cells in columns.items()}
            return layers.frame(held | {"color": colors[kept]}, shapely.points(layers.xy[kept]))
        u, v, (xy, line, _) = layers.edges
        columns = {name: (cells[u] + cells[v]) / 2 for name, cells in self._figures().items()}
        higher = np.where(self.density[u] >= self.density[v], u, v)
        return layers.frame(
            columns | {"color": colors[higher]}, shapely.linestrings(xy, indices=line)
        )

    def _figures(self) -> dict[str, Floats]:
        doubt = self.standard_error
        return {"density": self.density} | ({} if doubt is None else {"standard_error": doubt})

    def plot(self, ax: Any = None) -> Any:
        """Draw the streets, or the points, by matplotlib, colored by density; returns the axes.

        Raises
        ------
        MissingExtraError
            The extra ``plots`` is not installed.
        """
        from metricdp.methods import views

        ax = views.axes(self.universe.coordinates, ax)
        views.streets(ax, self.universe, np.array(HEAT)[self.classes], self.density, width=1.2)
        width = in_words(self.bandwidth, unit_shown(self.universe))
        ax.set_title(f"demand per {self.per[1]}, bandwidth {width}")
        return ax

    def page(self, *, title: str | None = None, attribution: str | None = None) -> str:
        """A self-contained HTML page: streets and ground colored by density, a legend, the
        bandwidth, and the receipt.
        """
        from metricdp.report.heat.page import heat_page

        return heat_page(self, title, attribution)

    def save(self, path: str | PathLike[str], **page: Any) -> Path:
        """Write the map atomically, in the format of the path's ending; return the path.

        Parameters
        ----------
        path : path
            ``.html``: `page`. ``.png``: `plot`. ``.tif``: a GeoTIFF with two bands, density and
            standard error, of what is near a street or a point. ``.gpkg``: the layers ``heat``
            (points) and ``heat_streets``, with styles that QGIS applies. ``.geojson``, ``.csv``,
            ``.parquet``: the points.
        **page
            Options of `page`.

        Raises
        ------
        InputError
            Another ending, or no coordinates where it needs some.
        MissingExtraError
            The extra of the ending is not installed: ``geo``, ``parquet`` or ``plots``.
        """
        target = file_path(path, "path")
        universe, xy, crs = self.universe, self.universe.coordinates, crs_of(self.universe)
        ending = ending_of(path, universe, ENDINGS)
        if ending == ".html":
            write_whole(target, self.page(**page))
        elif ending == ".png":
            write_whole(target, figure_bytes(self))
        elif ending == ".tif":
            write_raster(target, self)
        elif ending == ".gpkg":
            layers = [("heat", self.to_geopandas(), colored("marker"))]
            if universe.graph is not None:
                layers.append(("heat_streets", self.to_geopandas("streets"), colored("line")))
            with drafted(target) as draft:
                add_layers(draft, layers, self.facts())
        else:
            columns = self.to_columns()
            write_points(target, ending, columns, xy, columns, geometry=xy is not None, crs=crs)
        return target

    def facts(self) -> dict[str, str]:
        """Metadata of files: kernel, bandwidth, unit, receipt."""
        receipt = None if self.receipt is None else self.receipt.to_dict()
        return {
            "METRICDP_KERNEL": "quartic, along shortest paths",
            "METRICDP_BANDWIDTH": repr(self.bandwidth),
            "METRICDP_UNIT": self.universe.measured,
            "METRICDP_RECEIPT": json.dumps(receipt),
        }


def write_raster(target: Path, heat: Any) -> None:
    """Write density and standard error as two bands of a GeoTIFF: pixels near the network have the
    values of their nearest point, all others nodata.
    """
    import rasterio

    drawn = DrawnUniverse(heat.universe)
    ground = drawn.ground
    if ground is None:
        raise InputError(f"{heat.universe.name} covers no area, and so no raster")
    (left, across), (bottom, up) = (
        _affine(heat.universe.coordinates[drawn.order, axis], drawn.points[:, axis])
        for axis in (0, 1)
    )
    rows, columns = ground.owner.shape
    transform = rasterio.transform.from_origin(
        left + across * ground.x,
        bottom + up * ground.y,
        across * ground.width / columns,
        up * ground.height / rows,
    )
    doubt = heat.standard_error
    bands = [heat.density, np.full(len(heat.density), np.nan) if doubt is None else doubt]
    inside = ground.owner >= 0
    kind = {"driver": "GTiff", "dtype": "float32", "nodata": np.nan, "compress": "deflate"}
    shape = {"width": columns, "height": rows, "count": 2}
    where = {"transform": transform, "crs": crs_of(heat.universe)}
    with drafted(target) as draft, rasterio.open(draft, "w", **kind, **shape, **where) as file:
        for number, band in enumerate(bands, 1):
            shown = np.where(inside, band[drawn.order][ground.owner], np.nan)
            file.write(shown.astype(np.float32), number)
        file.descriptions = (f"demand per {heat.universe.measured}", "standard error")
        file.update_tags(**heat.facts())


def _affine(coordinates: Floats, drawn: Floats) -> tuple[float, float]:
    """Offset and factor of the map from the drawing's coordinates to the universe's."""
    low, high = int(drawn.argmin()), int(drawn.argmax())
    wide = float(drawn[high] - drawn[low])
    far = float(coordinates[high] - coordinates[low])
    far += 360.0 if far < 0 else 0.0  # drawn across the antimeridian
    across = far / wide if wide > 0 else 1.0
    return float(coordinates[low]) - across * float(drawn[low]), across
