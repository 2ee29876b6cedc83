"""The instances of the partition benchmark: graph, demand (vertex positions, repeats allowed). Real
data from METRICDP_DATA.
"""

from __future__ import annotations

import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

import metricdp as mdp
from metricdp.bench.universes import clustered_graph
from metricdp.universe import build_graph

DATA = Path(os.environ.get("METRICDP_DATA", "../shared/data"))
Instance = tuple[mdp.GraphMetric, np.ndarray]


def clustered(r: float, imbalanced: bool, seed: int = 3) -> Instance:
    """Ten random clusters of 3,000 vertices, as in `metricdp bench paper2`; 500 distinct vertices,
    of two clusters if imbalanced.
    """
    metric, cluster = clustered_graph(r, seed)
    pool = np.flatnonzero(cluster < 2) if imbalanced else np.arange(len(metric))
    return metric, np.random.default_rng(5).choice(pool, 500, replace=False)


def hot_spots(
    metric: mdp.GraphMetric, size: int, spots: int = 8, concentration: float = 10.0, seed: int = 7
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
