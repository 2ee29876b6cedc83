"""Conformance tests of private methods, to inherit."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from dataclasses import replace
from inspect import isgenerator
from typing import Any, ClassVar
from unittest.mock import patch

import numpy as np
import pytest

from metricdp.accounting import Ledger
from metricdp.accounting.cost import MIN_EPSILON
from metricdp.arguments import Amount
from metricdp.errors import BudgetError, InputError
from metricdp.methods.asking import Terms, driven
from metricdp.methods.method import Method
from metricdp.methods.question import Question, asked_of
from metricdp.methods.registry import BY_NAME, answering
from metricdp.metrics import EuclideanSpace
from metricdp.metrics.graph import GraphMetric
from metricdp.privacy import PrivateDemand
from metricdp.releases import Receipt
from metricdp.running import runner
from metricdp.running.front import k_median

DELTA = "1/1000000"


class MethodTestCase:
    """Pytest class for a method: price, requests, confirmation and answers.

    Inherit it, and define `method`. Tests run on a path graph and in a box, as far as supported.

    Examples
    --------
    >>> class TestMine(MethodTestCase):
    ...     def method(self):
    ...         return mdp.methods.Partition()
    >>> TestMine().test_it_is_a_value()
    """

    k: ClassVar[int] = 2
    deltas: ClassVar[tuple[Amount, ...]] = (0, DELTA)
    """Deltas with which each test runs."""
    records: ClassVar[int] = 400

    def method(self) -> Method:
        """The method to be tested."""
        raise NotImplementedError("define the method: def method(self): return …")

    def demands(self) -> list[Any]:
        """Synthetic records at two places of a path graph and of a box, as far as supported."""
        import networkx as nx

        half = self.records // 2
        found: list[Any] = []
        if self.method().in_finite:
            road = GraphMetric(nx.path_graph(9), weight=None)
            found.append(PrivateDemand(road, [1] * half + [7] * half))
        if self.method().in_space:
            box = EuclideanSpace([0, 0], [1, 1])
            found.append(PrivateDemand(box, [[0.2, 0.2]] * half + [[0.8, 0.7]] * half))
        return found

    def worlds(self) -> Iterator[tuple[Any, Question, Amount, Method]]:
        """Demand, question, delta, and the method for them."""
        for demand in self.demands():
            question = asked_of(demand.universe, self.k, 1, seed=0)
            for delta in self.deltas:
                yield demand, question, delta, answering(self.method(), demand.universe)

    def test_it_is_a_value(self) -> None:
        """A method equals its pickled copy, and is registered under its own name."""
        method = self.method()
        assert pickle.loads(pickle.dumps(method)) == method
        assert BY_NAME.get(method.name, type(method)) is type(method)
        assert method.in_finite or method.in_space

    def test_its_price_is_what_is_charged(self) -> None:
        """The exact price is charged once; the receipt states no more, and survives JSON."""
        for demand, _, delta, method in self.worlds():
            ledger = Ledger(2, DELTA)
            price = runner.price_of(method, demand, 1, delta)
            found = self._asked(demand, 1, delta, ledger)
            charged = 0 if method.free else price.epsilon
            assert ledger.spent == charged
            assert len(ledger.entries) == (not method.free)
            assert found.receipt is not None
            assert found.receipt.epsilon <= charged
            assert found.receipt.delta <= price.delta
            assert bool(found.receipt.mechanisms) is not method.free
            assert Receipt.from_dict(found.receipt.to_dict()) == found.receipt
            assert len(found.centers) == self.k

    def test_it_asks_and_goes_on_by_the_answers_alone(self) -> None:
        """Given the answers of one run, a fresh generator makes the same requests."""
        for demand, question, delta, method in self.worlds():
            budget = self._charged(method, demand, delta)
            run = runner.Run(demand, budget)
            recorded: list[tuple[Any, Any]] = []

            def put(request: Any, run: Any = run, recorded: Any = recorded) -> Any:
                recorded.append((request, run.put(request)))
                return recorded[-1][1]

            work = method.work(run.terms, question)
            assert isgenerator(work)
            driven(work, put)
            answers = iter(recorded)

            def again(request: Any, answers: Any = answers) -> Any:
                before, answer = next(answers)
                assert type(request) is type(before)
                for name in ("share", "cost", "epsilons"):
                    assert getattr(request, name, None) == getattr(before, name, None)
                assert str(getattr(request, "query", "")) == str(getattr(before, "query", ""))
                return answer

            driven(method.work(run.terms, question), again)
            assert next(answers, None) is None

    def test_no_noise_is_larger_than_what_was_confirmed(self) -> None:
        """`least` names the smallest shares: no request has a larger noise scale than confirmed."""
        for demand, question, delta, method in self.worlds():
            confirmed, drawn = [0.0], [0.0]
            real_scale, real_measure = Terms.scale_of, runner.measure

            def scale_of(*given: Any, to: Any = confirmed, real: Any = real_scale) -> Any:
                to.append(real(*given))
                return to[-1]

            def measure(*given: Any, to: Any = drawn, real: Any = real_measure) -> Any:
                noisy = real(*given)
                to += [m.scale for m in noisy.receipt.mechanisms]
                return noisy

            run = runner.Run(demand, self._charged(method, demand, delta))
            with patch.object(Terms, "scale_of", scale_of):
                method.confirm(run.terms, question)
            with patch.object(runner, "measure", measure):
                run.drive(method.work(run.terms, question))
            assert max(drawn) <= max(confirmed) * (1 + 1e-9)

    def test_what_is_confirmed_is_answered(self) -> None:
        """The method answers at each price that it confirms, and refuses others before a charge."""
        for demand, question, delta, method in self.worlds():
            for epsilon in (MIN_EPSILON, MIN_EPSILON * 1000, "1/1000"):
                ledger = Ledger(2, DELTA)
                try:
                    terms = runner.terms_of(demand, "add-remove")
                    method.confirm(replace(terms, price=method.price(epsilon, delta)), question)
                except InputError:
                    with pytest.raises(InputError):
                        self._asked(demand, epsilon, delta, ledger)
                    assert ledger.spent == 0
                else:
                    assert len(self._asked(demand, epsilon, delta, ledger).centers) == self.k

    def test_a_refused_call_costs_nothing(self) -> None:
        """Bad arguments, or a price beyond the budget, charge nothing."""
        for demand in self.demands():
            ledger = Ledger(1, DELTA)
            for k, epsilon in ((0, 1), (self.k, 0)):
                if not (self.method().free and k):
                    with pytest.raises(InputError):
                        self._asked(demand, epsilon, 0, ledger, k)
            if not self.method().free:
                with pytest.raises(BudgetError):
                    self._asked(demand, 2, 0, ledger)
            assert ledger.spent == 0
            assert not ledger.entries

    def test_nobody_and_many_records_of_a_user_are_answered(self) -> None:
        """Empty demand and users with two records are answered under both relations."""
        for demand in self.demands():
            universe = demand.universe
            for relation in ("add-remove", "replace-one"):
                for records in ([], self._some(universe)):
                    users = [i // 2 for i in range(len(records))]
                    some = PrivateDemand(universe, records, user=users, max_contributions=2)
                    ledger = Ledger(4, DELTA, relation)
                    found = self._asked(some, 4, self.deltas[-1], ledger)
                    served, _ = universe.served_by(found.centers)
                    assert len(found.centers) == self.k
                    assert callable(served)

    def _asked(
        self, demand: Any, epsilon: Amount, delta: Amount, ledger: Ledger, k: int | None = None
    ) -> Any:
        asked: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "ledger": ledger}
        k = self.k if k is None else k
        return k_median(demand.universe, demand, k, **asked, method=self.method())

    @staticmethod
    def _charged(method: Method, demand: PrivateDemand, delta: Amount) -> Any:
        return Ledger(2, DELTA).charge(runner.price_of(method, demand, 2, delta))

    @staticmethod
    def _some(universe: Any) -> list[Any]:
        return np.asarray(universe.expected()[0])[:60].tolist()
