"""The baseline that ignores the demand: a private answer is of use only if it is better."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from metricdp.methods.asking import Ask, Steps, Terms
from metricdp.methods.method import Method
from metricdp.methods.question import Result


@dataclass(frozen=True, kw_only=True)
class Uniform(Method):
    """Centers of the public universe itself, all of its points with equal weight.

    **Privacy.** Nothing is read: the answer has the same distribution for all demands, so it is
    0-DP.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
    >>> mdp.k_median(metric, demand, k=1, epsilon=1, method=mdp.methods.Uniform()).centers
    [4]
    """

    name = "uniform"
    chooses = "Nothing: no private data is read."
    afterwards = "Centers of the public universe by a public solver."
    in_space = True
    free = True
    one_way = True

    def least(self, terms: Terms, question: Any) -> Iterable[Ask]:
        """Nothing is asked."""
        return []

    def work(self, terms: Terms, question: Any) -> Steps:
        """Centers of the universe; nothing is asked."""
        yield from ()
        finite = question.on_net()
        found = finite.names(finite.answer(np.ones(len(finite.metric))))
        return Result(found, question.k, self.name, terms.nothing())
