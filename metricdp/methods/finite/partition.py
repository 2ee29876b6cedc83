"""The default method in a finite universe: rounds of adaptive refinement, and one estimate from all
of them.

1. Pay 5 % of epsilon for the number of records, unless it is public or guessed (`records_hint`).
2. Decide on one round or three, and on their shares (`metricdp.methods.finite.rounds`).
3. In each round, cut the public hierarchy of the universe into parts, finer where the estimate so
   far is dense, and release their histogram. If the first of three found demand so even that finer
   parts would tell more noise than records, or in neighborhoods of a plane where records are few,
   the second is the last and has all that is left.
4. Estimate the true counts from all rounds: the posterior mean on the smallest tree that holds all
   cuts. Spread each count over its part's points. `expected` weights stand in for points if the
   noisy counts agree.
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
from metricdp.arrays import Floats, Ints
from metricdp.errors import InputError
from metricdp.methods.asking import Account, Ask, Steps
from metricdp.methods.demand_release import Release
from metricdp.methods.expected import Expected
from metricdp.methods.finite.rounds import (
    MOST_PARTS,
    SHOWS,
    TWO,
    Round,
    few_in_plane,
    last_round,
    number_of_parts,
    planned,
    settled,
)
from metricdp.methods.method import Composition, Method
from metricdp.methods.question import Question
from metricdp.methods.shares import COUNT_SHARE, Records, Terms, count_records
from metricdp.partitions.finite.ward import Hierarchy, PartitionTree, hierarchy
from metricdp.privacy.queries import HistogramQuery
from metricdp.releases import Release as Noisy
from metricdp.solvers.estimate.tree_posterior import Counts, Estimate, joint_posterior

EVEN = 0.1
"""Share of the density for a later cut that is spread evenly."""


@dataclass(frozen=True, kw_only=True)
class Partition(Method):
    """The default method: noisy counts of public parts, then the solver on the weights they tell.

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
        """rho where caps make Gaussian noise smaller than that of Laplace."""
        caps = offer.caps
        if caps is None or caps.tree is None:
            return "epsilon"
        in_rho = Cost.zcdp(offer.price.epsilon, offer.price.delta)
        laplace = 2 * offer.max_contributions**2 / in_rho.epsilon**2
        return "rho" if in_rho.rho and caps.square / (2 * in_rho.rho) < laplace else "epsilon"

    def least(self, terms: Terms, question: Question) -> Iterable[Ask]:
        """A histogram of the share of the number of records."""
        if self.expected is not None and terms.caps is not None and terms.caps.tree is not None:
            raise InputError("expected= does not go with Caps, whose areas are of their own")
        return super().least(terms, question)

    def work(self, terms: Terms, question: Question) -> Steps:
        """The release; see the module's text for the steps and the guarantee.

        Time: that of the hierarchy (once a universe), of M parts and of the estimator, O(M) with a
        constant of some 10^5 operations, for every round.
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
    """All rounds on a public hierarchy. `rounds`: which, by what was found, records and noise;
    `areas`: a cut that refines each; `keys_of`: by what records tell their part.
    """
    refinement = Refinement(whole, [] if count.release is None else [count.release])
    left = (yield Account()).left
    for each in (rounds or _planned)(
        refinement, count.number, terms.scale_of_counts(left, capped=True)
    ):
        share = left * each.share
        parts = refinement.cut(each, count.number, terms.scale_of_counts(share, capped=True))
        if areas is not None:
            parts = whole.joined([areas, parts])
        found = yield Ask(HistogramQuery(keys_of(parts)), share)
        refinement.add(parts, found, many=each.share < 1)
    if refinement.estimate is not None:
        refinement.use(refinement.estimate.if_by_chance())
    return refinement


def _planned(refinement: Refinement, records: float, scale: float) -> Iterator[Round]:
    refinement.usual = few_in_plane(records, scale, refinement.growth)
    first, *later = planned(records, scale, refinement.growth)
    yield first
    estimate = refinement.estimate
    if len(later) > 1 and estimate is not None and not (refinement.usual and estimate.pointed):
        left = 1 - first.share
        noise = scale / float(left)
        last = last_round(left, estimate.uneven, noise)
        if settled(refinement.split(refinement.cut(last, records, noise))):
            later = [last]
        elif refinement.usual:
            later = [TWO[1]._replace(share=left)]
    yield from later


class Refinement:
    """All that was released so far, and the estimate that follows: noisy `totals`, the `tree` of
    all rounds' parts, `weights`, and the `density` for the next cut (None before the first);
    `usual`: whether splits are as usual in a plane until counts tell otherwise; `quickly`: whether
    they are learned in few rounds; `numbers`: of a cut's parts, by records, noise and factor.
    """

    tree: PartitionTree
    weights: Floats

    def __init__(self, whole: Hierarchy, totals: list[Noisy]) -> None:
        self.whole = whole
        self.growth = whole.growth()
        self.even = EVEN
        self.usual = False
        self.numbers: Callable[[float, float, float], int] = number_of_parts
        self.quickly = False
        self.totals = totals
        self.cuts: list[PartitionTree] = []
        self.releases: list[Noisy] = []
        self.density: Floats | None = None
        self.estimate: Estimate | None = None

    def cut(self, each: Round, total: float, scale: float) -> PartitionTree:
        """Where to round next: public, as all that it follows was released."""
        number = self.numbers(total, scale, each.finer)
        if self.density is None or self.estimate is None:
            return self.whole.cut(number)
        shown = None
        if each.points:
            sizes = self.tree.even().sizes[: self.tree.n_parts]
            shows = self.estimate.mean >= scale * (np.log(sizes) + SHOWS)
            shown = shows[self.tree.labels]
            number = min(number + int(shown.sum()), MOST_PARTS)
        return self.whole.cut(number, self.density, each.least * scale / max(total, 1.0), shown)

    def split(self, parts: PartitionTree) -> float:
        """Into how many an average record's part, of what was estimated so far, would be split."""
        assert self.estimate is not None
        pieces = np.unique(self.tree.labels.astype(np.int64) * parts.n_parts + parts.labels)
        number = np.bincount(pieces // parts.n_parts, minlength=self.tree.n_parts)
        mean = self.estimate.mean
        return float(number @ mean / max(mean.sum(), 1e-9))

    def add(self, parts: PartitionTree, histogram: Noisy, *, many: bool) -> None:
        """Estimate anew; `many` if there are several rounds in all."""
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
            any_share=many or self.usual,
            known=known,
            usual=self.usual,
            quickly=self.quickly,
            several=many,
        )
        self.use(estimate)

    def use(self, estimate: Estimate) -> None:
        """Weights and density by an estimate."""
        self.estimate = estimate
        self.weights = self.estimate.spread(self.estimate.mean)
        each = self.estimate.spread(self.estimate.trusted_tree.sizes[: self.tree.n_parts])
        each /= each.sum()
        weight = float(self.weights.sum())
        found_here = self.weights / weight if weight > 0 else each
        self.density = (1 - self.even) * found_here + self.even * each


def _counts(nodes: Ints, release: Noisy, least: float = 0.0) -> Counts:
    """What a release tells of some nodes of a tree; its noise of that scale at least."""
    noise = release.receipt.mechanisms[0]
    gaussian = noise.rho is not None and noise.delta > 0
    scale = noise.scale / 2**0.5 if gaussian else noise.scale
    return Counts(nodes, release.values, max(scale, least), gaussian)
