"""The default method in a box of few dimensions: what it finds, what it costs, and what it does
where there is next to nothing.
"""

from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from metricdp.kernels.points import nearest_centers
from metricdp.methods.box import focus
from metricdp.methods.box.default import number_of_cells
from metricdp.partitions.box.halves import Halves
from metricdp.solvers.lloyd import lloyd


def scene(d, n=20_000, k=4, seed=0, spread=0.04):
    """Separate clusters of unequal size in a box whose sides differ."""
    rng = np.random.default_rng(seed)
    lower, upper = -np.ones(d), 1 + np.arange(d, dtype=float)
    middles = np.array([lower + (upper - lower) * (i + 0.5) / k for i in range(k)])
    middles[:, 1:] = middles[rng.permutation(k), 1:]
    points = middles[rng.choice(k, n, p=np.arange(1, k + 1) / (k * (k + 1) / 2))] + rng.normal(
        0, spread, (n, d)
    )
    space = mdp.EuclideanSpace(lower, upper)
    return space, space.clip(points), middles


def cost(points, centers, power):
    return (nearest_centers(points, np.ascontiguousarray(centers))[1] ** (power / 2)).sum()


@pytest.mark.extended
@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_costs_are_near_those_of_public_records(d, power):
    space, points, _ = scene(d)
    best = cost(points, lloyd(points, np.ones(len(points)), 4, power=power), power)
    ask = (mdp.k_median, mdp.k_means)[power - 1]
    found = ask(space, mdp.PrivateDemand(space, points), 4, epsilon=1)
    assert found.centers.shape == (4, d) and found.method == "partition"
    assert cost(points, found.centers, power) < 1.05 * best
    again = (found.release.k_median, found.release.k_means)[power - 1](4)
    assert (
        cost(points, again.centers, power) < (1.25 if d < 3 else 1.8) * best
    )  # cells are wide in three dimensions
    assert again.receipt == found.release.receipt


def test_the_step_gains_what_the_grid_cannot_see(monkeypatch):
    monkeypatch.setattr(focus, "PAYS", np.inf)
    space = mdp.EuclideanSpace([0, 0], [100, 100])
    points = np.random.default_rng(1).normal([40.13, 7.71], 0.01, (50_000, 2))  # all in one cell
    found = mdp.k_means(space, mdp.PrivateDemand(space, points), 1, epsilon=1, records_hint=2000)
    release = found.release.k_means(1)
    off, before = (np.linalg.norm(r.centers[0] - [40.13, 7.71]) for r in (found, release))
    assert off < 0.1 * before


@pytest.mark.parametrize("d", [1, 2, 3])
def test_a_loose_box_costs_next_to_nothing(d):
    space, points, _ = scene(d)
    middle, half = (space.lower + space.upper) / 2, (space.upper - space.lower) / 2
    best = cost(points, lloyd(points, np.ones(len(points)), 4), 2)
    loose = mdp.EuclideanSpace(middle - 50 * half, middle + 150 * half)
    found = mdp.k_means(loose, mdp.PrivateDemand(loose, points), 4, epsilon=1)
    assert cost(points, found.centers, 2) < 1.02 * best
    inner = list(found.release.partition.grids())[-1].universe
    assert ((inner.upper - inner.lower) < 8 * half).all()
    assert (
        cost(points, found.release.k_means(4).centers, 2) < (1.5 if d < 3 else 8) * best
    )  # of cells that are wider than clusters


def test_small_clusters_beside_tight_large_ones():
    rng = np.random.default_rng(3)
    middles, sizes = (
        np.array([[18, 38], [21, 35], [15, 35], [49, 35], [44, 30], [54, 40]]) / 100,
        [4000] * 3 + [200] * 3,
    )
    points = np.concatenate(
        [rng.normal(c, 0.003 if n > 999 else 0.01, (n, 2)) for c, n in zip(middles, sizes)]
    )
    space = mdp.EuclideanSpace([0, 0], [1, 1])
    found = mdp.k_means(space, mdp.PrivateDemand(space, points), 6, epsilon=1)
    assert cost(points, found.centers, 2) < 1.1 * cost(points, middles, 2)


@pytest.mark.parametrize("neighboring", ["add-remove", "replace-one"])
@pytest.mark.parametrize("hint", [None, 40_000])
@pytest.mark.parametrize("m", [1, 3])
def test_what_is_paid(neighboring, hint, m):
    space, points, _ = scene(2, n=40_000)
    users = np.arange(40_000) // 2 if m > 1 else None
    demand = mdp.PrivateDemand(space, points, user=users, max_contributions=m if m > 1 else None)
    ledger = mdp.Ledger("1/2", neighboring=neighboring)
    found = mdp.k_means(space, demand, 4, epsilon="1/2", ledger=ledger, records_hint=hint)
    receipt, twice = found.receipt, 1 if neighboring == "add-remove" else 2
    assert (receipt.epsilon, receipt.delta, ledger.left, receipt.unit) == (
        Fraction(1, 2),
        0,
        0,
        "user" if m > 1 else "record",
    )
    *before, histogram, sums = receipt.mechanisms
    count, surveys = (before[:1], before[1:]) if hint is None else ([], before)
    exact = not hint and neighboring == "replace-one" and m == 1  # the number of records is public
    spent = Fraction(0) if hint or exact else Fraction(17, 20) / 80
    assert sum(c.epsilon for c in count) == spent
    assert 1 <= len(surveys) <= focus.MOST_SURVEYS
    assert all(survey.epsilon == Fraction(17, 20) / 50 for survey in surveys)
    assert surveys[0].sensitivity == m * twice
    assert all(survey.sensitivity == 2 * m * twice for survey in surveys[1:])
    rest = Fraction(17, 40) - spent - len(surveys) * Fraction(17, 20) / 50
    assert (histogram.epsilon, histogram.sensitivity) == (rest, m * twice)
    assert (sums.epsilon, sums.sensitivity) == (Fraction(3, 40), int(m * twice * 4096 * 2**0.5))
    assert found.release.receipt.epsilon == Fraction(17, 40)
    release = mdp.release(space, demand, epsilon="1/2", records_hint=hint)
    assert release.receipt.epsilon == Fraction(1, 2)
    assert release.k_means(3).receipt == release.receipt


@pytest.mark.parametrize("epsilon", ["0.01", "0.2"])
def test_few_records_are_counted_in_halves(epsilon):
    space, points, best = scene(2, n=2000)
    demand = mdp.PrivateDemand(space, points)
    found = [mdp.k_means(space, demand, 4, epsilon=epsilon, records_hint=2000) for _ in range(4)]
    for result in found:
        steps = result.receipt.mechanisms
        assert sum(step.epsilon for step in steps) == result.receipt.epsilon == Fraction(epsilon)
        assert isinstance(result.release.partition, Halves)
        assert (len(steps) == 1) == (epsilon == "0.01")
    if epsilon == "0.2":
        assert np.median([cost(points, r.centers, 2) for r in found]) < 2 * cost(points, best, 2)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("n", [0, 1, 300])
def test_any_number_of_distinct_centers_in_the_box(d, n):
    space, points, _ = scene(d, n=300)
    demand = mdp.PrivateDemand(space, points[:n])
    for ask in (mdp.k_median, mdp.k_means):
        for k in (1, 60):
            result = ask(space, demand, k, epsilon=0.3)
            for found in (
                result,
                ask(space, demand, k, epsilon=1, time_limit=1e-6),
                result.release.k_means(k),
            ):
                assert found.centers.shape == (k, d) and len(np.unique(found.centers, axis=0)) == k
                assert (found.centers >= space.lower).all() and (found.centers <= space.upper).all()


def test_a_flat_box_and_records_at_one_place():
    space = mdp.EuclideanSpace([0, 0, 0], [1, 1e-6, 1e6])
    demand = mdp.PrivateDemand(space, [[0.2, 0, 3e5]] * 5000)
    found = mdp.k_means(space, demand, 2, epsilon=1)
    assert np.abs(found.centers[:, 2] - 3e5).min() < 1e4
    assert found.release.partition.shape[:2] == (1, 1)


def test_a_release_in_a_box_takes_no_candidates_and_checks_k():
    space, points, _ = scene(2, n=500)
    release = mdp.release(space, mdp.PrivateDemand(space, points), epsilon=1)
    for wrong in ({"candidates": [0]}, {"opened": [0]}):
        with pytest.raises(mdp.InputError, match="finite universe"):
            release.k_means(2, **wrong)
    for k in (0, 5000, 1.5):
        with pytest.raises(mdp.InputError, match="k must be"):
            release.k_means(k)
    coreset = release.coreset()
    assert (coreset.weights > 0).all() and len(coreset.points) == len(coreset.weights)
    assert abs(coreset.weights.sum() - 500) < 200


def test_the_number_of_cells_follows_public_numbers():
    assert [number_of_cells(n, 1.0, 2) for n in (-5, 0, 100, 10_000, 1e12)] == [
        16,
        16,
        190,
        1900,
        131072,
    ]
    assert number_of_cells(10_000, 4.0, 3) == 950 and number_of_cells(10_000, 1.0, 1) == 217
