"""The posterior of several rounds: against direct integration of its model, and better than any of
them.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import beta

from metricdp.solvers.estimate import tree_posterior
from metricdp.solvers.estimate.tree_posterior import Counts, joint_posterior
from tests import cases
from tests.solvers.estimate.test_tree_posterior import (
    PAIR,
    SEEN,
    counts,
    integrated,
    laplace,
    random_tree,
)


@pytest.mark.parametrize("any_share", [False, True])
@cases(
    "rounds",
    *([counts([0, 1], seen, 8.0)] for seen in SEEN),
    *([counts([0, 1], seen, 8.0), counts([2], [55], 20.0)] for seen in SEEN[:5]),
    [counts([2], [70], 6.0), counts([0, 1], [40, 10], 8.0)],
    [counts([2], [20], 6.0), counts([0, 1], [40, 10], 8.0), counts([2], [45], 20.0)],
    [counts([0, 1], [40, 10], 8.0), counts([0, 1], [25, 2], 12.0)],
    [counts([2], [-9], 6.0), counts([0, 1], [5, -3], 8.0)],
    [counts([2], [300], 6.0, True), counts([0, 1], [120, 190], 8.0, True)],
    [counts([2, 0], [70, 20], 6.0), counts([0, 1], [40, 10], 8.0, True)],
)
def test_two_parts_against_integration(rounds, any_share, monkeypatch):
    monkeypatch.setattr(tree_posterior, "_ROUNDS", 1)  # before anything is learned from the counts
    found = joint_posterior(PAIR, rounds, any_share=any_share).mean
    np.testing.assert_allclose(found, integrated(PAIR, rounds, any_share), rtol=0.02, atol=0.64)


@pytest.mark.parametrize("known", [False, True])
def test_two_rounds_know_more_than_either(known):
    tree, rng, errors = random_tree(60, 4), np.random.default_rng(6), []
    children = np.arange(len(tree.children)) + tree.n_parts
    coarse = children[tree.sizes[children] < 60][-12:]
    for _ in range(12):
        true = rng.poisson(60, 60) * (rng.random(60) < 0.3)
        fine = Counts(np.arange(60), laplace(true, 12, rng), 12.0)
        above = Counts(coarse, laplace(sums(tree, true)[coarse], 4, rng), 4.0)
        alone = joint_posterior(tree, [fine])
        both = joint_posterior(tree, [fine, above], known=alone.frequencies if known else None)
        errors.append([np.abs(found.mean - true).sum() for found in (alone, both)])
    one, two = np.mean(errors, axis=0)
    assert two < 0.97 * one


def test_a_round_that_contradicts_another_leaves_an_estimate():
    tree = random_tree(30, 2)
    low = Counts(np.arange(30), np.zeros(30), 1.0)
    high = Counts(np.array([58, 50]), np.array([1e9, -1e9]), 1.0)
    found = joint_posterior(tree, [low, high], any_share=True).mean
    assert np.isfinite(found).all() and (found >= 0).all()


@pytest.mark.parametrize("expected", [False, True])
def test_typical_splits_are_assumed_until_many_counts_differ(expected):
    frequencies = []
    for m in (4, 600):
        tree = random_tree(m, 3)
        if expected:
            tree = replace(tree, numbers=tree.sizes * np.linspace(1, 2, 2 * m - 1))
        even = Counts(np.arange(m), 1000 * tree.sizes[:m], 5.0)
        found = joint_posterior(tree, [even], any_share=True, planar=True)
        assert all(abs(each.sum() - 1) < 1e-9 for each in found.frequencies.values())
        frequencies.append(np.mean(list(found.frequencies.values()), axis=0))
    few, many = frequencies
    assert len(few) == (6 if expected else 4)
    assert abs(few[-1] - (0.2 if expected else 0.45)) < 0.1  # any share, as usual
    assert many[1] > 2 * few[1] and many[-1] < few[-1]  # in proportion to size, as it was


def test_typical_splits_help_where_counts_are_few():
    """Three spots among 48 parts, far above the noise together but not one by one."""
    rng, errors = np.random.default_rng(5), []
    for seed in range(30):
        tree = random_tree(48, seed)
        true = np.zeros(48)
        at = rng.integers(0, 45, 3)
        true[np.concatenate([at, at + 1, at + 2])] = rng.integers(10, 90, 9)
        rounds = [Counts(np.arange(48), laplace(true, 10, rng), 10.0)]
        rounds.append(Counts(np.array([94]), laplace(true.sum(keepdims=True), 200, rng), 200.0))
        alone = joint_posterior(tree, rounds).mean
        typical = joint_posterior(tree, rounds, any_share=True, planar=True).mean
        errors.append([((each - true) ** 2).sum() for each in (alone, typical)])
    learned, held = np.mean(errors, axis=0)
    assert held < learned


def sums(tree, parts):
    """Amounts of parts, summed up the tree."""
    found = parts.tolist()
    for left, right in tree.children:
        found.append(found[left] + found[right])
    return np.array(found)


def test_chance_in_two_parts_against_integration():
    rounds = [counts([0, 1], [40, 13], 8.0), counts([2], [55], 6.0)]
    model = tree_posterior._Model(PAIR, rounds, False, by_chance=True)
    model.evidence(np.ones(1))
    records = tree_posterior.least_squares(PAIR, rounds)[0][2]
    x, at = np.linspace(0, 400, 4001)[:, None], np.linspace(0, 1, 4002)
    share = (at[1:] + at[:-1])[None, :] / 2
    chance = np.diff(beta(records * 0.75, records * 0.25).cdf(at))
    off = np.abs(40 - share * x) + np.abs(13 - (1 - share) * x)
    weight = np.exp(-off / 8 - np.abs(55 - x) / 6) * chance
    weight /= weight.sum()
    exact = [(weight * share * x).sum(), (weight * (1 - share) * x).sum()]
    np.testing.assert_allclose(model.mean(), exact, rtol=0.02)


def test_records_that_follow_the_expectation_are_distinguished_from_others():
    rng, errors = np.random.default_rng(8), []
    for seed in range(12):
        tree = random_tree(48, seed)
        tree = replace(tree, numbers=sums(tree, rng.lognormal(0, 1, 48)))
        spots = np.where(np.arange(48) < 4, 0.25, 0.0)
        points = tree.even().sizes[:48] / tree.even().sizes[-1]
        for share in (tree.sizes[:48] / tree.sizes[-1], spots, points):
            true = rng.multinomial(2000, share)
            counted = [Counts(np.arange(48), laplace(true, 10, rng), 10.0)]
            estimate = joint_posterior(tree, counted, any_share=True, planar=True)
            found = estimate.if_by_chance()
            if share is spots or share is points:
                assert found is estimate
                continue
            assert found.by_chance and found.trust == 1.0
            assert np.abs(found.draw(200).mean(axis=0) - found.mean).sum() < 0.1 * found.mean.sum()
            errors.append([np.abs(each.mean - true).sum() for each in (estimate, found)])
    learned, held = np.mean(errors, axis=0)
    assert held < 0.9 * learned
    alone = joint_posterior(tree.even(), counted)
    assert alone.if_by_chance() is alone
