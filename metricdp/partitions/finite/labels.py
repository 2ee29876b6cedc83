"""A finite universe cut by a public label of every point."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from metricdp.metrics.base import Metric
from metricdp.protocols import trusted


@trusted
@dataclass(frozen=True, eq=False)
class Labels:
    """Parts that are told by the label of a record's own point.

    Parameters
    ----------
    universe : Metric
    labels : ndarray of int64, shape (n_points,)
        Part of every point, 0 … n_parts - 1: public.
    n_parts : int

    Examples
    --------
    >>> import numpy as np, networkx as nx, metricdp as mdp
    >>> from metricdp.partitions.finite.labels import Labels
    >>> metric = mdp.GraphMetric(nx.path_graph(4), weight=None)
    >>> Labels(metric, np.array([0, 0, 1, 1]), n_parts=2).encode(np.array([0, 3, 3]))
    array([0, 1, 1])
    """

    universe: Metric
    labels: NDArray[np.int64]
    n_parts: int

    @classmethod
    def of(cls, universe: Metric) -> Labels:
        """Every point a part of its own.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> from metricdp.partitions.finite.labels import Labels
        >>> Labels.of(mdp.GraphMetric(nx.path_graph(4), weight=None)).n_parts
        4
        """
        return cls(universe, np.arange(len(universe)), len(universe))

    def encode(self, records: NDArray[np.int64]) -> NDArray[np.int64]:
        """Label of each position, shape (n,)."""
        return self.labels[records]
