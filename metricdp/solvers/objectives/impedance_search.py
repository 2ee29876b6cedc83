"""Sites of least impedance sum on large graphs, from sites that are good by distance."""

from __future__ import annotations

import numpy as np

from metricdp.solvers.graph_search import GraphSearch
from metricdp.solvers.objectives.impedances import Impedance
from metricdp.solvers.objectives.instance import Floats, Instance, Positions
from metricdp.solvers.objectives.nearness import sites_filled

_VISITS, _VISITS_EACH, _LAST_VISITS = 12_000_000, 5, 4
"""Vertices that a search may enter: in all, for each, and in the last descent."""
_SMALL = 60_000
"""Graphs of fewer vertices are descended until no move helps."""
_PASSES, _MOST_PASSES = 3, 12
"""All vertices are tried, again and again, where that allows so many passes."""
_STARTS = 4
"""Searches on small graphs with a limit; all but the first begin at random."""
_SHARES = (2, 16)
"""Candidates near a site come from this fraction of its territory."""


def searched_by_impedance(instance: Instance, sites: Positions, impedance: Impedance) -> Positions:
    """Positions of sites that exchanges make of these, the mandatory ones first.

    Every exchange is judged exactly, as in `GraphSearch`: an impedance never falls with the
    distance, so a site matters only where it is nearer than the second nearest.
    """
    found = [_search(instance, sites, impedance, np.random.default_rng(instance.seed))]
    if len(instance.metric) <= _SMALL and impedance.limit < np.inf:
        for start in range(1, _STARTS):
            if instance.deadline.over:
                break
            rng = np.random.default_rng((instance.seed, start))
            found.append(_search(instance, _drawn(instance, len(sites), rng), impedance, rng))
    return min(found, key=lambda search: search.cost).centers


def _search(
    instance: Instance, sites: Positions, impedance: Impedance, rng: np.random.Generator
) -> GraphSearch:
    metric, n, k = instance.metric, len(instance.metric), len(sites)
    assert metric.network is not None
    fixed = instance.opened
    search = GraphSearch(
        metric.network,
        _weights(instance),
        np.r_[fixed, np.setdiff1d(sites, fixed)].astype(np.int64),
        impedance.terms,
        allowed=None if len(instance.allowed) == n else instance.allowed,
        opened=len(fixed),
        deadline=instance.deadline,
    )
    search.budget = max(_VISITS, _VISITS_EACH * n)
    tries = int(search.budget * k) // (2 * n)
    if n <= _SMALL and _PASSES * len(instance.allowed) <= tries:
        search.sweep(rng, passes=_MOST_PASSES)
    else:
        search.improve(search.probable(tries // 4, rng))
        for share in _SHARES:
            search.improve(search.near(max(n // (share * k), 8), max(tries // (4 * k), 1), rng))
    search.descend(visits=float("inf") if n <= _SMALL else _LAST_VISITS * n)
    return search


def _weights(instance: Instance) -> Floats:
    weights = np.zeros(len(instance.metric))
    weights[instance.demand] = instance.mass
    return weights


def _drawn(instance: Instance, k: int, rng: np.random.Generator) -> Positions:
    """The mandatory sites, and others drawn by k-median++."""
    inside = np.zeros(len(instance.metric))
    inside[instance.allowed] = _weights(instance)[instance.allowed]
    drawn = instance.metric.seed_centers(k, inside, rng)[0]
    drawn = np.setdiff1d(drawn[np.isin(drawn, instance.allowed)], instance.opened)
    some = np.r_[instance.opened, rng.permutation(drawn)][:k]
    return sites_filled(instance, some, rng.permutation(instance.allowed), k)
