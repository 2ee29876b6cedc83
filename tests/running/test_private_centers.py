"""Private medians, means and Lloyd steps: they find what is there, spend what is charged, ask by
released values alone.
"""

from fractions import Fraction
from functools import partial

import numpy as np
import pytest

import metricdp as mdp
from metricdp.audit.patch import patched
from metricdp.kernels.points import projected, squares_from
from metricdp.methods.box.descent import N_SHELLS, RATIO, SMOOTHED, ShellCounts, lloyd_step
from metricdp.partitions.box.cells import Shells, VoronoiCells
from metricdp.releases import Mechanism, Receipt, Release
from metricdp.running import private_centers, runner
from tests import naive, refuses

BOX = mdp.EuclideanSpace([0, 0], [100, 100])


def cloud(n=4000, d=2, outliers=0.0, seed=0):
    rng = np.random.default_rng(seed)
    points = rng.normal(50 + 20 * rng.uniform(-1, 1, d), 0.5, (n, d))
    far = rng.random(n) < outliers
    points[far] = rng.uniform(0, 100, (int(far.sum()), d))
    return points


def box(d):
    return mdp.EuclideanSpace([0] * d, [100] * d)


@pytest.mark.parametrize(("d", "delta"), [(1, 0), (2, 0), (10, 1e-6)])
def test_the_median_is_found_to_a_fraction_of_the_effective_diameter(d, delta):
    assert check_median(mdp.private_median, d, delta).method == "private-median"


def check_median(ask, d, delta):
    points, space = cloud(4000, d, outliers=0.1), box(d)
    result = ask(space, mdp.PrivateDemand(space, points), epsilon=2, delta=delta)
    assert result.centers.shape == (1, d) and result.k == 1
    assert np.linalg.norm(result.centers[0] - np.median(points, axis=0)) < 0.1 * np.sqrt(d)
    return result


@pytest.mark.parametrize("options", [{}, {"radius": 5.0, "center": [52.0, 48.0]}, {"steps": 6}])
def test_the_mean(options):
    points = 50 + np.random.default_rng(1).normal(0, 1, (5000, 2))
    result = mdp.private_mean(BOX, mdp.PrivateDemand(BOX, points), epsilon=2, **options)
    assert np.abs(result.centers[0] - points.mean(axis=0)).max() < 0.1


def test_an_outlier_moves_a_mean_by_its_share_of_the_box_and_a_median_hardly():
    demand = mdp.PrivateDemand(BOX, np.r_[np.full((4000, 2), 20.0), np.full((400, 2), 90.0)])
    assert np.abs(mdp.private_mean(BOX, demand, epsilon=20).centers - (20 + 70 / 11)).max() < 1
    assert np.abs(mdp.private_median(BOX, demand, epsilon=20).centers - 20).max() < 0.2


@pytest.mark.parametrize("power", [1, 2])
def test_lloyd_steps_from_public_centers(power):
    rng = np.random.default_rng(3)
    middle = np.array([[20.0, 20], [80, 30], [50, 80]])
    demand = mdp.PrivateDemand(BOX, middle[rng.integers(0, 3, 9000)] + rng.normal(0, 1, (9000, 2)))
    found = mdp.private_lloyd(BOX, demand, middle + 6, epsilon=3, power=power).centers
    assert np.abs(found - middle).max() < 0.5


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("delta", [0, "1/1000000"])
@pytest.mark.parametrize("points", [np.empty((0, 2)), cloud(300)])
def test_all_that_is_charged_is_spent_and_no_more(relation, delta, points):
    demand, centers = mdp.PrivateDemand(BOX, points), [[1, 1], [1, 1], [9, 9]]
    for ask in (mdp.private_median, mdp.private_mean, partial(mdp.private_lloyd, centers=centers)):
        check_all_is_spent(partial(ask, BOX, demand), relation, delta)


def check_all_is_spent(call, relation, delta):
    ledger = mdp.Ledger("7/3", delta, neighboring=relation)
    result = call(ledger=ledger, epsilon="7/3", delta=delta)
    assert result.receipt.epsilon == ledger.spent == Fraction(7, 3)
    assert result.receipt.delta == ledger.spent_delta == Fraction(delta)
    assert len(np.unique(result.centers, axis=0)) == result.k
    assert ((result.centers >= 0) & (result.centers <= 100)).all()
    if not delta:
        assert sum(m.epsilon for m in result.receipt.mechanisms) == Fraction(7, 3)


def test_users_with_several_records():
    demand = mdp.PrivateDemand(BOX, cloud(6000), user=np.arange(6000) // 3, max_contributions=2)
    receipt = mdp.private_mean(BOX, demand, epsilon=2).receipt
    assert {m.sensitivity % 2 for m in receipt.mechanisms[::2]} == {0} and receipt.unit == "user"


def scripted(asked):
    """A gate that answers by public coins, whoever is asked, and keeps what each record of a public
    net would be counted as.
    """
    net = BOX.net(500).points

    def answer(demand, query, price, budget):
        rng = np.random.default_rng(len(asked))
        histogram = getattr(query, "histogram", query)
        size = histogram.n_parts * (2 if histogram is not query else 1)
        radii = getattr(query, "radii", np.zeros(0)).tolist()
        asked.append((histogram.parts(net).tolist(), radii, price))
        budget.draw(price)
        mechanism = Mechanism("discrete Laplace", str(query), 1, float(1 / price), price)
        receipt = Receipt.of([mechanism], budget.neighboring, demand.unit)
        return Release(rng.integers(0, 400, size), query, receipt)

    return answer


def test_what_is_asked_depends_on_released_values_alone():
    check_what_is_asked(mdp.private_median)


def check_what_is_asked(ask):
    seen = []
    for points in (np.empty((0, 2)), cloud(200), np.full((300, 2), 99.0)):
        asked = []
        with patched(runner, "measure", scripted(asked)):
            result = ask(BOX, mdp.PrivateDemand(BOX, points), epsilon=1)
        seen.append((asked, result.centers.tolist()))
    assert len(seen[0][0]) >= 12 and seen[0] == seen[1] == seen[2]


def test_shells_are_what_they_say():
    rng = np.random.default_rng(5)
    centers, points = rng.uniform(0, 100, (3, 2)), rng.uniform(0, 100, (400, 2))
    shells = Shells(VoronoiCells(BOX, centers), centers, N_SHELLS, RATIO)
    outer = BOX.diameter_bound() * RATIO ** np.arange(N_SHELLS)
    for x, part in zip(points, shells.encode(points)):
        away = np.linalg.norm(centers - x, axis=1)
        label, shell = divmod(int(part), N_SHELLS)
        assert label == away.argmin() and away[label] <= outer[shell]
        assert shell == N_SHELLS - 1 or away[label] > outer[shell + 1]


def test_a_record_is_alike_in_any_company():
    rng = np.random.default_rng(6)
    points, rows = rng.normal(size=(257, 37)), rng.normal(size=(11, 37))
    middle = rng.normal(size=37)
    label, centers = rng.integers(0, 4, 257), rng.normal(size=(4, 37))
    images, squares = projected(points, middle, rows), squares_from(points, label, centers)
    for i in (0, 1, 100, 256):
        alone = slice(i, i + 1)
        assert np.array_equal(projected(points[alone], middle, rows), images[alone])
        assert np.array_equal(squares_from(points[alone], label[alone], centers), squares[alone])
    assert images == pytest.approx((points - middle) @ rows.T)
    assert squares == pytest.approx(((points - centers[label]) ** 2).sum(axis=1))


def test_quantile_reach_and_curvature_of_exact_counts():
    outer = 64.0 * RATIO ** np.arange(N_SHELLS)
    counts = np.zeros((2, N_SHELLS))
    counts[0, [4, 6, 8]] = 10, 500, 500  # at most 16, 8 and 4 away
    counts[1, 10] = 1000
    reported = ShellCounts(counts, 1e-9, outer)
    assert reported.weight.tolist() == [1010, 1000]
    assert reported.quantile(0.3).tolist() == pytest.approx([4, 2])
    assert reported.quantile(0.9).tolist() == pytest.approx([8, 2])
    assert reported.reach(0).tolist() == pytest.approx([16, 2])
    assert reported.reach(10).tolist() == pytest.approx([8, 2])
    ring = np.array([16.0, 8.0]) * (1 + RATIO) / 2
    found = reported.curvature(reported.quantile(0.3), 2)[0]
    assert found == pytest.approx(500 + 0.5 * 4 * (10 / ring[0] + 500 / ring[1]))
    nothing = ShellCounts(np.zeros((1, N_SHELLS)), 1.0, outer)
    assert nothing.weight.tolist() == [0] and nothing.quantile(0.5).tolist() == [64]
    assert nothing.reach(1).tolist() == [64]


def test_a_step_is_the_smoothed_gradient_over_the_curvature():
    points = cloud(500, seed=2)
    center = np.array([[40.0, 60.0]])
    demand = mdp.PrivateDemand(BOX, points)
    run, cells = runner.Run(demand, mdp.Ledger(1000).charge(1000)), VoronoiCells(BOX, center)
    found = run.drive(lloyd_step(run.terms, cells, center, Fraction(1), power=1))
    reported = grant_free_distances(points, center)
    radius = reported.quantile(SMOOTHED)
    pull = np.array(naive.smoothed_gradient(points.tolist(), center[0].tolist(), radius[0]))
    step = pull * radius[0] / reported.curvature(radius, 2)[0]
    step *= min(1.0, reported.quantile(1.0)[0] / np.linalg.norm(step))
    assert found[0] - center[0] == pytest.approx(step, rel=0.02)


def grant_free_distances(points, center):
    shells = Shells(VoronoiCells(BOX, center), center, N_SHELLS, RATIO)
    counts = np.bincount(shells.encode(points), minlength=N_SHELLS).astype(float)[None]
    return ShellCounts(counts, 1e-9, BOX.diameter_bound() * RATIO ** np.arange(N_SHELLS))


@pytest.mark.parametrize("delta", [0, 1e-9])
def test_too_little_for_the_noise_is_refused_before_a_charge(delta):
    demand = mdp.PrivateDemand(BOX, [[1, 1]], user=["u"], max_contributions=10**8)
    ledger = mdp.Ledger(1, 0.1)
    refuses("", mdp.private_mean, BOX, demand, epsilon=1e-9, delta=delta, ledger=ledger)
    assert ledger.spent == 0


def test_each_call_has_its_steps_its_power_and_its_start(monkeypatch):
    space, seen = mdp.EuclideanSpace([2, 10], [4, 30]), []

    def steps(terms, space, centers, shares, power, radius):
        seen.append((centers.tolist(), [share / sum(shares) for share in shares], power, radius))
        return centers
        yield

    monkeypatch.setattr(private_centers, "lloyd_steps", steps)
    demand, level = mdp.PrivateDemand(space, [[3, 12]]), [Fraction(1, 4)] * 4
    mdp.private_mean(space, demand, epsilon=1)
    mdp.private_mean(space, demand, epsilon=1, radius=3, center=[9, 11])
    mdp.private_lloyd(space, demand, [[2.5, 11], [3, 9]], epsilon=1, power=1)
    mdp.private_lloyd(space, demand, [3, 9], epsilon=1, steps=100, radius=2)
    assert [(at, power, radius) for at, _, power, radius in seen] == [
        ([[3, 20]], 2, None),
        ([[4, 11]], 2, 3),
        ([[2.5, 11], [3, 10]], 1, None),
        ([[3, 10]], 2, 2),
    ]
    assert [len(shares) for _, shares, _, _ in seen] == [4, 1, 4, private_centers.MOST_STEPS]
    assert seen[0][1] == [Fraction(n, 15) for n in (1, 2, 4, 8)] and seen[2][1] == level
    for steps in (0, private_centers.MOST_STEPS + 1):
        refuses("steps", mdp.private_mean, space, demand, epsilon=1, steps=steps)
