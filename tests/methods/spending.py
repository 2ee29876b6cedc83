"""What methods of both kinds, of the package and of the papers, must do with their budget and k."""

from fractions import Fraction

import numpy as np

import metricdp as mdp


def box(d):
    return mdp.EuclideanSpace([0] * d, [10] * d)


BOX = box(2)


def cost(points, centers, power):
    return float((np.linalg.norm(points[:, None] - centers, axis=2).min(axis=1) ** power).sum())


def blobs(n=3000, d=2, seed=0):
    """Three tight groups of points in the box, and where they are."""
    rng = np.random.default_rng(seed)
    middle = np.array([[2.0, 2, 3, 4, 5], [8, 3, 5, 5, 5], [5, 8, 1, 2, 5]])[:, :d]
    return middle[rng.integers(0, 3, n)] + rng.normal(0, 0.2, (n, d)), middle


def check_budget(method, relation, delta=0):
    """To the last fraction, whoever is there; of a pool, roundings may leave a little."""
    for n, k, hint, users in ((0, 2, None, False), (40, 50, 3000, True), (1500, 3, None, False)):
        whose = {"user": [i // 3 for i in range(n)], "max_contributions": 2} if users else {}
        demand = mdp.PrivateDemand(BOX, blobs(n)[0].reshape(-1, 2), **whose)
        ledger = mdp.Ledger("7/3", delta, neighboring=relation)
        asked = {"epsilon": "7/3", "delta": delta, "ledger": ledger, "records_hint": hint}
        ask = mdp.k_median if k == 2 else mdp.k_means
        result = ask(BOX, demand, k, **asked, method=method, time_limit=1e-3)
        assert result.centers.shape == np.unique(result.centers, axis=0).shape == (k, 2)
        assert np.array_equal(BOX.clip(result.centers), result.centers)
        assert ledger.spent == Fraction(7, 3) >= result.receipt.epsilon
        assert result.receipt.delta == ledger.spent_delta
        if ledger.spent_delta:
            assert float(result.receipt.epsilon) > 2.3
        else:
            assert sum(m.epsilon for m in result.receipt.mechanisms) == Fraction(7, 3)


def check_every_k(method):
    """Distinct centers, also of nobody, where points lie at one place, and beside opened ones."""
    metric = mdp.PrecomputedMetric([[0.0, 0, 3, 4], [0, 0.0, 3, 4], [3, 3, 0.0, 1], [4, 4, 1, 0.0]])
    for ids in ([], [0, 1, 3]):
        demand = mdp.PrivateDemand(metric, ids)
        for k in (1, 2, 3, 4):
            for ask in (mdp.k_median, mdp.k_means):
                assert len(set(ask(metric, demand, k, epsilon=1, method=method).centers)) == k
        where = {"candidates": [1, 2], "opened": [3]}
        found = mdp.k_median(metric, demand, 3, epsilon=1, method=method, **where).centers
        assert found[0] == 3 and set(found) == {1, 2, 3}
    one = mdp.PrecomputedMetric([[0.0]])
    alone = mdp.PrivateDemand(one, [0])
    assert mdp.k_median(one, alone, 1, epsilon=1, method=method).centers == [0]
