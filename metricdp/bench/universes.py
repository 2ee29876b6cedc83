"""Public universes with classes, and demand drawn from all of a universe or from two of its
classes: the experiments of paper 2.

References
----------
Fan, Li and Li, "k-Median Clustering via Metric Embedding: Towards Better Initialization with
Differential Privacy" (NeurIPS 2023), Section 5.1.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.datasets import FOLDER_VARIABLE
from metricdp.errors import GraphFileError, InputError
from metricdp.metrics import GraphMetric, Metric, PrecomputedMetric
from metricdp.threads import in_threads

POINTS = 3000
CLUSTERS = 10
INSIDE = 0.2
LINKS = 30
SHORTEST_LINK = 0.5
"""Of a clustered graph: vertices, clusters, probability of an edge inside one, edges between two,
least length of these.
"""
PIXELS = 784
DIGITS = (0, 8)
_IMAGES = "t10k-images-idx3-ubyte"
_LABELS = "t10k-labels-idx1-ubyte"
_ROWS = 250


@dataclass(frozen=True, eq=False)
class Classified:
    """A public universe and the class of each of its points.

    Attributes
    ----------
    name : str
    metric : Metric
    classes : ndarray of int64, shape (n_points,)
    pair : tuple of two int
        The classes that imbalanced demand comes from.
    kept : dict
        What was computed of the universe alone and is needed again.
    """

    name: str
    metric: Metric
    classes: NDArray[np.int64]
    pair: tuple[int, int]
    kept: dict[Any, Any] = field(default_factory=dict, repr=False)

    def draw(
        self, records: int, rng: np.random.Generator, *, imbalanced: bool
    ) -> NDArray[np.int64]:
        """Positions of so many distinct points, drawn from all or from the two classes only, in
        rising order.

        Raises
        ------
        InputError
            There are not so many.
        """
        pool = (
            np.flatnonzero(np.isin(self.classes, self.pair))
            if imbalanced
            else np.arange(len(self.metric))
        )
        if not 1 <= records <= len(pool):
            raise InputError(
                f"records must be from 1 to {len(pool):,}, the points of {self.name} to draw "
                f"from; got {records}"
            )
        return np.sort(rng.choice(pool, records, replace=False))


def clustered_graph(
    r: float, seed: int = 0, *, points: int = POINTS, clusters: int = CLUSTERS, links: int = LINKS
) -> tuple[GraphMetric, NDArray[np.int64]]:
    """A random graph of clusters; returns its metric and the cluster of every vertex, shape
    (points,).

    Vertices fall into clusters uniformly; in a cluster each pair is joined with probability 0.2,
    length U[0, 1]; any two clusters are joined by `links` edges between random vertices (two may
    coincide), length U[0.5, r]. The paper says "some" for their number.

    Parameters
    ----------
    r : float
        Longest edge between clusters; large: well separated.
    seed : int
    points, clusters, links : int

    Raises
    ------
    DisconnectedGraphError, InputError
        So few points that a cluster is empty or not connected.
    """
    from metricdp.universe import build_graph

    rng = np.random.default_rng(seed)
    cluster = rng.integers(0, clusters, points)
    members = [np.flatnonzero(cluster == c) for c in range(clusters)]
    if not all(map(len, members)):
        raise InputError(f"{points} points leave one of {clusters} clusters empty")
    parts = []
    for inside in members:
        i, j = np.triu_indices(len(inside), 1)
        keep = rng.random(len(i)) < INSIDE
        parts.append((inside[i[keep]], inside[j[keep]], rng.uniform(0, 1, keep.sum())))
    low, high = sorted((SHORTEST_LINK, r))
    for a in range(clusters):
        for b in range(a + 1, clusters):
            parts.append(
                (
                    rng.choice(members[a], links),
                    rng.choice(members[b], links),
                    rng.uniform(low, high, links),
                )
            )
    tails, heads, lengths = map(np.concatenate, zip(*parts))
    return GraphMetric(
        build_graph(tails, heads, lengths, ids=range(points), directed=False, name="clusters")
    ), cluster


def mnist_folder() -> Path | None:
    """Folder of the MNIST test images in the folder that METRICDP_DATA names, or None."""
    top = Path(os.environ.get(FOLDER_VARIABLE) or os.devnull)
    folders = (top / "points/mnist", top / "mnist", top)
    return next((f for f in folders if all(_there(f / name) for name in (_IMAGES, _LABELS))), None)


def mnist(folder: Path, norm: int) -> tuple[PrecomputedMetric, NDArray[np.int64]]:
    """The 10,000 test images of MNIST as points in R^784, and their digits.

    Parameters
    ----------
    folder : Path
        With the two IDX files t10k-images-idx3-ubyte and t10k-labels-idx1-ubyte, perhaps gzipped
        (.gz).
    norm : {1, 2}
        Distance of gray values from 0 to 255.

    Notes
    -----
    A matrix of all distances, 0.8 GB: thousands of questions follow.

    Raises
    ------
    GraphFileError
        A file is no such IDX file.
    """
    images = _idx(folder, _IMAGES, PIXELS)
    digits = _idx(folder, _LABELS, 1)[:, 0].astype(np.int64)
    if len(images) != len(digits):
        raise GraphFileError(
            folder / _LABELS, f"has {len(digits):,} labels of {len(images):,} images"
        )
    return PrecomputedMetric(_manhattan(images) if norm == 1 else _euclidean(images)), digits


def _manhattan(images: NDArray[np.uint8]) -> NDArray[np.float64]:
    from metricdp.kernels.manhattan import manhattan_rows

    points = images.astype(np.int16)
    matrix = np.empty((len(images), len(images)))
    in_threads(
        lambda start: manhattan_rows(points, start, min(start + _ROWS, len(points)), matrix),
        range(0, len(points), _ROWS),
    )
    return matrix


def _euclidean(images: NDArray[np.uint8]) -> NDArray[np.float64]:
    """|a|² + |b|² - 2 a·b: all of them integers below 2**53, hence exact."""
    points = images.astype(np.float64)
    squares = (points * points).sum(axis=1)
    matrix = points @ points.T
    matrix *= -2
    matrix += squares
    matrix += squares[:, None]
    return np.sqrt(matrix, out=matrix)


def _there(path: Path) -> bool:
    return path.is_file() or path.with_name(f"{path.name}.gz").is_file()


def _idx(folder: Path, name: str, width: int) -> NDArray[np.uint8]:
    """Bytes of an IDX file, shape (n, width)."""
    from metricdp.universe.text import read_bytes

    path = folder / name if (folder / name).is_file() else folder / f"{name}.gz"
    data = read_bytes(path)
    dimensions = 3 if width > 1 else 1
    start = 4 + 4 * dimensions
    magic, *sides = np.frombuffer(data[:start].ljust(start, b"\0"), ">u4").tolist()
    if (
        magic != 0x800 + dimensions
        or math.prod(sides[1:]) != width
        or len(data) != start + sides[0] * width
    ):
        raise GraphFileError(
            path, f"is no IDX file of {'28 × 28 images' if width > 1 else 'labels'}"
        )
    return np.frombuffer(data, np.uint8, offset=start).reshape(-1, width)
