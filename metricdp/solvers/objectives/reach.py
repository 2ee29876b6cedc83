"""Who is within a limit of which site: lists, where they can be held."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, vstack

from metricdp.solvers.objectives.instance import WITHIN, Instance, Positions, costs_between
from metricdp.solvers.objectives.kinds import matrix_of
from metricdp.solvers.objectives.rows import Around

MOST_ENTRIES = 40_000_000
"""Pairs within the limit that are listed: 160 MB."""
_AT_ONCE = 4_000_000
_PROBED = 16
"""Sources that tell whether lists will be far too long, before any is made."""


def reached(instance: Instance, clients: Positions, limit: float) -> csr_array | None:
    """Matrix sites × clients (positions): 1 where a client is within the limit of a site; None if
    there are too many such pairs.

    Bounded searches from sites, or from clients where these are fewer, on graphs; rows elsewhere.
    """
    if instance.metric.network is not None:
        return _searched(instance, clients, limit)
    rows, entries = [], 0
    sites = instance.allowed
    by_sites = len(sites) <= len(clients) or instance.metric.directed
    step = max(1, _AT_ONCE // max(len(clients) if by_sites else len(sites), 1))
    for start in range(0, len(sites) if by_sites else len(clients), step):
        part = slice(start, start + step)
        pair = (sites[part], clients) if by_sites else (sites, clients[part])
        near = costs_between(instance.metric, *pair) <= limit * (1 + WITHIN)
        rows.append(csr_array((near if by_sites else near.T).astype(np.float64)))
        entries += rows[-1].nnz
        if entries > MOST_ENTRIES:
            return None
    found = csr_array(vstack(rows, format="csr"))
    return found if by_sites else csr_array(found.T.tocsr())


def _searched(instance: Instance, clients: Positions, limit: float) -> csr_array | None:
    from_sites = len(instance.allowed) <= len(clients)
    sources, targets = (instance.allowed, clients) if from_sites else (clients, instance.allowed)
    n = len(instance.metric)
    place = np.full(n, -1, np.int32)
    place[targets] = np.arange(len(targets))
    around, entries = Around(instance, towards=not from_sites), 0
    for source in sources[np.linspace(0, len(sources) - 1, _PROBED).astype(np.int64)]:
        around(source, limit)
    if around.searched / _PROBED * len(sources) * len(targets) > 2 * MOST_ENTRIES:
        return None
    lists = list[Positions]()
    for source in sources:
        at = place[around(source, limit)[0]]
        lists.append(np.sort(at[at >= 0]))
        entries += len(lists[-1])
        if entries > MOST_ENTRIES:
            return None
    listed = matrix_of(lists, len(targets))
    return listed if from_sites else csr_array(listed.T.tocsr())
