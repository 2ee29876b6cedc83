"""The instances of the partition benchmark: graph, demand (vertex positions, repeats allowed). Real
data from METRICDP_DATA.
"""

from __future__ import annotations

import gzip
import json
import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import metricdp as mdp
from metricdp.datasets import FOLDER_VARIABLE
from metricdp.errors import GraphFileError, InputError
from metricdp.metrics import GraphMetric, Metric, PrecomputedMetric
from metricdp.threads import in_threads
from metricdp.universe import build_graph

DATA = Path(os.environ.get("METRICDP_DATA", "../shared/data"))
Instance = tuple[mdp.GraphMetric, np.ndarray]


def clustered(r: float, imbalanced: bool, seed: int = 3) -> Instance:
    """Ten random clusters of 3,000 vertices, as of paper 2; 500 distinct vertices, of
    two clusters if imbalanced.
    """
    metric, cluster = clustered_graph(r, seed)
    pool = np.flatnonzero(cluster < 2) if imbalanced else np.arange(len(metric))
    return metric, np.random.default_rng(5).choice(pool, 500, replace=False)


def hot_spots(
    metric: Metric, size: int, spots: int = 8, concentration: float = 10.0, seed: int = 7
) -> np.ndarray:
    """Density exp(-concentration · distance to the nearest of 8 random vertices / largest such
    distance).
    """
    rng = np.random.default_rng(seed)
    distance = metric.nearest_to(rng.choice(len(metric), spots, replace=False))[1]
    density = np.exp(-concentration * distance / distance.max())
    return rng.choice(len(metric), size, p=density / density.sum())


def coquimbo(size: int) -> Instance:
    """Coquimbo / La Serena, Chile (OpenStreetMap), metres; synthetic hot spots."""
    metric = mdp.read_graph(
        DATA / "roads/coquimbo/links.csv",
        weight="length_m",
        symmetrize=True,
        largest_component=True,
    )
    return metric, hot_spots(metric, size)


def manhattan(size: int) -> Instance:
    """Manhattan travel times at one hour of weekdays; real pick-ups within 200 m of a vertex,
    sampled with repeats.
    """
    edges = np.loadtxt(DATA / "roads/manhattan/edges.csv", delimiter=",", dtype=int)
    points = np.loadtxt(DATA / "roads/manhattan/points.csv", delimiter=",")[:, [2, 1]]
    seconds = np.loadtxt(DATA / "roads/manhattan/week.csv", delimiter=",")[:, 9]
    graph = build_graph(
        edges[:, 1] - 1,
        edges[:, 2] - 1,
        seconds,
        ids=range(len(points)),
        directed=True,
        symmetrize=True,
        coordinates=points,
        coordinate_system="lonlat",
        name="manhattan",
    )
    metric = mdp.GraphMetric(graph)
    pickups = np.array(
        json.loads(gzip.decompress((DATA / "demand/deckgl_uber_pickup_nyc.json.gz").read_bytes()))
    )
    at = metric.snap(pickups[:, :2])
    offset = (points[at] - pickups[:, :2]) * [np.cos(np.radians(40.75)), 1]
    near = np.hypot(*offset.T) < 0.002
    weight = pickups[near, 2]
    return metric, np.random.default_rng(1).choice(at[near], size, p=weight / weight.sum())


def facebook(size: int = 500) -> Instance:
    """Hop distances of the SNAP facebook graph; a private group: the vertices nearest to one, ties
    at random.
    """
    metric = mdp.read_graph(DATA / "social/facebook_combined.txt")
    rng = np.random.default_rng(2)
    hops = metric.distance_rows(np.array([rng.integers(len(metric))]))[0]
    return metric, np.argsort(hops + 0.5 * rng.random(len(metric)))[:size]


MAIN: dict[str, Callable[[], Instance]] = {
    "clusters r=1 balanced": lambda: clustered(1.0, False),
    "clusters r=1 imbalanced": lambda: clustered(1.0, True),
    "clusters r=100 balanced": lambda: clustered(100.0, False),
    "clusters r=100 imbalanced": lambda: clustered(100.0, True),
    "Coquimbo 500": lambda: coquimbo(500),
    "Coquimbo 5,000": lambda: coquimbo(5000),
    "Coquimbo 20,000": lambda: coquimbo(20000),
    "Manhattan 2,000": lambda: manhattan(2000),
    "Manhattan 20,000": lambda: manhattan(20000),
    "facebook 500": facebook,
}


# Demand in a small part of a large universe


def spots_in_the_plane(
    coordinates: np.ndarray, size: int, spots: int = 12, seed: int = 7
) -> np.ndarray:
    """`size` vertices with repeats near 12 Gaussian spots of unequal size and weight, a spot's
    standard deviation about 1/25 of the extent: a few neighborhoods of a large city.
    """
    from scipy.spatial import cKDTree

    rng = np.random.default_rng(seed)
    middle = coordinates[rng.integers(0, len(coordinates), spots)]
    width = np.exp(rng.normal(0, 0.6, spots)) * np.ptp(coordinates, axis=0).mean() / 25
    which = rng.choice(spots, size, p=rng.dirichlet(np.ones(spots)))
    drawn = middle[which] + rng.normal(size=(size, 2)) * width[which][:, None]
    return cKDTree(coordinates).query(drawn)[1]


def heavy_vertices(
    metric: mdp.GraphMetric, size: int, many: int = 10, share: float = 0.8, seed: int = 7
) -> np.ndarray:
    """`size` vertices with repeats: a share of them on a few single vertices, the rest anywhere."""
    rng = np.random.default_rng(seed)
    heavy = rng.choice(rng.choice(len(metric), many, replace=False), round(size * share))
    return np.concatenate([heavy, rng.integers(0, len(metric), size - len(heavy))])


def members_around(
    metric: mdp.GraphMetric, size: int, seeds: int = 6, decay: float = 2.0, seed: int = 9
) -> np.ndarray:
    """`size` vertices with repeats around 6 people: probability falls as exp(-2 · hops)."""
    rng = np.random.default_rng(seed)
    hops = metric.nearest_to(rng.integers(0, len(metric), seeds))[1]
    density = np.exp(-decay * hops)
    return rng.choice(len(metric), size, p=density / density.sum())


def road_network(name: str) -> mdp.GraphMetric:
    """Liechtenstein ("liechtenstein") or Rome ("rome_osm") with all shape points, metres."""
    short, length = ("rome", "length") if name == "rome_osm" else (name, "length_m")
    at = DATA / "roads" / name
    return mdp.read_graph(
        at / f"{short}_edges.csv.gz",
        nodes=at / f"{short}_nodes.csv.gz",
        weight=length,
        symmetrize=True,
        largest_component=True,
    )


def spots(name: str, size: int, seed: int = 7) -> Instance:
    """A road network with demand in a dozen neighborhoods, drawn in its own coordinates."""
    metric = road_network(name)
    return metric, spots_in_the_plane(np.asarray(metric.coordinates, float), size, seed=seed)


def heavy(name: str, size: int, seed: int = 7) -> Instance:
    """A road network with demand on ten vertices, for the most part."""
    metric = road_network(name)
    return metric, heavy_vertices(metric, size, seed=seed)


def social_network(name: str) -> mdp.GraphMetric:
    """Hop distances of a network of the folder ``social``."""
    file = "lastfm_asia_edges" if name == "lastfm_asia" else name
    (path,) = (DATA / "social").glob(f"{file}*")
    return mdp.read_graph(path, symmetrize=True, largest_component=True)


def members(name: str, size: int = 3000, seed: int = 9) -> Instance:
    """A social network with 3,000 members around six people."""
    metric = social_network(name)
    return metric, members_around(metric, size, seed=seed)


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
    from benchmarks.sets.manhattan import manhattan_rows

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
