"""The default method in a box of few dimensions: what it finds, what it costs, and what it does
where there is next to nothing.
"""

from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from metricdp.kernels.points import nearest_centers
from metricdp.methods.box.halved import MOST_ROUNDS, number_of_cells
from metricdp.partitions.box.halving import Halves
from metricdp.solvers.lloyd import lloyd
from tests import refuses


def scene(d, n=20_000, k=4, seed=0, spread=0.04):
    """Separate clusters of unequal size in a box whose sides differ."""
    rng = np.random.default_rng(seed)
    lower, upper = -np.ones(d), 1 + np.arange(d, dtype=float)
    middles = np.array([lower + (upper - lower) * (i + 0.5) / k for i in range(k)])
    middles[:, 1:] = middles[rng.permutation(k), 1:]
    p = np.arange(1, k + 1) / (k * (k + 1) / 2)
    points = middles[rng.choice(k, n, p=p)] + rng.normal(0, spread, (n, d))
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
    # cells are wide in three dimensions
    assert cost(points, again.centers, power) < (1.25 if d < 3 else 1.8) * best
    assert again.receipt == found.release.receipt


def test_rounds_find_what_one_histogram_cannot_see():
    space = mdp.EuclideanSpace([0, 0], [100, 100])
    points = np.random.default_rng(1).normal([40.13, 7.71], 0.01, (50_000, 2))
    found = mdp.k_means(space, mdp.PrivateDemand(space, points), 1, epsilon=1)
    _, first, *_, last = found.release.histograms
    assert (first.values > 300).sum() <= 4 and last.values.max() < 0.2 * first.values.max()
    # 1e-4 as a rule; noise that stands out far away, in one run of fifty, moves it by .02
    assert np.linalg.norm(found.centers[0] - [40.13, 7.71]) < 0.1


@pytest.mark.parametrize("d", [1, 3])
def test_a_loose_box_costs_next_to_nothing(d):
    space, points, _ = scene(d)
    middle, half = (space.lower + space.upper) / 2, (space.upper - space.lower) / 2
    best = cost(points, lloyd(points, np.ones(len(points)), 4), 2)
    loose = mdp.EuclideanSpace(middle - 50 * half, middle + 150 * half)
    demand = mdp.PrivateDemand(loose, points)
    found = [mdp.k_means(loose, demand, 4, epsilon=1) for _ in range(9)]
    # noise far away holds a center in less than one run of fifty: in five of nine by 4e-7
    assert np.median([cost(points, one.centers, 2) for one in found]) < 1.02 * best
    cells = found[0].release.partition
    inside = (np.abs(cells.centers[cells.leaves] - middle) < half).all(axis=1)
    assert inside.mean() > 0.2  # of cells, in 100^-d of the box


def test_small_clusters_beside_tight_large_ones():
    rng = np.random.default_rng(3)
    middles = np.array([[18, 38], [21, 35], [15, 35], [49, 35], [44, 30], [54, 40]]) / 100
    kinds = [(c, 0.003 if n > 999 else 0.01, n) for c, n in zip(middles, [4000] * 3 + [200] * 3)]
    points = np.concatenate([rng.normal(c, spread, (n, 2)) for c, spread, n in kinds])
    space = mdp.EuclideanSpace([0, 0], [1, 1])
    demand = mdp.PrivateDemand(space, points)
    found = [mdp.k_means(space, demand, 6, epsilon=1).centers for _ in range(7)]
    # noise far away holds a center in less than one run of eighty: in four of seven by 9e-7
    costs = [cost(points, centers, 2) for centers in found]
    assert np.median(costs) < 1.1 * cost(points, middles, 2)


@pytest.mark.parametrize("neighboring", ["add-remove", "replace-one"])
@pytest.mark.parametrize("hint", [None, 10_000])
@pytest.mark.parametrize("m", [1, 3])
def test_what_is_paid(neighboring, hint, m):
    space, points, _ = scene(2, n=10_000)
    users = np.arange(10_000) // 2 if m > 1 else None
    demand = mdp.PrivateDemand(space, points, user=users, max_contributions=m if m > 1 else None)
    ledger = mdp.Ledger("1/2", neighboring=neighboring)
    found = mdp.k_means(space, demand, 4, epsilon="1/2", ledger=ledger, records_hint=hint)
    receipt, twice = found.receipt, 1 if neighboring == "add-remove" else 2
    assert (receipt.epsilon, receipt.delta, ledger.left) == (Fraction(1, 2), 0, 0)
    assert receipt.unit == ("user" if m > 1 else "record")
    exact = not hint and neighboring == "replace-one" and m == 1  # the number of records is public
    bought = 0 if hint or exact else Fraction(1, 80)
    counts = 0 if hint is not None else 1
    *rounds, last = receipt.mechanisms[counts:]
    assert sum(count.epsilon for count in receipt.mechanisms[:counts]) == bought
    rest = Fraction(1, 2) - bought
    assert 1 <= len(rounds) <= MOST_ROUNDS and all(each.epsilon == rest / 20 for each in rounds)
    assert last.epsilon == rest * (20 - len(rounds)) / 20
    assert all(each.sensitivity == m * twice for each in (*rounds, last))
    assert found.release.receipt == receipt
    release = mdp.release(space, demand, epsilon="1/2", records_hint=hint)
    assert release.receipt.epsilon == Fraction(1, 2)
    assert release.k_means(3).receipt == release.receipt


@pytest.mark.parametrize("epsilon", ["0.01", "0.2"])
def test_few_records_are_counted_in_halves(epsilon):
    space, points, best = scene(2, n=2000)
    demand = mdp.PrivateDemand(space, points)
    found = [mdp.k_means(space, demand, 4, epsilon=epsilon, records_hint=2000) for _ in range(7)]
    for result in found:
        steps = result.receipt.mechanisms
        assert sum(step.epsilon for step in steps) == result.receipt.epsilon == Fraction(epsilon)
        assert isinstance(result.release.partition, Halves)
        assert (len(steps) == 1) == (epsilon == "0.01")
    if epsilon == "0.2":  # one run of a hundred costs twice as much: four of seven by 4e-7
        assert np.median([cost(points, r.centers, 2) for r in found]) < 2 * cost(points, best, 2)


def test_a_flat_box_and_records_at_one_place():
    space = mdp.EuclideanSpace([0, 0, 0], [1, 1e-6, 1e6])
    found = mdp.k_means(space, mdp.PrivateDemand(space, [[0.2, 0, 3e5]] * 5000), 2, epsilon=1)
    assert np.abs(found.centers[:, 2] - 3e5).min() < 1e4
    sides = found.release.partition.sides[found.release.partition.leaves]
    assert (sides[:, 1] == 1e-6).all() and sides[:, 2].min() < 1e4


def test_a_release_in_a_box_takes_no_candidates_and_checks_k():
    space, points, _ = scene(2, n=500)
    release = mdp.release(space, mdp.PrivateDemand(space, points), epsilon=1)
    for wrong in ({"candidates": [0]}, {"opened": [0]}):
        refuses("finite universe", release.k_means, 2, **wrong)
    for k in (0, 5000, 1.5):
        refuses("k must be", release.k_means, k)
    coreset = release.coreset()
    assert (coreset.weights > 0).all() and len(coreset.points) == len(coreset.weights)
    # the count's noise of scale 20 moves it by three quarters of its own: below 1e-8
    assert abs(coreset.weights.sum() - 500) < 300


def test_the_number_of_cells_follows_public_numbers():
    for n, cells in ((-5, 16), (0, 16), (100, 190), (10_000, 1900), (1e12, 6144)):
        assert number_of_cells(n, 1.0) == cells
    assert number_of_cells(10_000, 4.0) == 950
    assert number_of_cells(10_000, 1.0, k=100) == 4000 == number_of_cells(10_000, 1.0, k=400)
    assert number_of_cells(10_000, 1.0, 0.5, k=8) == 950
    assert number_of_cells(8001, 1.0, dimension=1.0) == 380
