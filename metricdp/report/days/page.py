"""The page of a stream: a self-contained HTML file with a slider over its days, which shows how the
centers moved.

It contains only released or public values: places, the centers of each day, the receipt.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from metricdp.arguments import Floats
from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.report.assets import asset, filled
from metricdp.report.canvas.network import DrawnUniverse
from metricdp.report.canvas.stage import notes_html, page_html
from metricdp.report.colors import PALETTE
from metricdp.report.evidence.statement import price_html
from metricdp.report.layers import check_sited

_LAYERS = {"network": "Network", "trails": "Moves since the day before", "before": "Old places"}
_NOTES = (
    "The centers of a day are computed from its release: post-processing, at no further budget.",
    "A center keeps its number while it stays; one that moves takes the number of the old center "
    "nearest to it.",
    "Bars under the slider: how many centers moved; red where the limit kept some from moving "
    "(an alarm).",
    "Keyboard: Tab to the slider or to the map; there the arrow keys move, plus and minus zoom, 0 "
    "shows the whole.",
)


def days_page(
    metric: Metric,
    history: Sequence[Any],
    *,
    receipt: Any = None,
    title: str | None = None,
    attribution: str | None = None,
) -> str:
    """Return an HTML page that shows how centers moved from day to day.

    The page loads nothing, and its content security policy forbids network requests. Nothing
    private is an argument: centers and receipt were released before.

    Parameters
    ----------
    metric : Metric
        A finite universe; without coordinates a layout is computed from its distances.
    history : sequence of PastDay
        ``stream.history(k)``.
    receipt : Receipt, optional
        The stream's receipt.
    title : str, optional
    attribution : str, optional
        Whose data the network is: shown on the map.

    Raises
    ------
    InputError
        No day: none was asked about.
    UnknownIdError
        A center is not in the universe.

    Examples
    --------
    >>> from metricdp.report import days_page
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> stream = mdp.Stream(metric, epsilon=1, horizon=7)
    >>> for place in (2, 7):
    ...     _ = stream.step(mdp.PrivateDemand(metric, [place] * 10**5))
    ...     _ = stream.k_median(k=2)
    >>> page = days_page(metric, stream.history(2), receipt=stream.receipt)
    >>> "<title>2 centers over 2 days" in page
    True
    """
    days = list(history)
    if not days:
        raise InputError(
            "no day's centers were asked for: stream.k_median(k), or `metricdp stream step -k K`, "
            "asks for them"
        )
    check_sited(metric)
    k = len(days[-1].centers)
    several = f"{k:,} center{'' if k == 1 else 's'} over {len(days):,} day"
    named = f"{several}{'' if len(days) == 1 else 's'} · {metric.name}" if title is None else title
    return page_html(
        named,
        _LAYERS,
        attribution,
        _scene(metric, days),
        choice=filled(asset("days/choice.html"), {"LAST": str(len(days) - 1)}),
        beside=filled(asset("days/beside.html"), {"RECEIPT": price_html(receipt)}),
        notes=notes_html(_NOTES),
        styles=["explore/page.css", "days/page.css"],
        scripts=["days/draw.js", "days/controls.js"],
    )


def _scene(metric: Metric, days: list[Any]) -> dict[str, Any]:
    net = DrawnUniverse(metric)
    numbered = _numbered(metric, net.everywhere, days)
    return net.data() | {"names": {day["day"]: day["name"] for day in numbered}, "levels": numbered}


def _numbered(metric: Metric, points: Floats, days: list[Any]) -> list[dict[str, Any]]:
    """Each day's facts for the script, with centers ordered by number."""
    numbered: list[dict[str, Any]] = []
    before: list[int] = []
    since: list[int] = []
    for day in days:
        places = _kept(before, metric.positions(list(day.centers)).tolist(), points)
        fresh = [i >= len(before) or before[i] != p for i, p in enumerate(places)]
        since = [day.day if new else since[i] for i, new in enumerate(fresh)]
        centers = []
        for i, p in enumerate(places):
            x, y = _spot(points[p])
            center = {"rank": i + 1, "color": i % len(PALETTE), "id": str(metric.ids[p])}
            old = _spot(points[before[i]]) if fresh[i] and i < len(before) else [None]
            center |= {"x": x, "y": y, "since": since[i], "from": None if None in old else old}
            centers.append(center)
        name = f"day {day.day:,}" if day.label is None else str(day.label)
        moved = {"moved": sum(fresh) if before else 0, "alarm": bool(day.alarm)}
        numbered.append({"day": day.day, "name": name, **moved, "centers": centers})
        before = places
    return numbered


def _kept(before: list[int], current: list[int], points: Floats) -> list[int]:
    """The day's centers by number: a center that stays keeps its number, and each new one takes the
    number of the nearest old center that left (greedy matching).
    """
    places: list[int | None] = [p if p in current else None for p in before[: len(current)]]
    places += [None] * (len(current) - len(places))
    new = [p for p in current if p not in places]
    free = [i for i, p in enumerate(places) if p is None]
    old = [*before, *[None] * len(places)]
    every = ((i, rank, p) for i in free for rank, p in enumerate(new))
    gaps = [(_distance(points, old[i], p), i, rank, p) for i, rank, p in every]
    for _, i, _, p in sorted(gaps):
        if places[i] is None and p in new:
            places[i] = p
            new.remove(p)
    return [p for p in places if p is not None]


def _distance(points: Floats, old: int | None, new: int) -> float:
    gap = np.inf if old is None else float(np.hypot(*(points[old] - points[new])))
    return gap if np.isfinite(gap) else 1e300


def _spot(point: Floats) -> list[float | None]:
    return [float(v) if np.isfinite(v) else None for v in point]
