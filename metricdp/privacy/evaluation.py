"""The two functions that return exact private numbers, for one's own data."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Ints, listed, positive
from metricdp.errors import InputError
from metricdp.privacy import _vault
from metricdp.privacy.demand import PrivateDemand
from metricdp.protocols import finite
from metricdp.records.engines.sources import Answer, total


class PrivateDataWarning(UserWarning):
    """A number without any privacy protection is about to be returned.

    Examples
    --------
    >>> issubclass(mdp.PrivateDataWarning, UserWarning)
    True
    """


def exact_cost(demand: PrivateDemand, centers: Iterable[Any], power: float = 1) -> float:
    """Exact cost of centers (ids, or in a box points): the sum over the demand's records (with
    `user=`, the kept ones) of the distance to the nearest center, to a power: 1 for k-median, 2 for
    k-means.

    **Privacy.** None whatsoever. It reads private data and returns an exact number, for ``metricdp
    evaluate`` and those who hold the data; no ledger is charged. If the number, or anything chosen
    by it, is published, the guarantee is void. It warns.

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
    served = demand.universe.served_by(chosen)[0]
    of = lambda block: np.array([np.sum(served(block)[1] ** power)])  # noqa: E731
    return float(_unprotected("exact_cost", demand, of)[0])


def exact_counts(demand: PrivateDemand) -> Ints:
    """Exact number of records at each point of a finite universe, shape (n_points,).

    **Privacy.** None whatsoever, as `exact_cost`: for ``--non-private`` and for those who hold the
    data. It warns.
    """
    if not isinstance(demand, PrivateDemand):
        raise InputError("exact_counts needs a PrivateDemand")
    n = len(finite(demand.universe, "exact_counts"))
    return _unprotected("exact_counts", demand, lambda block: np.bincount(block, minlength=n))


def _unprotected(name: str, demand: PrivateDemand, of: Answer) -> NDArray[Any]:
    """The exact sum of `of` over all blocks of records, after a warning."""
    warning = f"{name} reads private data unprotected: do not publish it"
    warnings.warn(warning, PrivateDataWarning, stacklevel=3)
    return _vault._quietly(f"{name} failed", lambda: total(_vault._open(demand), of))
