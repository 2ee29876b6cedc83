"""Noise in shares: the distribution of the sum, exactly where it is tiny, statistically through the
gate."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.special import logsumexp
from scipy.stats import chi2

import metricdp as mdp
from metricdp.accounting import Cost, Ledger, Protection
from metricdp.privacy import CountQuery, HistogramQuery, PrivateDemand, contribute
from metricdp.privacy import noise as module
from metricdp.privacy.noise import ROOM, GaussianShares, LaplaceShares, Shares, excess
from tests import cases, each, privacy_worlds, refuses
from tests.privacy_worlds import finest, line

DELTA = Fraction(1, 10**6)
ALARM = 1e-8
RECORD = Protection("record", 1)


def distribution(scale, reach=400):
    p = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * scale**2))
    return p / p.sum()


def sum_distribution(scale, shares):
    """Of so many discrete Gaussians, by convolution: the definition."""
    p = one = distribution(scale)
    for _ in range(shares - 1):
        p = np.convolve(p, one)
    return p


@pytest.mark.parametrize("scale", [0.45, 0.6, 0.8, 1.0, 1.3])
@pytest.mark.parametrize("shares", [2, 3, 7])
def test_a_sum_of_discrete_gaussians_is_as_near_to_one_as_is_proven(scale, shares):
    p = sum_distribution(scale, shares)
    q = distribution(scale * shares**0.5, len(p) // 2)
    likely = q > 1e-9 * q.max()  # where floating point can tell
    worst = np.abs(np.log(p[likely] / q[likely])).max()
    assert worst <= excess(scale, shares) + 1e-9
    if scale < 0.7:
        assert excess(scale, shares) < 20 * worst


@pytest.mark.parametrize("scale", [0.4, 0.45, 0.7, 1.0, 2.0])
def test_the_excess_is_what_its_series_adds_up_to(scale):
    q = 2 * sum(math.exp(-((math.pi * scale * j) ** 2)) for j in range(1, 9))
    exact = math.log1p(q) - math.log1p(-q)
    for shares in (2, 5):
        assert exact * (shares - 1) <= excess(scale, shares) < exact * (shares - 1) * 1.001
    assert excess(scale, 1) == 0
    assert math.isinf(excess(0.3, 2)) and math.isfinite(excess(0.38, 2))


def renyi(p, shift, order):
    a, b = p[shift:], p[:-shift]
    likely = (a > 1e-300) & (b > 1e-300)
    logs = order * np.log(a[likely]) + (1 - order) * np.log(b[likely])
    return float(logsumexp(logs)) / (order - 1)


@pytest.mark.parametrize("colluding", [0, 1, 3])
@pytest.mark.parametrize("epsilon", [1, 4, 30])
def test_honest_shares_alone_have_the_rho_that_is_paid(epsilon, colluding):
    """Exactly, by convolution; and shares too small by the number of holders have not."""
    cost = Cost.zcdp(epsilon, DELTA)
    holders = 5
    noise = GaussianShares(1, 1, cost, holders, holders - colluding)
    unit, honest = 2**noise.bits, holders - colluding
    p = sum_distribution(noise.scale, honest)
    planted = sum_distribution(noise.scale / holders**0.5, honest)
    for order in (1.01, 1.5, 2, 4):
        rho = order * float(cost.rho)
        assert renyi(p, unit, order) <= rho * (1 + 1e-6)
        assert renyi(p, unit, order) > 0.9 * rho  # no noise is wasted
        assert renyi(planted, unit, order) > 1.5 * rho


def test_the_price_of_the_difference_is_within_its_bound():
    worlds = itertools.product(("1e-3", "1/10", 1, 10, 100), (2, 20, 1024), (2, 2000))
    for epsilon, holders, sensitivity in worlds:
        cost = Cost.zcdp(epsilon, DELTA)
        noise = GaussianShares(sensitivity, 2, cost, holders, holders - 1)
        square = 4**noise.bits * 2 / (2 * Fraction(noise.scale) ** 2 * (holders - 1))
        whole = square + 2 * sensitivity * Fraction(excess(noise.scale, holders - 1))
        assert whole <= cost.rho and whole >= cost.rho * (1 - 3 * ROOM)


def polya(honest, most):
    """Weights of a Pólya number of shape 1 / m, without exp(-k / scale): the definition."""
    weights = [Fraction(1)]
    for i in range(1, most + 1):
        weights.append(weights[-1] * (Fraction(1, honest) + i - 1) / i)
    return weights


@pytest.mark.parametrize("honest", [1, 2, 3, 7])
def test_polya_numbers_add_up_to_a_geometric_one(honest):
    """Exactly: m times (1 - x)^(-1 / m) multiplied is 1 + x + x² + …"""
    one = total = polya(honest, 12)
    for _ in range(honest - 1):
        total = [sum(total[j] * one[k - j] for j in range(k + 1)) for k in range(13)]
    assert total == [1] * 13


@pytest.mark.parametrize("honest", [1, 2, 3])
@pytest.mark.parametrize("number", [-1, 0, 1, 2, 3])
def test_a_number_passes_its_coins_with_the_odds_of_the_distribution(number, honest, monkeypatch):
    """Exactly, through all coins."""
    shares = LaplaceShares(1, Fraction(1), honest + 1, honest)
    bounds = [i * honest for i in range(1, number + 1)]
    passed = []
    for coins in itertools.product(*map(range, bounds)):
        left = list(zip(bounds, coins))

        def below(bound, n_values, left=left):
            expected, coin = left.pop(0)
            assert (bound, n_values) == (expected, 1)
            return np.array([coin], np.uint64)

        monkeypatch.setattr(module, "_below", below)
        passed.append(bool(shares._passes(np.array([number]))[0]))
    odds = polya(honest, 3)[number] if number >= 0 else 0
    assert Fraction(sum(passed), len(passed)) == odds


def test_no_coin_is_of_the_last_incomplete_multiple_of_the_bound(monkeypatch):
    """2^64 leaves 1 by 3: one number of 64 bits is drawn again, and the one before it is not."""
    words = iter([[2**64 - 1, 5], [2**64 - 2]])

    def drawn(n):
        some = np.array(next(words), np.uint64).tobytes()
        assert len(some) == n
        return some

    monkeypatch.setattr(module.os, "urandom", drawn)
    assert module._below(3, 2).tolist() == [(2**64 - 2) % 3, 5 % 3]


def test_the_receipt_of_laplace_shares_is_that_of_laplace_noise_as_large():
    noise = module.LaplaceShares(1, Fraction(1, 2), 20, 19)
    reported = noise.mechanism_of(CountQuery(), 1)
    assert reported.scale == pytest.approx(noise.deviation / 2**0.5) and reported.rho is None
    least = Fraction(2, module.MOST_SCALE)  # below it, they would take for ever
    assert module.LaplaceShares(2, least, 3, 2).scale == module.MOST_SCALE


def test_coins_are_even(monkeypatch):
    """False alarm rate 1e-8; bits beyond the last whole multiple are drawn again."""
    seen = np.bincount(module._below(7, 70_000).astype(np.int64), minlength=7)
    assert chi2.sf(((seen - 10_000) ** 2 / 10_000).sum(), 6) > ALARM
    given = [b"\xff" * 16, b"\x09" + bytes(7) + b"\xff" * 8, b"\x0a" + bytes(7)]
    monkeypatch.setattr(module.os, "urandom", lambda n: given.pop(0)[:n])
    assert module._below(7, 2).tolist() == [9 % 7, 10 % 7] and not given


@pytest.mark.parametrize(("holders", "honest"), [(2, 1), (12, 11), (8, 3)])
def test_honest_shares_are_laplace_noise_together(holders, honest, epsilon="1/2"):
    """False alarm rate 1e-8 each; shares for more holders than are honest are refused."""
    shares = LaplaceShares(1, Fraction(epsilon), holders, honest)
    nothing = np.zeros(1000, np.int64)
    assert privacy_worlds.p_value(sum(shares(nothing) for _ in range(honest)), shares.scale) > ALARM
    planted = LaplaceShares(1, Fraction(epsilon), 2 * honest, 2 * honest)
    half = sum(planted(nothing) for _ in range(honest))
    assert privacy_worlds.p_value(half, shares.scale) < ALARM


def test_laplace_shares_are_refused_where_they_would_take_for_ever():
    refuses("give a delta", lambda: LaplaceShares(1, Fraction(1, 5000), 3, 2))
    refuses("that a unit moves", lambda: LaplaceShares(0, Fraction(1), 3, 2))
    assert Shares.of(CountQuery(), "add-remove", 3, Cost.of(1), 3, 2).scale == 3.0


def p_value(draws, scale):
    """Of a sum of squares, two-sided."""
    found = (draws.astype(float) ** 2).sum() / scale**2
    return 2 * min(chi2.cdf(found, len(draws)), chi2.sf(found, len(draws)))


@pytest.mark.parametrize(("holders", "colluding"), [(2, 1), (50, 1), (8, 5)])
def test_the_sum_through_the_gate_has_the_distribution_that_is_claimed(holders, colluding):
    """False alarm rate 1e-8 each; of other scales, less than 1e-6 that one is taken for right."""
    universe = line(500)
    query = HistogramQuery(finest(universe))
    cost, honest = Cost.zcdp(1, DELTA), holders - colluding
    nothing = np.zeros(query.n_values, np.uint64)
    demand = PrivateDemand(universe, [])
    who, slices = {"holders": holders, "honest": honest}, [Ledger(1, DELTA) for _ in range(holders)]
    charged = ((cost, one.charge(cost)) for one in slices)
    sent = [contribute(demand, query, *paid, mask=nothing, **who) for paid in charged]
    sent = [one.view(np.int64) for one in sent]
    noise = GaussianShares.of(query, "add-remove", 1, cost, holders, honest)
    units = 2**noise.bits
    claimed = units / np.sqrt(2 * float(cost.rho))
    left = sum(sent[colluding:])
    assert p_value(left, claimed) > ALARM and p_value(left, claimed * 1.6) < ALARM
    assert p_value(left, claimed / holders**0.5) < ALARM
    assert p_value(sum(sent), noise.deviation * units) > ALARM
    released = noise.total(sum(sent).view(np.uint64))
    assert p_value(released, noise.deviation) > ALARM
    assert p_value(released, noise.deviation / 1.6) < ALARM


@pytest.mark.parametrize("cost", [Cost.zcdp(1, DELTA), Cost.of(1)], ids=["rho", "epsilon"])
def test_what_leaves_the_gate_is_under_the_mask_alone(cost):
    universe = line(50)
    query = HistogramQuery(finest(universe))
    mask = np.full(50, 2**63 + 12345, np.uint64)
    demand = PrivateDemand(universe, [7] * 500)
    ledger = Ledger(1, DELTA)
    budget = ledger.charge(cost)
    sent = contribute(demand, query, cost, budget, holders=3, honest=2, mask=mask)
    assert budget.protects == ledger.protects == RECORD
    found = Shares.of(query, "add-remove", 1, cost, 3, 2).total(sent - mask)
    assert abs(found[7] - 500) < 100 and np.abs(np.delete(found, 7)).max() < 100
    with pytest.raises(mdp.BudgetError):  # the budget slice was for one answer
        contribute(demand, query, cost, budget, holders=3, honest=2, mask=mask)


@cases(
    "wrong",
    *each(mask=[np.zeros(2, np.uint64), np.zeros(1, np.int64)], query=["number of records"]),
    *each(honest=[0, None, 3], holders=[None, 1, 5000]),
    *each(cost=[Cost.of(1, DELTA), Cost.of("1/9999")]),
)
def test_what_is_refused_costs_nothing(wrong):
    budget = Ledger(1, DELTA).charge(Cost.zcdp(1, DELTA))
    asked = {"query": CountQuery(), "cost": Cost.zcdp(1, DELTA), "holders": 2, "honest": 1}
    asked |= {"mask": np.zeros(1, np.uint64), **wrong}
    refuses("", lambda: contribute(PrivateDemand(line(3), [0]), budget=budget, **asked))
    assert budget.spent_rho == 0


def test_what_is_sent_is_counts_in_units_noise_and_mask(monkeypatch):
    """Counts of 4 holders at 3 bits saturate at 2^61 / 32."""
    noise = GaussianShares(1, 1, Cost.zcdp(1, DELTA), 4, 4)
    noise.bits, most = 3, 2**61 // (4 * 8)
    monkeypatch.setattr(GaussianShares, "__call__", lambda self, counts: counts - 5)
    sent = noise.masked(np.array([7, most, most + 1, -most - 1]), np.full(4, 2**64 - 2, np.uint64))
    units = [8 * 7, 8 * most, 8 * most, -8 * most]
    assert sent.tolist() == [(unit - 5 - 2) % 2**64 for unit in units]


def test_the_receipt_of_shares_is_that_of_the_sum():
    cost = Cost.zcdp(1, DELTA)
    noise = GaussianShares(2, 3, cost, 20, 19)
    reported = noise.mechanism_of(CountQuery(), 2)
    assert (reported.name, reported.query) == ("discrete Gaussian in shares", "number of records")
    assert (reported.sensitivity, reported.scale) == (2, noise.deviation)
    assert (reported.epsilon, reported.delta, reported.rho) == (cost.epsilon, cost.delta, cost.rho)
    assert reported.proofs == (2, CountQuery.proof, GaussianShares.proof)
    assert noise.deviation == pytest.approx(noise.scale * 20**0.5 / 2**noise.bits)


@pytest.mark.parametrize(("sensitivity", "square"), [(0, 1), (1, 0), (0, 0)])
def test_what_no_unit_moves_needs_no_shares(sensitivity, square):
    with pytest.raises(mdp.InputError, match="a query that a unit moves"):
        GaussianShares(sensitivity, square, Cost.zcdp(1, DELTA), 4, 4)


def test_counts_saturate_before_they_wrap():
    noise = GaussianShares(1, 1, Cost.zcdp(1, DELTA), 4, 4)
    nothing, most = np.zeros(2, np.uint64), 2**61
    total = sum(noise.masked(np.array([most, -most]), nothing) for _ in range(4))
    assert total.view(np.int64)[0] > 2**60 and total.view(np.int64)[1] < -(2**60)


@pytest.mark.parametrize("bits", [0, 1, 3])
def test_sums_are_rounded_to_the_nearest_integer(bits):
    noise = GaussianShares(1, 1, Cost.zcdp(1, DELTA), 4, 4)
    noise.bits = bits
    sums = np.arange(-100, 100)
    expected = [round(Fraction(int(v), 2**bits)) for v in sums]  # halves to even
    assert noise.total(sums.view(np.uint64)).tolist() == expected


def test_no_bits_are_enough_for_an_absurd_rho(monkeypatch):
    monkeypatch.setattr(module, "MOST_BITS", 0)
    refuses("too much", lambda: GaussianShares(1, 1, Cost.zcdp(500, DELTA), 4, 4))
    needs_one = (1, 1, Cost.zcdp(1, DELTA), 20, 19)
    refuses("too much", GaussianShares, *needs_one)
    monkeypatch.setattr(module, "MOST_BITS", 1)
    assert GaussianShares(*needs_one).bits == 1


WHOLE = Cost.zcdp(1, DELTA)
HALF = Cost(Fraction(1), DELTA, WHOLE.rho / 2, "zCDP")


def step(ledger, turn, piece=HALF, name="a"):
    return ledger.charge_step(name, WHOLE, piece, turn, RECORD, "test")


def test_steps_are_paid_for_as_a_whole_and_taken_once(tmp_path):
    path = tmp_path / "a.ledger"
    ledger = Ledger(4, 4 * DELTA, journal=path)
    assert step(ledger, (1, 1)).rho == HALF.rho and ledger.spent == 1
    refuses("never answered twice", step, ledger, (1, 1))
    assert step(Ledger.open(path), (2, 1)).rho == HALF.rho  # another process
    assert ledger.quote(1).left == 3
    for old in ((1, 1), (1, 2), (2, 1)):
        refuses("never answered twice", step, ledger, old)
    # more steps than the whole paid for
    refuses("rho", step, ledger, (3, 1), error=mdp.BudgetError)
    assert step(ledger, (2, 2)).spent_rho == 0  # the same once more: paid for by itself
    assert ledger.spent == 2 and "again" in ledger.entries[-1].purpose
    assert step(ledger, (1, 1), name="b").rho == HALF.rho and ledger.spent == 3


def test_steps_of_an_epsilon_are_paid_alike(tmp_path):
    path = tmp_path / "a.ledger"
    whole, half = Cost.of(1), Cost.of("1/2")
    ledger = Ledger(2, journal=path)
    for turn in ((1, 1), (2, 1)):
        budget = Ledger.open(path).charge_step("a", whole, half, turn, RECORD, "test")
        assert budget.epsilon == Fraction(1, 2) and ledger.quote(1).left == 1
    for name, piece in (("a", half), ("b", HALF), ("b", Cost.of(2))):
        with pytest.raises(mdp.BudgetError, match="epsilon"):
            ledger.charge_step(name, whole, piece, (3, 1), RECORD, "test")
    assert ledger.charge_step("a", whole, half, (2, 2), RECORD, "test").epsilon == Fraction(1, 2)
    assert ledger.spent == Fraction(3, 2)


def test_a_step_that_does_not_fit_is_refused_and_not_taken():
    ledger = mdp.Ledger("1/2", DELTA)
    refuses("", step, ledger, (1, 1), error=mdp.BudgetError)
    assert ledger.spent == 0 and not ledger.entries
    ledger = mdp.Ledger(1, DELTA)
    step(ledger, (1, 1))
    refuses("", step, ledger, (1, 2), error=mdp.BudgetError)
    assert step(ledger, (2, 1)).rho == HALF.rho


def test_of_two_processes_that_take_one_step_at_once_one_is_refused(tmp_path, monkeypatch):
    path, charge = tmp_path / "a.ledger", Ledger.charge_once
    ledger = Ledger(4, 4 * DELTA, journal=path)

    def beaten(*args):
        monkeypatch.setattr(Ledger, "charge_once", charge)
        step(Ledger.open(path), (1, 1))
        return charge(*args)

    monkeypatch.setattr(Ledger, "charge_once", beaten)
    refuses("answered by another process", step, ledger, (1, 1))
