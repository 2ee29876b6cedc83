"""What a result shows of itself: tables, graphs, pictures, and a few lines of HTML in a notebook.

All of it is post-processing of released centers and weights, and public facts.
"""

from __future__ import annotations

from html import escape
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.errors import InputError, MissingExtraError
from metricdp.methods.layers import (
    center_facts,
    crs_of,
    finite_universe,
    layers_of_result,
    weights_of,
)
from metricdp.metrics.base import Metric

_SHOWN = 12
"""Centers of a table in a notebook."""
_INK = 8_000
"""Square points of ink for the demand of a picture."""


class Views:
    """What `Result` inherits: it has centers, k, method, receipt, release, universe, weights and
    power.
    """

    centers: Any
    k: int
    method: str
    receipt: Any
    release: Any
    universe: Any
    weights: Any
    power: int

    @property
    def coordinates(self) -> NDArray[np.float64] | None:
        """Places of the centers, shape (k, d), in the system of the universe; None where it has no
        coordinates.

        Examples
        --------
        >>> import metricdp as mdp
        >>> metric = mdp.EuclideanMetric([[0, 0], [4, 0], [9, 0]])
        >>> mdp.k_median(metric, k=1).coordinates
        array([[4., 0.]])
        """
        if not isinstance(self.universe, Metric):
            return None if self.universe is None else np.asarray(self.centers, np.float64)
        if self.universe.coordinates is None:
            return None
        at = np.asarray(self.universe.positions(list(self.centers)), np.int64)
        return np.asarray(self.universe.coordinates[at], np.float64)

    @property
    def labels(self) -> NDArray[np.int64]:
        """Number of the nearest center of every point of a finite universe, shape (n_points,), in
        the order of its ids: a public fact about the released centers.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> result = mdp.k_median(mdp.GraphMetric(nx.path_graph(6), weight=None), k=2)
        >>> [result.centers[label] for label in result.labels]
        [1, 1, 1, 4, 4, 4]
        """
        return finite_universe(self).nearest(self.centers)[0]

    @property
    def cost(self) -> float | None:
        """What the centers cost on public weights, or on the noisy weights of the release: the sum
        of weight times distance (squared, of k-means). None where neither is known, as for methods
        that release centers alone. Never the cost on private demand: `metricdp.evaluate` asks for
        that, at a price.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
        >>> mdp.k_median(metric, k=1).cost
        20.0
        """
        if not isinstance(self.universe, Metric):
            return self._cost_in_a_box()
        weights, _ = weights_of(self)
        if weights is None:
            return None
        distance = self.universe.nearest(self.centers)[1]
        return float(weights @ distance**self.power)

    def _cost_in_a_box(self) -> float | None:
        points = getattr(getattr(self.release, "universe", None), "points", None)
        weights = getattr(self.release, "weights", None)
        if points is None or weights is None:
            return None
        from scipy.spatial import cKDTree

        away = cKDTree(np.asarray(self.centers, np.float64)).query(points)[0]
        return float(np.asarray(weights) @ away**self.power)

    def to_columns(self) -> dict[str, list[Any]]:
        """The centers as columns of a table: rank from 1, the id, the place (lon and lat, or x and
        y), points of the territory, and, where weights are known, its demand, the mean distance of
        that, and what distances are measured in.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
        >>> columns = mdp.k_median(metric, k=1).to_columns()
        >>> columns["rank"], columns["center"]
        ([1], [4])
        """
        if isinstance(self.universe, Metric):
            centers = list(self.centers)
            near = self.universe.nearest(centers)
            facts = center_facts(self.universe, centers, near, weights_of(self)[0])
        else:
            facts = {"rank": list(range(1, len(self.centers) + 1))}
        places = self.coordinates
        if places is None:
            return facts
        lonlat = getattr(self.universe, "coordinate_system", None) == "lonlat"
        names = ["lon", "lat"] if lonlat else ["x", "y"]
        if places.shape[1] != 2:
            names = [f"x{j + 1}" for j in range(places.shape[1])]
        placed = {name: places[:, j].tolist() for j, name in enumerate(names)}
        first: dict[str, list[Any]] = {n: facts[n] for n in ["rank", "center"] if n in facts}
        return {**first, **placed, **{n: c for n, c in facts.items() if n not in first}}

    def to_frame(self) -> Any:
        """The same as a data frame of pandas, a row a center.

        Raises
        ------
        MissingExtraError
            pandas is not installed (extra: geo).

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
        >>> frame = mdp.k_median(metric, k=1).to_frame()
        >>> frame["center"].tolist()
        [4]
        """
        if find_spec("pandas") is None:
            raise MissingExtraError("a data frame", "geo")
        import pandas as pd

        return pd.DataFrame(self.to_columns())

    def to_geopandas(self, layer: str = "sites") -> Any:
        """A layer of the clustering as a GeoDataFrame, in the universe's coordinate system.

        Parameters
        ----------
        layer : {"sites", "territories", "streets", "spider", "demand"}
            The centers; the areas they serve; these as streets; lines from the parts of the noisy
            demand to their center; the noisy demand by part.

        Raises
        ------
        InputError
            The universe has no coordinates, or there is nothing for such a layer.
        MissingExtraError
            The extra ``geo`` is not installed.

        Examples
        --------
        >>> import metricdp as mdp
        >>> metric = mdp.HaversineMetric([[-71.34, -29.95], [-71.25, -29.9], [-71.2, -30.1]])
        >>> frame = mdp.k_median(metric, k=1).to_geopandas()
        >>> frame["center"].tolist(), frame.geometry.geom_type.tolist()
        ([0], ['Point'])
        """
        return layers_of_result(self).layer(layer)

    def to_networkx(self) -> Any:
        """The public graph with what was found as attributes of its nodes: ``center`` (the id of
        the nearest), ``distance`` to it, ``is_center``, ``demand`` where weights are known, and
        ``x``, ``y``; edges have their ``length``. Of a universe of one-way roads it is a DiGraph
        with all arcs.

        Raises
        ------
        InputError
            The universe is no graph.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
        >>> graph = mdp.k_median(metric, k=1).to_networkx()
        >>> graph.nodes[0]["center"], graph.nodes[0]["distance"]
        (4, 4.0)
        """
        import networkx as nx

        metric = finite_universe(self)
        if metric.graph is None:
            raise InputError(f"{metric.name} is no graph: it has no edges")
        label, distance = metric.nearest(self.centers)
        weights, _ = weights_of(self)
        public = metric.graph
        kind = nx.DiGraph if public.directed else nx.Graph
        graph = kind(crs=crs_of(metric), name=metric.name)
        chosen = set(self.centers)
        xy = metric.coordinates
        for at, name in enumerate(metric.ids):
            graph.add_node(name, center=self.centers[label[at]], distance=float(distance[at]))
            graph.nodes[name]["is_center"] = name in chosen
            if weights is not None:
                graph.nodes[name]["demand"] = float(weights[at])
            if xy is not None and np.isfinite(xy[at]).all():
                graph.nodes[name].update(zip("xy", xy[at].tolist()))
        tails = public.tails()
        once = public.directed | (tails < public.indices)
        ends = zip(
            tails[once].tolist(), public.indices[once].tolist(), public.lengths[once].tolist()
        )
        graph.add_edges_from(
            (metric.ids[u], metric.ids[v], {"length": length}) for u, v, length in ends
        )
        return graph

    def plot(self, ax: Any = None) -> Any:
        """Draw network, territories, noisy demand and centers with matplotlib; the axes are
        returned.

        Raises
        ------
        InputError
            No coordinates in the plane.
        MissingExtraError
            matplotlib is not installed (extra: plots).

        Examples
        --------
        >>> import matplotlib, metricdp as mdp
        >>> matplotlib.use("agg")
        >>> metric = mdp.EuclideanMetric([[0, 0], [4, 0], [9, 0]])
        >>> mdp.k_median(metric, k=2).plot().get_title()
        '2 centers, public'
        """
        if find_spec("matplotlib") is None:
            raise MissingExtraError("drawing", "plots")
        import matplotlib.pyplot as plt

        places = self.coordinates
        if places is None or places.shape[1] != 2:
            raise InputError("drawing needs a universe with coordinates in the plane")
        if ax is None:
            ax = plt.subplots(figsize=(8, 8))[1]
        if isinstance(self.universe, Metric):
            _draw_universe(ax, self)
            if self.universe.coordinate_system == "lonlat":
                middle = np.radians(np.nanmean(np.asarray(self.universe.coordinates)[:, 1]))
                ax.set_aspect(1 / max(float(np.cos(middle)), 0.01))
        else:
            ax.set_aspect("equal")
        ax.scatter(*places.T, s=60, c="black", edgecolors="white", linewidths=1.2, zorder=5)
        for rank, at in enumerate(places, 1):
            if np.isfinite(at).all():
                ax.annotate(str(rank), at, xytext=(5, 4), textcoords="offset points", zorder=6)
        ax.set_title(f"{self.k:,} centers, {self.method}")
        return ax

    def _repr_html_(self) -> str:
        columns = self.to_columns()
        many = len(columns["rank"])
        head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in columns)
        rows = "".join(
            "<tr>" + "".join(f"<td>{escape(_short(c[i]))}</td>" for c in columns.values()) + "</tr>"
            for i in range(min(many, _SHOWN))
        )
        more = f"<p>… and {many - _SHOWN:,} more</p>" if many > _SHOWN else ""
        cost = "" if self.cost is None else f", cost {self.cost:,.6g} on {_basis(self)} weights"
        paid = f"<p>{escape(str(self.receipt))}</p>" if self.receipt else ""
        return (
            f"<p><b>{self.k:,} centers</b>, method {escape(self.method)}{cost}</p>"
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}{paid}"
        )


def _basis(result: Any) -> str:
    return "noisy" if result.receipt else "public"


def _short(cell: Any) -> str:
    return f"{cell:,.6g}" if isinstance(cell, float) else "" if cell is None else str(cell)


def _draw_universe(ax: Any, result: Any) -> None:
    import matplotlib.pyplot as plt
    from matplotlib.collections import LineCollection

    metric = result.universe
    label = metric.nearest(result.centers)[0]
    xy = metric.coordinates
    color = plt.get_cmap("tab20")(label % 20)
    if metric.graph is not None:
        tails = np.repeat(np.arange(len(metric)), np.diff(metric.graph.indptr))
        once = tails < metric.graph.indices
        ends = np.stack([xy[tails[once]], xy[metric.graph.indices[once]]], axis=1)
        ax.add_collection(
            LineCollection(list(ends), colors=color[tails[once]], linewidths=0.6, alpha=0.7)
        )
        ax.autoscale()
    else:
        ax.scatter(*xy.T, s=6, c=color, linewidths=0)
    weights, _ = weights_of(result)
    if weights is not None and result.receipt is not None and weights.max() > 0:
        size = 60 * np.maximum(weights, 0) / weights.max()
        size *= min(1.0, _INK / size.sum())  # of many points each is small, or all would be black
        ax.scatter(*xy.T, s=size, c="black", alpha=0.25, linewidths=0, zorder=3)


__all__ = ["Views"]
