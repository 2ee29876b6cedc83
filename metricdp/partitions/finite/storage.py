"""Trees on disk: NumPy's npz, with a checksum of the universe, checked when read."""

import json
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
"""What a file holds of a tree, besides the checksum of its universe."""
_MOST_LEVELS = 127  # levels are int8


def save(path: Any, checksum: str, fields: dict[str, Any]) -> Path:
    """Write the `FIELDS` of a tree to a file; return its path."""
    target = file_path(path, "path")
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
    return target


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
    if not _sound(arrays, beta, len(universe)):
        raise InputError(f"{source}: is damaged; build it again")
    return {"seed": seed, "beta": beta, **arrays}


def _sound(arrays: dict[str, NDArray[Any]], beta: float, n: int) -> bool:
    """Whether the arrays describe a tree of n points: each node is the union of its children."""
    kinds = all(arrays[a].dtype == kind and arrays[a].ndim == 1 for a, kind in _ARRAYS.items())
    heights, order, parent, level, start, stop = (arrays[name] for name in _ARRAYS)
    if not kinds or not len(parent) == len(level) == len(start) == len(stop) >= 1:
        return False
    m, n_levels, above = len(parent), len(heights), parent[1:]
    nodes = (
        (parent[0], level[0], start[0], stop[0]) == (-1, 0, 0, n)
        and (above >= 0).all()
        and (above < np.arange(1, m)).all()
        and (level[1:] > level[above]).all()
        and (level < n_levels).all()
        and (start < stop).all()
        and (start[1:] >= start[above]).all()
        and (stop[1:] <= stop[above]).all()
    )
    if not nodes or not 1 <= n_levels <= _MOST_LEVELS:
        return False
    children, below = np.bincount(above, minlength=m), np.bincount(above, (stop - start)[1:], m)
    return bool(
        1 <= beta < 2
        and np.array_equal(np.sort(order), np.arange(n))
        and np.isfinite(heights).all()
        and heights[-1] == 0
        and (np.diff(heights) <= 0).all()
        and (children != 1).all()
        and (below == (stop - start))[children > 0].all()
    )
