"""The base class of all methods that answer a question about private demand."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, cast

from metricdp.accounting import Cost
from metricdp.arguments import positive, shown
from metricdp.errors import InputError
from metricdp.methods.asking import COUNT_SHARE, Ask, Steps, Terms, counts_of
from metricdp.methods.demand_release import Release
from metricdp.methods.question import BoxQuestion, Result
from metricdp.metrics.space import EuclideanSpace
from metricdp.metrics.vectors import EuclideanMetric

MOST_RECORDS = 2.0**61
"""Counts saturate there."""
Composition = Literal["epsilon", "rho", "both"]
"""The unit in which a call's mechanisms are added up: epsilon, rho (zCDP), or epsilon and delta."""


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A public structure, queries of the gate, an estimator and a solver. Fields are public
    options.

    A method never holds a demand: `work` is a generator of requests (`metricdp.methods.asking`)
    that returns a release, or a `Result` where the answer is centers. One object may answer any
    number of questions: it stores nothing of them.

    Parameters
    ----------
    records_hint : float, optional
        A public guess of the number of records; without it many methods pay for a noisy count.

    Attributes
    ----------
    name : str
        Its name as `method=`, which stands for the class with its defaults.
    in_finite, in_space : bool
        Whether it answers in finite universes, and in a box of R^d.
    free : bool
        Whether it reads no demand, and costs nothing.
    one_way : bool
        Whether it answers where costs depend on the direction (`Metric.directed`).
    adds_up : bool
        Whether its requests are only counts of all records, at costs in epsilon or in rho, so that
        several holders can answer them together.
    releases : bool
        Whether `Result.release` holds a release that answers further questions.
    chooses, afterwards : str
        Texts of receipts for the person who approves a release: how everything besides the options
        is chosen (from public facts, or from released values), and what is computed from the noisy
        answers.

    Notes
    -----
    The entry points ask for the `price` and for the `least` shares before anything is charged, then
    run the `work`. A question is a `metricdp.methods.question.Question`, or a `BoxQuestion` in a
    box; one whose `k` is 0 asks for a release for any number of questions.

    Examples
    --------
    >>> method = mdp.methods.Partition()
    >>> isinstance(method, mdp.methods.Method), method.name, method.in_finite, method.free
    (True, 'partition', True, False)
    >>> mdp.methods.Coreset().price("1/2", "1e-6").bound
    'zCDP'
    """

    name: ClassVar[str]
    in_finite: ClassVar[bool] = True
    in_space: ClassVar[bool] = False
    free: ClassVar[bool] = False
    one_way: ClassVar[bool] = False
    adds_up: ClassVar[bool] = False
    releases: ClassVar[bool] = False
    chooses: ClassVar[str] = ""
    afterwards: ClassVar[str] = ""

    records_hint: float | None = None

    def __post_init__(self) -> None:
        if self.records_hint is not None:
            hint = positive(self.records_hint, "records_hint")
            if hint > MOST_RECORDS:
                raise InputError(f"records_hint must be at most 2^61, got {shown(hint)}")

    def with_hint(self, records_hint: float | None) -> Self:
        """The same method with a guess of the number of records, if one is given."""
        return self if records_hint is None else replace(self, records_hint=records_hint)

    def within(self, space: EuclideanSpace) -> Method:
        """The method that answers in place of this one in a box: by default itself."""
        return self

    def price(self, epsilon: Any, delta: Any, terms: Terms | None = None) -> Cost:
        """The cost of a call that may spend (epsilon, delta): by default epsilon alone."""
        offer = Cost.of(epsilon, delta)
        return self.priced(Terms(offer, "add-remove") if terms is None else terms.at(offer))

    def priced(self, terms: Terms) -> Cost:
        """The cost of a call whose terms offer a price."""
        offer = terms.price
        if not offer.delta or offer.epsilon <= 0:
            return Cost.of(offer.epsilon)
        match self.composition(terms):
            case "rho":
                return Cost.zcdp(offer.epsilon, offer.delta)
            case "both":
                return offer
        return Cost.of(offer.epsilon)

    def composition(self, offer: Terms) -> Composition:
        """In what unit a call adds up its mechanisms that is offered an epsilon and a delta."""
        return "epsilon"

    def least(self, terms: Terms, question: Any) -> Iterable[Ask]:
        """The requests of smallest share that `work` will make; confirmed before a charge."""
        return [Ask(counts_of(question.universe), COUNT_SHARE)]

    def confirm(self, terms: Terms, question: Any) -> None:
        """Refuse, by public facts alone, a price that is too small for `work`."""
        for asked in self.least(terms, question):
            terms.scale_of(asked)

    def asks_nothing(self, question: Any) -> bool:
        """Whether, by public facts, `work` asks nothing: then the call is free."""
        return self.free

    @abstractmethod
    def work(self, terms: Terms, question: Any) -> Steps:
        """Yield requests, and return a release or a result. ``question.seed`` sets public coins."""


def answer_of(outcome: Any, question: Any) -> Result:
    """The answer to a question from what a method returned: post-processing, free."""
    if not isinstance(outcome, Release):
        return cast(Result, outcome)
    if isinstance(question, BoxQuestion):
        question = question.among(cast(EuclideanMetric, outcome.universe))
    return outcome.answer(question)
