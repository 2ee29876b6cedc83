"""The method quadtree: budgets add up over the rounds that are made, cells open by released counts
alone.
"""

from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import metricdp as mdp
from metricdp.accounting import Cost
from metricdp.audit.patch import patched
from metricdp.methods.box.cell_counts import CellCounts
from metricdp.methods.box.quadtree import OPENINGS
from metricdp.metrics.vectors import EuclideanMetric
from metricdp.partitions.box.quadtree import ShiftedQuadtree
from metricdp.privacy import OpeningQuery
from metricdp.releases import Mechanism, Receipt, Release
from metricdp.running import runner
from tests import naive_centers

Quadtree = mdp.methods.Quadtree
BOX = mdp.EuclideanSpace([0, 0], [10, 10])


def blobs(n=3000, d=2, seed=0):
    """Three tight groups of points in the box."""
    rng = np.random.default_rng(seed)
    middle = np.array([[2.0, 2, 3, 4, 5], [8, 3, 5, 5, 5], [5, 8, 1, 2, 5]])[:, :d]
    return middle[rng.integers(0, 3, n)] + rng.normal(0, 0.2, (n, d)), middle


def box(d):
    return mdp.EuclideanSpace([0] * d, [10] * d)


def cost(points, centers, power):
    return float((np.linalg.norm(points[:, None] - centers, axis=2).min(axis=1) ** power).sum())


@pytest.mark.parametrize("ask", [mdp.k_median, mdp.k_means])
@pytest.mark.parametrize(
    ("method", "most"),
    [
        ("quadtree", 1.05),
        (Quadtree(estimate="posterior"), 1.2),
        (Quadtree(estimate="least-squares"), 1.5),
        (Quadtree(rounds=3, budget=1), 1.1),
    ],
)
def test_finds_the_groups(ask, method, most):
    points, middle = blobs(20_000)
    power = 1 if ask is mdp.k_median else 2
    found = ask(BOX, mdp.PrivateDemand(BOX, points), 3, epsilon=5, method=method)
    assert cost(points, found.centers, power) < most**power * cost(points, middle, power)


@pytest.mark.parametrize("d", [1, 3, 5])
def test_other_dimensions(d):
    points, middle = blobs(20_000, d)
    space = box(d)
    found = mdp.k_means(space, mdp.PrivateDemand(space, points), 3, epsilon=5, method="quadtree")
    assert cost(points, found.centers, 2) < 1.5 * cost(points, middle, 2)


@pytest.mark.parametrize(
    ("relation", "n"),
    [("add-remove", 0), ("replace-one", 30), ("add-remove", 3000), ("replace-one", 3000)],
)
@pytest.mark.parametrize(
    "method", [Quadtree(), Quadtree(rounds=5, budget="geometric"), Quadtree(rounds=1)]
)
def test_all_that_is_charged_is_spent_and_no_more(relation, method, n):
    check_all_is_spent(relation, method, n)


def check_all_is_spent(relation, method, n):
    for hint in (None, 3000):
        ledger = mdp.Ledger("7/3", neighboring=relation)
        demand = mdp.PrivateDemand(BOX, blobs(n)[0].reshape(-1, 2))
        call = {"epsilon": "7/3", "ledger": ledger, "method": method, "records_hint": hint}
        result = mdp.k_median(
            BOX, demand, 2, **call, time_limit=1e-3
        )  # centers: how good is all one
        assert result.receipt.epsilon == ledger.spent == Fraction(7, 3)
        assert sum(m.epsilon for m in result.receipt.mechanisms) == Fraction(7, 3)


def test_a_round_that_opens_nothing_leaves_its_share():
    demand = mdp.PrivateDemand(BOX, np.full((40, 2), 1.0))
    result = mdp.k_median(
        BOX, demand, 1, epsilon=1, method=Quadtree(budget=100, records_hint=30)
    )  # 4 scales: 404 at first, then 4
    assert [m.epsilon for m in result.receipt.mechanisms] == [1]
    assert result.release.cells.n_parts > 1


def scripted(seed, asked):
    """A gate that answers by public coins alone, whoever is asked."""

    def answer(demand, query, epsilon, grant):
        rng = np.random.default_rng([seed, len(asked)])
        cost = epsilon if isinstance(epsilon, Fraction) else Fraction(epsilon)
        grant.draw(Cost.of(cost))
        partition = getattr(query, "partition", None)
        size = 1 if partition is None else partition.n_parts
        asked.append((cost, None if partition is None else partition.keys.tolist()))
        values = rng.geometric(0.02, size) if partition is not None else np.array([500])
        mechanism = Mechanism("discrete Laplace", str(query), 1, float(1 / cost), cost)
        return Release(values, query, Receipt.of([mechanism], grant.neighboring, demand.unit))

    return answer


@pytest.mark.parametrize("method", [Quadtree(rounds=4)])
def test_what_is_asked_depends_on_released_values_alone(method):
    check_what_is_asked(method)


def check_what_is_asked(method):
    seen = []
    for points in ([], blobs(500)[0], [[9.9, 9.9]] * 700):
        asked = []
        with patched(runner, "measure", scripted(3, asked)):
            result = mdp.k_median(BOX, mdp.PrivateDemand(BOX, points), 2, epsilon=1, method=method)
        seen.append((asked, result.centers.tolist(), result.release.weights.tolist()))
    assert len(seen[0][0]) >= 4 and seen[0] == seen[1] == seen[2]


def test_one_release_answers_many_questions():
    points, _ = blobs(20_000)
    release = mdp.k_means(
        BOX, mdp.PrivateDemand(BOX, points), 3, epsilon=2, method="quadtree"
    ).release
    for k in (1, 3, 50):
        for answer in (release.k_median(k), release.k_means(k)):
            assert answer.centers.shape == (k, 2) == np.unique(answer.centers, axis=0).shape
            assert ((answer.centers >= 0) & (answer.centers <= 10)).all()
    coreset = release.coreset()
    assert len(coreset.points) == len(coreset.weights)
    assert coreset.weights.sum() == pytest.approx(20_000, rel=0.05)
    assert "quadtree" in repr(release)


def test_more_centers_than_cells():
    check_many_centers("quadtree")


def check_many_centers(method):
    result = mdp.k_median(BOX, mdp.PrivateDemand(BOX, []), 100, epsilon=1, method=method)
    assert result.release.cells.n_parts < 100
    assert len(np.unique(result.centers, axis=0)) == 100


def test_empty_regions_hold_nothing():
    points = np.full((5000, 2), 2.0)
    release = mdp.k_median(
        BOX, mdp.PrivateDemand(BOX, points), 1, epsilon=1, method="quadtree"
    ).release
    far = np.linalg.norm(release.universe.points - 2, axis=1) > 4
    assert np.abs(release.weights[far]).sum() < 100
    assert release.weights.sum() == pytest.approx(5000, rel=0.05)


def test_long_boxes_and_loose_bounds():
    points, middle = blobs(20_000)
    space = mdp.EuclideanSpace([-1000, 0], [1000, 10])
    found = mdp.k_means(space, mdp.PrivateDemand(space, points), 3, epsilon=5, method="quadtree")
    assert cost(points, found.centers, 2) < 2 * cost(points, middle, 2)


def test_counts_are_averaged_by_precision():
    cells = ShiftedQuadtree(BOX).opened().open([0])
    counts = CellCounts(np.array([10.0]), np.array([4.0]))
    mechanism = SimpleNamespace(name="discrete Gaussian", scale=2.0)
    release = SimpleNamespace(
        values=np.array([20, 6]), receipt=SimpleNamespace(mechanisms=[mechanism])
    )
    both = counts.with_values(cells, np.array([0, 2]), release)
    assert both.measured.tolist() == [15, 0, 6] and both.variance.tolist() == [2, np.inf, 4]
    again = both.with_values(cells, np.array([1, 2]), release)
    assert again.measured.tolist() == [15, 20, 6] and again.variance.tolist() == [2, 4, 2]
    assert again.consistent(cells)[0][0] == pytest.approx(again.consistent(cells)[0][1:].sum())
    posterior = again.posterior(cells, 2.0)
    assert posterior[0] == pytest.approx(posterior[1:].sum()) and (posterior >= 0).all()


def test_a_finite_universe_is_refused_and_nothing_charged():
    metric, ledger = EuclideanMetric([[0.0, 0], [1, 1]]), mdp.Ledger(1)
    with pytest.raises(mdp.InputError, match="needs a box"):
        mdp.k_median(
            metric,
            mdp.PrivateDemand(metric, [0, 1]),
            1,
            epsilon=1,
            ledger=ledger,
            method="quadtree",
        )
    assert ledger.spent == 0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"depth": 0}, "depth must be"),
        ({"depth": 1.5}, "depth must be"),
        ({"rounds": 0}, "rounds must be"),
        ({"budget": -1}, "budget"),
        ({"budget": "steep"}, "budget must"),
        ({"threshold": 0}, "threshold"),
        ({"estimate": 3}, "estimate must"),
        ({"opening": "wide"}, "opening must"),
        ({"steps": -1}, "steps must"),
        ({"steps": 1000}, "from 0 to 100"),
        ({"records_hint": -5}, "records_hint"),
    ],
)
def test_wrong_options(options, message):
    with pytest.raises(mdp.InputError, match=message):
        Quadtree(**options)


@pytest.mark.parametrize(("epsilon", "method"), [(1, Quadtree(depth=61)), (1e-300, Quadtree())])
def test_what_cannot_be_answered_is_refused_before_a_charge(epsilon, method):
    ledger = mdp.Ledger(2)
    with pytest.raises(mdp.InputError):
        mdp.k_median(
            BOX, mdp.PrivateDemand(BOX, [[1, 1]]), 1, epsilon=epsilon, ledger=ledger, method=method
        )
    assert ledger.spent == 0


def test_users_with_several_records():
    points, _ = blobs(6000)
    demand = mdp.PrivateDemand(BOX, points, user=np.arange(6000) // 3, max_contributions=2)
    result = mdp.k_median(BOX, demand, 3, epsilon=2, method="quadtree")
    assert {m.sensitivity for m in result.receipt.mechanisms} == {2}
    assert result.receipt.unit == "user"


@pytest.mark.parametrize("d", [2, 6])
def test_privtree_finds_the_groups(d):
    rng = np.random.default_rng(d)
    middle = rng.uniform(2, 8, (3, d))
    points = middle[rng.integers(0, 3, 10_000)] + rng.normal(0, 0.2, (10_000, d))
    space = box(d)
    found = mdp.k_means(
        space, mdp.PrivateDemand(space, points), 3, epsilon=4, method=Quadtree(opening="privtree")
    )
    assert cost(points, found.centers, 2) < 1.1 * cost(points, middle, 2)
    assert found.receipt.mechanisms[0].query.startswith("cells to open")
    assert found.receipt.epsilon == 4


def test_privtree_goes_deep_where_rounds_do_not():
    rng = np.random.default_rng(1)
    points = np.r_[rng.normal(3, 0.05, (4000, 8)), rng.uniform(0, 10, (200, 8))]
    space = box(8)
    demand = mdp.PrivateDemand(space, points)
    deepest = {
        way: mdp.k_means(
            space, demand, 1, epsilon=2, method=Quadtree(opening=way)
        ).release.cells.level.max()
        for way in OPENINGS
    }
    assert deepest["privtree"] > deepest["rounds"] + 5


def noise_of(key, scale):
    """Public noise that a cell's key tells, so that both twins get the same."""
    return int(np.random.default_rng(int(key)).laplace(0, scale))


@pytest.mark.parametrize(("n", "scale"), [(0, 5.0), (40, 5.0), (1500, 5.0), (1500, 0.7)])
def test_openings_are_those_of_the_recursion(n, scale):
    points, depth = blobs(n)[0].reshape(-1, 2), 12
    start = ShiftedQuadtree(BOX, seed=4).opened()

    class Noise:
        def __init__(self):
            self.scale, self.cells, self.known = scale, start, 0

        def __call__(self, values):
            new = self.cells.leaves[self.cells.leaves >= self.known]
            noisy = values + [noise_of(key, scale) for key in self.cells.keys[new]]
            self.known = len(self.cells.level)
            self.cells = self.cells.open(new[(noisy > 0) & (self.cells.level[new] < depth)])
            return noisy

    numbers = OpeningQuery(start, depth).opened(points, Noise())
    cells = start.opened_again(numbers)
    wanted = naive_centers.opened(
        start.tree.grid(points).tolist(), start.tree.axes.tolist(), 4, depth, scale, noise_of
    )
    assert (
        sorted(cells.keys[cells.child >= 0].tolist())
        == sorted(wanted)
        == sorted(cells.keys[numbers].tolist())
    )
    assert n < 1000 or len(wanted) > 20


def test_numbers_that_cannot_be_opened_are_refused():
    with pytest.raises(mdp.InputError, match="half"):
        ShiftedQuadtree(BOX).opened().opened_again([5])


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(
    "method",
    [
        Quadtree(opening="privtree"),
        Quadtree(rounds=24, budget="uniform", estimate="own"),
        Quadtree(steps=3),
    ],
)
def test_steps_and_openings_spend_the_whole_budget(relation, method):
    check_four_means(relation, method)


def check_four_means(relation, method):
    points, _ = blobs(2000)
    ledger = mdp.Ledger("7/3", neighboring=relation)
    demand, call = mdp.PrivateDemand(BOX, points), {"epsilon": "7/3", "ledger": ledger}
    result = mdp.k_means(BOX, demand, 4, **call, method=method, time_limit=1e-3)
    assert (
        result.receipt.epsilon
        == ledger.spent
        == sum(m.epsilon for m in result.receipt.mechanisms)
        == Fraction(7, 3)
    )
    assert len(np.unique(result.centers, axis=0)) == 4
    assert result.release.k_means(2).receipt.epsilon <= Fraction(7, 3)
