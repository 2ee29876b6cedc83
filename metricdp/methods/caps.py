"""`Caps`: bounds of a user's records in public areas."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from metricdp.accounting.binding import UserCaps
from metricdp.arguments import count
from metricdp.partitions.finite.ward import hierarchy
from metricdp.protocols import Finite, Partition

AREAS = 64
"""Default number of areas: that of the coarsest histograms in use."""


@dataclass(frozen=True)
class Caps(UserCaps):
    """At most c records of each user in an area, in at most p areas.

    **Privacy.** `metricdp.accounting.binding.UserCaps`.

    Parameters
    ----------
    parts : int
        p: areas of each user, at most. Public: never choose it by looking at the data.
    records : int
        c: records of a user in an area, at most.
    areas : int or Partition
        A number of parts of the universe's public hierarchy, which the default method then refines;
        or a public partition of the same universe object.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(200), weight=None)
    >>> users = [i % 40 for i in range(4000)]
    >>> caps = mdp.Caps(parts=20, records=2)
    >>> mdp.PrivateDemand(metric, [i % 200 for i in range(4000)], user=users, caps=caps)
    PrivateDemand(graph; protects each user, keeps up to 40 records of each)
    """

    areas: int | Partition = AREAS

    def __post_init__(self) -> None:
        super().__post_init__()
        if hasattr(self.areas, "n_parts"):
            return
        object.__setattr__(self, "areas", count(self.areas, "areas"))

    def areas_of(self, universe: Finite) -> tuple[Partition, Any]:
        """The partition given, or a cut of the hierarchy of seed 0, and that cut once more as a
        tree (None for a partition given).
        """
        if not isinstance(self.areas, int):
            return self.areas, None
        tree = hierarchy(universe, 0).cut(self.areas)  # type: ignore[arg-type]
        return tree, tree
