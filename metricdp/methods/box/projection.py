"""Clustering in a few random dimensions, centers in the original space (Cohen-Addad et al., KDD
2022, after Johnson & Lindenstrauss).

1. Public coins draw q = O(log k) random orthogonal directions. A record's image is its coordinates
   along them, in a public box of R^q.
2. Another method clusters the images, for half of the budget.
3. One private step finds the middle of all records.
4. A record belongs to the cluster of the center nearest to its *image*. Each cluster's center in
   the original space is its private 1-median or 1-mean: a few steps of
   `metricdp.methods.box.private_lloyd`, all clusters in one query, each from the point nearest to
   the middle of all records among those with its image. The last step takes the clusters of the
   centers found, in the original space.

By Makarychev, Makarychev & Razenshteyn (STOC 2019) O(log(k/a)/a²) dimensions keep the cost of
*every* partition into k clusters within a factor 1 ± a, so a good partition of the images is one of
the records.

**Privacy.** The directions and the box of images are public. An image depends on its record alone,
so neighbors stay neighbors (`metricdp.privacy.mapped`), and the inner method has the guarantee it
has of any demand. Its centers are released, so the clusters they induce are public; the steps'
guarantee is theirs. Both are paid from one budget: sequential composition, in epsilon or in a
pool's rho. The projection adds the coordinates up one by one, in order, for each record by itself:
its bits do not depend on who else is there.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from metricdp.accounting import Cost, Grant, Pool
from metricdp.arguments import integer, shown
from metricdp.errors import InputError
from metricdp.methods.box.descent import distinct_in
from metricdp.methods.box.private_lloyd import MOST_STEPS, check_steps, lloyd_step
from metricdp.methods.method import Method
from metricdp.methods.question import BoxQuestion
from metricdp.methods.registry import BY_NAME, answering
from metricdp.methods.result import Result
from metricdp.methods.shares import Allowance, level_shares
from metricdp.metrics.space import EuclideanSpace
from metricdp.partitions.box.cells import PartsOfImages, VoronoiCells
from metricdp.partitions.box.images import Projection
from metricdp.privacy import PrivateDemand, mapped
from metricdp.releases import Neighboring, Receipt

FEWEST = 3
PER_LOG = 2.0
"""Dimensions of the images by default: at least so many, and this times log2(k)."""
INNER_SHARE = Fraction(1, 2)
GROWTH = Fraction(2)
STEPS = 3
"""Of the budget, for the inner method; what a step gets of the budget of the one before; steps
after the first, of all records.
"""


@dataclass(frozen=True, kw_only=True)
class Projected(Method):
    """Another method on the records' images in a few random dimensions, then private centers of the
    clusters in the original space.

    **Privacy.** (epsilon, delta)-DP, by the module's text; a delta is of use if it is to the inner
    method.

    Parameters
    ----------
    inner : str or Method
        Answers in the box of images: the default method unless given.
    dimensions : int, optional
        Of the images: by default 2·log2(k), at least 3; where the box has no more, the inner method
        answers alone.
    steps : int
        Of all clusters, at least 1; of several the last one has the clusters of the original space.

    Examples
    --------
    >>> import metricdp as mdp
    >>> space = mdp.EuclideanSpace([0, 0], [1, 1])
    >>> demand = mdp.PrivateDemand(space, [[0.2, 0.2]] * 4000 + [[0.8, 0.7]] * 4000)
    >>> method = mdp.methods.Projected(inner="partition")
    >>> mdp.k_means(space, demand, k=2, epsilon=4, method=method).centers.shape
    (2, 2)
    """

    name = "projected"
    chooses = (
        "Directions are public coins, their number a public function of k; half of the budget "
        "goes to the inner method, the rest to steps of the centers, by fixed shares."
    )
    afterwards = (
        "Clusters of the images are told apart by released centers; the centers' coordinates are "
        "those that the private steps gave, clipped to the box."
    )
    in_finite = False
    in_space = True

    inner: Any = "partition"
    dimensions: int | None = None
    steps: int = STEPS

    def __post_init__(self) -> None:
        super().__post_init__()
        known = isinstance(self.inner, Method) or (
            isinstance(self.inner, str) and self.inner in BY_NAME
        )
        kind: Any = (
            self.inner if isinstance(self.inner, Method) or not known else BY_NAME[self.inner]
        )
        if not known or not kind.in_space or isinstance(self.inner, Projected):
            raise InputError(
                f"inner must be a method for boxes other than this one, or its name; got "
                f"{shown(self.inner)}"
            )
        if self.dimensions is not None and (integer(self.dimensions) or 0) < 1:
            raise InputError(
                f"dimensions must be an integer of at least 1, got {shown(self.dimensions)}"
            )
        if not 1 <= (integer(self.steps) or 0) <= MOST_STEPS:
            raise InputError(
                f"steps must be an integer from 1 to {MOST_STEPS}, got {shown(self.steps)}"
            )

    def price(self, epsilon: Any, delta: Any, terms: Any = None) -> Cost:
        """Both: with a delta the steps get Gaussian noise, whatever the inner method makes of
        it.
        """
        cost = Cost.of(epsilon, delta)
        return Cost.of(cost.epsilon, cost.delta)

    def within(self, space: EuclideanSpace) -> Method:
        """The inner method itself, where the box has no more dimensions than the images of any
        k.
        """
        few = self.dimensions or FEWEST
        return self._method(space) if space.dimension <= few else self

    def check(
        self, demand: PrivateDemand, question: BoxQuestion, price: Cost, neighboring: Neighboring
    ) -> None:
        """Refuse what the inner method would, and an epsilon too small for the noise."""
        space: Any = demand.universe
        if self._dimensions(space, question.k) >= space.dimension:
            inner = self._method(space)
            inner.check(demand, question, inner.price(price.epsilon, price.delta), neighboring)
            return
        images = self._projection(space, question).images
        user: dict[str, Any] = (
            {}
            if demand.unit == "record"
            else {"user": [], "max_contributions": demand.max_contributions}
        )
        nobody = PrivateDemand(images, np.empty((0, images.dimension)), **user)
        inner_price, rest = self._prices(images, price)
        asked = replace(question, space=images)
        self._method(images).check(nobody, asked, inner_price, neighboring)
        check_steps(demand, space, _of_whole(self._shares()), rest, neighboring)

    def answer(self, demand: PrivateDemand, grant: Grant, question: BoxQuestion) -> Result:
        """Centers in the original space."""
        space: Any = demand.universe
        if self._dimensions(space, question.k) >= space.dimension:
            alone = self._method(space)
            paid = grant.charge(alone.price(grant.epsilon, grant.delta))
            return alone.answer(demand, paid, question)
        projection = self._projection(space, question)
        power = question.power
        found, allowance, before = self._of_images(demand, grant, projection, question)
        first, *shares = self._shares()
        middle = ((space.lower + space.upper) / 2)[None]
        middle = lloyd_step(allowance, VoronoiCells(space, middle), middle, first, power=power)
        centers = projection.lifted(found, middle)
        cells: Any = VoronoiCells(projection.images, found)
        cells = PartsOfImages(space, projection.inside, cells)
        for share in shares[:-1] or shares:
            centers = lloyd_step(allowance, cells, centers, share, power=power)
        if len(shares) > 1:
            centers = distinct_in(space, centers)
            cells = VoronoiCells(space, centers)
            centers = lloyd_step(allowance, cells, centers, shares[-1], power=power, last=True)
        receipt = Receipt.combined([*before, allowance.receipt])
        return Result(distinct_in(space, centers), question.k, self.name, receipt)

    def _of_images(
        self, demand: PrivateDemand, grant: Grant, projection: Projection, question: BoxQuestion
    ) -> tuple[Any, Allowance, list[Receipt]]:
        """Centers of the images by the inner method, shape (k, q); what is left for the steps, and
        the receipts of what is not in it.
        """
        images = projection.images
        part, rest = self._prices(images, Cost.of(grant.epsilon, grant.delta))
        if part.pooled:
            grant = grant.charge(Cost.zcdp(grant.epsilon, grant.delta))
        image = mapped(demand, projection, images)
        asked = replace(question, space=images)
        inner = self._method(images).answer(image, grant.charge(part), asked)
        receipts = [] if inner.receipt is None else [inner.receipt]
        found = np.asarray(inner.centers)
        if not part.pooled:
            return found, Allowance(demand, grant.charge(rest), 1 - INNER_SHARE), receipts
        allowance = Allowance(demand, grant)
        allowance.receipts += receipts
        return found, allowance, []

    def _prices(self, images: EuclideanSpace, price: Cost) -> tuple[Cost, Cost]:
        """What the inner method pays, and what the steps: shares of one pool if the inner method
        counts rho too, else an epsilon for the one and, with a delta, a pool for the others.
        """
        inner = self._method(images)
        if inner.price(price.epsilon, price.delta).pooled:
            pool = Cost.zcdp(price.epsilon, price.delta)
            return _part(pool, INNER_SHARE), _part(pool, 1 - INNER_SHARE)
        rest = price.epsilon * (1 - INNER_SHARE)
        steps = Cost.zcdp(rest, price.delta) if price.delta else Cost.of(rest)
        return Cost.of(price.epsilon * INNER_SHARE), steps

    def _method(self, space: EuclideanSpace) -> Method:
        return answering(self.inner, space, self.records_hint)

    def _dimensions(self, space: EuclideanSpace, k: int) -> int:
        return self.dimensions or max(FEWEST, int(np.ceil(PER_LOG * np.log2(max(k, 2)))))

    def _projection(self, space: EuclideanSpace, question: BoxQuestion) -> Projection:
        return Projection(space, self._dimensions(space, question.k), question.seed)

    def _shares(self) -> list[Fraction]:
        return [(1 - INNER_SHARE) * share for share in level_shares(GROWTH, int(self.steps) + 1)]


def _of_whole(shares: list[Fraction]) -> list[Fraction]:
    """Shares, as parts of their sum."""
    return [share / sum(shares) for share in shares]


def _part(price: Cost, share: Fraction) -> Cost:
    """A share of a price, as the inner method will get it."""
    if not price.pooled or price.rho is None:
        return Cost.of(price.epsilon * share)
    pool = Pool(price, "add-remove")
    return Cost.of(Allowance(None, pool).price(share))  # type: ignore[arg-type]
