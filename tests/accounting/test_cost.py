"""What mechanisms cost, alone and together, and their scales: bounds are valid, tight enough, and
never rounded in the user's favor.
"""

import math
import pickle
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, norm

from metricdp.accounting import (
    BudgetSlice,
    Cost,
    Ledger,
    ZCDPAccountant,
    cost,
    selection_epsilon,
    selections,
    zcdp_epsilon,
    zcdp_rho,
)
from metricdp.accounting.cost import (
    gaussian_scale,
    laplace_scale,
    pure_epsilon,
    pure_rho,
    range_rho,
)
from metricdp.audit import distributions
from metricdp.errors import BudgetError
from metricdp.releases import Mechanism, Receipt
from tests import cases, granted_to_threads, refuses, tries

SOME = [Fraction(1, 10**k) for k in (2, 5, 6, 9, 15)]
DELTAS = st.sampled_from(SOME)
RHOS = st.fractions(min_value=Fraction(1, 10**6), max_value=20, max_denominator=10**6)


def gaussian_delta(rho, epsilon):
    """Exact delta of the continuous Gaussian mechanism of this rho at epsilon (Balle & Wang, ICML
    2018, theorem 8).
    """
    shift = math.sqrt(2 * rho)
    log_tail = epsilon + norm.logcdf(-shift / 2 - epsilon / shift)
    return float(norm.cdf(shift / 2 - epsilon / shift) - np.exp(log_tail))


@tries(200, RHOS, DELTAS)
def test_zcdp_epsilon_covers_the_gaussian_and_is_near_it(rho, delta):
    epsilon = float(zcdp_epsilon(rho, delta))
    assert gaussian_delta(float(rho), epsilon) <= float(delta) * (1 + 1e-9)
    assert gaussian_delta(float(rho), 0.8 * epsilon - 0.05) > float(delta)


@given(RHOS, DELTAS)
def test_zcdp_epsilon_beats_the_first_bound(rho, delta):
    # Bun & Steinke 2016, proposition 1.3
    first = float(rho) + 2 * math.sqrt(float(rho) * math.log(1 / delta))
    assert float(zcdp_epsilon(rho, delta)) <= first + 1e-9


@given(st.fractions(min_value=Fraction(1, 10**4), max_value=50, max_denominator=10**4), DELTAS)
def test_rho_and_epsilon_invert_each_other(epsilon, delta):
    rho = zcdp_rho(epsilon, delta)
    assert abs(zcdp_epsilon(rho, delta) - epsilon) <= epsilon / 10**6
    assert zcdp_epsilon(rho * Fraction(11, 10), delta) > epsilon


def overhead(order, delta, digits=90):
    """The definition, to so many digits."""
    with localcontext() as context:
        context.prec = digits
        a, d = (Decimal(x.numerator) / Decimal(x.denominator) for x in (order, delta))
        return (-d.ln() + (a - 1) * (1 - 1 / a).ln() - a.ln()) / (a - 1)


@pytest.mark.parametrize("order", [Fraction(1001, 1000), Fraction(9, 7), Fraction(2), Fraction(70)])
@pytest.mark.parametrize("delta", [*SOME, Fraction(3, 7)])
def test_what_delta_adds_is_rounded_up_by_no_more_than_is_stated(order, delta, monkeypatch):
    exact = Fraction(overhead(order, delta))
    assert cost._overhead_float(float(order), delta) == pytest.approx(float(exact), rel=1e-9)
    assert 0 < cost._overhead(order, delta) - exact < Fraction(12, 10**25)
    monkeypatch.setattr(cost, "_GRID", 10**50)
    assert Fraction(9, 10**31) < cost._overhead(order, delta) - exact < Fraction(11, 10**31)


def test_orders_are_looked_for_over_a_wide_range():
    least, most = cost._best_order(lambda a: a), cost._best_order(lambda a: -a)
    assert float(least - 1) == pytest.approx(math.exp(-12), rel=1e-3)
    assert float(most) == pytest.approx(math.exp(27), rel=1e-3)
    best = cost._best_order(lambda a: (a - 3) ** 2)
    assert abs(best - 3) < Fraction(1, 1000) and best.denominator <= 2**20


def test_bounds_are_rounded_against_the_user():
    for value in (Fraction(1, 3), Fraction(-1, 3), Fraction(2, 7 * 10**24)):
        assert 0 < cost._up(value) - value < Fraction(1, 10**24)
    assert cost._up(Fraction(3, 4)) == Fraction(3, 4)
    assert zcdp_epsilon(Fraction(1, 10**9), Fraction(9, 10)) == 0  # below zero it is nothing
    for rho in (Fraction(1, 10**4), Fraction(1, 7), Fraction(5)):
        epsilon = zcdp_epsilon(rho, Fraction(1, 10**6))
        assert Cost(epsilon, Fraction(1, 10**6), rho, "zCDP").rho == rho


ORDERS = (1 + 1e-6, 1.01, 1.3, 2, 4, 10, 60)


def rho_of(p, q):
    return max(distributions.renyi(p, q, order) / order for order in ORDERS)


@tries(25, st.fractions("1/10", 6), st.integers(1, 6))
def test_rho_is_exact(epsilon, sensitivity):
    """Of noise, of randomized response, of the worst of two-point losses of this range."""
    scale = sensitivity / float(epsilon)
    z = np.arange(-math.ceil(45 * scale) - 6, math.ceil(45 * scale) + 6)
    moved = distributions.log_laplace(z - sensitivity, scale)
    noise = rho_of(distributions.log_laplace(z, scale), moved)
    assert noise == pytest.approx(float(pure_rho(epsilon, sensitivity)), rel=1e-4)
    response = np.array([0.0, float(epsilon)]) - np.logaddexp(0, float(epsilon))
    assert rho_of(response, response[::-1]) == pytest.approx(float(pure_rho(epsilon)), rel=1e-4)
    worst = 0.0
    for high in np.linspace(0, float(epsilon), 202)[1:-1]:
        p = np.log([math.exp(epsilon) - math.exp(high), math.exp(high) - 1])
        p -= math.log(math.expm1(epsilon))
        worst = max(worst, rho_of(p, p - [high, high - float(epsilon)]))
    assert 0.999 < worst / float(range_rho(epsilon)) < 1 + 1e-6
    assert range_rho(epsilon) <= min(epsilon**2 / 8, pure_rho(epsilon))


def test_rho_at_the_ends_and_its_inverse():
    for tiny in (Fraction(1, 10**13), Fraction(1, 10**350)):
        assert (pure_rho(tiny), range_rho(tiny)) == (tiny**2 / 2, tiny**2 / 8)
    assert pure_rho(MILLION) == range_rho(MILLION) == MILLION
    assert pure_rho(Fraction(0)) == 0 and pure_rho(Fraction(1), 2**61) > Fraction(36, 100)
    for rho in (Fraction(1, 10**20), Fraction(1, 7), Fraction(40)):
        epsilon = pure_epsilon(rho)
        assert pure_rho(epsilon) <= rho < pure_rho(epsilon * (1 + Fraction(1, 10**12)))


MILLION = Fraction(10**6)


def test_prices_in_numbers():
    one, tenth = Fraction(1), Fraction(1, 10)
    assert Cost.of(3) == Cost(Fraction(3), rho=pure_rho(Fraction(3)))
    assert Cost.of(Cost.of(3)) == Cost.of(3) and Cost.of(1000, 0, tenth).epsilon == 1000
    assert Cost.of(3, tenth) == Cost(Fraction(3), tenth) and Cost.of(3, tenth).rho is None
    assert Cost.selection(3) == Cost(Fraction(3), rho=range_rho(Fraction(3)))
    assert selections(3, 5) == Cost.of(15)
    assert selections(MILLION, 1).epsilon == MILLION
    assert selections(1, 2**63 - 1).epsilon == 2**63 - 1
    many = selections("1/100", 7000, delta=tenth)
    assert (many.rho, many.bound) == (7000 * range_rho(Fraction(1, 100)), "zCDP")
    assert many.epsilon == zcdp_epsilon(many.rho, tenth)
    assert not Cost.of(1, tenth).in_rho and many.in_rho
    free = Cost(one, tenth, Fraction(0), "zCDP")
    assert free.in_rho and free.rho == 0
    assert zcdp_rho(MILLION, tenth) > 0
    assert selection_epsilon(Cost.of(3), 4) == Fraction(3, 4)
    accountant = Cost(Fraction(9), tenth, Fraction(1, 2), "zCDP")
    assert 1 < selection_epsilon(accountant, 4) < Fraction(101, 100)
    each = selection_epsilon(accountant, 3)
    assert 3 * range_rho(each) <= accountant.rho < 3 * range_rho(each * (1 + Fraction(1, 10**12)))


def test_the_rho_of_an_epsilon_alone_is_found_when_it_is_asked_for(monkeypatch):
    third = Fraction(1, 3)
    found = []
    monkeypatch.setattr(
        cost, "pure_rho", lambda epsilon: found.append(epsilon) or pure_rho(epsilon)
    )
    ledger = Ledger(1, "1e-6")
    ledger.charge(Cost(third)).draw("1/4")
    assert not found
    ledger.charge(Cost.zcdp(third, "1e-6")).draw("1/100")
    assert found == [Fraction(1, 100)]
    one = Cost(third)
    assert one.rho == one.rho == pure_rho(third) and found[1:] == [third]
    assert one == Cost.of(third) == Cost(third, rho=pure_rho(third)) != Cost.selection(third)
    assert "rho=Fraction(" in repr(Cost(third)) and hash(Cost(third)) == hash(one)
    assert Cost(third, Fraction(1, 10)).rho is None and Cost(third, rho=Fraction(0)).rho == 0


def test_costs_are_pickled_and_those_of_before_are_read():
    for one in (Cost.of(1), Cost.selection(1), Cost.of(1, "1e-6"), Cost.zcdp(1, "1e-6")):
        asked = pickle.loads(pickle.dumps(one))
        assert asked == one == pickle.loads(pickle.dumps(asked)) and asked.in_rho is one.in_rho
    before = Cost.__new__(Cost)  # with every field in its state
    vars(before).update(epsilon=Fraction(1), delta=Fraction(0), rho=Fraction(1, 2), in_rho=False)
    vars(before).update(bound="basic composition")
    assert pickle.loads(pickle.dumps(before)).rho == Fraction(1, 2)


@pytest.mark.parametrize("delta", [-1, 0, 1, 2])
def test_a_price_needs_a_delta_between_0_and_1(delta):
    delta = Fraction(delta)
    rule = "zCDP states rho >= 0 and 0 < delta < 1"
    for rho in (None, Fraction(-1), Fraction(1, 100)):
        refuses(rule, Cost, Fraction(9), delta, rho, "zCDP")
    for rho in (None, Fraction(-1)):
        refuses(rule, Cost, Fraction(9), Fraction(1, 2), rho, "zCDP")
    refuses("0 < delta < 1", lambda: zcdp_rho(Fraction(1), delta))
    if delta:
        refuses("delta must be at least 0 and below 1", Cost.of, 1, delta)
        refuses("0 <= delta < 1", selections, 1, 2, delta)


@pytest.mark.parametrize("epsilon", [-1, 0, MILLION + 1])
def test_a_price_needs_an_epsilon_above_0(epsilon):
    for call in (
        lambda: zcdp_rho(Fraction(epsilon), Fraction(1, 10)),
        lambda: selections(epsilon, 2),
        lambda: Cost.selection(min(epsilon, 0)),
    ):
        refuses(r"epsilon > 0|epsilon must be positive", call)
    for times in (0, -1, 2**63, True, 1.0, "2"):
        refuses("times >= 1", selections, 1, times)


def test_a_rho_that_rounds_to_nothing_is_refused():
    for delta in (Fraction(77, 10**14), Fraction(1, 10**20)):  # to 0, and below
        refuses("is too small for zCDP at delta", zcdp_rho, Fraction(1, 10**13), delta)


def test_extreme_budgets_still_have_a_price():
    for epsilon, delta in ((1e-9, 1e-12), (1000, 1e-300), (1, 0.999), ("1/3", "1/7")):
        cost = Cost.zcdp(epsilon, delta)
        assert cost.rho > 0 and cost.in_rho


def bounded_range_delta(each, times, epsilon):
    """Worst exact delta over the extreme mechanisms of bounded range: losses t or t - each (Dong,
    Durfee & Rogers, lemma 4.4).
    """
    worst = 0.0
    for t in np.linspace(each / 100, each * 0.99, 99):
        # P(loss = t), as the mean of exp(-loss) under P is 1
        high = (math.exp(each - t) - 1) / (math.exp(each - t) - math.exp(-t))
        ups = np.arange(times + 1)
        loss = ups * t + (times - ups) * (t - each)
        weight = binom.pmf(ups, times, high)
        worst = max(worst, float(np.sum(weight * np.maximum(0, 1 - np.exp(epsilon - loss)))))
    return worst


@cases(
    ("each", "times", "delta"), (0.1, 20, 1e-6), (0.5, 10, 1e-6), (0.05, 200, 1e-9), (1.0, 5, 1e-3)
)
def test_the_price_of_selections_holds_for_the_extreme_mechanisms(each, times, delta):
    cost = selections(each, times, delta=delta)
    assert bounded_range_delta(each, times, float(cost.epsilon)) <= delta
    assert bounded_range_delta(each, times, 0.6 * float(cost.epsilon)) > delta


def test_the_cheaper_bound_is_chosen_and_named():
    assert selections(0.1, 1, delta=1e-6) == Cost.of("1/10")
    many = selections(0.1, 20, delta=1e-6)
    expected = "zCDP", Fraction(1, 10**6), 20 * range_rho(Fraction(1, 10))
    assert (many.bound, many.delta, many.rho) == expected
    assert many.epsilon <= Fraction(121, 100)
    assert selections(0.1, 20) == Cost.of(2)
    ledger = Ledger(2, 1e-6)
    quote = ledger.quote(many)
    assert (quote.fits, quote.epsilon, quote.bound) == (True, many.epsilon, "zCDP")
    assert ledger.spent == 0
    budget = ledger.charge(many)
    assert isinstance(budget, ZCDPAccountant)
    assert (ledger.spent, ledger.spent_delta) == (many.epsilon, many.delta)
    for _ in range(20):
        budget.draw(Cost.selection(0.1))
    refuses("asked rho", lambda: budget.draw(Cost.selection(0.1)), error=BudgetError)
    assert budget.spent == many.epsilon and budget.spent_delta == many.delta


@tries(50, st.integers(1, 500), st.floats(0.05, 5), DELTAS)
def test_the_largest_selections_fit_their_budget(times, epsilon, delta):
    budget = Cost.zcdp(epsilon, delta)
    each = selection_epsilon(budget, times)
    assert times * Cost.selection(each).rho <= budget.rho
    assert times * Cost.selection(each * (1 + Fraction(1, 10**6))).rho > budget.rho
    assert selection_epsilon(Cost.of(epsilon), times) * times == Cost.of(epsilon).epsilon


@cases(
    ("call", "error"),
    (lambda: selections(float("nan"), 2), "finite number"),
    (lambda: Cost.zcdp(1, 0), "0 < delta < 1"),
    (lambda: Cost.zcdp(-1, 0.1), "epsilon > 0"),
    (lambda: Cost(Fraction(1), SOME[2], Fraction(9), "zCDP"), "costs more than epsilon 1"),
    (lambda: Cost(Fraction(1, 10), SOME[2], Fraction(100)), "costs more than epsilon 0.1"),
    (lambda: Ledger(Cost.zcdp(1, 1e-6)), "two numbers"),
)
def test_bad_costs_are_refused(call, error):
    refuses(error, call)


def test_a_zcdp_accountant_takes_any_mechanism_of_known_rho_and_no_other():
    accountant = Ledger(1, 1e-6).charge(Cost.zcdp(1, 1e-6))
    accountant.draw(Cost.zcdp(0.3, 1e-6))
    accountant.draw(0.1)
    spent = zcdp_rho(Fraction(3, 10), Fraction(1, 10**6)) + pure_rho(Fraction(1, 10))
    assert accountant.spent_rho == spent
    refuses("states none", accountant.draw, 0.01, 1e-9)
    inner = accountant.charge(0.05, purpose="a call inside")
    assert type(inner) is BudgetSlice
    assert accountant.spent_rho == spent + pure_rho(Fraction(1, 20))
    refuses("", inner.draw, "0.051", error=BudgetError)
    refuses("asked rho", accountant.charge, 0.9, error=BudgetError)


def test_a_budget_slice_bought_from_a_zcdp_accountant_costs_what_any_mechanism_may_make_of_it():
    accountant = Ledger(1, 1e-6).charge(Cost.zcdp(1, 1e-6))
    inner = accountant.charge(Cost.selection("1/10"))
    assert accountant.spent_rho == pure_rho(Fraction(1, 10))
    assert inner.epsilon == Fraction(1, 10)
    accountant.draw(Cost.selection("1/10"))
    assert accountant.spent_rho == pure_rho(Fraction(1, 10)) + range_rho(Fraction(1, 10))


def test_budget_slices_nest_and_never_exceed_what_was_charged():
    ledger = Ledger(1)
    outer = ledger.charge(0.5)
    inner = outer.charge(0.3)
    inner.draw(0.3)
    assert (ledger.spent, outer.left, inner.left) == (Fraction(1, 2), Fraction(1, 5), 0)
    refuses("", outer.charge, 0.3, error=BudgetError)


def test_threads_cannot_overdraw_a_zcdp_accountant():
    accountant = Ledger(2, 1e-6).charge(selections(0.1, 20, delta=1e-6))
    assert granted_to_threads(lambda _: accountant.draw(Cost.selection(0.1)), 100) == 20


def test_receipts_of_a_zcdp_accountant_state_its_price():
    accountant = Ledger(2, 1e-6).charge(selections(0.1, 20, delta=1e-6))
    rho = Fraction(1, 800)
    one = Mechanism("exponential mechanism", "a point", 1, 10.0, Fraction(1, 10), rho=rho)
    receipt = accountant.receipt(Receipt.of([one], "add-remove", "record") for _ in range(20))
    expected = (accountant.epsilon, accountant.delta, "zCDP")
    assert (receipt.epsilon, receipt.delta, receipt.bound) == expected
    assert receipt.to_dict()["composition"] == "zCDP"
    assert receipt.to_dict()["mechanisms"][0]["rho_exact"] == "1/800"
    assert "by zCDP" in str(receipt)
    budget = Ledger(2).charge(2)
    plain = budget.receipt(Receipt.of([one], "add-remove", "record") for _ in range(20))
    assert (plain.epsilon, plain.bound) == (2, "basic composition")


def test_an_adaptive_spender_of_a_zcdp_accountant_stays_private():
    """Exact privacy of every way to spend a zCDP accountant on randomized responses chosen in view
    of the answers before.
    """
    delta = Fraction(1, 100)
    accountant = Cost.zcdp(Fraction(3, 2), delta)

    def losses(spent, epsilon, p, q, rounds):
        """(P, Q) of every transcript, choosing twice the last epsilon after a revealing answer,
        else half.
        """
        if rounds == 0 or spent + Cost.of(epsilon).rho > accountant.rho:
            return [(p, q)]
        yes = math.exp(float(epsilon)) / (1 + math.exp(float(epsilon)))
        out = []
        for seen, (a, b) in ((True, (yes, 1 - yes)), (False, (1 - yes, yes))):
            following = epsilon * 2 if seen else epsilon / 2
            out += losses(spent + Cost.of(epsilon).rho, following, p * a, q * b, rounds - 1)
        return out

    for first in (Fraction(1, 20), Fraction(1, 10), Fraction(1, 4)):
        transcripts = np.array(losses(Fraction(0), first, 1.0, 1.0, 12))
        excess = np.maximum(0, transcripts[:, 0] - math.exp(1.5) * transcripts[:, 1]).sum()
        assert 0 <= excess <= float(delta)
        assert len(transcripts) > 500


BUDGETS = st.fractions(Fraction(1, 10**6), 100)


@given(st.integers(1, 10**9), BUDGETS)
def test_laplace_is_the_least_float_that_is_large_enough(sensitivity, epsilon):
    scale = laplace_scale(sensitivity, epsilon)
    assert Fraction(scale) * epsilon >= sensitivity
    assert Fraction(math.nextafter(scale, 0)) * epsilon < sensitivity


@given(st.integers(1, 10**9), BUDGETS)
def test_gaussian_is_large_enough_and_no_larger_than_two_roundings(square, rho):
    scale = gaussian_scale(square, rho)
    assert 2 * rho * Fraction(scale) ** 2 >= square
    assert 2 * rho * Fraction(math.nextafter(math.nextafter(scale, 0), 0)) ** 2 < square


def test_a_scale_that_is_a_float_is_taken_as_it_is():
    assert gaussian_scale(2, Fraction(1, 4)) == 2.0


@pytest.mark.parametrize("part", [Fraction(1), Fraction(3, 4), Fraction(1, 10**9), 0, -1])
def test_what_64_bits_do_not_hold_is_refused(part):
    for scale, bits in ((laplace_scale, 56), (gaussian_scale, 112)):
        refuses("large enough for noise of 64 bits", scale, 1, Fraction(part) / 2**bits)


def test_a_little_more_is_not():
    more = 1 + Fraction(1, 1000)
    assert laplace_scale(1, more / 2**56) < 2**56
    assert gaussian_scale(1, more / 2**112) < 2**56
