"""Simulated messages for experiments. Randomness may be seeded: never use it for real users."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.errors import InputError
from metricdp.local.encoder import Encoder
from metricdp.local.items import BallItems
from metricdp.local.parameters import PublicParameters
from metricdp.options import Coins, coins


def simulated_messages(
    parameters: PublicParameters | dict[str, Any] | str | bytes,
    items: Sequence[Any] | NDArray[Any],
    seed: int | None = None,
    *,
    rng: Coins | None = None,
) -> NDArray[np.uint8]:
    """One message for each item, shape (n, message_bytes), for `Decoder.fit`.

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
    Messages are those of `Encoder`, with randomness that may be seeded. About 200,000 messages a
    second; 10,000 of vectors, as each generates all its candidates.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> pub = mdp.local.public_parameters(metric, epsilon=4, users=4000, k=2)
    >>> mdp.local.simulated_messages(pub, [1, 7, 7], seed=0).shape[0]
    3
    """
    encoder = Encoder(parameters)
    below = Random(None if seed is rng is None else coins(seed, rng)).randrange
    each = _values(encoder, items)
    messages = b"".join(encoder._message(views, vector, below) for views, vector in each)
    size = encoder.parameters.message_bytes
    return np.frombuffer(bytearray(messages), np.uint8).reshape(-1, size)


def _values(encoder: Encoder, items: Sequence[Any] | NDArray[Any]) -> Iterator[tuple[Any, Any]]:
    """The views and vectors of many items; points are processed as one array."""
    universe = encoder._items
    if not isinstance(universe, BallItems):
        listed = items.tolist() if isinstance(items, np.ndarray) else items
        return map(universe.values, listed)
    points = np.asarray(items, np.float64)
    if points.ndim != 2 or points.shape[1] != universe.dimension or not np.isfinite(points).all():
        raise InputError(f"points must be finite, of shape (n, {universe.dimension})")
    unit = universe.unit(points)
    return zip(np.stack(universe.views(unit), axis=1).tolist(), unit)
