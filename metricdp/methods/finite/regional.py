"""Regions of a public universe with different privacy levels (Feldman, Xiang, Zhu & Rus, IPSN 2017,
Sections 1 and 6).

Every point has a public region, and every region a share. The default method releases each region's
records with the region's epsilon; the weights are joined.

**Privacy.** Regions are public and disjoint: parallel composition (`metricdp.privacy.split`, proof
P13). A unit of up to m records touches at most m regions, so the call is charged the sum of the m
largest epsilons, twice that under *replace-one*. Region by region, for records (m = 1):

- *Add-remove*: a record more or less in r costs epsilon_r; one that moves from r to s, epsilon_r +
  epsilon_s.
- *Replace-one*: an exchange inside r costs 2·epsilon_r; one in r for one in s, epsilon_r +
  epsilon_s.

So a strong region protects what happens inside it. That a record is there instead of elsewhere is
protected only as well as in the *weaker* of the two regions. Give places that should not be
distinguished the same share.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from metricdp.accounting import Cost, exact
from metricdp.arguments import listed, shown
from metricdp.errors import InputError
from metricdp.methods.asking import Account, Ask, Parts, Steps, Terms
from metricdp.methods.demand_release import Release
from metricdp.methods.finite.partition import Partition
from metricdp.methods.method import Method
from metricdp.methods.question import Question
from metricdp.metrics.base import Metric
from metricdp.partitions.finite.labels import LabelParts
from metricdp.releases import Neighboring

ELSEWHERE = "elsewhere"
"""The region of points that a mapping of labels does not name."""


@dataclass(frozen=True, kw_only=True)
class Regional(Method):
    """The default method, with more privacy in some public regions of a finite universe.

    **Privacy.** epsilon-DP, by the module's text. The call's epsilon bounds the loss of a unit's
    records in all regions: for records under add-remove the region of the largest share gets all of
    it (under replace-one half), the others in proportion to their shares. A delta is not spent.

    Parameters
    ----------
    regions : mapping of str to number
        Positive share of every region: epsilons are proportional to them.
    labels : mapping of id to str, or sequence of str
        Region of every point: public, never chosen by looking at the demand. A sequence is in the
        order of ``universe.ids``; points that a mapping leaves out are in the region "elsewhere":
        by default all.
    records_hint : float, optional
        Public guess of the number of all records; a region's is proportional to its points.

    Notes
    -----
    Each region has a release over the whole universe, whose parts outside the region are known to
    be empty. This costs time and noise: it is for a few regions, not for hundreds.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(6), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [0] * 4000 + [5] * 4000)
    >>> ward = mdp.methods.Regional(
    ...     regions={"ward": "1/4", "elsewhere": 1}, labels={0: "ward", 1: "ward"}
    ... )
    >>> result = mdp.k_median(metric, demand, 2, epsilon=2, method=ward)
    >>> sorted(result.centers), {name: str(e) for name, e in result.release.regions.items()}
    ([0, 5], {'ward': '1/2', 'elsewhere': '2'})
    """

    name = "regional"
    one_way = True
    chooses = (
        "Regions and their shares are public arguments; inside each region everything is chosen "
        "as by the default method."
    )
    afterwards = "The regions' releases are joined; centers by a public solver."
    releases = True

    regions: Mapping[str, Any] = field(default_factory=lambda: {ELSEWHERE: 1})
    labels: Any = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if not isinstance(self.regions, Mapping) or not self.regions:
            raise InputError("regions must be a mapping of names of regions to their shares")
        for name, share in self.regions.items():
            if not isinstance(name, str) or not name or exact(share, "share") <= 0:
                raise InputError(
                    f"regions must map names to positive shares, got {shown(name)}: {shown(share)}"
                )
        object.__setattr__(self, "regions", dict(self.regions))
        given = self.labels
        labels = dict(given) if isinstance(given, Mapping) else tuple(listed(given, "labels"))
        object.__setattr__(self, "labels", labels or {})
        for name in labels.values() if isinstance(labels, dict) else labels:
            if not isinstance(name, str) or name not in self.regions:
                raise InputError(f"labels must be names of regions, got {shown(name)}")

    def cut(self, universe: Metric) -> LabelParts:
        """The regions as a public partition of a universe."""
        number = {name: i for i, name in enumerate(self.regions)}
        named = self.labels
        if not isinstance(named, dict):
            if len(named) != len(universe):
                raise InputError(
                    f"labels must be one for each of the {len(universe):,} points, got "
                    f"{len(named):,}"
                )
            named = dict(zip(universe.ids, named))
        at = np.asarray(universe.positions(list(named)), np.int64)
        if len(np.unique(at)) < len(universe) and ELSEWHERE not in number:
            raise InputError(
                f"labels leave points out: give regions a share for {ELSEWHERE!r}, or label them"
            )
        parts = np.full(len(universe), number.get(ELSEWHERE, 0), np.int64)
        parts[at] = [number[name] for name in named.values()]
        return LabelParts(universe, parts, len(number))

    def epsilons(
        self, epsilon: Fraction, neighboring: Neighboring, max_contributions: int
    ) -> list[Fraction]:
        """Epsilon of each region, proportional to its share, so that `split` charges `epsilon`."""
        shares = [exact(share) for share in self.regions.values()]
        touched = sum(sorted(shares, reverse=True)[:max_contributions], Fraction(0))
        sides = 1 if neighboring == "add-remove" else 2
        return [epsilon * share / (sides * touched) for share in shares]

    def least(self, terms: Terms, question: Question) -> Iterable[Ask]:
        """What the region of the smallest epsilon asks for; refuses labels of another universe."""
        self.cut(question.metric)
        least = min(self.epsilons(terms.price.epsilon, terms.neighboring, terms.max_contributions))
        region = replace(terms, price=Cost.of(least), neighboring="add-remove")
        Partition().confirm(region, question)
        return []

    def work(self, terms: Terms, question: Question) -> Steps:
        """A release of the default method for every region, joined."""
        universe = question.metric
        regions = self.cut(universe)
        epsilons = self.epsilons(terms.price.epsilon, terms.neighboring, terms.max_contributions)
        inside = [regions.labels == i for i in range(regions.n_parts)]
        hints = list[float | None]([None] * len(inside))
        if self.records_hint is not None:
            hints = [max(self.records_hint * float(each.mean()), 1.0) for each in inside]
        works = [partial(Partition(records_hint=hint).work, question=question) for hint in hints]
        found = yield Parts(regions, epsilons, works, "regions")
        weights = np.zeros(len(universe))
        for each, release in zip(inside, found):
            weights[each] = release.weights[each] * terms.weight_units
        receipt = (yield Account()).receipt
        shares = dict(zip(self.regions, epsilons))
        return Release(universe, weights, receipt, method=self.name, regions=shares)
