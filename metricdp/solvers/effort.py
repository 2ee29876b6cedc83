"""How much time a k-median search takes: the parameter `effort` over all of them."""

from typing import Any, Literal

import numpy as np

from metricdp.arguments import Floats, Ints
from metricdp.metrics.base import Metric
from metricdp.solvers.kmedian import WHOLE_BLOCK, Found, costs_between, solve
from metricdp.solvers.near_lists import BlockCosts, Costs, MetricCosts, places
from metricdp.solvers.neighborhoods import thorough_search
from metricdp.solvers.stopping import Deadline

QUICK: Literal["quick"] = "quick"
THOROUGH: Literal["thorough"] = "thorough"
ROUGH: Literal["rough"] = "rough"
Effort = Literal["quick", "thorough"] | float
"""A second or two; until longer search brings no gain; a number of seconds."""
ROUGH_SHARE = 0.45
"""Of the searches of a quick search on a graph, and of the visits of each: less than half its time,
centers that cost 0.1 % more.
"""
_ROUGH_STARTS = 6
"""Starts of a rough search: time for cost. On 1,500 to 3,000 points 3 end .3 % dearer in a third of
the time, 12 .07 % cheaper (benchmarks/partition_method.md).
"""


def solve_with(
    effort: Effort | Literal["rough"],
    metric: Metric,
    weights: Floats,
    k: int,
    *,
    power: int = 1,
    candidates: Ints | None = None,
    opened: Ints | None = None,
    seed: int = 0,
    starts: int | None = None,
    time_limit: float | None = None,
    first: Ints | None = None,
) -> Found:
    """`metricdp.solvers.kmedian.solve`, followed by what `effort` adds.

    More effort works on lists of near candidates. Where these are too long, as for few centers of
    very many points, only candidates of least reduced cost take part; with hundreds of times as
    many points as centers thorough is no better than quick.
    """
    asked: dict[str, Any] = {"power": power, "candidates": candidates, "opened": opened}
    asked |= {"starts": starts, "first": first}
    if effort in (QUICK, ROUGH):
        if effort == ROUGH:
            asked |= {"share": ROUGH_SHARE, "starts": starts or _ROUGH_STARTS}
        return solve(metric, weights, k, seed=seed, time_limit=time_limit, **asked)
    limit = time_limit
    if not isinstance(effort, str):
        limit = effort if limit is None else min(effort, limit)
    endless = not isinstance(effort, str)
    # First the quick search, then iterated local search from its centers.
    with Deadline(limit) as deadline:
        left = None if limit is None else max(deadline.left, 0.0)
        found = solve(metric, weights, k, seed=seed, time_limit=left, chains=False, **asked)
        weights, demand, allowed, fixed = places(metric, weights, candidates, opened)
        if k in (len(allowed), len(fixed)):
            return found
        costs: Costs
        if metric.in_memory or len(allowed) * len(demand) <= WHOLE_BLOCK:
            block = costs_between(metric, allowed, demand, power)
            costs = BlockCosts(block, weights[demand], deadline)
        else:
            costs = MetricCosts(metric, allowed, demand, weights[demand], power)
        rows, cost = thorough_search(
            costs,
            k,
            np.random.default_rng([seed, 1]),
            first=np.searchsorted(allowed, found.centers),
            opened=np.searchsorted(allowed, fixed),
            deadline=deadline,
            endless=endless,
        )
        return Found(allowed[rows], cost) if cost < found.cost else found
