"""Trees on disk: NumPy's npz, with a checksum of the universe, checked when read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.archives import read_archive
from metricdp.arguments import file_path
from metricdp.atomic import whole_file
from metricdp.errors import InputError
from metricdp.metrics.base import Metric

FORMAT = "metricdp 2-HST, 1"
_ARRAYS = {
    "heights": np.float64,
    "order": np.int32,
    "parent": np.int32,
    "level": np.int8,
    "start": np.int32,
    "stop": np.int32,
}
FIELDS = ("seed", "beta", *_ARRAYS)
"""What is kept of a tree, besides the checksum of its universe."""
_MOST_LEVELS = 127  # levels are int8


def save(path: Any, checksum: str, fields: dict[str, Any]) -> Path:
    """Write the `FIELDS` of a tree; links are followed."""
    target = Path(os.path.realpath(file_path(path, "path")))
    header = {
        "format": FORMAT,
        "universe": checksum,
        "seed": fields["seed"],
        "beta": fields["beta"].hex(),
    }
    with whole_file(target) as file:
        np.savez(
            file, header=np.array(json.dumps(header)), **{name: fields[name] for name in _ARRAYS}
        )
    return Path(path)


def load(path: Any, universe: Metric) -> dict[str, Any]:
    """Read and check the `FIELDS` of a tree of this universe."""
    source = file_path(path, "path")

    def checked(header: dict[str, Any]) -> dict[str, int]:
        if header.get("format") != FORMAT:
            return {}
        if header.get("universe") != universe.checksum():
            raise InputError(
                f"{source}: is the tree of another universe, whose ids, structure, lengths or grid "
                f"differ from those of {universe.name}; build it again"
            )
        return {name: 8 * (2 * len(universe) + _MOST_LEVELS) for name in _ARRAYS}

    with source.open("rb") as file:
        found = read_archive(file, checked)
    header, arrays = found or ({}, {})
    try:
        seed, beta = int(header["seed"]), float.fromhex(header["beta"])
        known = len(arrays) == len(_ARRAYS)
    except (KeyError, TypeError, ValueError, OverflowError):
        known = False
    if not known:
        raise InputError(
            f"{source}: is not a tree that this version of metricdp wrote, or is damaged; build "
            f"it again"
        )
    problem = _problem(arrays, beta, len(universe))
    if problem:
        raise InputError(f"{source}: is damaged ({problem}); build it again")
    return {"seed": seed, "beta": beta, **arrays}


def _problem(arrays: dict[str, NDArray[Any]], beta: float, n: int) -> str:
    """What makes the arrays no tree of n points; empty if nothing does. O(n_nodes log n_nodes)."""
    heights, order, parent, level, start, stop = (arrays[name] for name in _ARRAYS)
    m = len(parent) if parent.ndim == 1 else 0
    wrong = [
        name
        for name, dtype in _ARRAYS.items()
        if arrays[name].dtype != dtype or arrays[name].ndim != 1
    ]
    if wrong or not 1 <= beta < 2:
        return f"{wrong[0] if wrong else 'beta'} is of the wrong kind"
    if not (
        len(order) == n and 1 <= m < 2 * n + (n == 1) and len(level) == len(start) == len(stop) == m
    ):
        return "arrays have the wrong length"
    n_levels = len(heights)
    if not (
        1 <= n_levels <= _MOST_LEVELS
        and heights[-1] == 0
        and np.isfinite(heights).all()
        and (np.diff(heights) <= 0).all()
    ):
        return "heights do not fall to 0"
    if order.min() < 0 or order.max() >= n or (np.bincount(order, minlength=n) != 1).any():
        return "the order is no permutation"
    if parent[0] != -1 or (start[0], stop[0], level[0]) != (0, n, 0):
        return "the root is not first"
    above = parent[1:]
    if (above < 0).any() or (above >= np.arange(1, m)).any():
        return "a node comes before its parent"
    if (level[1:] <= level[above]).any() or (level >= n_levels).any() or (start >= stop).any():
        return "levels or runs do not nest"
    return (
        ""
        if m == 1 or _children_fit(above, level, start, stop)
        else "runs of children do not fill their parent's"
    )


def _children_fit(
    above: NDArray[Any], level: NDArray[Any], start: NDArray[Any], stop: NDArray[Any]
) -> bool:
    """Whether each node's children, two at least and of one level, make up its run."""
    child = np.argsort(above, kind="stable")
    of = above[child]
    child = child + 1
    next_ = of[1:] == of[:-1]
    first = np.r_[True, ~next_]
    last = np.r_[~next_, True]
    return bool(
        not (first & last).any()
        and (level[child[1:]] == level[child[:-1]])[next_].all()
        and (start[child[1:]] == stop[child[:-1]])[next_].all()
        and (start[child[first]] == start[of[first]]).all()
        and (stop[child[last]] == stop[of[last]]).all()
    )
