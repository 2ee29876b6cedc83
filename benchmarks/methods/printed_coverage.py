"""Algorithm 2 and Section 5 of Jones, Nguyen & Nguyen (AAAI 2021) as printed, and their exponent.

Radii (1 + eta)^i·Δ/n up to Δ, half of epsilon for the loop and half for the counts of the selected
centers' cells, clipped at 0, all weight at the centers. In a box, Section 5: the same on private
candidates, which have half of epsilon and delta beforehand; a record counts in the balls that hold
its nearest candidate. Public points join them only where they are fewer than k.

**Privacy.** As `metricdp.methods.finite.max_coverage`. The papers' exponent, epsilon / (2
ln(e/delta)), is what the package's own allows at a lower price (`printed_part`), and that price is
what the loop pays here: the rest of its half is not spent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from metricdp.accounting import Cost
from metricdp.accounting.covering import exponent
from metricdp.errors import InputError
from metricdp.methods import MaxCoverage
from metricdp.methods.asking import Account, Ask, Cover, Steps, Terms, Within
from metricdp.methods.demand_release import on_weights
from metricdp.methods.finite.max_coverage import (
    HASHES_SHARE,
    counted_cells,
    moved_to_means,
    private_candidates,
    weights_release,
)
from metricdp.methods.method import Method
from metricdp.metrics.base import Metric
from metricdp.metrics.set_systems import Balls
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.finite.labels import LabelParts
from metricdp.privacy.scores import CoverQuery

STEPS = 2**20
"""Parts of a price in which that of the papers' exponent is found."""


@dataclass(frozen=True, kw_only=True)
class PrintedCoverage(MaxCoverage):
    """The papers' selections, and weights at the selected centers alone.

    Examples
    --------
    >>> from benchmarks.methods.printed_coverage import PrintedCoverage
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
    >>> method = PrintedCoverage()
    >>> len(mdp.k_median(metric, demand, k=2, epsilon=4, delta=1e-6, method=method).centers)
    2
    """

    name = "max-coverage-printed"

    net_dimensions: int = 0
    share: Any = Fraction(1, 2)
    eta: float = 0.5  # the paper's accuracy parameter

    def least(self, terms: Terms, question: Any) -> Iterable[Ask]:
        """The number of records; refuses a price without a delta, which the exponent needs."""
        if not terms.price.delta:
            raise InputError("the published exponent of a covering loop needs delta > 0")
        if question.coarse(0):
            Cost.zcdp(terms.price.epsilon * HASHES_SHARE, terms.price.delta / 2)
        return Method.least(self, terms, question)

    def work(self, terms: Terms, question: Any) -> Steps:
        """The release; see the module's text."""
        boxed = bool(question.coarse(0))
        space = question.space
        delta = terms.price.delta
        if boxed:
            delta /= 2
            hashes = partial(private_candidates, space=space, seed=question.seed)
            price = Cost.zcdp(terms.price.epsilon * HASHES_SHARE, delta)
            points = np.unique((yield Within(price, hashes))[0], axis=0)
            if len(points) < question.k:
                public = space.net(question.k, question.seed).points
                points = np.unique(np.concatenate([points, public]), axis=0)
            metric: Metric = EuclideanMetric(points)
        else:
            metric = question.on_net().metric
        picks = self.picks or math.ceil(2 * question.k * math.log(1 / self.eta))
        balls = [Balls(metric, radius) for radius in radii(metric, self.eta, question.power)]
        query = CoverQuery(question.parts(LabelParts.of(metric)), [(some, picks) for some in balls])
        left = (yield Account()).left
        share = self._share * left
        price = Cost(terms.price.epsilon * share, delta)
        part = printed_part(price, query.rounds, terms.neighboring, terms.max_contributions)
        selected = yield Cover(query, share * part)
        weights = yield from counted_cells(question, metric, selected, left - share)
        receipt = (yield Account()).receipt
        centers = [(chosen, some.radius) for some, chosen in zip(balls, selected)]
        search = moved_to_means if boxed else on_weights
        return weights_release(metric, weights, receipt, centers, space, search)


def radii(metric: Metric, eta: float, power: int) -> list[float]:
    """The paper's thresholds (1 + eta)^i·Δ^z/n, up to Δ^z, as distances."""
    n = len(metric)
    top = metric.diameter_bound()
    steps = math.ceil(1 + math.log(n) / math.log1p(eta))
    return [min(top, top * ((1 + eta) ** i / n) ** (1 / power)) for i in range(steps)]


def printed_part(price: Cost, rounds: int, relation: Any, max_contributions: int) -> Fraction:
    """The part of epsilon for which the package's loop has the papers' exponent, rounded down; all
    of it where theirs is larger than what is safe.
    """
    most = price.epsilon / (max_contributions * Fraction(2 * (1 - math.log(price.delta))))

    def within(part: int) -> bool:
        offer = Cost(price.epsilon * Fraction(part, STEPS), price.delta)
        return exponent(offer, rounds, relation, max_contributions).eta <= most

    low, high = 1, STEPS + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if within(middle) else (low, middle)
    return Fraction(low, STEPS)
