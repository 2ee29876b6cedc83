"""Private coresets of demand in a box: weighted points for any number of questions about centers.

The default method's release with the whole budget, in any number of dimensions. The rounds of
Feldman, Xiang, Zhu & Rus (IPSN 2017), which cost more, are in ``benchmarks/methods``.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any

from metricdp.methods.asking import Ask, Steps, Terms
from metricdp.methods.method import Composition, Method
from metricdp.methods.question import BoxQuestion


@dataclass(frozen=True, kw_only=True)
class Coreset(Method):
    """A private coreset, and centers computed from it alone.

    **Privacy.** The release's: `metricdp.methods.box.halved`, beyond three dimensions
    `metricdp.methods.box.default`.

    Parameters
    ----------
    source : Method, optional
        What makes the release: the default method of the box.

    Examples
    --------
    >>> space = mdp.EuclideanSpace([0, 0], [1, 1])
    >>> demand = mdp.PrivateDemand(space, [[0.2, 0.2]] * 4000 + [[0.8, 0.7]] * 4000)
    >>> mdp.k_means(space, demand, k=2, epsilon=4, method=mdp.methods.Coreset()).centers.shape
    (2, 2)
    """

    name = "coreset"
    chooses = "As the default method of the box."
    afterwards = (
        "Estimates of cells, or means of candidates' records, are weighted points; centers by a "
        "public solver on them."
    )
    in_finite = False
    in_space = True
    releases = True

    source: Any = None

    def composition(self, offer: Terms) -> Composition:
        """That of the release; of many dimensions, where the box is not known yet."""
        return "rho" if self.source is None else self.source.composition(offer)

    def least(self, terms: Terms, question: BoxQuestion) -> Iterable[Ask]:
        """Those of the release."""
        found: Iterable[Ask] = self.source.least(terms, question)
        return found

    def work(self, terms: Terms, question: BoxQuestion) -> Steps:
        """Centers, and the coreset they were computed from."""
        release = yield from self.source.work(terms, replace(question, k=0))
        return replace(release.answer(question), method=self.name)
