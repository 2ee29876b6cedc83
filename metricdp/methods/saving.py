"""Releases on disk: what was paid for once answers questions in other sessions too.

A file holds released numbers and public facts alone: the receipt, the weights, and which universe
they are of (a checksum, so that they are never read as another's). It is NumPy's npz with a JSON
header, without pickled objects, so reading one runs no code.

**Privacy.** Post-processing: a release may be written, copied and published like any other number
that was paid for.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.archives import read_archive
from metricdp.arguments import file_path
from metricdp.atomic import whole_file
from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.finite.storage import universe_checksum
from metricdp.partitions.finite.ward import PartitionTree
from metricdp.releases import Receipt
from metricdp.solvers.estimate.tree_posterior import Counts, Estimate

FORMAT = "metricdp release, 1"
Array = NDArray[np.float64]


def save(release: Any, path: Any) -> None:
    """Write a release to a file, wholly or not at all; links are followed."""
    target = Path(os.path.realpath(file_path(path, "path")))
    space = release.space
    header: dict[str, Any] = {"format": FORMAT, "method": release.method}
    header["receipt"] = release.receipt.to_dict()
    if isinstance(space, EuclideanSpace):
        header["box"] = [space.lower.tolist(), space.upper.tolist()]
        points, weights = release.coreset()
        counted = weights * release.receipt.grains  # as its histogram counts, of which it is read
        arrays: dict[str, Any] = {"points": np.asarray(points, np.float64), "weights": counted}
    else:
        header["universe"] = universe_checksum(release.universe)
        arrays = {"weights": release.weights * release.receipt.grains}
        if release.estimate is not None:
            header["any_share"] = release.estimate.any_share
            header["growth"] = min(release.growth, sys.float_info.max)
            arrays |= _told(release.estimate)
    with whole_file(target) as file:
        np.savez_compressed(file, header=np.array(json.dumps(header)), **arrays)


def load(path: Any, universe: Metric | EuclideanSpace) -> dict[str, Any]:
    """Read what a release of this universe is made of from a file."""
    source = file_path(path, "path")
    if not isinstance(universe, Metric | EuclideanSpace):
        raise InputError(f"a release is read with its universe, got {type(universe).__name__}")
    header, arrays = _read(source, universe)
    try:
        receipt = Receipt.from_dict(header["receipt"])
        method = str(header["method"])
        weights = arrays["weights"]
        points = arrays.get("points")
        box = header.get("box")
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        raise InputError(f"{source}: is damaged; its release must be made again") from None
    finite = weights.ndim == 1 and weights.dtype == np.float64 and np.isfinite(weights).all()
    if not finite:
        raise InputError(f"{source}: is damaged; its release must be made again")
    if isinstance(universe, EuclideanSpace):
        if box != [universe.lower.tolist(), universe.upper.tolist()]:
            raise InputError(f"{source}: is not a release of {universe!r}")
        shape = (len(weights), universe.dimension)
        if points is None or points.shape != shape or not np.isfinite(points).all():
            raise InputError(f"{source}: is damaged; its release must be made again")
        held = np.maximum(weights, 0.0)
        told: dict[str, Any] = {"universe": EuclideanMetric(points), "space": universe}
        return told | {"weights": held, "receipt": receipt, "method": method}
    if len(weights) != len(universe):
        raise InputError(f"{source}: is damaged; its release must be made again")
    told = {"universe": universe, "weights": weights, "receipt": receipt, "method": method}
    if "labels" in arrays:
        try:
            told["estimate"] = _estimate(universe, arrays, bool(header["any_share"]))
            told["growth"] = float(header["growth"])
        except (KeyError, TypeError, ValueError, IndexError):
            raise InputError(f"{source}: is damaged; its release must be made again") from None
    return told


def _told(estimate: Estimate) -> dict[str, NDArray[Any]]:
    """An estimate as arrays: the partition's tree, all noisy counts, and what was learned."""
    looks = estimate.looks
    bands = sorted(estimate.frequencies)
    return {
        "labels": estimate.tree.labels,
        "children": estimate.tree.children,
        "sizes": estimate.tree.sizes,
        "mean": estimate.mean,
        "look": np.repeat(np.arange(len(looks)), [len(look.nodes) for look in looks]),
        "node": np.concatenate([look.nodes for look in looks]),
        "value": np.concatenate([np.asarray(look.values, np.float64) for look in looks]),
        "scale": np.concatenate([np.broadcast_to(look.scale, len(look.nodes)) for look in looks]),
        "gaussian": np.array([look.gaussian for look in looks]),
        "bands": np.array(bands, np.int64),
        "frequencies": np.array([estimate.frequencies[band] for band in bands]),
    }


def _estimate(universe: Metric, kept: dict[str, NDArray[Any]], any_share: bool) -> Estimate:
    """What `_told` told; any error where the arrays do not fit each other."""
    children = kept["children"].astype(np.int64).reshape(-1, 2)
    n_parts = len(children) + 1
    tree = PartitionTree(universe, kept["labels"].astype(np.int32), children, kept["sizes"])
    looks = []
    for i, gaussian in enumerate(kept["gaussian"].tolist()):
        mine = kept["look"] == i
        nodes, values, scale = (kept[name][mine] for name in ("node", "value", "scale"))
        looks.append(Counts(nodes.astype(np.int64), values, scale, bool(gaussian)))
    counted = {node for look in looks for node in look.nodes.tolist()}
    sound = (
        len(tree.labels) == len(universe)
        and tree.labels.min() >= 0
        and tree.labels.max() < n_parts
        and kept["sizes"].shape == (2 * n_parts - 1,)
        and kept["mean"].shape == (n_parts,)
        and (children < np.arange(n_parts, 2 * n_parts - 1)[:, None]).all()
        and (children >= 0).all()
        and set(range(n_parts)) <= counted <= set(range(2 * n_parts - 1))
        and all(np.isfinite(look.values).all() and np.all(look.scale > 0) for look in looks)
    )
    if not sound:
        raise ValueError("arrays of different releases")
    learned = dict(zip(kept["bands"].tolist(), kept["frequencies"]))
    return Estimate(kept["mean"], learned, tree, looks, any_share)


LOOKS = 64
"""Rounds of counts in a release, at most."""
_UNPACKED = 1 << 26
_RATIO = 64
"""Points of a box, of any number, have this many bytes, or unpack to so many times the file's."""


def _most(universe: Metric | EuclideanSpace, size: int) -> dict[str, int]:
    """Arrays that a file of so many bytes may hold, and the most bytes that each has."""
    if isinstance(universe, EuclideanSpace):
        return dict.fromkeys(("points", "weights"), max(_UNPACKED, _RATIO * size))
    n = 8 * len(universe)
    told = dict.fromkeys(("look", "node", "value", "scale"), LOOKS * 2 * n)
    learned = {"gaussian": 8 * LOOKS, "bands": 1 << 16, "frequencies": 1 << 24}
    return (
        {"weights": n, "labels": n, "children": 2 * n, "sizes": 2 * n, "mean": n} | told | learned
    )


def _read(
    source: Path, universe: Metric | EuclideanSpace
) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    def checked(header: dict[str, Any]) -> dict[str, int]:
        if header.get("format") != FORMAT:
            return {}
        if isinstance(universe, Metric) and header.get("universe") != universe_checksum(universe):
            raise InputError(
                f"{source}: is a release of another universe, whose ids, structure, lengths or "
                f"grid differ from those of {universe.name}"
            )
        return _most(universe, size)

    with source.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        found = read_archive(file, checked)
    if found is None or found[0].get("format") != FORMAT:
        raise InputError(
            f"{source}: is not a release that this version of metricdp wrote, or is damaged"
        )
    return found
