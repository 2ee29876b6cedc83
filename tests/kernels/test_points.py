"""Nearest centers and clipped sums, against slow reference implementations."""

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

import metricdp as mdp
from metricdp.kernels.points import nearest_centers, relative_sums
from tests import naive, refuses, tries

NUMBERS = st.one_of(st.floats(-4, 4), st.integers(-3, 3).map(float))


SETS = st.integers(1, 4).flatmap(
    lambda d: st.tuples(
        st.integers(0, 12).flatmap(lambda n: arrays(float, (n, d), elements=NUMBERS)),
        st.integers(1, 5).flatmap(lambda k: arrays(float, (k, d), elements=NUMBERS)),
    )
)


@given(SETS)
def test_nearest_centers(sets):
    points, centers = sets
    label, square = nearest_centers(points, centers)
    assert list(zip(label.tolist(), square.tolist())) == naive.nearest_centers(points, centers)


@pytest.mark.parametrize("scale", [1e-155, 1e-9, 1.0, 1e9, 1e150])
@pytest.mark.parametrize("offset", [0.0, 1.0, 1e7])
@pytest.mark.parametrize(("d", "k"), [(1, 3), (2, 40), (7, 9)])
def test_nearest_centers_where_single_precision_cannot_tell(d, k, offset, scale):
    rng = np.random.default_rng([d, k])
    centers = rng.integers(-2, 3, (k, d)).astype(float)
    centers[1] = centers[0] + 1e-9
    # as near to one as to the other
    between = (centers[rng.integers(k, size=100)] + centers[rng.integers(k, size=100)]) / 2
    near, away = rng.normal(size=(100, d)), 10.0 ** rng.integers(0, 20, (60, 1))
    points = np.concatenate([near, between, centers, away * rng.normal(size=(60, d))])
    points, centers = (points + offset) * scale, (centers + offset) * scale
    label, square = nearest_centers(points, centers)
    with np.errstate(over="ignore", under="ignore"):
        assert list(zip(label.tolist(), square.tolist())) == naive.nearest_centers(points, centers)


@tries(40, SETS, st.sampled_from([0.01, 0.3, 2.0]), st.integers(1, 20))
def test_sums_of_clipped_steps(sets, step, bits):
    points, centers = sets
    label, _ = nearest_centers(points, centers)
    steps = step * (1 + np.arange(len(centers)))
    found = relative_sums(points, label, centers, steps, 2**bits)
    assert found.tolist() == naive.relative_sums(points, label, centers, steps, 2**bits).tolist()
    alone = ((points[i : i + 1], label[i : i + 1]) for i in range(len(points)))
    each = [relative_sums(*one, centers, steps, 2**bits) for one in alone]
    # a record counts the same in any company …
    assert (sum(each, np.zeros_like(found)) == found).all()
    assert all((one**2).sum() <= 4**bits for one in each)  # … and for no more than the bound


@pytest.mark.parametrize("d", [1, 2, 3])
def test_clipping_is_that_of_numpy(d):
    rng = np.random.default_rng(2)
    space = mdp.EuclideanSpace(-rng.random(d), rng.random(d) + 0.5)
    beyond = np.full((2, d), [[1e300], [-1e300]])
    points = np.concatenate([rng.normal(size=(3000, d)), [space.lower, space.upper], beyond])
    inside = np.clip(points, space.lower, space.upper)
    np.testing.assert_array_equal(space.clip(points), inside)
    np.testing.assert_array_equal(space.clip(np.asfortranarray(points)), inside)
    for bad in (np.nan, np.inf, -np.inf):
        points[7, d - 1] = bad
        refuses("finite", space.clip, points)
