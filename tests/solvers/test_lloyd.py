"""Lloyd's and Weiszfeld's steps on public and on signed weights."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given

from metricdp.kernels.points import nearest_centers
from metricdp.solvers.lloyd import converged, distinct, lloyd, seeding, swapped


def mixture(seed=0):
    rng = np.random.default_rng(seed)
    middles = np.array([[0.0, 0.0], [5.0, 5.0], [0.0, 6.0], [9.0, 1.0]])
    return middles, np.concatenate([middle + rng.normal(0, 0.3, (50, 2)) for middle in middles])


@pytest.mark.parametrize("power", [1, 2])
def test_lloyd_finds_clusters_and_weighs_points(power):
    middles, points = mixture()
    weights = np.ones(len(points))
    found = lloyd(points, weights, 4, power=power)
    assert sorted(nearest_centers(middles, found)[0].tolist()) == [0, 1, 2, 3]
    if power == 2:
        means = points.reshape(4, 50, 2).mean(axis=1)
        order, expected = np.lexsort(found.T), means[np.lexsort(means.T)]
        np.testing.assert_allclose(found[order], expected, atol=1e-3)
    repeated = lloyd(points, np.where(np.arange(200) < 50, 1.0, 0.0), 1, power=power)
    assert np.linalg.norm(repeated - middles[0]) < 0.3
    expected = lloyd(points, weights, 4, power=power, seed=5).tolist()
    assert lloyd(points, weights, 4, power=power, seed=5).tolist() == expected


@given(st.integers(0, 40), st.integers(1, 6), st.sampled_from([1, 2]))
def test_steps_and_swaps_never_make_positive_weights_cost_more(seed, k, power):
    rng = np.random.default_rng(seed)
    points, weights = rng.normal(size=(30, 3)), rng.random(30)
    start = seeding(points, weights, k, rng, power)
    assert len(start) == k and all((points == center).all(axis=1).any() for center in start)

    def cost(centers):
        return weights @ nearest_centers(points, centers)[1] ** (power / 2)

    assert cost(converged(points, weights, start, power=power)) <= cost(start) * (1 + 1e-4)
    assert cost(swapped(points, weights, start, rng, power=power)) <= cost(start) * (1 + 1e-9)


def test_medians_leave_points_they_start_on_and_stay_on_those_that_are_the_median():
    rng = np.random.default_rng(4)
    for heavy in (0.0, 3.0, 100.0):
        points = np.concatenate([rng.normal(size=(40, 2)), [[0.5, 0.5]]])
        weights = np.concatenate([rng.random(40), [heavy]])

        def cost(center, points=points, weights=weights):
            return weights @ np.linalg.norm(points - center, axis=1)

        from_points = [converged(points, weights, points[i : i + 1], power=1)[0] for i in range(41)]
        starts = (rng.normal(size=(1, 2)) for _ in range(5))
        others = [converged(points, weights, start, power=1)[0] for start in starts]
        best = min(cost(p) for p in [*from_points, *others])
        assert max(cost(p) for p in from_points) <= best * (1 + 1e-3)
        if heavy == 100:
            assert all(np.allclose(p, [0.5, 0.5], atol=1e-3) for p in from_points)
    line = np.array([[0.0], [1.0], [10.0]])
    assert abs(converged(line, np.ones(3), line[:1], power=1)[0, 0] - 1) < 1e-2
    alone = converged(np.zeros((3, 2)), np.ones(3), np.zeros((1, 2)), power=1)
    assert alone.tolist() == [[0.0, 0.0]]


def test_steps_on_signed_weights_stay_among_the_points():
    rng = np.random.default_rng(2)
    points, weights = rng.random((40, 2)), rng.normal(size=40)
    for power in (1, 2):
        found = converged(points, weights, points[:5], power=power)
        assert (found >= points.min(axis=0)).all() and (found <= points.max(axis=0)).all()
    assert converged(points, -np.ones(40), points[:5]).tolist() == points[:5].tolist()


def test_more_centers_than_points_of_weight():
    points = np.array([[0.0, 0.0], [1.0, 1.0], [2.0, 0.0]])
    for weights in (np.zeros(3), np.array([0.0, 5.0, 0.0])):
        found = distinct(lloyd(points, weights, 3), np.random.default_rng(0).random((6, 2)))
        assert len(np.unique(found, axis=0)) == 3
    same = np.zeros((3, 2))
    expected = [[0, 0], [0, 1], [1, 0]]
    assert distinct(same, np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]])).tolist() == expected
    scarce = distinct(np.zeros((4, 1)), np.array([[0.0], [1.0], [1.0]]))  # a box of two numbers
    assert sorted(scarce.ravel().tolist()) == [0, 0, 0, 1]
    assert distinct(same, same).tolist() == same.tolist()


@pytest.mark.parametrize("power", [1, 2])
def test_swaps_mend_centers_that_no_step_moves(power):
    """Two centers in one cluster and none in another: Lloyd's steps stay there."""
    middles, points = mixture()
    weights = np.ones(len(points))
    start = np.concatenate([middles[:3], middles[:1] + 0.1])
    stuck = converged(points, weights, start, power=power)
    found = swapped(points, weights, stuck, np.random.default_rng(1), power=power)
    assert sorted(nearest_centers(middles, stuck)[0].tolist()) != [0, 1, 2, 3]
    assert sorted(nearest_centers(middles, found)[0].tolist()) == [0, 1, 2, 3]
    nothing = np.zeros(len(points))
    assert swapped(points, nothing, found, np.random.default_rng(1), power=power) is found
