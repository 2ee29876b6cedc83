"""Amplification by shuffling: never below the truth where that can be computed, equal to the pair's
exact delta, inverted safely.
"""

import math
from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from metricdp.local.randomizers import KRR, LocalHashing, SubsetSelection
from metricdp.local.shuffle import (
    _pair_delta,
    clone_weights,
    largest_local_epsilon,
    shuffled_delta,
    shuffled_epsilon,
)
from tests import cases, each, refuses
from tests import naive_local as naive
from tests.naive_local import distributions

MILLIONTH = Fraction(1, 10**6)


@pytest.mark.parametrize(
    ("ratio", "p", "users"),
    [(3, Fraction(1, 6), 1), (3, Fraction(1, 6), 9), (7, Fraction(1, 20), 30)],
)
@pytest.mark.parametrize("epsilon", [0.0, 0.05, 0.4, 0.9])
def test_the_pairs_delta_is_its_exact_one(ratio, p, users, epsilon):
    exact = float(naive.pair_delta(Fraction(ratio), p, users, Fraction(math.exp(epsilon))))
    found = _pair_delta(float(ratio), float(p), 1.0, users, epsilon)
    assert exact <= found <= exact * (1 + 1e-9) + 1e-9


FEW = [
    KRR(Fraction(1), 3, 8),
    KRR(Fraction(2), 2, 8),
    LocalHashing(Fraction(1), 4, 1, 8),
    SubsetSelection(Fraction(1), 4, 2, 8),
]


@pytest.mark.parametrize("randomizer", FEW, ids=repr)
@pytest.mark.parametrize("epsilon", [0.0, 0.3, 0.7])
def test_no_shuffle_of_a_small_population_needs_more(randomizer, epsilon):
    each = distributions(randomizer.draw, range(randomizer.domain))
    for others in ([1, 1, 1], [0, 1, 0], [randomizer.domain - 1] * 3):
        rest = [each[value] for value in others]
        exact = naive.shuffled_delta(each[0], each[1], rest, math.exp(epsilon))
        assert exact <= shuffled_delta(randomizer, 1 + len(others), epsilon) + 1e-12
        assert exact <= shuffled_delta(randomizer.epsilon, 1 + len(others), epsilon) + 1e-12


def test_weights_of_two_weight_distributions_are_those_of_their_definition():
    for randomizer in (*FEW, LocalHashing(Fraction(1), 4, 2, 8)):
        zero, one = distributions(randomizer.draw, (0, 1))
        ratio, p = clone_weights(randomizer)
        assert ratio == pytest.approx(randomizer.favored / 8)
        # what value 0 alone favors, under value 1
        assert p == pytest.approx(float(sum(q for output, q in one.items() if zero[output] > q)))


def test_delta_falls_with_users_and_epsilon_and_epsilons_are_inverted_safely():
    deltas = [shuffled_delta(3, 10_000, epsilon) for epsilon in (0.0, 0.1, 0.3, 0.6)]
    assert deltas == sorted(deltas, reverse=True)
    assert shuffled_delta(3, 10_000, 0.2) > shuffled_delta(3, 40_000, 0.2)
    for randomizer in (Fraction(4), KRR(Fraction(4), 40), LocalHashing(Fraction(2), 300, 3)):
        found = shuffled_epsilon(randomizer, 50_000, MILLIONTH)
        assert shuffled_delta(randomizer, 50_000, float(found)) <= MILLIONTH
        assert shuffled_delta(randomizer, 50_000, float(found) - 1e-4) > MILLIONTH
    assert 2 - 1e-5 < shuffled_epsilon(Fraction(2), 3, MILLIONTH) <= 2
    assert shuffled_epsilon(Fraction(2), 0, MILLIONTH) == 2


@pytest.mark.parametrize(
    ("users", "target", "local"),
    [(10_000, "1", 4.796875), (100_000, "1/4", 4.671875), (1_000_000, "1/4", 6.9375)],
)
def test_the_largest_local_epsilon_keeps_its_promise(users, target, local):
    found = largest_local_epsilon(users, Fraction(target), MILLIONTH)
    assert float(found) == local
    more = shuffled_epsilon(found + Fraction(1, 64), users, MILLIONTH)
    assert shuffled_epsilon(found, users, MILLIONTH) <= Fraction(target) < more
    assert largest_local_epsilon(10, Fraction(1, 2), MILLIONTH) == Fraction(1, 2)


def test_receipts_state_what_the_messages_that_came_are_worth():
    metric = mdp.EuclideanMetric(np.arange(50.0)[:, None])
    asked = {"users": 20_000, "trust": "one_round_shuffle", "parts": 20}
    parameters = mdp.local.public_parameters(metric, "1/2", **asked)
    assert parameters.epsilon > 3 and parameters.delta == MILLIONTH
    decoder = mdp.local.Decoder(parameters)
    sent = [mdp.local.simulated_messages(parameters, [7] * n, seed=0) for n in (20_000, 5000)]
    receipts = [decoder.fit(messages).receipt for messages in sent]
    assert receipts[0].epsilon <= Fraction(1, 2) < receipts[1].epsilon <= parameters.epsilon
    assert receipts[0].delta == MILLIONTH and "20,000 messages shuffled" in receipts[0].bound
    local = mdp.local.public_parameters(metric, "1/2", parts=20)
    receipt = mdp.local.Decoder(local).fit([]).receipt
    assert (receipt.epsilon, receipt.delta) == (Fraction(1, 2), 0)
    assert (receipt.unit, receipt.neighboring) == ("user", "replace-one")


@cases(
    "wrong",
    {"trust": "one_round_shuffle", "delta": 1},
    *each(epsilon=[0, 30], users=[0], k=[-1], trust=["central"], delta=[0.1], parts=[1, 99]),
    *each(tree=["net"], seed=[-1], radius=[1.0]),
)
def test_wrong_arguments_meet_a_rule(wrong):
    metric = mdp.EuclideanMetric(np.arange(50.0)[:, None])
    refuses("", mdp.local.public_parameters, metric, **{"epsilon": 1, **wrong})
