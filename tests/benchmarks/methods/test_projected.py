"""The method projected: centers in the original space, images by public coins alone, shares that
add up.
"""

from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from benchmarks.methods.projected import Projected, Projection
from metricdp.audit.planted import Mutation
from metricdp.audit.planted.mutating import mutated
from metricdp.audit.prices import NAME, refusals
from metricdp.audit.worlds import small_nets
from metricdp.partitions.box.cells import PartsOfImages, VoronoiCells
from tests import each


def mixture(n=6000, d=30, k=4, seed=0):
    rng = np.random.default_rng(seed)
    middle = rng.uniform(-0.6, 0.6, (k, d))
    return middle[rng.integers(0, k, n)] + rng.normal(0, 0.05, (n, d)), middle


def box(d):
    return mdp.EuclideanSpace([-1] * d, [1] * d)


def cost(points, centers):
    return float(((points[:, None] - centers) ** 2).sum(axis=2).min(axis=1).sum())


@pytest.mark.parametrize(("inner", "delta"), [("partition", 1e-6), ("partition", 0)])
def test_finds_the_groups(inner, delta):
    points, middle = mixture()
    space = box(30)
    method = Projected(inner=inner)
    result = mdp.k_means(
        space, mdp.PrivateDemand(space, points), 4, epsilon=3, delta=delta, method=method
    )
    assert cost(points, result.centers) < 1.2 * cost(points, middle)
    assert result.centers.shape == (4, 30) and result.method == "projected"


def test_few_dimensions_are_left_to_the_inner_method():
    points, _ = mixture(500, 3)
    space = box(3)
    result = mdp.k_means(space, mdp.PrivateDemand(space, points), 4, epsilon=1, method=Projected())
    assert result.method == "partition"


def test_images_keep_lengths_on_average_and_lie_in_their_box():
    points, _ = mixture(2000, 60)
    projection = Projection(box(60), 12, 5)
    images = projection.encode(points)
    ratio = (images**2).sum() / (points**2).sum()
    assert 0.8 < ratio < 1.2 and np.isin(images, projection.images.clip(images)).mean() > 0.99
    again = projection.encode(projection.lifted(images[:50], points[:1]))
    # the lifted points may be moved into the box
    assert again == pytest.approx(images[:50], abs=0.3)
    for i in (0, 7):
        assert np.array_equal(projection.encode(points[i : i + 1]), images[i : i + 1])
    around = VoronoiCells(projection.images, projection.images.clip(images[:5]))
    cells = PartsOfImages(projection.universe, projection.inside, around)
    assert cells.encode(points[:5]).tolist() == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "options", each(inner=["hst", 3, "projected", Projected()], dimensions=[0], steps=[0])
)
def test_wrong_options(options):
    with pytest.raises(mdp.InputError):
        Projected(**options)


def test_projected_pays_with_a_delta_for_few_images():
    """Everything was charged, and then refused: the price was that of another box."""
    space = mdp.EuclideanSpace([0.0] * 8, [1.0] * 8)
    demand = mdp.PrivateDemand(space, np.random.default_rng(0).random((50, 8)))
    for inner in ("partition", "quadtree", "max-coverage", "uniform"):
        for dimensions in (None, 1, 3, 4):
            ledger = mdp.Ledger(2, "1e-6")
            method = Projected(inner=inner, dimensions=dimensions)
            asked = {"epsilon": 2, "delta": "1e-6", "ledger": ledger, "method": method}
            with small_nets():
                result = mdp.k_means(space, demand, 2, **asked)
            assert result.receipt.epsilon <= ledger.spent == 2
            assert result.receipt.delta == ledger.spent_delta == Fraction(1, 10**6)


def few_images():
    """Projected methods of the audit's box of four dimensions."""
    for inner in ("partition", "quadtree", "max-coverage"):
        for dimensions in (1, 2, 3):
            yield Projected(inner=inner, dimensions=dimensions)


def test_refused_calls_cost_nothing():
    finding = refusals(NAME, True, few_images())
    assert finding.passed, finding


def test_a_price_asked_of_another_box_is_caught():
    """The whole budget is charged, and then there is not enough for what is really done."""
    offer = "offer = terms.price"
    planted = f"""
if type(self).__name__ == "Projected":
    box = __import__("metricdp").EuclideanSpace([0.0] * 4, [1.0] * 4)
    return self._method(box).priced(terms)
{offer}
"""
    with mutated([Mutation("methods.method:Method.priced", offer, planted)])():
        assert not refusals(NAME, True, few_images()).passed
