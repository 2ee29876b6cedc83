"""Private local search: swaps of centers selected by private scores (Fan, Li & Li, NeurIPS 2023,
Algorithm 7; Gupta et al., SODA 2010).

1. Start with private centers for a share of the budget, or with public ones.
2. T times: select a swap of x in F for y outside F, with a probability that grows as cost(F - x +
   y, D) falls.
3. If `final`: select one of the T + 1 sets visited, by its cost. Else the last one is the answer.

**Privacy.** Steps 2 and 3 are selections (`SwapQuery`, `CentersQuery`) about centers that follow
from earlier releases and public coins: adaptive composition. Pure epsilons add up, with
permute-and-flip as the mechanism. With a delta, where that allows a larger epsilon for each step,
it is the exponential mechanism, which costs `range_rho` of rho a step.

Two differences from the paper. Under add-remove the scores are monotone, so that the exponent is
epsilon·cost/R instead of half of it. R is the largest cost of one record over all swaps of the
present centers, a public number, instead of the diameter.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from metricdp.accounting import Cost, exact, selection_epsilon
from metricdp.accounting.cost import pure_epsilon
from metricdp.arguments import Ints, count, positive, shown
from metricdp.errors import InputError
from metricdp.methods.asking import Account, Ask, Select, Steps, Terms, Within
from metricdp.methods.finite.hst import DPHST
from metricdp.methods.method import Composition, Method, answer_of
from metricdp.methods.question import Question, Result
from metricdp.options import flag
from metricdp.partitions.finite.hst import HST
from metricdp.privacy.swaps import CentersQuery, SwapQuery

PUBLIC_STARTS = ("k-median++", "random")


@dataclass(frozen=True, kw_only=True)
class LocalSearch(Method):
    """Private local search: swaps of centers, each selected by its cost on the private demand, from
    a public or private start.

    **Privacy.** epsilon-DP; (epsilon, delta)-DP where a delta is given and pays for more:
    `metricdp.methods.finite.local_search`. Where only one answer is possible (k is the number of
    candidates, or of required centers), nothing is asked or charged.

    Parameters
    ----------
    steps : int
        Number of swaps (paper: 20). They share the budget; few measured best.
    start : {"hst", "k-median++", "random"} or Method
        The answer of the method hst or of any other private method, k-median++ on the public
        universe, or random points.
    share : number
        Share of the budget for a private start (paper: 1/2). A public one costs nothing.
    final : bool
        Whether one of all visited sets is selected at the end (paper), at the price of one more
        step; else the last one is the answer.
    cap : float, optional
        Public threshold at which distances are clipped in the search, in the universe's unit.
    tree : HST, optional
        For the start "hst", of the same universe object; by default built with the question's seed.

    References
    ----------
    Gupta, Ligett, McSherry, Roth & Talwar, Differentially private combinatorial optimization (SODA
    2010), Algorithm 3.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
    >>> method = mdp.methods.LocalSearch(steps=5)
    >>> len(set(mdp.k_median(metric, demand, k=2, epsilon=4, method=method).centers))
    2
    """

    name = "local-search"
    chooses = (
        "Starting centers are public or a release of their own; the number of swaps, their shares "
        "of the budget and the cap of distances are public functions of the universe and k."
    )
    afterwards = (
        "None beyond the selections themselves: the centers are one of the sets that were drawn."
    )

    steps: int = 2
    start: Any = "hst"
    share: Any = Fraction(1, 2)
    final: bool = True
    cap: float | None = None
    tree: HST | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        count(self.steps, "steps", 0)
        named = isinstance(self.start, str) and self.start in ("hst", *PUBLIC_STARTS)
        if not named and not (isinstance(self.start, Method) and self.start.in_finite):
            raise InputError(
                f"start must be hst, {', '.join(PUBLIC_STARTS)} or a method of finite universes, "
                f"got {shown(self.start)}"
            )
        if not 0 < exact(self.share, "share") < 1:
            raise InputError(f"share must lie between 0 and 1, got {shown(self.share)}")
        flag(self.final, "final")
        if self.cap is not None:
            positive(self.cap, "cap")
        self._start_method  # noqa: B018 - its checks

    @property
    def _start_method(self) -> Method | None:
        """The method of a private start; None for a public one."""
        if self.start == "hst":
            return DPHST(tree=self.tree, records_hint=self.records_hint)
        return self.start if isinstance(self.start, Method) else None

    @property
    def _selections(self) -> int:
        """Number of selections, which share what the start leaves."""
        return int(self.steps) + (1 if self.final and self.steps else 0)

    def composition(self, offer: Terms) -> Composition:
        """rho where it gives every selection a larger epsilon."""
        if not self._selections:
            return "epsilon"
        alone = Cost.of(offer.price.epsilon)
        in_rho = Cost.zcdp(offer.price.epsilon, offer.price.delta)
        more = selection_epsilon(in_rho, self._selections) > selection_epsilon(
            alone, self._selections
        )
        return "rho" if more else "epsilon"

    def least(self, terms: Terms, question: Question) -> Iterable[Ask]:
        """Only what the start asks for, which is confirmed here."""
        start = self._paid_start(question)
        if start is not None and not only_one_answer(question):
            start.confirm(terms.at(self._price_of_start(terms)), question)
        return []

    def asks_nothing(self, question: Question) -> bool:
        """Whether there is only one answer, or no swap from a start that is free."""
        return only_one_answer(question) or (not self.steps and not self._paid_start(question))

    def _paid_start(self, question: Question) -> Method | None:
        """The method of a start that asks something."""
        start = self._start_method
        return None if start is None or start.asks_nothing(question) else start

    def work(self, terms: Terms, question: Question) -> Steps:
        """The last centers, or the set selected at the end. Without swaps the start gets all."""
        if only_one_answer(question):
            others = np.setdiff1d(question.places, question.opened)
            at = np.concatenate([question.opened, others])[: question.k]
            return Result(question.names(at), question.k, self.name, terms.nothing())
        visited = yield from self.visited(terms, question)
        at = visited[-1]
        if self.final and len(visited) > 1:
            names = [question.names(each) for each in visited]
            query = CentersQuery(question.metric, names, power=question.power, cap=self.cap)
            at = visited[(yield Select(query, (yield Account()).left))]
        receipt = (yield Account()).receipt
        return Result(question.names(at), question.k, self.name, receipt)

    def visited(self, terms: Terms, question: Question) -> Generator[Any, Any, list[Ints]]:
        """All sets of centers in turn (positions, the required first): T + 1 of them.

        **Privacy.** All of them are released. With `final`, the share of one selection is left.
        """
        at = yield from self._begin(terms, question)
        visited = [at]
        selections = self._selections
        if not self.steps:
            return visited
        allowed = None if question.candidates is None else question.names(question.candidates)
        query = SwapQuery(
            question.metric,
            question.names(at),
            power=question.power,
            cap=self.cap,
            candidates=allowed,
            opened=question.names(question.opened),
        )
        for done in range(int(self.steps)):
            left = (yield Account()).left
            index = yield Select(query, left / (selections - done))
            if done + 1 < self.steps:
                query = query.swapped(index)
                visited.append(query.centers)
            else:
                visited.append(query.after(index))
        return visited

    def _price_of_start(self, terms: Terms) -> Cost:
        """The cost of a private start: a share of epsilon, or the epsilon of that share of rho."""
        share = exact(self.share) if self._selections else Fraction(1)
        if not terms.in_rho:
            return Cost.of(terms.price.epsilon * share)
        return Cost.of(pure_epsilon(share * (terms.price.rho or Fraction(0))))

    def _begin(self, terms: Terms, question: Question) -> Generator[Any, Any, Ints]:
        if self._start_method is None:
            return public_start(question, self.start == "k-median++")
        work = partial(self._start_method.work, question=question)
        if self._paid_start(question) is None:
            outcome = yield from work(terms)
        else:
            outcome = yield Within(self._price_of_start(terms), work)
        return question.metric.positions(answer_of(outcome, question).centers)


def only_one_answer(question: Question) -> bool:
    """Whether there is only one answer: all candidates are centers, or all centers are required."""
    return question.k in (len(question.places), len(question.opened))


def public_start(question: Question, spread: bool) -> Ints:
    """Positions of k public centers, the required first: by k-median++ if `spread`, else random."""
    metric = question.metric
    rng = np.random.default_rng(question.seed)
    allowed = np.arange(len(metric)) if question.candidates is None else question.candidates
    drawn = np.empty(0, np.int64)
    if spread:
        weights = np.zeros(len(metric))
        weights[allowed] = 1.0
        drawn = metric.seed_centers(question.k, weights, rng, question.power)[0]
    drawn = np.r_[drawn[np.isin(drawn, allowed)], rng.permutation(allowed)]
    fresh = drawn[np.sort(np.unique(drawn, return_index=True)[1])]
    chosen = np.r_[question.opened, fresh[~np.isin(fresh, question.opened)]]
    found: Ints = chosen[: question.k].astype(np.int64)
    return found
