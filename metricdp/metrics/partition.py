"""What every public partition of a universe can do."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray


class Partition(Protocol):
    """A public partition of a universe. `encode` maps each record *by that record alone*, and keeps
    nothing.

    Examples
    --------
    >>> import numpy as np, networkx as nx, metricdp as mdp
    >>> from metricdp.partitions.finite.labels import Labels
    >>> from metricdp.privacy import HistogramQuery
    >>> metric = mdp.GraphMetric(nx.path_graph(4), weight=None)
    >>> query = HistogramQuery(Labels(metric, np.array([0, 0, 1, 1]), 2))
    >>> isinstance(query.partition, Labels), query.partition.encode(np.array([0, 3, 3]))
    (True, array([0, 1, 1]))
    """

    @property
    def universe(self) -> Any:
        """The public universe that it divides.

        Examples
        --------
        >>> import numpy as np, networkx as nx, metricdp as mdp
        >>> from metricdp.partitions.finite.labels import Labels
        >>> from metricdp.privacy import HistogramQuery
        >>> metric = mdp.GraphMetric(nx.path_graph(4), weight=None)
        >>> query = HistogramQuery(Labels(metric, np.array([0, 0, 1, 1]), 2))
        >>> query.partition.universe is metric
        True
        """

    @property
    def n_parts(self) -> int:
        """Number of parts, empty ones included.

        Examples
        --------
        >>> import numpy as np, networkx as nx, metricdp as mdp
        >>> from metricdp.partitions.finite.labels import Labels
        >>> from metricdp.privacy import HistogramQuery
        >>> metric = mdp.GraphMetric(nx.path_graph(4), weight=None)
        >>> query = HistogramQuery(Labels(metric, np.array([0, 0, 1, 1]), 2))
        >>> query.partition.n_parts
        2
        """

    def encode(self, records: NDArray[Any], /) -> NDArray[np.int64]:
        """Part of each record, 0..n_parts-1, shape (n_records,).

        Examples
        --------
        >>> import numpy as np, networkx as nx, metricdp as mdp
        >>> from metricdp.partitions.finite.labels import Labels
        >>> from metricdp.privacy import HistogramQuery
        >>> metric = mdp.GraphMetric(nx.path_graph(4), weight=None)
        >>> query = HistogramQuery(Labels(metric, np.array([0, 0, 1, 1]), 2))
        >>> query.partition.encode(np.array([0, 3, 3]))
        array([0, 1, 1])
        """
