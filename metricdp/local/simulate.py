"""Simulated messages for experiments. Coins may be seeded: never use it on real users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arrays import Floats, Ints
from metricdp.errors import InputError
from metricdp.local import streams
from metricdp.local.items import BallItems, Items, items_of
from metricdp.local.parameters import HEADER, VERSION, PublicParameters
from metricdp.local.randomizers import (
    KRR,
    LocalHashing,
    Randomizer,
    SubsetSelection,
    TopVectors,
    width,
)
from metricdp.options import Coins, coins


def simulated_messages(
    parameters: PublicParameters | dict[str, Any] | str | bytes,
    items: Sequence[Any] | NDArray[Any],
    seed: int | None = None,
    *,
    rng: Coins | None = None,
) -> NDArray[np.uint8]:
    """One message for every item, shape (n, message_bytes): what the decoder's `fit` takes.

    Parameters
    ----------
    parameters : PublicParameters, dict, str or bytes
    items : sequence of ids, or ndarray of float64, shape (n, d)
    seed, rng : int; Generator, SeedSequence or int, optional

    Raises
    ------
    InputError
        An item is not in the universe.

    Notes
    -----
    Some 10^7 messages a second for k-ary randomized response and local hashing; a vector report
    makes all its candidates.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> pub = mdp.local.public_parameters(metric, epsilon=4, users=4000, k=2)
    >>> mdp.local.simulated_messages(pub, [1, 7, 7], seed=0).shape[0]
    3
    """
    known = PublicParameters.of(parameters)
    universe = items_of(known.items)
    rng = np.random.default_rng(None if seed is rng is None else coins(seed, rng))
    views, vectors = all_values(universe, items)
    n = len(views[0])
    found = np.zeros((n, known.message_bytes), np.uint8)
    shares = np.cumsum([role.share for role in known.roles])
    role_of = np.searchsorted(shares, rng.integers(0, shares[-1], n), side="right")
    found[:, : HEADER - 1] = np.frombuffer(bytes([VERSION]) + known.fingerprint, np.uint8)
    found[:, HEADER - 1] = role_of
    for number, role in enumerate(known.roles):
        mine = np.flatnonzero(role_of == number)
        at = HEADER
        for report in role.reports:
            block = drawn(
                report.randomizer,
                views[report.view][mine],
                None if vectors is None else vectors[mine],
                rng,
            )
            found[mine, at : at + block.shape[1]] = block
            at += block.shape[1]
    return found


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


def drawn(
    randomizer: Randomizer,
    values: Ints,
    vectors: Floats | None,
    rng: np.random.Generator,
) -> NDArray[np.uint8]:
    """Packed outputs, shape (n, n_bytes)."""
    if isinstance(randomizer, SubsetSelection):
        return _subsets(randomizer, values, rng)
    if isinstance(randomizer, TopVectors):
        assert vectors is not None
        numbers = _named(randomizer, values, vectors, rng)
    elif isinstance(randomizer, KRR):
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


def _named(
    randomizer: TopVectors,
    buckets: Ints,
    vectors: Floats,
    rng: np.random.Generator,
) -> list[NDArray[Any]]:
    """Character, nonce and index of every user, made as on the device."""
    n = len(buckets)
    k = randomizer.candidates
    nonces = rng.integers(0, 1 << 64, n, dtype=np.uint64)
    indices = np.empty(n, np.int64)
    characters, rank, sign = ranks(randomizer, buckets, vectors, rng)
    for i in range(n):
        scores = streams.vectors(int(nonces[i]), k, randomizer.dimension) @ (vectors[i] * -sign[i])
        indices[i] = np.argpartition(scores, rank[i])[rank[i]]
    return [characters, nonces, indices]


def ranks(
    randomizer: TopVectors,
    buckets: Ints,
    vectors: Floats,
    rng: np.random.Generator,
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
