"""Exact selection: its distribution, its exactness where floating point cannot tell, streaming, and
the queries that use it.
"""

import itertools
import math
import os
import random
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy.stats import chisquare

import metricdp as mdp
from benchmarks.frame.races import races
from metricdp.kernels import race as race_module
from metricdp.kernels.race import clock
from metricdp.kernels.scores import CAP, add_costs
from metricdp.privacy import Cost, CostQuery, CoverageQuery, select, selections
from metricdp.privacy import selection as selection_module
from metricdp.privacy.selection import _clock, _Leader, choose
from tests import cases, refuses, tries
from tests.naive import permute_and_flip_distribution
from tests.privacy_worlds import THREE, TWO, all_demands, line, neighbors

DISTRIBUTIONS = ("exponential mechanism", "permute-and-flip")
ALARM = 1e-8
"""Every p-value is compared with this: fewer than 20 tests, so a right sampler fails this file less
than once in 10^6 runs.
"""


def distribution_of(scores, eta: float, distribution: str) -> np.ndarray:
    if distribution == "permute-and-flip":
        return permute_and_flip_distribution(scores, eta)
    weights = np.exp(eta * (np.asarray(scores, float) - max(scores)))
    return weights / weights.sum()


def coins_from(urandom):
    """In place of the module `os` in one module: other threads of the process draw as ever."""
    return SimpleNamespace(urandom=urandom)


def draw(scores, eta: Fraction, distribution: str, n: int) -> np.ndarray:
    """n selections: the kernel's batch, its undecided races settled by the same code as
    `choose`.
    """
    scores, gumbel = np.asarray(scores, np.int64), distribution == "exponential mechanism"
    bits = np.frombuffer(os.urandom(8 * n * len(scores)), np.uint64).reshape(n, -1)
    winners = np.empty(n, np.int64)
    races(scores, bits, float(eta), gumbel, winners)
    for row in np.flatnonzero(winners < 0):
        leader = _Leader(gumbel, eta)
        leader.challenge(scores, bits[row], 0)
        winners[row] = leader.position
    return winners


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
@cases(
    ("scores", "eta"),
    ([3, 0, 3, 1, 2], Fraction(1, 2)),
    ([0, 10**12, 10**12 - 2 * 10**11, -5 * 10**11], Fraction(1, 10**12)),
)
def test_the_distribution_is_exact_and_another_exponent_is_not(distribution, scores, eta):
    counts = np.bincount(draw(scores, eta, distribution, 200_000), minlength=len(scores))
    expected = distribution_of(scores, float(eta), distribution) * counts.sum()
    assert chisquare(counts, expected).pvalue > ALARM
    for wrong in (0.7, 1.3, 2.0):
        expected = distribution_of(scores, wrong * float(eta), distribution) * counts.sum()
        assert chisquare(counts, expected).pvalue < ALARM


def test_the_two_distributions_differ():
    drawn = draw([3, 0, 3, 1, 2], Fraction(1, 2), DISTRIBUTIONS[0], 300_000)
    counts = np.bincount(drawn, minlength=5)
    expected = distribution_of([3, 0, 3, 1, 2], 0.5, DISTRIBUTIONS[1]) * counts.sum()
    assert chisquare(counts, expected).pvalue < ALARM


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_choose_itself_has_the_distribution(distribution):
    scores = np.array([2, 0, 1])
    blocks = [scores[:1], scores[1:]]
    drawn = [choose(blocks, Fraction(1), distribution) for _ in range(20_000)]
    counts = np.bincount(drawn, minlength=3)
    found = chisquare(counts, distribution_of(scores, 1.0, distribution) * counts.sum()).pvalue
    assert found > ALARM


def test_opendp_agrees():
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_noisy_max
    from opendp.measures import max_divergence
    from opendp.metrics import linf_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    scores, n = [3, 0, 3, 1, 2], 3000
    spaces = vector_domain(atom_domain(T=int)), linf_distance(T=int, monotonic=True)
    theirs = make_noisy_max(*spaces, max_divergence(), scale=2.0)
    counts = np.bincount([theirs(scores) for _ in range(n)], minlength=5)
    assert chisquare(counts, permute_and_flip_distribution(scores, 0.5) * n).pvalue > ALARM


edges = st.sampled_from(
    [1, 2, 3, 2**20, 2**32, 2**62, 2**63 - 1, 2**63, 2**63 + 1, 2**64 - 2**20, 2**64 - 2, 2**64 - 1]
)
any_score = st.integers(-(2**61), 2**61) | st.sampled_from([-(2**61), 2**61]) | st.integers(-3, 3)
words = st.one_of(edges, st.integers(1, 2**64 - 1))


@tries(100, words, st.booleans())
def test_the_clock_is_within_its_proven_error(bits, gumbel):
    t, error = clock(np.uint64(bits), gumbel)
    low, high = _clock(bits, 64, gumbel)
    assert low < high
    for end in (low, high):
        # an open end of the first or last interval is not compared: the error bound exceeds 1
        if abs(end) < 10**29:
            assert abs(t - float(end)) <= error
        else:
            assert error >= 1


@tries(60, st.integers(0, 2**64 - 1), st.booleans(), st.integers(0, 2**64 - 1))
def test_more_bits_narrow_the_interval(bits, gumbel, more):
    low, high = _clock(bits, 64, gumbel)
    inner_low, inner_high = _clock(bits << 64 | more, 128, gumbel)
    slack = Fraction(1, 10**40)
    assert low - slack <= inner_low <= inner_high <= high + slack


@settings(max_examples=40)
@given(
    st.lists(st.tuples(any_score, words | st.just(0)), min_size=1, max_size=8),
    st.fractions(min_value=Fraction(1, 10**12), max_value=1000),
    st.booleans(),
    st.integers(0, 2**32),
)
@example([(0, 5), (0, 5), (0, 5)], Fraction(1), True, 1)
def test_the_winner_is_that_of_infinite_precision(candidates, eta, gumbel, seed):
    """Against the exact intervals of everyone's first 64 bits: nobody wins whose interval lies
    below another's.

    Further bits come from a generator, not from the search for examples: that might draw the same
    ones for both sides without end.
    """
    coins = random.Random(seed)
    scores = np.array([s for s, _ in candidates], np.int64)
    bits = np.array([b for _, b in candidates], np.uint64)
    leader = _Leader(gumbel, eta)
    with pytest.MonkeyPatch.context() as patch:
        given = coins_from(lambda n: coins.getrandbits(8 * n).to_bytes(n, "big"))
        patch.setattr(selection_module, "os", given)
        leader.challenge(scores, bits, 0)
    ends = [_clock(int(b), 64, gumbel) for b in bits]
    best = max(eta * int(s) + low for s, (low, _) in zip(scores, ends))
    possible = [
        i for i, (s, (_, high)) in enumerate(zip(scores, ends)) if eta * int(s) + high >= best
    ]
    assert leader.position in possible


@pytest.mark.parametrize("gumbel", [True, False])
@pytest.mark.parametrize("first_is_smaller", [True, False])
def test_equal_bits_are_settled_by_further_bits(monkeypatch, gumbel, first_is_smaller):
    words = iter([b"\1" * 8, b"\2" * 8] if first_is_smaller else [b"\2" * 8, b"\1" * 8])
    monkeypatch.setattr(selection_module, "os", coins_from(lambda n: next(words)))
    leader = _Leader(gumbel, Fraction(1, 3))
    leader.challenge(np.array([5, 5]), np.array([77, 77], np.uint64), 0)
    # the challenger draws first; a smaller V wins
    assert leader.position == (1 if first_is_smaller else 0)


def test_blocks_do_not_matter(monkeypatch):
    scores = np.random.default_rng(1).integers(0, 20, 1000)
    for distribution in DISTRIBUTIONS:
        winners = set()
        for size in (1000, 7, 1):
            stream = np.random.default_rng(2)
            coins = coins_from(lambda n, stream=stream: stream.bytes(n))
            monkeypatch.setattr(selection_module, "os", coins)
            monkeypatch.setattr(selection_module, "BLOCK", size)
            winners.add(choose(np.array_split(scores, 3), Fraction(1, 10), distribution))
        assert len(winners) == 1


@pytest.mark.parametrize("distribution", DISTRIBUTIONS)
def test_a_leader_far_ahead_wins_at_any_position(distribution):
    """By 2^40 in units of 1 / eta, over the ends of blocks, and after a comparison to 128 bits."""
    for at in range(5):
        scores = np.where(np.arange(5) == at, 2**40, 0)
        for cuts in ([], [1], [2], [1, 2, 3, 4]):
            assert choose(np.split(scores, cuts), Fraction(1), distribution) == at
        for drawn in ([0] * 5, [77] * 5, [0, 77, 0, 77, 77], [77, 0, 77, 0, 0]):
            leader = _Leader(distribution == DISTRIBUTIONS[0], Fraction(1))
            bits = np.array(drawn, np.uint64)
            for some in (slice(0, 3), slice(3, 5)):
                leader.challenge(scores[some], bits[some], some.start)
            assert leader.position == at


def test_ten_equal_candidates_at_large_scores_are_equally_likely():
    counts = np.bincount(draw([2**61] * 10, Fraction(1), DISTRIBUTIONS[0], 100_000), minlength=10)
    assert chisquare(counts).pvalue > ALARM


def test_floating_point_decides_nearly_everything():
    scores = np.arange(1000, dtype=np.int64)
    winners = np.empty(2000, np.int64)
    bits = np.frombuffer(os.urandom(8 * 2000 * 1000), np.uint64).reshape(2000, -1)
    races(scores, bits, 0.01, True, winners)
    assert (winners < 0).mean() < 0.001
    assert race_module._ROUNDING > 2.0**-50


# The queries


def changes(query, one, other):
    def scores(users):
        return np.concatenate(list(query.blocks(np.array([r for u in users for r in u], np.int64))))

    return scores(one).astype(object) - scores(other).astype(object)


QUERIES = {
    "two points": (TWO, CostQuery(TWO)),
    "two points, squared": (TWO, CostQuery(TWO, power=2)),
    "two points, covered": (TWO, CoverageQuery(TWO, 0.5)),
    "three points": (THREE, CostQuery(THREE)),
    "three points, one center": (THREE, CostQuery(THREE, ["b"])),
    "three points, cap": (THREE, CostQuery(THREE, cap=1.5)),
    "three points, covered": (THREE, CoverageQuery(THREE, 1)),
    "a line": (line(4), None),
}
QUERIES["a line"] = (QUERIES["a line"][0], CostQuery(QUERIES["a line"][0], [3]))


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("neighboring", ["add-remove", "replace-one"])
@pytest.mark.parametrize("name", QUERIES)
def test_ranges_hold_over_all_neighbors(name, neighboring, m):
    universe, query = QUERIES[name]
    demands = all_demands(len(universe), 2, m)
    worst, largest = 0, 0
    for one, other in itertools.permutations(demands, 2):
        if neighbors(one, other, neighboring):
            change = changes(query, one, other)
            worst, largest = max(worst, max(change) - min(change)), max(largest, max(abs(change)))
    assert worst <= query.range(neighboring, m)
    assert largest <= query.sensitivity(neighboring, m)
    if name in {"two points", "two points, squared", "two points, covered", "three points"}:
        assert worst == query.range(neighboring, m)
    assert query.range("replace-one", m) == 2 * query.sensitivity("replace-one", m)
    assert query.range("add-remove", m) == query.sensitivity("add-remove", m)


@settings(max_examples=50)
@given(st.integers(0, 2**32), st.sampled_from([1, 2]), st.booleans(), st.sampled_from([None, 0.4]))
def test_scores_are_the_costs(seed, power, with_centers, cap):
    rng = np.random.default_rng(seed)
    universe = mdp.EuclideanMetric(rng.random((12, 2)))
    records, centers = rng.integers(0, 12, 30), [0, 5] if with_centers else []
    (scores,) = CostQuery(universe, centers, power=power, cap=cap).blocks(records)
    grid = universe.grid_rows(np.arange(12))
    limit = math.ceil((universe.diameter_bound() if cap is None else cap) / universe.unit)
    step = 1
    while limit // step >= 2 ** (32 // power):
        step *= 2
    for c in range(12):
        reach = [min([int(grid[v, f]) for f in [*centers, c]] + [limit]) for v in records]
        assert scores[c] == -sum(math.ceil(d / step) ** power for d in reach)
        found = -scores[c] * (step * universe.unit) ** power
        assert found >= sum((d * universe.unit) ** power for d in reach) * (1 - 1e-12)
    (covered,) = CoverageQuery(universe, 0.3).blocks(records)
    expected = [sum(grid[v, c] * universe.unit <= 0.3 for v in records) for c in range(12)]
    assert covered.tolist() == expected


def test_sensitivities_and_bounds_of_scores_in_numbers():
    """Of a line of nine points a step apart."""
    universe, alone = line(9), mdp.EuclideanMetric(np.zeros((1, 2)))
    for query, change, lowest, highest, words in (
        (CostQuery(universe), 8, -40, 0, "point that lowers the cost of 0 centers most"),
        (CostQuery(universe, [2], power=2), 64, -320, 0, "the squared cost of 1 centers"),
        (CostQuery(universe, cap=1.5), 2, -10, 0, "lowers the cost of 0 centers"),
        (CostQuery(universe, cap=0.1), 1, -5, 0, "lowers the cost of 0 centers"),
        (CostQuery(alone), 1, -5, 0, "lowers the cost of 0 centers"),
        (CoverageQuery(universe, 0.5), 1, 0, 5, "point with most records within 0.5"),
    ):
        assert words in str(query)
        for relation, times in (("add-remove", 1), ("replace-one", 2)):
            assert query.sensitivity(relation, 3) == 3 * change
            assert query.range(relation, 3) == 3 * change * times
        assert query.bounds(5) == (lowest, highest) and query.bounds(0) == (0, 0)
        assert query.bounds(None) == (-CAP, CAP)
        assert query.bounds(CAP + 1) == ((-CAP, 0) if lowest else (0, CAP))
        assert query.decode(7) == 7
        refuses("different universes", query.check, line(9))
        query.check(query.universe)


def test_radii_beyond_every_distance_cover_all():
    universe = line(9)
    for radius in (8, 1e300):
        (covered,) = CoverageQuery(universe, radius).blocks(np.array([0, 8, 8]))
        assert covered.tolist() == [3] * 9
    (covered,) = CoverageQuery(universe, 7.99).blocks(np.array([0, 8, 8]))
    assert covered.tolist() == [1] + [3] * 7 + [2]


def test_sums_saturate_instead_of_overflowing():
    total = np.array([0, 2**60, 2**61 - 5, 2**61], np.int64)
    rows = np.array([[0, 2**40, 6, 1], [3, 5, 1, 9]])
    add_costs(rows, np.array([2**30, 1]), np.array([2**41, 4]), 0, False, total)
    assert total.tolist() == [3, 2**61, 2**61, 2**61]
    squares = np.zeros(2, np.int64)
    add_costs(np.array([[2**31 - 1, 9]]), np.array([1]), np.array([2**31 - 1]), 1, True, squares)
    assert squares.tolist() == [2**60, 25]


def test_select_finds_the_median_and_its_receipt_says_how():
    universe = line(9)
    demand = mdp.PrivateDemand(universe, [6] * 3000 + [1] * 100)
    ledger = mdp.Ledger(2, 1e-6)
    position, receipt = select(demand, CostQuery(universe), 0.5, ledger.charge(0.5))
    assert position == 6
    (mechanism,) = receipt.mechanisms
    expected = "permute-and-flip", 8, 16.0, Fraction(1, 2)
    assert (mechanism.name, mechanism.sensitivity, mechanism.scale, receipt.epsilon) == expected
    accountant = ledger.charge(selections(0.1, 10, delta=1e-6))
    drawn = [select(demand, CoverageQuery(universe, 0), 0.1, accountant) for _ in range(10)]
    assert {p for p, _ in drawn} == {6}
    whole = accountant.receipt(r for _, r in drawn)
    expected = accountant.epsilon, "exponential mechanism", "zCDP"
    assert (whole.epsilon, whole.mechanisms[0].name, whole.bound) == expected
    refuses("", lambda: select(demand, CostQuery(universe), 0.1, accountant), error=mdp.BudgetError)


def test_replace_one_pays_the_factor_two():
    universe = line(9)
    demand = mdp.PrivateDemand(universe, [6] * 30)
    for neighboring, factor in (("add-remove", 1), ("replace-one", 2)):
        ledger = mdp.Ledger(1, neighboring=neighboring)
        _, receipt = select(demand, CostQuery(universe), 0.5, ledger.charge(0.5))
        assert receipt.mechanisms[0].sensitivity == 8 * factor
    user = mdp.PrivateDemand(universe, [6] * 30, user=list(range(30)), max_contributions=3)
    ledger = mdp.Ledger(1, neighboring="replace-one")
    _, receipt = select(user, CoverageQuery(universe, 1), 0.5, ledger.charge(0.5))
    assert receipt.mechanisms[0].sensitivity == 6


@cases(
    ("make", "error"),
    (lambda: CostQuery(TWO, power=3), "power 1 or 2"),
    (lambda: CostQuery("graph"), "needs a finite universe"),
    (lambda: CostQuery(TWO, ["z"]), "no point"),
    (lambda: CostQuery(TWO, cap=0), "cap must be positive"),
    (lambda: CostQuery(TWO, cap=math.nan), "cap must be positive"),
    (lambda: CoverageQuery(TWO, -1), "radius must be"),
    (lambda: CoverageQuery(TWO, math.inf), "radius must be"),
    (lambda: CoverageQuery(None, 1), "needs a finite universe"),
)
def test_bad_queries_are_refused(make, error):
    refuses(error, make)


def test_refused_selections_read_and_spend_nothing(sealed):
    budget = mdp.Ledger(1).charge(1)
    demand = mdp.PrivateDemand(TWO, ["a"])

    class Sneaky(CoverageQuery):
        def sensitivity(self, neighboring, max_contributions):
            return 0

    for query, epsilon in (
        (Sneaky(TWO, 1), 1),
        (CostQuery(THREE), 1),
        (CostQuery(TWO), 0),
        (CostQuery(TWO), -1),
        (CostQuery(TWO), 2),
    ):
        refuses("", select, demand, query, epsilon, budget, error=(mdp.InputError, mdp.BudgetError))
    assert budget.spent == 0
    assert 0 < Fraction(1, 8) - Cost.selection(1).rho < Fraction(1, 500)


@pytest.mark.parametrize("gumbel", [True, False])
def test_a_duel_follows_the_scores_where_bits_are_alike(monkeypatch, gumbel):
    """Equal bits, and a lead of 5 in units of 1 / eta: no bits that follow make up for both."""
    draws = iter([b"\x80" + b"\x01" * 7] * 400)
    monkeypatch.setattr(selection_module.os, "urandom", lambda n: next(draws) if n == 8 else None)
    assert selection_module._more(3) == 3 << 64 | 0x8001010101010101
    for score, winner in ((5, 1), (-5, 0)):
        leader = _Leader(gumbel, Fraction(1))
        leader._duel(0, 0, 1 << 63)
        assert (leader.position, leader._bits, leader._n_bits) == (0, 1 << 63, 64)
        leader._duel(1, score, 1 << 63)
        assert leader.position == winner


@pytest.mark.parametrize("gumbel", [True, False])
def test_who_leads_with_further_bits_races_on(gumbel):
    leader = _Leader(gumbel, Fraction(1))
    leader._take(7, 0, (1 << 127) + 12345, 128)
    leader.challenge(np.array([-40, 60, -40]), np.full(3, 1 << 63, np.uint64), 10)
    assert leader.position == 11
