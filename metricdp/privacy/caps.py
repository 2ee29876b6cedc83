"""L2 sensitivity of histograms where caps bound a user's records in a part, and the parts."""

import numpy as np

from metricdp.accounting.binding import Capped
from metricdp.privacy.queries import HistogramQuery, LevelsQuery, Query
from metricdp.releases import Neighboring


def squared_sensitivity(
    query: Query, neighboring: Neighboring, max_contributions: int, caps: Capped | None
) -> int:
    """Squared L2 sensitivity of a query, for demand that may be capped.

    **Privacy.** *Histograms* whose parts each lie in one area: let u be what a user adds, and u_a
    its part in area a. Then ``|u_a|_1 <= c``, so ``|u_a|_2² <= c²`` as u_a >= 0 has integers, and
    at most p of the u_a are not 0: ``|u|_2² <= pc²`` under *add-remove*, reached by c records at
    one point of each of p areas. *Replace-one*: ``|u - v|_2² = |u|² + |v|² - 2 u·v <= 2pc²``, as u,
    v >= 0. *Levels*: the sum over disjoint coordinates, each level by its own bound. For all other
    queries, and for parts that intersect several areas, it is the query's own bound for m = pc
    records.
    """
    if caps is not None and type(query) is LevelsQuery:
        each = (squared_sensitivity(q, neighboring, max_contributions, caps) for q in query.levels)
        return sum(each)
    if caps is not None and type(query) is HistogramQuery and refined(caps, query):
        return caps.square * (1 if neighboring == "add-remove" else 2)
    return query.squared_sensitivity(neighboring, max_contributions)


def refined(caps: Capped, query: HistogramQuery) -> bool:
    """Whether every part of a histogram lies in one area."""
    if query.universe is not caps.universe or query.labels is None:
        return False
    first = np.full(query.n_parts, -1, np.int64)
    first[query.labels] = caps.areas
    return bool((first[query.labels] == caps.areas).all())
