"""Sites of least sum of a law of the distance on large graphs: exchanges by pruned searches
(`metricdp.solvers.graph_search`) from sites that are good by the distance itself.
"""

from __future__ import annotations

import numpy as np

from metricdp.solvers.graph_search import GraphSearch
from metricdp.solvers.objectives.laws import Law
from metricdp.solvers.objectives.nearness import sites_filled
from metricdp.solvers.objectives.siting import Floats, Positions, Siting

_VISITS, _VISITS_EACH, _LAST_VISITS = 12_000_000, 5, 4
"""Vertices that trying candidates may enter: so many, or so many times each; and the last descent,
for each vertex.
"""
_SMALL = 60_000
"""Graphs of fewer vertices are descended until no move helps."""
_PASSES, _MOST_PASSES = 3, 12
"""All vertices are tried, again and again, where that allows so many passes."""
_STARTS = 4
"""Searches on graphs that small with a limit, beyond which all distances cost the same; all but the
first begin with sites drawn.
"""
_SHARES = (2, 16)
"""Candidates near a site come from this fraction of its territory."""


def searched_by_law(siting: Siting, sites: Positions, law: Law) -> Positions:
    """Positions of sites that exchanges make of these, the mandatory ones first.

    Notes
    -----
    Every exchange is judged exactly, as in `GraphSearch`: a law never falls with the distance, so
    a site matters only where it is nearer than the second nearest, whatever the law.
    """
    found = [_search(siting, sites, law, np.random.default_rng(siting.seed))]
    if len(siting.metric) <= _SMALL and law.limit < np.inf:
        for start in range(1, _STARTS):
            if siting.deadline.over:
                break
            rng = np.random.default_rng((siting.seed, start))
            found.append(_search(siting, _drawn(siting, len(sites), rng), law, rng))
    return min(found, key=lambda search: search.cost).centers


def _search(siting: Siting, sites: Positions, law: Law, rng: np.random.Generator) -> GraphSearch:
    metric, n, k = siting.metric, len(siting.metric), len(sites)
    assert metric.network is not None
    fixed = siting.opened
    search = GraphSearch(
        metric.network,
        _weights(siting),
        np.r_[fixed, np.setdiff1d(sites, fixed)].astype(np.int64),
        law.terms,
        allowed=None if len(siting.allowed) == n else siting.allowed,
        opened=len(fixed),
        deadline=siting.deadline,
    )
    search.budget = max(_VISITS, _VISITS_EACH * n)
    tries = int(search.budget * k) // (2 * n)
    if n <= _SMALL and _PASSES * len(siting.allowed) <= tries:
        search.sweep(rng, passes=_MOST_PASSES)
    else:
        search.improve(search.probable(tries // 4, rng))
        for share in _SHARES:
            search.improve(search.near(max(n // (share * k), 8), max(tries // (4 * k), 1), rng))
    search.descend(visits=float("inf") if n <= _SMALL else _LAST_VISITS * n)
    return search


def _weights(siting: Siting) -> Floats:
    weights = np.zeros(len(siting.metric))
    weights[siting.demand] = siting.mass
    return weights


def _drawn(siting: Siting, k: int, rng: np.random.Generator) -> Positions:
    """The mandatory sites, and others drawn by k-median++."""
    inside = np.zeros(len(siting.metric))
    inside[siting.allowed] = _weights(siting)[siting.allowed]
    drawn = siting.metric.seed_centers(k, inside, rng)[0]
    drawn = np.setdiff1d(drawn[np.isin(drawn, siting.allowed)], siting.opened)
    some = np.r_[siting.opened, rng.permutation(drawn)][:k]
    return sites_filled(siting, some, rng.permutation(siting.allowed), k)
