"""Cost transformations of distances in compiled searches: a power, or further terms."""

import math
from typing import Any

from numba import njit, types
from numba.extending import overload
from numpy.typing import NDArray


def impedance_cost(distance: float, impedance: Any) -> Any:
    """Cost of serving a unit of demand from a distance. `impedance` is the power 1 or 2, or the
    tuple of an `Impedance` (`metricdp.solvers.objectives.impedances`).
    """
    return (
        _power(distance, impedance) if isinstance(impedance, int) else _terms(distance, impedance)
    )


def _power(distance: float, impedance: Any) -> Any:
    return distance * distance if impedance == 2 else distance


def _terms(distance: float, impedance: Any) -> Any:
    z, growth, limit, beyond, shift = impedance
    if distance > limit:
        return beyond
    if shift != 0.0:
        return math.exp(growth * (distance - shift))
    return math.expm1(growth * distance) if growth != 0.0 else distance**z


@overload(impedance_cost)
def _compiled(distance: float, impedance: Any) -> Any:
    # chosen at compile time: powers pay nothing for the other terms
    return _power if isinstance(impedance, types.Integer) else _terms


@njit(cache=True, nogil=True)
def impedance_costs(distances: NDArray, impedance: Any, costs: NDArray) -> None:
    """Fill `costs` (float64) with `impedance_cost` of each distance."""
    for i in range(len(distances)):
        costs[i] = impedance_cost(distances[i], impedance)
