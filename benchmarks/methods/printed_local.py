"""One round without a curator in a box, reported as Chang et al. (ICML 2021) print it, and many
such reports drawn by their distribution.

The package's default asks a user for its leaf of the tree or for its vector, with all of epsilon.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.local import Decoder, PublicParameters, Sketch, streams
from metricdp.local.decoder import numbers_of
from metricdp.local.items import bits_of, items_of
from metricdp.local.oracles import best_frequency_randomizer, best_vector_randomizer, oracle_of
from metricdp.local.parameters import Report, Role
from metricdp.local.randomizers import TopVectors
from metricdp.local.setup import COUNT_SHARE
from metricdp.local.simulate import all_values, drawn, ranks

HISTOGRAMS = ("leaves", "levels", "budget")
SPLITS = ("users", "budget")
_BLOCK = 1 << 16  # users at once: memory against calls


def reporting(
    parameters: PublicParameters, histogram: str = "leaves", split: str = "budget"
) -> PublicParameters:
    """The same collection in a box, where users report something else.

    Parameters
    ----------
    parameters : PublicParameters
        Of a tree whose sums of vectors are reported: not of nets in the space itself.
    histogram : {"leaves", "levels", "budget"}
        Who counts report the tree's leaf; a level drawn at random; or all levels, each with its
        share of epsilon.
    split : {"users", "budget"}
        A user reports its bucket or its vector; or both, each with half of epsilon, as printed.
    """
    items, found = parameters.items, items_of(parameters.items)
    levels = range(found.depth)
    half = parameters.epsilon / 2 if split == "budget" else parameters.epsilon
    each = half / found.depth if histogram == "budget" else half
    views = levels[-1:] if histogram == "leaves" else levels
    asked = [Report(best_frequency_randomizer(each, found.domains[v]), v) for v in views]
    counts = [tuple(asked)] if histogram == "budget" else [(one,) for one in asked]
    sums = [
        (Report(best_vector_randomizer(half, found.dimension, bits_of(found.domains[v])), v),)
        for v in (levels[-1:] if items["kind"] == "simhash" else levels)
    ]
    if split == "budget":
        roles = [Role(1, count + total) for count in counts for total in sums]
    else:
        roles = [Role(COUNT_SHARE[0] * len(sums), count) for count in counts]
        rest = COUNT_SHARE[1] - COUNT_SHARE[0]
        roles += [Role(rest * len(counts), total) for total in sums]
    return replace(parameters, roles=tuple(roles))


def simulated_sketch(parameters: Any, points: NDArray[np.float64], seed: int) -> Sketch:
    """The sketch of one message for every point, by its distribution, without messages. Along the
    user's vector the named one is an order statistic, across it normal.
    """
    known = PublicParameters.of(parameters)
    rng = np.random.default_rng(seed)
    views, vectors = all_values(items_of(known.items), points)
    shares = np.cumsum([role.share for role in known.roles])
    role_of = np.searchsorted(shares, rng.integers(0, shares[-1], len(views[0])), side="right")
    found = Decoder(known).empty()
    for number, role in enumerate(known.roles):
        mine = np.flatnonzero(role_of == number)
        found.users[number] = len(mine)
        for report, array in zip(role.reports, found.arrays[number]):
            for part in np.array_split(mine, len(mine) // _BLOCK + 1):
                values = views[report.view][part]
                if isinstance(report.randomizer, TopVectors) and vectors is not None:
                    rows, characters = named_vectors(report.randomizer, values, vectors[part], rng)
                    add_rows(array, rows * streams.STEPS, characters)
                else:
                    packed = drawn(report.randomizer, values, None, rng)
                    columns = numbers_of(report.randomizer, packed)[0]
                    oracle_of(report.randomizer).add(array, columns)
    return found


def add_rows(
    sums: NDArray[np.int64], rows: NDArray[np.float64], characters: NDArray[np.int64]
) -> None:
    """Add every row (n, d), rounded to integers, to the row of `sums` (2^b, d) of its character."""
    np.add.at(sums, characters, np.rint(rows).astype(np.int64))


def named_vectors(
    randomizer: TopVectors,
    buckets: NDArray[np.int64],
    vectors: NDArray[np.float64],
    rng: np.random.Generator,
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """The vectors that n messages name (n, d), in standard deviations, and their characters."""
    from scipy.special import ndtri

    n = len(buckets)
    k = randomizer.candidates
    characters, rank, sign = ranks(randomizer, buckets, vectors, rng)
    along = ndtri(rng.beta(k - rank, rank + 1)) * sign
    unit = vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-300)
    rows = rng.standard_normal((n, randomizer.dimension))
    return rows + (along - (rows * unit).sum(axis=1))[:, None] * unit, characters
