"""Files of releases: npz with a JSON header, without pickled objects. They may be published."""

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.archives import read_archive
from metricdp.arguments import Floats, count, file_path
from metricdp.atomic import whole_file
from metricdp.errors import InputError
from metricdp.metrics.base import Metric
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.finite.ward import PartitionTree
from metricdp.releases import Receipt
from metricdp.solvers.estimate.tree_posterior import Counts, Estimate

FORMAT = "metricdp release, 1"


def save(release: Any, path: Any) -> Path:
    """Write a release to a file, wholly or not at all; return its path."""
    target = file_path(path, "path")
    space = release.universe if release.space is None else release.space
    header: dict[str, Any] = {"format": FORMAT, "method": release.method}
    header["receipt"] = release.receipt.to_dict()
    named, arrays = _FORMS[space.kind].stored(release, space)
    arrays["weights"] = release.weights * release.receipt.grains  # in units of the histograms
    if release.estimate is not None:
        named["any_share"] = release.estimate.any_share
        named["growth"] = min(release.growth, sys.float_info.max)
        arrays |= _estimate_arrays(release.estimate)
    header |= named | _present(release, _DAY)
    with whole_file(target) as file:
        np.savez_compressed(file, header=np.array(json.dumps(header)), **arrays)
    return target


def load(path: Any, universe: Metric | EuclideanSpace) -> dict[str, Any]:
    """Read a release of this universe from a file: the arguments of `Release`."""
    source = file_path(path, "path")
    form = _FORMS.get(getattr(universe, "kind", None))
    if form is None:
        raise InputError(f"a release is read with its universe, got {type(universe).__name__}")
    space: Any = universe  # of the form's kind
    header, arrays = _read(source, space, form)
    damaged = InputError(f"{source}: is damaged; its release must be made again")
    try:
        receipt = Receipt.from_dict(header["receipt"])
        method = str(header["method"])
        weights = arrays["weights"]
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError):
        raise damaged from None
    if not (weights.ndim == 1 and _counts(weights)):
        raise damaged
    try:
        found = form.read(space, weights, arrays) | _day(header)
        if "labels" in arrays:
            points = found["universe"]
            found["estimate"] = _estimate(points, arrays, bool(header["any_share"]))
            found["growth"] = float(header["growth"])
    except (KeyError, TypeError, ValueError, IndexError):
        raise damaged from None
    return found | {"receipt": receipt, "method": method}


class _Points:
    """The form of files of releases of a finite universe."""

    @staticmethod
    def stored(release: Any, space: Metric) -> tuple[dict[str, Any], dict[str, Any]]:
        """Fields of the header that identify the space, and arrays."""
        return {"universe": space.checksum()}, {}

    @staticmethod
    def check(space: Metric, header: dict[str, Any], source: Path) -> None:
        """Refuse a release of another space."""
        if header.get("universe") != space.checksum():
            raise InputError(
                f"{source}: is a release of another universe, whose ids, structure, lengths or "
                f"grid differ from those of {space.name}"
            )

    @staticmethod
    def most(space: Metric, size: int) -> dict[str, int]:
        """Names of the arrays in a file of `size` bytes, and the most bytes of each."""
        return _lengths(8 * len(space))

    @staticmethod
    def read(space: Metric, weights: Floats, arrays: dict[str, NDArray[Any]]) -> dict[str, Any]:
        """Arguments of `Release`; any error where arrays do not fit."""
        if len(weights) != len(space):
            raise ValueError("not a weight for each point")
        return {"universe": space, "weights": weights}


class _InBox:
    """The form of files of releases of a box."""

    @staticmethod
    def stored(release: Any, space: EuclideanSpace) -> tuple[dict[str, Any], dict[str, Any]]:
        arrays = {"points": release.universe.points}
        return {"box": space.facts()["box"], "crs": space.crs}, arrays | _present(release, _EXTRA)

    @staticmethod
    def check(space: EuclideanSpace, header: dict[str, Any], source: Path) -> None:
        if header.get("box") != space.facts()["box"]:
            raise InputError(f"{source}: is not a release of {space!r}")
        crs = header.get("crs")  # unknown in older files
        if None not in (crs, space.crs) and crs != space.crs:
            raise InputError(f"{source}: is a release of a box in {crs}, not in {space.crs}")

    @staticmethod
    def most(space: EuclideanSpace, size: int) -> dict[str, int]:
        most = max(_UNPACKED, _RATIO * size)
        return _lengths(most) | dict.fromkeys(("points", *_EXTRA), most)

    @staticmethod
    def read(
        space: EuclideanSpace, weights: Floats, arrays: dict[str, NDArray[Any]]
    ) -> dict[str, Any]:
        points = arrays["points"]
        if points.shape != (len(weights), space.dimension) or not np.isfinite(points).all():
            raise ValueError("not a point for each weight")
        net = EuclideanMetric(points)
        extra = {name: arrays[name] for name in _EXTRA if name in arrays}
        for name, values in extra.items():
            shape = weights.shape if name == "sure" else points.shape
            if values.shape != shape or not (_counts(values) and (values >= 0).all()):
                raise ValueError("not a value for each point")
        return {"universe": net, "space": space, "weights": np.maximum(weights, 0.0)} | extra


_Form = type[_Points] | type[_InBox]
_FORMS: dict[Any, _Form] = {"finite": _Points, "box": _InBox}


def _lengths(n: int) -> dict[str, int]:
    """The most bytes of each array, where one number a point has at most `n` bytes."""
    once = {"weights": n, "labels": n, "children": 2 * n, "sizes": 2 * n, "mean": n}
    once |= {"expected": n, "numbers": 2 * n}
    learned = {"gaussian": 8 * ROUNDS, "bands": 1 << 16, "frequencies": 1 << 24}
    return once | dict.fromkeys(("look", "node", "value", "scale"), ROUNDS * 2 * n) | learned


def _estimate_arrays(estimate: Estimate) -> dict[str, NDArray[Any]]:
    """An estimate as arrays: the partition tree, all noisy counts, and the learned parameters."""
    rounds = estimate.rounds
    bands = sorted(estimate.frequencies)
    tree = estimate.tree
    expected = {}
    if tree.weights is not None and tree.numbers is not None:
        expected = {"expected": tree.weights, "numbers": tree.numbers}
    return {
        **expected,
        "labels": estimate.tree.labels,
        "children": estimate.tree.children,
        "sizes": estimate.tree.sizes,
        "mean": estimate.mean,
        "look": np.repeat(np.arange(len(rounds)), [len(counts.nodes) for counts in rounds]),
        "node": np.concatenate([counts.nodes for counts in rounds]),
        "value": np.concatenate([np.asarray(counts.values, np.float64) for counts in rounds]),
        "scale": np.concatenate(
            [np.broadcast_to(counts.scale, len(counts.nodes)) for counts in rounds]
        ),
        "gaussian": np.array([counts.gaussian for counts in rounds]),
        "bands": np.array(bands, np.int64),
        "frequencies": np.array([estimate.frequencies[band] for band in bands]),
    }


def _counts(*arrays: NDArray[Any]) -> bool:
    """Whether all arrays are of floats within the range of noisy counts."""
    return all(one.dtype == np.float64 and (np.abs(one) < 2.0**63).all() for one in arrays)


def _estimate(universe: Metric, arrays: dict[str, NDArray[Any]], any_share: bool) -> Estimate:
    """The estimate that `_estimate_arrays` wrote; any error where the arrays do not fit."""
    children = arrays["children"].astype(np.int64).reshape(-1, 2)
    n_parts = len(children) + 1
    tree = PartitionTree(
        universe,
        arrays["labels"].astype(np.int32),
        children,
        arrays["sizes"],
        weights=arrays.get("expected"),
        numbers=arrays.get("numbers"),
    )
    fits = (tree.weights is None) == (tree.numbers is None)
    if fits and tree.weights is not None and tree.numbers is not None:
        positive = (tree.weights > 0).all() and (tree.numbers > 0).all()
        sized = tree.weights.shape == (len(universe),) and tree.numbers.shape == tree.sizes.shape
        fits = bool(positive and sized)
    rounds = []
    for i, gaussian in enumerate(arrays["gaussian"].tolist()):
        mine = arrays["look"] == i
        nodes, values, scale = (arrays[name][mine] for name in ("node", "value", "scale"))
        rounds.append(Counts(nodes.astype(np.int64), values, scale, bool(gaussian)))
    counted = {node for counts in rounds for node in counts.nodes.tolist()}
    sound = (
        fits
        and len(tree.labels) == len(universe)
        and tree.labels.min() >= 0
        and tree.labels.max() < n_parts
        and arrays["sizes"].shape == (2 * n_parts - 1,)
        and (arrays["sizes"] > 0).all()
        and arrays["mean"].shape == (n_parts,)
        and _counts(*(arrays[name] for name in ("mean", "frequencies", "value", "scale")))
        and (children < np.arange(n_parts, 2 * n_parts - 1)[:, None]).all()
        and (children >= 0).all()
        and set(range(n_parts)) <= counted <= set(range(2 * n_parts - 1))
        and (arrays["scale"] > 2.0**-60).all()
    )
    if not sound:
        raise ValueError("arrays of different releases")
    learned = dict(zip(arrays["bands"].tolist(), arrays["frequencies"]))
    return Estimate(arrays["mean"], learned, tree, rounds, any_share)


_DAY = ("day", "label")
"""Facts of a release of a stream: the number of its day, and the day's name."""


def _day(header: dict[str, Any]) -> dict[str, Any]:
    """The day of a stream's release; any error if it is not valid."""
    if "day" not in header:
        return {}
    label = header.get("label")
    if not isinstance(label, str | None):
        raise TypeError("not the name of a day")
    return {"day": count(header["day"], "day"), "label": label}


def _present(release: Any, names: tuple[str, ...]) -> dict[str, Any]:
    """Those of the named attributes that a release has, by name."""
    return {name: value for name in names if (value := getattr(release, name, None)) is not None}


_EXTRA = ("sure", "sides")
"""Optional arrays of a box's points: weights for a search, and sides of their cells."""
ROUNDS = 64
"""Rounds of counts in a release, at most."""
_UNPACKED = 1 << 26
_RATIO = 64
"""Most bytes of a box's points: the larger of the first, and the second times the file's size."""


def _read(source: Path, universe: Any, form: _Form) -> tuple[dict[str, Any], dict[str, Any]]:
    def checked(header: dict[str, Any]) -> dict[str, int]:
        if header.get("format") != FORMAT:
            return {}
        form.check(universe, header, source)
        return form.most(universe, size)

    with source.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        found = read_archive(file, checked)
    if found is None or found[0].get("format") != FORMAT:
        raise InputError(
            f"{source}: is not a release that this version of metricdp wrote, or is damaged"
        )
    return found
