"""Who is within a limit of which site: lists, where they can be held."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array, vstack

from metricdp.kernels.coverage import workspace
from metricdp.kernels.reach import bounded_search
from metricdp.solvers.objectives.instance import WITHIN, Instance, Positions, costs_between

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
    metric, network = instance.metric, instance.metric.network
    assert network is not None
    indptr, indices, lengths = network.csr
    from_sites = len(instance.allowed) <= len(clients)
    sources, targets = (instance.allowed, clients) if from_sites else (clients, instance.allowed)
    graph = (indptr, indices, lengths if from_sites else network.back)
    n = len(metric)
    place = np.full(n, -1, np.int32)
    place[targets] = np.arange(len(targets))
    space, distances = workspace(n, len(indices)), np.empty(n, np.int64)
    steps = limit * (1 + WITHIN) / network.unit
    radius, lists, entries = int(min(steps, 2.0**60)), [], 0
    probed = sources[np.linspace(0, len(sources) - 1, _PROBED).astype(np.int64)]
    found = [
        bounded_search(graph, int(source), radius, distances, space)
        for source in network.rank[probed]
    ]
    if np.mean(found) * len(sources) * (len(targets) / n) > 2 * MOST_ENTRIES:
        return None
    for source in network.rank[sources]:
        count = bounded_search(graph, int(source), radius, distances, space)
        at = place[network.order[space.touched[:count]]]
        lists.append(np.sort(at[at >= 0]))
        entries += len(lists[-1])
        if entries > MOST_ENTRIES:
            return None
    starts = np.r_[0, np.cumsum([len(one) for one in lists])]
    listed = csr_array(
        (np.ones(entries, np.float64), np.concatenate(lists), starts),
        shape=(len(sources), len(targets)),
    )
    return listed if from_sites else csr_array(listed.T.tocsr())
