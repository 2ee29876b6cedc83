"""Gaussian mixtures in the unit ball, on which peers of private k-means are compared."""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.datasets import FOLDER_VARIABLE
from metricdp.errors import GraphFileError, InputError


def gaussian_mixture(
    n: int = 100_000, d: int = 2, k: int = 8, std: float = 0.05, seed: int = 7, radius: float = 0.8
) -> NDArray[np.float64]:
    """Rows of k Gaussians of unequal weight, moved into the unit ball where they lie outside.

    Parameters
    ----------
    n, d, k : int
        Rows, columns, Gaussians.
    std : float
        Standard deviation of every coordinate: 0.05 separates them mostly ("gm"), 0.15 lets them
        overlap ("gw").
    seed : int
    radius : float
        Of the ball in which their centers are drawn uniformly.

    Returns
    -------
    ndarray of float64, shape (n, d)

    Examples
    --------
    >>> points = gaussian_mixture(1000, d=3)
    >>> points.shape, bool((np.linalg.norm(points, axis=1) <= 1 + 1e-12).all())
    ((1000, 3), True)
    """
    rng = np.random.default_rng(seed)
    centers = rng.normal(size=(k, d))
    centers /= np.linalg.norm(centers, axis=1, keepdims=True)
    centers *= radius * rng.random((k, 1)) ** (1 / d)
    which = rng.choice(k, size=n, p=rng.dirichlet(np.full(k, 5.0)))
    points = centers[which] + std * rng.normal(size=(n, d))
    return points / np.maximum(1.0, np.linalg.norm(points, axis=1))[:, None]


Points = NDArray[np.float64]


@dataclass(frozen=True)
class PointSet:
    """How to get a set of points, and what is publicly known of it.

    Attributes
    ----------
    name : str
    k : int
        Centers to ask for, where nothing else is said.
    bounds : (float, float)
        Of every coordinate; points outside are moved to the box.
    radius : float or None
        A public bound of the points' distances from the middle of the box, if one below its half
        diagonal is known.
    files : tuple of str
        Its files, perhaps gzipped (.gz); none if it is made up.
    read : function
        Of what `_lines` says of each file, and the most records to read.
    about : str
    """

    name: str
    k: int
    bounds: tuple[float, float]
    radius: float | None
    files: tuple[str, ...]
    read: Callable[..., Points]
    about: str

    def there(self) -> bool:
        """Whether it is made up, or all its files are found."""
        return all(_found(file) is not None for file in self.files)

    def load(self, records: int | None = None, seed: int = 0) -> Points:
        """Points in the box, shape (n, d): all, or `records` of them, drawn by public coins (of a
        file, from its first 20 times as many).

        Raises
        ------
        GraphFileError
            A file is not what its name says.
        InputError
            A file is not there.
        """
        most = None if records is None else 20 * records
        points = (
            self.read(*[_lines(file) for file in self.files], most) if self.files else self.read()
        )
        if records is not None and records < len(points):
            points = points[
                np.sort(
                    np.random.default_rng([seed, 41]).choice(len(points), records, replace=False)
                )
            ]
        return np.clip(points, *self.bounds)


def _found(file: str) -> Path | None:
    """A file in the data folder, in `points/…`, in the subfolder alone, or at the top; perhaps
    gzipped.
    """
    top = Path(os.environ.get(FOLDER_VARIABLE) or os.devnull)
    parts = Path(file)
    for place in (top / "points" / parts, top / parts, top / parts.name):
        for path in (place, place.with_name(f"{place.name}.gz")):
            if path.is_file():
                return path
    return None


def _lines(file: str) -> tuple[Path, Callable[[], Any]]:
    """A file's path, and how to open it."""
    path = _found(file)
    if path is None:
        raise InputError(f"{file} is not in the folder that {FOLDER_VARIABLE} names")
    return path, partial(gzip.open, path, "rt") if path.suffix == ".gz" else path.open


def _table(
    given: tuple[Path, Callable[[], Any]],
    columns: slice,
    most: int | None,
    delimiter: str | None,
    skip: int = 0,
) -> Points:
    """Some columns of a text file; others may hold text."""
    path, opened = given
    table = None
    with opened() as file:
        try:
            rows = (
                line.split(delimiter)[columns]
                for line in islice(file, skip, None if most is None else skip + most)
                if line.strip()
            )
            table = np.array([[float(v) for v in row] for row in rows])
        except ValueError:
            pass
    if table is None or table.ndim != 2 or not len(table) or not np.isfinite(table).all():
        raise GraphFileError(path, "is no table of numbers")
    return table


def _sipu(scale: float) -> Callable[..., Points]:
    return lambda given, most: _table(given, slice(0, 2), most, None) / scale


def _skin(given: Any, most: int | None) -> Points:
    return _table(given, slice(0, 3), most, ",", 1) / 255.0


def _shuttle(one: Any, other: Any, most: int | None) -> Points:
    return np.concatenate([_table(part, slice(0, 9), most, ",") for part in (one, other)])


def _covertype(given: Any, most: int | None) -> Points:
    table = _table(given, slice(0, 54), most, ",")
    table[:, :10] /= [4000, 360, 70, 1400, 800, 7200, 255, 255, 255, 7200]
    return table


def _higgs(given: Any, most: int | None) -> Points:
    return _table(given, slice(1, 29), most, ",")


def digits() -> Points:
    """scikit-learn's digits scaled by the public constant 80 into the unit ball, shape (1797,
    64).
    """
    from sklearn.datasets import load_digits

    points: Points = load_digits().data / 80.0
    return points / np.maximum(1.0, np.linalg.norm(points, axis=1))[:, None]


def _mixtures() -> list[PointSet]:
    return [
        PointSet(
            f"{kind}-d{d}-k{k}",
            k,
            (-1, 1),
            1.0,
            (),
            lambda d=d, k=k, std=std: gaussian_mixture(d=d, k=k, std=std),
            f"100,000 points of {k} Gaussians of standard deviation {std} in the unit ball of "
            f"R^{d}",
        )
        for kind, d, k, std in (
            ("gm", 2, 8, 0.05),
            ("gm", 2, 20, 0.05),
            ("gm", 10, 8, 0.05),
            ("gm", 10, 20, 0.05),
            ("gw", 10, 8, 0.15),
        )
    ]


_SIPU = [(name, 15, 1e6) for name in ("s1", "s2", "s3", "s4")] + [
    ("a1", 20, 2**16),
    ("a2", 35, 2**16),
    ("a3", 50, 2**16),
]
POINT_SETS = {
    found.name: found
    for found in (
        *_mixtures(),
        PointSet(
            "digits",
            10,
            (0, 0.2),
            0.8,
            (),
            digits,
            "scikit-learn's 1,797 digits of 64 pixels, divided by 80",
        ),
        *(
            PointSet(
                name,
                k,
                (0, 1),
                None,
                (f"sipu/{name}.data",),
                _sipu(scale),
                f"SIPU {name}, divided by {scale:g}",
            )
            for name, k, scale in (*_SIPU, ("unbalance", 8, 1e6))
        ),
        PointSet(
            "skin",
            10,
            (0, 1),
            None,
            ("uci/Skin_NonSkin.txt",),
            _skin,
            "245,057 colors of UCI's Skin, divided by 255",
        ),
        PointSet(
            "shuttle",
            10,
            (-500, 500),
            None,
            ("uci/shuttle.trn", "uci/shuttle.tst"),
            _shuttle,
            "58,000 × 9 of UCI's Statlog (Shuttle), entries clipped to ±500",
        ),
        PointSet(
            "covertype",
            10,
            (0, 1),
            None,
            ("uci/covtype.data",),
            _covertype,
            "581,012 × 54 of UCI's Covertype, ten of the columns divided by public maxima",
        ),
        PointSet(
            "higgs",
            10,
            (-5, 5),
            None,
            ("uci/HIGGS.csv",),
            _higgs,
            "11 M × 28 of UCI's HIGGS, entries clipped to ±5",
        ),
    )
}
"""All sets by name."""


def chosen_sets(text: str | None, default: Iterable[str]) -> tuple[list[str], list[str]]:
    """Names that a list names, or what several begin with, of sets that are there; and why others
    are skipped.

    Raises
    ------
    InputError
        A name that is none, or nothing to measure.
    """
    wanted: list[str] = []
    for name in list(default) if text is None else [part.strip() for part in text.split(",")]:
        named = [s for s in POINT_SETS if s == name or (name and s.startswith(f"{name}-"))]
        if not named:
            raise InputError(
                f"sets must be of {', '.join(POINT_SETS)}, or what several begin with; got "
                f"{name[:40]!r}"
            )
        wanted += [s for s in named if s not in wanted]
    missing = {
        name: f"{name}: skipped, METRICDP_DATA names no folder with "
        f"{' and '.join(POINT_SETS[name].files)} (perhaps .gz)"
        for name in wanted
        if not POINT_SETS[name].there()
    }
    if wanted and len(missing) == len(wanted):
        raise InputError(f"nothing to measure; {next(iter(missing.values()))}")
    return [name for name in wanted if name not in missing], list(missing.values())


FILE = "demand/deckgl_uber_pickup_nyc.json.gz"
LOWER, UPPER = np.array([-74.1, 40.7]), np.array([-73.9, 40.9])
"""The paper's box: longitude and latitude."""
JITTER = 0.0005
"""Degrees, some 50 m: the file's places are rounded, and repeated by their counts."""
Points = NDArray[np.float64]


def found() -> Path | None:
    """The file, if it is there."""
    path = Path(os.environ.get(FOLDER_VARIABLE) or os.devnull) / FILE
    return path if path.is_file() else None


def pickups(n: int, seed: int = 0, *, made_up: bool = False) -> Points:
    """n records in the unit square, shape (n, 2): drawn with replacement and jittered, or of a
    mixture of 20 Gaussians where the file is not there.

    Raises
    ------
    GraphFileError
        The file does not hold what its name says.
    """
    path = None if made_up else found()
    if path is None:
        return 0.5 + 0.5 * gaussian_mixture(n, 2, 20, 0.05, 7 + seed)
    places = None
    try:
        with gzip.open(path) as file:
            rows = np.array(json.load(file), dtype=np.float64)
        places = rows[np.repeat(np.arange(len(rows)), rows[:, 2].astype(int)), :2]
        places = places[((places > LOWER) & (places < UPPER)).all(axis=1)]
    except (OSError, ValueError, IndexError):
        pass
    if places is None or not len(places):
        raise GraphFileError(path, "is no list of [longitude, latitude, count] in the box")
    rng = np.random.default_rng(seed)
    drawn = places[rng.integers(len(places), size=n)] + JITTER * rng.normal(size=(n, 2))
    return np.clip((drawn - LOWER) / (UPPER - LOWER), 0, 1)


def trips(n: int, seed: int = 0, *, made_up: bool = False) -> Points:
    """n records in the unit cube of four dimensions: a pick-up and another, independent of it, in
    place of a drop-off, which the file does not have.
    """
    starts = pickups(n, seed, made_up=made_up)
    ends = pickups(n, seed + 1, made_up=made_up)
    return np.hstack([starts, ends])
