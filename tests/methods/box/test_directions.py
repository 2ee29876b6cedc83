"""Designs, subspaces and directions, and how demand is mapped to them."""

from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from metricdp.accounting import Cost
from metricdp.methods.asking import Ask, Image
from metricdp.methods.box.descent import measured_together
from metricdp.methods.box.directions import (
    ALONE,
    BALL,
    ELLIPSOID,
    SUBSPACE,
    Design,
    Mean,
    chosen_design,
    private_subspace,
    scales_around,
)
from metricdp.partitions.box.cells import HalfSpaces, Scaled, Subspace
from metricdp.privacy import HistogramQuery, Ledger, PrivateDemand, mapped
from metricdp.running.runner import Run
from tests import refuses

DELTA = Fraction(1, 10**6)


def thin_scene(n=3000, d=60, k=4, seed=0):
    """Clusters in a plane of R^d, noise in all of it; far from the middle of the box."""
    rng = np.random.default_rng(seed)
    plane = np.linalg.qr(rng.normal(size=(d, 2)))[0].T
    angles = np.arange(k) * 2 * np.pi / k
    middles = 3 + 12 * np.array([[np.cos(a), np.sin(a)] for a in angles]) @ plane
    space = mdp.EuclideanSpace([-20.0] * d, [20.0] * d)
    return space, space.clip(middles[rng.integers(0, k, n)] + rng.normal(0, 0.5, (n, d))), plane


def test_designs():
    for d, n, name in ((10, 1e5, "rounds"), (64, 1797, "subspace"), (64, 100, "mean")):
        assert chosen_design(d, n, 4.5, True).name == name
    assert chosen_design(64, 1797, 4.5, False).name == "mean"
    assert chosen_design(10, 1e5, 4.5, True) == Design("rounds", ELLIPSOID, 10)
    assert chosen_design(10, 1000, 20, False).shares in (BALL, ALONE)
    assert [chosen_design(1000, n, 1.0, True).n_axes for n in (400, 3600, 1e9)] == [7, 20, 48]
    assert chosen_design(5, -3, 1.0, True).n_axes in (0, 3)
    for shares in (BALL, ELLIPSOID, SUBSPACE, ALONE):
        assert shares.total(True) == 1 and shares.total(False) <= 1


def test_scaled_places_and_subspaces():
    rng = np.random.default_rng(4)
    space = mdp.EuclideanSpace([0.0, 0.0, -5.0], [1.0, 10.0, 5.0])
    points = space.clip(rng.uniform(-6, 11, (200, 3)))
    scales = scales_around(space, np.array([0.5, 0.0, 0.0]))
    assert scales.mean() == pytest.approx(1) and scales[2] / scales[0] == pytest.approx(10**0.5)
    # a mean at the end of the box counts as 1 % inside
    assert scales[1] / scales[2] == pytest.approx((0.1 * 10 / 25) ** 0.25)
    scaled = Scaled(space, points[0], scales)
    assert np.allclose(scaled.back(scaled.encode(points)), points)
    assert np.array_equal(scaled.space.clip(scaled.encode(points)), scaled.encode(points))
    axes = np.linalg.qr(rng.normal(size=(3, 2)))[0].T
    frame = Subspace(space, points[0], axes, np.eye(2))
    places = frame.encode(points)
    assert np.allclose(places, (points - points[0]) @ axes.T)
    assert (np.abs(places) <= frame.space.upper).all()
    assert np.allclose(frame.encode(frame.outside(places[:1])), places[:1])
    drawn = frame.drawn(400, rng, 2.0)
    assert np.linalg.norm(drawn[::2], axis=1).max() <= 1 < np.linalg.norm(drawn, axis=1).max() <= 2


def test_demand_is_mapped_for_free_and_paid_for_as_before():
    space, points, plane = thin_scene(n=50)
    demand = PrivateDemand(space, points, user=np.arange(50) // 2, max_contributions=2)
    frame = Subspace(space, points[0], plane, np.eye(2))
    image = mapped(demand, frame, frame.space)
    assert (image.universe, image.max_contributions, image.unit) == (frame.space, 2, "user")
    budget = Ledger(1000).charge(1000)
    query = HistogramQuery(HalfSpaces(frame.space, np.zeros(2), np.array([1.0, 0.0])))
    exact = np.bincount(((points - points[0]) @ plane[0] < 0).astype(int), minlength=2)
    assert counts_of(image, query, budget) == exact.tolist()
    cases = (points, frame, frame.space), (demand, frame, 3), (image, frame, frame.space)
    for wrong, rule, box in cases:
        refuses("mapped", mapped, wrong, rule, box)

    class Failing:
        universe = space

        def encode(self, records):
            raise ValueError(f"canary {records[0, 0]}")

    refused = refuses("details withheld", lambda: mapped(demand, Failing(), frame.space))
    assert refused.__context__ is None and "canary" not in str(refused)


def counts_of(demand, query, budget):
    return Run(demand, budget).put(Ask(query, Fraction(1, 2))).values.tolist()


def test_directions_of_a_plane_are_found():
    space, points, plane = thin_scene(n=20_000)
    budget = Ledger(4, DELTA).charge(Cost.zcdp(4, DELTA))
    run, rng = Run(PrivateDemand(space, points), budget), np.random.default_rng(0)
    middle = points.mean(axis=0)
    distances = run.drive(measured_together(Image(space), middle[None], SUBSPACE.mean_shells))
    mean = Mean(middle, distances)
    frame = run.drive(private_subspace(Image(space), 4, SUBSPACE, mean, 20_000, rng))
    assert np.linalg.norm(frame.axes[:2] @ plane.T) > 0.98 * 2**0.5  # both, of at most √2
    assert np.abs(np.diag(frame.ellipsoid)[:2] / (12 / 2**0.5 * 6**0.5) - 1).max() < 0.35
    expected = ["histogram", "4", "4"]
    assert [mechanism.query.split()[0] for mechanism in run.receipt.mechanisms] == expected
