"""Pick-up points of taxis in New York for paper 3: those of the folder that ``METRICDP_DATA``
names, or made-up ones. All are public here.
"""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from metricdp.bench.mixtures import gaussian_mixture
from metricdp.datasets import FOLDER_VARIABLE
from metricdp.errors import GraphFileError

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
