"""Sizes of sites, and validation of capacities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from metricdp.arguments import count, positive
from metricdp.errors import InputError


@dataclass(frozen=True)
class Size:
    """A size in which sites can be opened: `capacity` is its largest load, `cost` what opening one
    adds to the value, `most` how many may be open (by default any number).

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(6), weight=None)
    >>> sizes = [mdp.objectives.Size(2), mdp.objectives.Size(4, most=1)]
    >>> plan = mdp.solve(metric, mdp.objectives.Capacitated(k=2, capacities=sizes))
    >>> plan.value, sorted(plan.capacities)
    (5.0, [2.0, 4.0])
    """

    capacity: float
    cost: float = 0.0
    most: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "capacity", positive(self.capacity, "capacity"))
        object.__setattr__(self, "cost", positive(self.cost, "cost", or_zero=True))
        if self.most is not None:
            object.__setattr__(self, "most", count(self.most, "most"))


def checked_capacities(capacities: Any, name: str) -> Any:
    """The capacities as given; several sizes as a tuple."""
    if isinstance(capacities, str | bytes | bool):
        raise InputError(f"{name} must be numbers, got {capacities!r}")
    if isinstance(capacities, list | tuple) and any(isinstance(s, Size) for s in capacities):
        if not all(isinstance(one, Size) for one in capacities):
            raise InputError(f"{name} must be all of mdp.objectives.Size, or all numbers")
        return tuple(capacities)
    return capacities
