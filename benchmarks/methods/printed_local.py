"""One round without a curator in a box, reported as Chang et al. (ICML 2021) print it, and many
such reports drawn by their distribution.

The package's default asks a user for its leaf of the tree or for its vector, with all of epsilon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Floats, Ints
from metricdp.errors import InputError
from metricdp.local import Decoder, PublicParameters, Sketch, streams
from metricdp.local.decoder import numbers_of
from metricdp.local.items import BallItems, Items, bits_of, items_of
from metricdp.local.oracles import best_frequency_randomizer, best_vector_randomizer, oracle_of
from metricdp.local.parameters import Report, Role
from metricdp.local.randomizers import (
    KRR,
    LocalHashing,
    Randomizer,
    SubsetSelection,
    TopVectors,
    width,
)
from metricdp.local.setup import COUNT_SHARE

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
        Of a tree whose sums of vectors are reported: not of nets.
    histogram : {"leaves", "levels", "budget"}
        Who counts report the tree's leaf; a level drawn at random; or all levels, each with its
        share of epsilon.
    split : {"users", "budget"}
        A user reports its bucket or its vector; or both, each with half of epsilon, as printed.
    """
    found = items_of(parameters.items)
    levels = range(found.depth)
    half = parameters.epsilon / 2 if split == "budget" else parameters.epsilon
    each = half / found.depth if histogram == "budget" else half
    views = levels[-1:] if histogram == "leaves" else levels
    asked = [Report(best_frequency_randomizer(each, found.domains[v]), v) for v in views]
    counts = [tuple(asked)] if histogram == "budget" else [(one,) for one in asked]
    bits, last = bits_of(found.domains[-1]), levels[-1]
    total = (Report(best_vector_randomizer(half, found.dimension, bits), last),)
    if split == "budget":
        roles = [Role(1, count + total) for count in counts]
    else:
        users, others = COUNT_SHARE
        roles = [Role(users, count) for count in counts]
        roles.append(Role((others - users) * len(counts), total))
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
                    packed = drawn(report.randomizer, values, rng)
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


def all_values(
    universe: Items, items: Sequence[Any] | NDArray[Any]
) -> tuple[list[Ints], Floats | None]:
    """The views of many items, shapes (n,), and their vectors, shape (n, d), or None."""
    if isinstance(universe, BallItems):
        points = np.asarray(items, np.float64)
        if (
            points.ndim != 2
            or points.shape[1] != universe.dimension
            or not np.isfinite(points).all()
        ):
            raise InputError(f"points must be finite, of shape (n, {universe.dimension})")
        unit = universe.unit(points)
        return universe.views(unit), unit
    listed = items.tolist() if isinstance(items, np.ndarray) else items
    rows = np.array([universe.values(item)[0] for item in listed], np.int64)
    return list(rows.reshape(-1, len(universe.domains)).T), None


def drawn(randomizer: Randomizer, values: Ints, rng: np.random.Generator) -> NDArray[np.uint8]:
    """Packed outputs of a randomizer of frequencies, shape (n, n_bytes)."""
    if isinstance(randomizer, SubsetSelection):
        return _subsets(randomizer, values, rng)
    if isinstance(randomizer, KRR):
        numbers = [
            (values + _one_of(len(values), randomizer.domain, randomizer, rng)) % randomizer.domain
        ]
    else:
        assert isinstance(randomizer, LocalHashing)
        functions = rng.integers(0, randomizer.limits[0], len(values))
        hashes = _one_of(len(values), randomizer.limits[1], randomizer, rng)
        for i in range(randomizer.log_buckets):
            hashes ^= parity((functions >> i) & values) << i
        numbers = [functions, hashes]
    return np.concatenate(
        [_bytes(column, width(limit)) for column, limit in zip(numbers, randomizer.limits)], axis=1
    )


def _bytes(column: NDArray[Any], size: int) -> NDArray[np.uint8]:
    return np.ascontiguousarray(column.astype(">u8")).view(np.uint8).reshape(-1, 8)[:, 8 - size :]


def _one_of(n: int, size: int, randomizer: KRR | LocalHashing, rng: np.random.Generator) -> Ints:
    """n draws of `metricdp.local.randomizers._one_of`."""
    at = rng.integers(0, randomizer.favored + (size - 1) * randomizer.unit, n) - randomizer.favored
    return np.where(at < 0, 0, 1 + at // randomizer.unit)


def parity(bits: Ints) -> Ints:
    """Parity of the bits of every number, which is not negative."""
    for shift in (32, 16, 8, 4, 2, 1):
        bits = bits ^ (bits >> shift)
    return bits & 1


def _subsets(
    randomizer: SubsetSelection, values: Ints, rng: np.random.Generator
) -> NDArray[np.uint8]:
    n = len(values)
    m = randomizer.domain
    s = randomizer.size
    held = (
        rng.integers(0, randomizer.favored * s + randomizer.unit * (m - s), n)
        < randomizer.favored * s
    )
    order = rng.random((n, m))
    order[np.arange(n), values] = np.where(held, -1.0, 2.0)
    bits = np.zeros((n, 8 * width(randomizer.limits[0])), np.uint8)
    np.put_along_axis(bits, np.argpartition(order, s - 1, axis=1)[:, :s], 1, axis=1)
    return np.packbits(bits[:, ::-1], axis=1)


def ranks(
    randomizer: TopVectors, buckets: Ints, vectors: Floats, rng: np.random.Generator
) -> tuple[Ints, Ints, Floats]:
    """Character, rank of the candidate, and the sign that ranks the vector, of every user."""
    n = len(buckets)
    s = randomizer.top
    k = randomizer.candidates
    characters = rng.integers(0, randomizer.limits[0], n)
    lengths = np.minimum(np.linalg.norm(vectors, axis=1), 1.0)
    sign = np.where(rng.random(n) < (1 + lengths) / 2, 1.0, -1.0)
    sign[parity(characters & buckets) == 1] *= -1
    at = (
        rng.integers(0, s * randomizer.favored + (k - s) * randomizer.unit, n)
        - s * randomizer.favored
    )
    return (
        characters,
        np.where(at < 0, at // randomizer.favored + s, s + at // randomizer.unit),
        sign,
    )
