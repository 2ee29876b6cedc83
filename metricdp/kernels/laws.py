"""What serving from a distance costs, in compiled searches: powers, and laws of more terms."""

from __future__ import annotations

import math
from typing import Any

from numba import njit, types
from numba.extending import overload
from numpy.typing import NDArray


def law_cost(distance: float, law: Any) -> Any:
    """Cost of serving one unit of demand from a distance; compiled code calls it as well.

    Parameters
    ----------
    law : int or tuple of float
        1 or 2, the power of the distance; or ``(z, growth, limit, beyond, share, steep, after,
        shift)`` as
        in `metricdp.solvers.objectives.laws.Law`, the limit with its slack.
    """
    return _power(distance, law) if isinstance(law, int) else _terms(distance, law)


def _power(distance: float, law: Any) -> Any:
    return distance * distance if law == 2 else distance


def _terms(distance: float, law: Any) -> Any:
    z, growth, limit, beyond, share, steep, after, shift = law
    if distance > limit:
        return beyond
    if shift != 0.0:
        cost = math.exp(growth * (distance - shift))
    else:
        cost = math.expm1(growth * distance) if growth != 0.0 else distance**z
    if steep != 0.0 and distance > after:
        return share * cost + steep * (distance - after)
    return share * cost


@overload(law_cost)
def _compiled(distance: float, law: Any) -> Any:
    # the kind of law is known when code is compiled: powers pay nothing for the others
    return _power if isinstance(law, types.Integer) else _terms


@njit(cache=True, nogil=True)
def law_costs(distances: NDArray, law: Any, costs: NDArray) -> None:
    """Fill `costs` with `law_cost` of each of some distances, float64."""
    for i in range(len(distances)):
        costs[i] = law_cost(distances[i], law)
