"""The default method in a finite universe: histograms in rounds of adaptive refinement, and one
estimate from all of them.

1. Pay 5 % of epsilon for the number of records, unless it is public or guessed (`records_hint`).
2. Choose one to three rounds and their shares (`metricdp.methods.finite.rounds`).
3. In each round, cut the public hierarchy of the universe into parts, finer where the estimate so
   far is dense, and release their histogram. The second of three rounds is the last, with all that
   is left, if demand is so even that finer parts would mostly add noise.
4. Estimate the true counts from all rounds: the posterior mean on the smallest tree that contains
   all cuts. Spread each count over its part's points, evenly, or by `expected` weights if the noisy
   counts agree with these.
5. Solve on those weights, for any k, as often as asked.

**Privacy.** Steps 1 and 3 are the only reads: epsilon-DP by sequential composition, as each
histogram, and its share of what is left, is chosen from public facts and earlier releases; shares
add up to one whatever these are. Where users have `Caps` and there is a delta, the shares are of
rho (an adaptive spender of a zCDP accountant: proof P12), noise is discrete Gaussian, and cuts are
refined by the caps' areas (`privacy.caps`).
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from metricdp.accounting import Cost
from metricdp.arguments import Floats, Ints
from metricdp.errors import InputError
from metricdp.methods.asking import COUNT_SHARE, Account, Ask, Records, Steps, Terms, count_records
from metricdp.methods.demand_release import Release
from metricdp.methods.expected import Expected
from metricdp.methods.finite.rounds import (
    MOST_PARTS,
    TWO,
    VISIBLE,
    Round,
    few_in_plane,
    is_last,
    last_round,
    number_of_parts,
    planned,
)
from metricdp.methods.method import Composition, Method
from metricdp.methods.question import Question
from metricdp.partitions.finite.ward import Hierarchy, PartitionTree, hierarchy
from metricdp.privacy.queries import HistogramQuery
from metricdp.releases import Release as Noisy
from metricdp.solvers.estimate.tree_posterior import Counts, Estimate, joint_posterior

EVEN = 0.1
"""Share of the density for a later cut that is even: more finds overlooked demand, and is coarser.
"""


@dataclass(frozen=True, kw_only=True)
class Partition(Method):
    """The default method: noisy counts of public parts, then a public solver on weights estimated
    from them.

    **Privacy.** epsilon-DP, by the module's text; a delta is spent only where users have caps of so
    many parts that Gaussian noise is less than Laplace noise.

    Parameters
    ----------
    expected : Expected, optional
        Public weights of points (`metricdp.methods.expected`), in place of one each.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
    >>> sorted(mdp.k_median(metric, demand, k=2, epsilon=4, method=mdp.methods.Partition()).centers)
    [1, 7]
    """

    name = "partition"
    chooses = (
        "The number of records is bought as a noisy count for 5 % of epsilon, unless it is public "
        "(replace-one) or guessed (records_hint). How many rounds there are, their shares of "
        "epsilon and their parts follow from public facts of the universe and from what was "
        "released before. Weights that are `expected` of points, if given, are public: they shape "
        "parts and estimate."
    )
    afterwards = (
        "Posterior mean of the true counts given all noisy ones, spread over each part's public "
        "points; centers by a public solver."
    )
    in_space = True
    one_way = True
    adds_up = True
    releases = True

    expected: Expected | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.expected is not None and not isinstance(self.expected, Expected):
            raise InputError("expected= of a method must be made with Expected.of(metric, weights)")

    def composition(self, offer: Terms) -> Composition:
        """rho where, by the users' caps, Gaussian noise is less than Laplace noise."""
        caps = offer.caps
        if caps is None or caps.tree is None:
            return "epsilon"
        in_rho = Cost.zcdp(offer.price.epsilon, offer.price.delta)
        laplace = 2 * offer.max_contributions**2 / in_rho.epsilon**2
        return "rho" if in_rho.rho and caps.square / (2 * in_rho.rho) < laplace else "epsilon"

    def least(self, terms: Terms, question: Question) -> Iterable[Ask]:
        """A count for the smallest share, that of the number of records."""
        if self.expected is not None and len(self.expected.weights) != len(question.metric):
            raise InputError(
                f"expected= of a method must be weights of this universe's "
                f"{len(question.metric):,} points, got {len(self.expected.weights):,}"
            )
        if self.expected is not None and terms.caps is not None and terms.caps.tree is not None:
            raise InputError("expected= does not go with Caps, whose areas are of their own")
        return super().least(terms, question)

    def work(self, terms: Terms, question: Question) -> Steps:
        """The release; see the module's text for the steps and the guarantee.

        Time: that of the hierarchy, once a universe; for every round that of a cut into M parts and
        of the estimator, O(M) with a constant of some 10^5 operations.
        """
        areas = terms.caps.tree if terms.in_rho and terms.caps is not None else None
        expected = None if self.expected is None else self.expected.weights
        whole = hierarchy(question.metric, question.seed if areas is None else 0, expected)
        count = yield from count_records(terms, COUNT_SHARE, self.records_hint)
        refinement = yield from refined(terms, whole, count, areas=areas)
        receipt = (yield Account()).receipt
        histograms = tuple(refinement.releases)
        return Release(
            refinement.tree.universe,
            refinement.weights,
            receipt,
            method=self.name,
            partition=refinement.tree,
            histograms=histograms,
            estimate=refinement.estimate,
            growth=refinement.growth,
        )


def refined(
    terms: Terms,
    whole: Any,
    count: Records,
    rounds: Callable[[Refinement, float, float], Iterable[Round]] | None = None,
    *,
    areas: PartitionTree | None = None,
    keys_of: Callable[[Any], Any] = lambda parts: parts,
) -> Generator[Any, Any, Refinement]:
    """All rounds on a public hierarchy (`whole`).

    `rounds`: a function of the refinement so far, the number of records and the scale of noise, to
    the rounds in turn; `areas`: a cut that refines every one; `keys_of`: from a cut to the
    partition that encodes records.
    """
    refinement = Refinement(whole, [] if count.release is None else [count.release])
    left = (yield Account()).left
    for plan in (rounds or _planned)(
        refinement, count.number, terms.scale_of_counts(left, capped=True)
    ):
        share = left * plan.share
        parts = refinement.cut(plan, count.number, terms.scale_of_counts(share, capped=True))
        if areas is not None:
            parts = whole.joined([areas, parts])
        found = yield Ask(HistogramQuery(keys_of(parts)), share)
        refinement.add(parts, found, many=plan.share < 1)
    if refinement.estimate is not None:
        refinement.use(refinement.estimate.if_by_chance())
    return refinement


def _planned(refinement: Refinement, records: float, scale: float) -> Iterator[Round]:
    refinement.planar = few_in_plane(records, scale, refinement.growth)
    first, *later = planned(records, scale, refinement.growth)
    yield first
    estimate = refinement.estimate
    if len(later) > 1 and estimate is not None and not (refinement.planar and estimate.pointed):
        left = 1 - first.share
        noise = scale / float(left)
        last = last_round(left, estimate.uneven, noise)
        if is_last(refinement.pieces(refinement.cut(last, records, noise))):
            later = [last]
        elif refinement.planar:
            later = [TWO[1]._replace(share=left)]
    yield from later


class Refinement:
    """All rounds so far, and the estimate from them.

    `totals`: noisy numbers of records; `cuts`, `releases`: parts and histogram of each round;
    `tree`: the parts of all rounds together; `weights` (n_points,): estimated demand; `density`
    (n_points,): for the next cut, a share `even` of it spread evenly, None before the first round.
    Options of the estimate: `planar`, whether it starts from typical splits of a plane; `quick`,
    whether it uses coarser grids and fewer iterations. `number_of_parts`: of a cut, by records,
    noise and factor.
    """

    tree: PartitionTree
    weights: Floats

    def __init__(self, whole: Hierarchy, totals: list[Noisy]) -> None:
        self.whole = whole
        self.growth = whole.growth()
        self.even = EVEN
        self.planar = False
        self.number_of_parts: Callable[[float, float, float], int] = number_of_parts
        self.quick = False
        self.totals = totals
        self.cuts: list[PartitionTree] = []
        self.releases: list[Noisy] = []
        self.density: Floats | None = None
        self.estimate: Estimate | None = None

    def cut(self, plan: Round, total: float, scale: float) -> PartitionTree:
        """The parts of a round, for a total of records and a scale of noise. Public: they follow
        from public facts and earlier releases.
        """
        number = self.number_of_parts(total, scale, plan.finer)
        if self.density is None or self.estimate is None:
            return self.whole.cut(number)
        visible = None
        if plan.points:
            # parts whose records would be visible if all of them were on one point
            sizes = self.tree.even().sizes[: self.tree.n_parts]
            above = self.estimate.mean >= scale * (np.log(sizes) + VISIBLE)
            visible = above[self.tree.labels]
            number = min(number + int(visible.sum()), MOST_PARTS)
        return self.whole.cut(number, self.density, plan.least * scale / max(total, 1.0), visible)

    def pieces(self, parts: PartitionTree) -> float:
        """Into how many parts of a new cut an average record's present part would be split."""
        assert self.estimate is not None
        pairs = np.unique(self.tree.labels.astype(np.int64) * parts.n_parts + parts.labels)
        number = np.bincount(pairs // parts.n_parts, minlength=self.tree.n_parts)
        mean = self.estimate.mean
        return float(number @ mean / max(mean.sum(), 1e-9))

    def add(self, parts: PartitionTree, histogram: Noisy, *, many: bool) -> None:
        """Add a round and estimate again; `many`: whether there are several rounds in all."""
        self.cuts.append(parts)
        self.releases.append(histogram)
        self.tree = self.whole.joined(self.cuts)
        counts = [
            _counts(cut.parts_in(self.tree), each) for cut, each in zip(self.cuts, self.releases)
        ]
        root = np.array([2 * self.tree.n_parts - 2])
        counts += [_counts(root, total, 0.5) for total in self.totals]
        known = {} if self.estimate is None else self.estimate.frequencies
        estimate = joint_posterior(
            self.tree,
            counts,
            any_share=many or self.planar,
            known=known,
            planar=self.planar,
            quick=self.quick,
            several=many,
        )
        self.use(estimate)

    def use(self, estimate: Estimate) -> None:
        """Set weights and density by an estimate."""
        self.estimate = estimate
        self.weights = self.estimate.spread(self.estimate.mean)
        each = self.estimate.spread(self.estimate.trusted_tree.sizes[: self.tree.n_parts])
        each /= each.sum()
        weight = float(self.weights.sum())
        demand = self.weights / weight if weight > 0 else each
        self.density = (1 - self.even) * demand + self.even * each


def _counts(nodes: Ints, release: Noisy, least: float = 0.0) -> Counts:
    """A release's noisy counts of some nodes of a tree, with noise of scale `least` at least."""
    noise = release.receipt.mechanisms[0]
    gaussian = noise.rho is not None and noise.delta > 0
    scale = noise.scale / 2**0.5 if gaussian else noise.scale
    return Counts(nodes, release.values, max(scale, least), gaussian)
