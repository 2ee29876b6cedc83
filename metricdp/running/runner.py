"""The runner: the one place where private demand and public methods meet.

A method yields requests (`metricdp.methods.asking`). The runner puts each to the gate, which
charges the call's budget slice before it reads a record. It sends the noisy answer back to the
method, and keeps the receipt.

**Privacy.** A method sees only noisy answers and public terms. So the guarantee of a call is the
adaptive composition of its requests, in epsilon or in rho.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from metricdp.accounting import BudgetSlice, Cost, ZCDPAccountant
from metricdp.accounting.cost import ZCDP
from metricdp.arguments import Amount
from metricdp.methods import asking
from metricdp.methods.asking import Image, Steps, Terms, Work, driven
from metricdp.methods.method import Method, answer_of
from metricdp.methods.question import BoxQuestion, Question, Result
from metricdp.privacy import PrivateDemand, Query, gate, measure
from metricdp.protocols import Partition
from metricdp.releases import Neighboring, Receipt, Release

Request = asking.Ask | asking.Select | asking.Cover | asking.Within | asking.Parts | asking.Account
ROUNDING = Fraction(1, 10**12)
"""Share of a zCDP accountant that counts as spent: roots are rounded down, so selections leave a
little of their budget unspent.
"""


def terms_of(
    demand: PrivateDemand, neighboring: Neighboring, budget: BudgetSlice | None = None
) -> Terms:
    """The public terms of a demand and a budget (by default zero) that a method may see."""
    return Terms(
        Cost.of(0) if budget is None else _price(budget),
        neighboring,
        demand.max_contributions,
        demand.weight_units,
        demand.unit,
        demand.caps,
    )


def price_of(method: Method, demand: PrivateDemand, epsilon: Amount, delta: Amount) -> Cost:
    """The charge, at most (epsilon, delta), for a call of the method on this demand."""
    return method.price(epsilon, delta, terms_of(demand, "add-remove"))


def answered(
    method: Method, demand: PrivateDemand, budget: BudgetSlice, question: Question | BoxQuestion
) -> Result:
    """The answer to a question; it may spend all of `budget`."""
    return answer_of(released(method, demand, budget, question), question)


def released(
    method: Method, demand: PrivateDemand, budget: BudgetSlice, question: Question | BoxQuestion
) -> Any:
    """The return value of a method: a release, or a result."""
    run = Run(demand, budget)
    return run.drive(method.work(run.terms, question))


class Run:
    """Executes requests for one demand on one budget slice, and collects receipts."""

    def __init__(self, demand: PrivateDemand, budget: BudgetSlice) -> None:
        self.demand = demand
        self.budget = budget
        self.terms = terms_of(demand, budget.neighboring, budget)
        self.receipts = list[Receipt]()
        self._images = dict[Image, PrivateDemand]()

    def drive(self, steps: Steps) -> Any:
        """Put each request to the gate and send its answer back; return the method's result."""
        return driven(steps, self.put)

    def put(self, request: Request) -> Any:
        """The answer of the gate to one request."""
        match request:
            case asking.Ask(query, share, image):
                return self._measured(query, share, image)
            case asking.Select(query, share, image):
                epsilon = self.terms.selection(share)
                index, receipt = gate.select(self._seen(image), query, epsilon, self.budget)
                return self._kept(index, receipt)
            case asking.Cover(query, share):
                cost = Cost(self.terms.price.epsilon * share, self.budget.left_delta)
                sets, receipt = gate.cover(self.demand, query, cost, self.budget)
                return self._kept(sets, receipt)
            case asking.Within(cost, work, image):
                return self._worked(Run(self._seen(image), self.budget.charge(cost)), work)
            case asking.Parts(partition, epsilons, works, name):
                return self._divided(partition, epsilons, works, name)
            case asking.Account():
                return asking.Statement(self._left, tuple(self.receipts), self.receipt)
        raise TypeError(f"a method cannot ask for a {type(request).__name__}")

    @property
    def receipt(self) -> Receipt:
        """The cost so far: the sum of the mechanisms' costs. Of a zCDP accountant, the cost of the
        rho that was spent, which is its whole price once all is spent.
        """
        if not self.receipts:
            return self.terms.nothing()
        budget = self.budget
        if isinstance(budget, ZCDPAccountant) and self._left > ROUNDING:
            return Receipt.combined(self.receipts).paid(budget.spent, budget.spent_delta, ZCDP)
        return budget.receipt(self.receipts)

    @property
    def _left(self) -> Fraction:
        budget = self.budget
        if isinstance(budget, ZCDPAccountant):
            return Fraction(1 - budget.spent_rho / budget.rho)
        return Fraction(budget.left / budget.epsilon) if budget.epsilon else Fraction(0)

    def _measured(self, query: Query, share: Fraction, image: Image | None) -> Release:
        release = measure(self._seen(image), query, self.terms.part(share), self.budget)
        return self._kept(release, release.receipt)

    def _kept(self, answer: Any, receipt: Receipt) -> Any:
        self.receipts.append(receipt)
        return answer

    def _worked(self, run: Run, work: Work) -> Any:
        outcome = run.drive(work(run.terms))
        if run.receipts:
            self.receipts.append(run.receipt)
        return outcome

    def _divided(
        self, partition: Partition, epsilons: Sequence[Fraction], works: Sequence[Work], name: str
    ) -> list[Any]:
        before = self.budget.spent
        parts = gate.split(self.demand, partition, list(epsilons), self.budget, name)
        runs = [Run(*part) for part in parts]
        outcomes = [run.drive(work(run.terms)) for run, work in zip(runs, works)]
        mechanisms = [
            each for run in runs for receipt in run.receipts for each in receipt.mechanisms
        ]
        terms = self.terms
        receipt = Receipt.of(mechanisms, terms.neighboring, terms.unit, terms.weight_units)
        bound = f"parallel composition of {name}"
        self.receipts.append(receipt.paid(self.budget.spent - before, Fraction(0), bound))
        return outcomes

    def _seen(self, image: Image | None) -> PrivateDemand:
        """The demand, or its image under public maps, which is made once in a run."""
        if image is None or image.how == "all":
            return self.demand
        if image not in self._images:
            self._images[image] = self._made(image, self._seen(image.of))
        return self._images[image]

    @staticmethod
    def _made(image: Image, demand: PrivateDemand) -> PrivateDemand:
        match image.how:
            case "moved":
                return gate.moved(demand, image.rule, image.universe)
            case "mapped":
                return gate.mapped(demand, image.rule, image.universe)
            case "preaggregated":
                return gate.preaggregated(demand, image.rule)
        return gate.subsampled(demand, image.rule)


def _price(budget: BudgetSlice) -> Cost:
    """What a budget slice may spend, in rho if it is a zCDP accountant."""
    if isinstance(budget, ZCDPAccountant):
        return Cost(budget.epsilon, budget.delta, budget.rho, ZCDP)
    return Cost(budget.epsilon, budget.delta)
