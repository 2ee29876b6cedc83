"""The two functions that return exact private numbers, for one's own data."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import listed, positive
from metricdp.errors import InputError
from metricdp.privacy import _vault
from metricdp.privacy.demand import PrivateDemand
from metricdp.protocols import finite
from metricdp.records.engines import total


class PrivateDataWarning(UserWarning):
    """A number without any privacy protection is about to be returned.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
    >>> import warnings
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     cost = mdp.exact_cost(demand, [1, 7])
    >>> caught[0].category.__name__
    'PrivateDataWarning'
    """


def exact_cost(demand: PrivateDemand, centers: Iterable[Any], power: float = 1) -> float:
    """Exact cost of centers: the sum over the demand's records of the distance to the nearest
    center, to a power.

    **Privacy.** None whatsoever. It reads private data and returns an exact number, for ``metricdp
    evaluate`` and those who hold the data; it is on no ledger. Publish it, or anything chosen by
    it, and the guarantee is void. It warns.

    Parameters
    ----------
    demand : PrivateDemand
        With `user=`, the kept records count.
    centers : iterable of ids; array_like of shape (k, d) in an EuclideanSpace
    power : float
        1 for k-median, 2 for k-means.

    Returns
    -------
    float
        In the metric's unit, to the power; 0 for an empty demand.

    Raises
    ------
    InputError
        Unknown centers, none at all, or a power that is not positive.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
    >>> import warnings
    >>> with warnings.catch_warnings():  # these people are invented
    ...     warnings.simplefilter("ignore", mdp.PrivateDataWarning)
    ...     mdp.exact_cost(demand, [1, 6])
    5000.0
    """
    chosen = listed(centers, "centers")
    power = positive(power, "power")
    if not isinstance(demand, PrivateDemand) or not chosen:
        raise InputError("exact_cost needs a PrivateDemand and at least one center")
    warnings.warn(
        "exact_cost reads private data unprotected: do not publish it",
        PrivateDataWarning,
        stacklevel=2,
    )
    served = demand.universe.served_by(chosen)[0]
    of = lambda block: np.array([np.sum(served(block)[1] ** power)])  # noqa: E731
    return _vault._quietly("cost failed", lambda: float(total(_vault._open(demand), of)[0]))


def exact_counts(demand: PrivateDemand) -> NDArray[np.int64]:
    """Exact number of records at each point of a finite universe, shape (n_points,).

    **Privacy.** None whatsoever, as `exact_cost`: for ``--non-private`` and for those who hold the
    data. It warns.
    """
    if not isinstance(demand, PrivateDemand):
        raise InputError("exact_counts needs a PrivateDemand")
    n = len(finite(demand.universe, "exact_counts"))
    warnings.warn(
        "exact_counts reads private data unprotected: do not publish it",
        PrivateDataWarning,
        stacklevel=2,
    )
    count = lambda block: np.bincount(block, minlength=n)  # noqa: E731
    return _vault._quietly("counting failed", lambda: total(_vault._open(demand), count))
