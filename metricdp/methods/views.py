"""Views of a solution: tables, graphs, pictures, and HTML for notebooks.

All are functions of public facts and released numbers, called by `metricdp.methods.solution`.
"""

from html import escape
from typing import Any

import numpy as np

from metricdp.arguments import Floats, Ints
from metricdp.errors import InputError, need
from metricdp.metrics.base import Metric
from metricdp.report.layers import crs_of

_SHOWN = 12
"""Centers in a notebook's table, at most."""
_INK = 8_000
"""Total area of the demand's markers in a picture, in square points."""


def axis_names(d: int, system: str | None) -> list[str]:
    """Names of columns of coordinates."""
    if d != 2:
        return [f"x{j + 1}" for j in range(d)]
    return ["lon", "lat"] if system == "lonlat" else ["x", "y"]


def axes_of(places: Floats, system: str | None) -> dict[str, list[float]]:
    """Columns of coordinates, by name."""
    return {n: x.tolist() for n, x in zip(axis_names(places.shape[1], system), places.T)}


def placed(
    facts: dict[str, list[Any]], places: Floats | None, system: str | None
) -> dict[str, list[Any]]:
    """The columns of a table of centers, with coordinates after the first two."""
    if places is None:
        return facts
    first = {name: facts[name] for name in ("rank", "center")}
    return {**first, **axes_of(places, system), **facts}


def frame(columns: dict[str, Any]) -> Any:
    """A data frame of pandas."""
    need("a data frame", "geo", "pandas")
    import pandas as pd

    return pd.DataFrame(columns)


def graph(metric: Metric, centers: Any, nearest: tuple[Ints, Floats], weights: Any) -> Any:
    """The public graph as one of networkx, with the solution as attributes of its nodes."""
    import networkx as nx

    if metric.graph is None:
        raise InputError(f"{metric.name} is no graph: it has no edges")
    label, distance = nearest
    public = metric.graph
    made = (nx.DiGraph if public.directed else nx.Graph)(crs=crs_of(metric), name=metric.name)
    chosen = set(centers)
    xy = metric.coordinates
    for at, name in enumerate(metric.ids):
        made.add_node(name, center=centers[label[at]], distance=float(distance[at]))
        made.nodes[name]["is_center"] = name in chosen
        if weights is not None:
            made.nodes[name]["demand"] = float(weights[at])
        if xy is not None and np.isfinite(xy[at]).all():
            made.nodes[name].update(zip("xy", xy[at].tolist()))
    tails = public.tails()
    once = public.directed | (tails < public.indices)
    ends = zip(tails[once].tolist(), public.indices[once].tolist(), public.lengths[once].tolist())
    ids = metric.ids
    made.add_edges_from((ids[u], ids[v], {"length": length}) for u, v, length in ends)
    return made


def axes(places: Floats | None, ax: Any = None) -> Any:
    """Axes of matplotlib to draw on: those given, or new ones."""
    need("drawing", "plots", "matplotlib")
    if places is None or places.shape[1] != 2:
        raise InputError("drawing needs a universe with coordinates in the plane")
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.subplots(figsize=(8, 8))[1]
    return ax


def draw(ax: Any, metric: Metric, label: Ints, places: Any, demand: Floats | None) -> None:
    """Network, territories, noisy demand and centers."""
    from matplotlib import colormaps

    xy: Any = metric.coordinates
    streets(ax, metric, colormaps["tab20"](label % 20), -np.arange(len(label)), alpha=0.7)
    if demand is not None and demand.max() > 0:
        size = 60 * demand / demand.max()
        size *= min(1.0, _INK / size.sum())  # smaller markers for many points: no black areas
        ax.scatter(*xy.T, s=size, c="black", alpha=0.25, linewidths=0, zorder=3)
    ax.scatter(*places.T, s=60, c="black", edgecolors="white", linewidths=1.2, zorder=5)
    for rank, at in enumerate(places, 1):
        if np.isfinite(at).all():
            ax.annotate(str(rank), at, xytext=(5, 4), textcoords="offset points", zorder=6)


def streets(
    ax: Any, metric: Metric, colors: Any, rank: Any, *, width: float = 0.6, alpha: float = 1.0
) -> None:
    """Draw streets, each in the color of its end of higher rank, the highest on top; without a
    graph, points. The aspect ratio is that of the ground at the middle latitude.
    """
    from matplotlib.collections import LineCollection

    xy: Any = metric.coordinates
    if metric.graph is None:
        ax.scatter(*xy.T, s=10 * width, c=colors, linewidths=0)
    else:
        u, v = metric.graph.pairs().T
        higher = np.where(rank[u] >= rank[v], u, v)
        order = np.argsort(rank[higher], kind="stable")
        ends, drawn = np.stack([xy[u], xy[v]], axis=1)[order], colors[higher][order]
        ax.add_collection(LineCollection(list(ends), colors=drawn, linewidths=width, alpha=alpha))
        ax.autoscale()
    if metric.coordinate_system == "lonlat":
        ax.set_aspect(1 / float(metric.stretch()[0]))
    elif metric.graph is None:
        ax.set_aspect("equal")


def html(solution: Any, cost: str) -> str:
    """HTML table of the first centers, for notebooks."""
    columns = solution.to_columns()
    many = len(columns["rank"])
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in columns)
    rows = "".join(
        "<tr>" + "".join(f"<td>{escape(_short(c[i]))}</td>" for c in columns.values()) + "</tr>"
        for i in range(min(many, _SHOWN))
    )
    more = f"<p>… and {many - _SHOWN:,} more</p>" if many > _SHOWN else ""
    paid = f"<p>{escape(str(solution.receipt))}</p>" if solution.receipt else ""
    return (
        f"<p><b>{solution.k:,} centers</b>, method {escape(solution.method)}{cost}</p>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}{paid}"
    )


def _short(cell: Any) -> str:
    return f"{cell:,.6g}" if isinstance(cell, float) else "" if cell is None else str(cell)
