"""Who is within a limit of which site: lists, where they can be held."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import csr_array

from metricdp.solvers.dual_ascent import entries_within
from metricdp.solvers.near_lists import MetricCosts
from metricdp.solvers.objectives.instance import WITHIN, Instance, Positions

MOST_ENTRIES = 40_000_000
"""Pairs within the limit that are listed: 160 MB."""


def reached(instance: Instance, clients: Positions, limit: float) -> csr_array | None:
    """Matrix sites × clients (positions): 1 where a client is within the limit of a site; None if
    there are too many such pairs.

    Bounded searches from sites, or from clients where these are fewer, on graphs; elsewhere as
    `MetricCosts` has it.
    """
    way: Any = instance.metric
    near, asked = instance.allowed, clients
    from_sites = way.network is not None and len(near) <= len(asked)
    if from_sites:
        near, asked = asked, near
        way = way.reversed if way.directed else way
    costs = MetricCosts(way, near, asked, np.ones(len(asked)))
    reach = np.full(len(asked), np.nextafter(limit * (1 + WITHIN), np.inf))
    if way.network is not None and entries_within(costs, reach) > 2 * MOST_ENTRIES:
        return None
    lists = costs.lists(reach, MOST_ENTRIES)
    if lists is None:
        return None
    entries = np.ones(len(lists.site)), lists.site, lists.start
    listed = csr_array(entries, shape=(len(asked), len(near)))
    return listed if from_sites else csr_array(listed.T.tocsr())
