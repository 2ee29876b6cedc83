"""Every private method passes the tests of `metricdp.testing.MethodTestCase`, and its class has the
name that stands in its repr.
"""

from fractions import Fraction

import pytest

import metricdp as mdp
from metricdp import methods
from metricdp.accounting import Cost
from metricdp.audit.patch import patched
from metricdp.methods import BY_NAME, question
from metricdp.methods.asking import Ask, counts_of
from metricdp.methods.box import quadtree
from metricdp.methods.catalogue import OF_BOXES_ALONE, OF_FINITE_UNIVERSES
from metricdp.methods.method import Method
from metricdp.privacy import CountQuery
from metricdp.testing import MethodTestCase
from tests import beside, cases, refuses
from tests.methods.spending import check_budget, check_every_k


@pytest.fixture(autouse=True, scope="module")
def small_nets():
    with patched(question, "NET_POINTS", 200), patched(quadtree, "POINTS", 200):
        yield


class TestMethods(MethodTestCase):
    """Each that has a name in turn."""

    @pytest.fixture(autouse=True, params=sorted(BY_NAME))
    def named(self, request):
        self.name = request.param

    def method(self):
        return BY_NAME[self.name]()

    @cases(
        ("kind", "universe", "place", "rule"),
        ("in_finite", mdp.EuclideanMetric([[0.0], [1.0]]), 0, "needs a box"),
        ("in_space", mdp.EuclideanSpace([0.0], [1.0]), [0.5], "needs a finite universe"),
    )
    def test_elsewhere_it_refuses_before_a_charge(self, kind, universe, place, rule):
        demand, ledger = mdp.PrivateDemand(universe, [place]), mdp.Ledger(1)
        asked = {"k": 1, "epsilon": 1, "ledger": ledger, "method": self.name}
        if getattr(self.method(), kind):
            assert mdp.k_means(universe, demand, **asked).k == 1
        else:
            refuses(rule, mdp.k_means, universe, demand, **asked)
            assert ledger.spent == 0


M = mdp.methods
OF_A_BOX = [eval(made, {"M": M}) for made in beside(__file__, "atomic.toml")["boxes"]]


@cases(("relation", "delta"), ("add-remove", "1e-6"), ("replace-one", 0))
@pytest.mark.parametrize("method", OF_A_BOX, ids=repr)
def test_what_is_charged_is_spent_whoever_is_there(method, delta, relation):
    check_budget(method, relation, delta)


@pytest.mark.parametrize("method", [M.LocalSearch(), M.DPHST()], ids=repr)
def test_every_k_gets_distinct_centers_even_of_nobody(method):
    check_every_k(method)


@cases(
    ("careless", "test"),
    ("least", "test_no_noise_is_larger_than_what_was_confirmed"),
    ("priced", "test_its_price_is_what_is_charged"),
    ("work", "test_it_asks_and_goes_on_by_the_answers_alone"),
)
def test_a_method_that_breaks_its_word_is_seen(careless, test):
    calls = []

    class Careless(mdp.methods.Partition):
        if careless == "least":

            def least(self, terms, question):
                return [Ask(counts_of(question.universe), Fraction(1))]

        if careless == "priced":

            def priced(self, terms):
                return Cost.of(terms.price.epsilon / (1 + len(calls) + bool(calls.append(1))))

        if careless == "work":

            def work(self, terms, question):
                calls.append(1)
                yield Ask(CountQuery(), Fraction(1, 2 + len(calls)))
                return (yield from super().work(terms, question))

    class Case(MethodTestCase):
        deltas = (0,)

        def method(self):
            return Careless()

        def demands(self):
            return super().demands()[:1]

    refuses("", lambda: getattr(Case(), test)(), error=(AssertionError, mdp.BudgetError))


CLASSES = [name for name in methods.__all__ if isinstance(getattr(methods, name), type)]
LISTED = OF_FINITE_UNIVERSES | OF_BOXES_ALONE


def test_every_method_that_has_a_name_has_its_class_here():
    offered = {getattr(methods, name) for name in CLASSES}
    assert set(BY_NAME.values()) | {Method} <= offered
    assert all(issubclass(kind, Method) for kind in offered)
    assert tuple(LISTED) == methods.METHODS and set(mdp.METHODS) == set(BY_NAME)
    for name in LISTED:
        kind = BY_NAME[name]
        assert kind is getattr(methods, kind.__name__) is type(methods.method_of(name))
        assert kind.in_finite == (name in OF_FINITE_UNIVERSES)
    for name in set(CLASSES) - {"Method"}:
        assert repr(getattr(methods, name)()).startswith(f"{name}(")
