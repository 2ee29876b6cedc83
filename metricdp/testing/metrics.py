"""Conformance tests of metrics, to inherit."""

from __future__ import annotations

import math
import pickle
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from metricdp.arguments import Floats, Ints
from metricdp.errors import InputError, MissingExtraError
from metricdp.metrics import promises
from metricdp.metrics.base import Metric
from metricdp.partitions.finite.hst import build_hst
from metricdp.privacy import PrivateDataWarning, PrivateDemand, exact_cost
from metricdp.solvers.kmedian import solve

_SAMPLE = 40
"""Number of points whose pairs and triples are all tested."""


class MetricTestCase:
    """Pytest class for the contract of `metricdp.metrics.base.Metric`.

    Inherit it, and define `metric`. All methods that a metric may override are compared with its
    own `distance_rows` and `grid_rows`, on all points or an even sample of 40.

    Attributes
    ----------
    engines : tuple of str
        Engines whose snapping is compared with `Metric.snap`: "duckdb" and "polars", by their own
        frames, and names of ``PrivateDemand.from_frame``. Missing ones are skipped.
    tolerance : float
        Largest relative difference of distances that are computed in two ways.

    Examples
    --------
    >>> from metricdp.metrics import PrecomputedMetric
    >>> class TestMine(MetricTestCase):
    ...     def metric(self):
    ...         return PrecomputedMetric([[0, 2, 3], [2, 0, 4], [3, 4, 0]], ids=["a", "b", "c"])
    >>> TestMine().test_grid_is_a_metric()
    """

    engines: ClassVar[tuple[str, ...]] = ("embedded", "duckdb", "polars")
    tolerance: ClassVar[float] = 1e-9

    def metric(self) -> Metric:
        """The metric to be tested: some dozens of points, two at one place if possible."""
        raise NotImplementedError("define the metric to be tested: def metric(self): return …")

    def points(self) -> Floats:
        """Coordinates (n, d) to be snapped, in the bounding box."""
        known = self._known()
        known = known[np.isfinite(known).all(axis=1)]
        low, high = known.min(axis=0), known.max(axis=0)
        inside = np.random.default_rng(7).random((200, known.shape[1]))
        return np.vstack([low + inside * (high - low), known[:20]])

    def sample(self) -> Ints:
        """An even sample of positions."""
        n = len(self.metric())
        return np.unique(np.linspace(0, n - 1, min(n, _SAMPLE)).astype(np.int64))

    def _close(self, one: Any, other: Any) -> None:
        scale = self.metric().diameter_bound()
        np.testing.assert_allclose(one, other, rtol=self.tolerance, atol=self.tolerance * scale)

    # --- promises on which private answers rely

    def test_promises_are_kept(self) -> None:
        """The checks that the first demand runs pass."""
        promises.check(self.metric())
        PrivateDemand(self.metric(), self.metric().ids[:1])

    def test_ids_stand_for_positions(self) -> None:
        """Ids and positions map to each other."""
        metric = self.metric()
        everyone = np.arange(len(metric))
        assert len(metric.ids) == len(metric) > 0
        assert np.array_equal(metric.positions(metric.ids), everyone)
        assert np.array_equal(metric.positions(list(metric.ids)[::-1]), everyone[::-1])
        first = [metric.ids[0]]
        assert np.array_equal(metric.distances(first)[0], metric.distance_rows(np.array([0]))[0])

    def test_grid_is_the_distance_rounded_up(self) -> None:
        """Quantized distances exceed exact ones by less than a step plus `grid_error`."""
        metric, at = self.metric(), self.sample()
        grid = metric.grid_rows(at)
        exact = metric.distance_rows(at)
        assert grid.dtype == np.int64
        assert grid.shape == exact.shape == (len(at), len(metric))
        excess = grid * metric.unit - exact
        noise = 1e-9 * exact.max()
        assert (excess >= -metric.grid_error - noise).all()
        assert (excess < metric.unit * 1.01 + metric.grid_error + noise).all()
        if metric.on_grid:
            assert np.array_equal(grid * metric.unit, exact)

    def test_grid_is_a_metric(self) -> None:
        """Quantized distances are an exact metric."""
        at = self.sample()
        grid = self.metric().grid_rows(at, at)
        assert (grid >= 0).all()
        assert not np.diagonal(grid).any()
        assert np.array_equal(grid, grid.T)
        for middle in range(len(at)):
            assert (grid <= grid[:, middle, None] + grid[middle]).all()

    def test_a_distance_depends_on_its_two_points_alone(self) -> None:
        """Rows for some targets are columns of whole rows; rows asked one by one are the same."""
        metric, at = self.metric(), self.sample()
        for rows in (metric.grid_rows, metric.distance_rows):
            whole = rows(at)
            assert np.array_equal(rows(at, at[::-1]), whole[:, at[::-1]])
            assert np.array_equal(np.vstack([rows(at[i : i + 1]) for i in range(len(at))]), whole)
            assert rows(at[:0]).shape == (0, len(metric))

    def test_no_distance_exceeds_the_bound(self) -> None:
        """The diameter bound holds, and n times the bound is below 2**63 steps, so sums fit
        int64.
        """
        metric, at = self.metric(), self.sample()
        bound = metric.diameter_bound()
        assert metric.distance_rows(at).max() <= bound * (1 + 1e-9)
        assert math.ceil(bound / metric.unit) * len(metric) < 2**63

    # --- methods that a metric may override

    def test_inner_numbers_are_a_permutation(self) -> None:
        """Inner and outer numbers map to each other."""
        metric = self.metric()
        everyone = np.arange(len(self.metric()))
        inner = metric.inner(everyone)
        assert np.array_equal(np.sort(inner), everyone)
        assert np.array_equal(metric.outer(inner), everyone)

    def test_nearest_centers(self) -> None:
        """For few and many centers, by comparison with rows."""
        metric = self.metric()
        for centers in (self.sample()[:1], self.sample()[:5], self.sample()):
            rows = metric.distance_rows(centers)
            label, distance = metric.nearest_to(centers)
            self._close(distance, rows.min(axis=0))
            self._close(rows[label, np.arange(len(metric))], rows.min(axis=0))

    def test_two_nearest_centers(self) -> None:
        """Exact, in quantized distances."""
        metric = self.metric()
        inner = self.metric().inner(np.arange(len(self.metric())))
        for centers in (self.sample()[:1], self.sample()[:2], self.sample()):
            rows = metric.grid_rows(centers)
            first, near, far = (part[inner] for part in metric.two_nearest(centers))
            ordered = np.sort(rows, axis=0)
            assert np.array_equal(near, ordered[0])
            assert np.array_equal(rows[first, np.arange(len(metric))], ordered[0])
            assert np.array_equal(metric.grid_nearest(centers)[inner], ordered[0])
            if len(centers) > 1:
                assert np.array_equal(far, ordered[1])

    def test_searches_find_all_that_is_near(self) -> None:
        """Searches find all points strictly nearer than the bound, with the distances of rows."""
        metric, at = self.metric(), self.sample()
        rows = metric.grid_rows(at)
        bounds = np.quantile(rows, 0.5, axis=1).astype(np.int64) + 1
        found: dict[int, dict[int, int]] = {}

        def take(i: int, numbers: Any, distances: Any) -> None:
            positions = metric.outer(np.asarray(numbers, np.int64))
            found[i] = dict(zip(positions.tolist(), np.asarray(distances).tolist()))

        metric.searches(at).each(np.arange(len(at)), bounds, take)
        assert sorted(found) == list(range(len(at)))
        for i, near in found.items():
            assert set(np.flatnonzero(rows[i] < bounds[i]).tolist()) <= set(near)
            assert all(rows[i, position] == length for position, length in near.items())

    def test_balls(self) -> None:
        """Members and sums of balls, around all points and around candidates."""
        metric, at = self.metric(), self.sample()
        rows = metric.grid_rows(at)
        amounts = np.arange(1, len(at) + 1)
        for steps in (0, int(np.median(rows)), int(rows.max())):
            for i, position in enumerate(at[:5].tolist()):
                members = metric.balls(steps).members(position)
                assert np.array_equal(np.sort(members), np.flatnonzero(rows[i] <= steps))
            for candidates in (None, at[::2]):
                total = np.zeros(len(metric) if candidates is None else len(candidates), np.int64)
                metric.balls(steps, candidates).add(total, at, amounts)
                inside = (rows if candidates is None else rows[:, candidates]) <= steps
                assert np.array_equal(total, amounts @ inside)

    def test_seeded_centers_are_distinct_and_served(self) -> None:
        """k-median++: labels and distances are those of rows."""
        metric = self.metric()
        k = min(6, len(self.metric()))
        weights = np.ones(len(metric))
        centers, label, distance = metric.seed_centers(k, weights, np.random.default_rng(3))
        rows = metric.distance_rows(centers)
        assert len(np.unique(centers)) == k
        self._close(distance, rows.min(axis=0))
        self._close(rows[label, np.arange(len(metric))], rows.min(axis=0))

    def test_duplicates_are_the_points_at_one_place(self) -> None:
        """Groups are those of distance 0."""
        metric, at = self.metric(), self.sample()
        groups = metric.duplicates(at)
        together = metric.distance_rows(at, at) == 0
        assert np.array_equal(groups[:, None] == groups, together)

    # --- structures built on a metric

    def test_trees_dominate(self) -> None:
        """No two points are nearer in a 2-HST than in the universe."""
        metric, at = self.metric(), self.sample()
        tree = build_hst(metric, seed=1)
        in_tree = tree.position_distances(at[:, None], at)
        assert (in_tree >= metric.distance_rows(at, at) * (1 - 1e-9)).all()

    def test_centers_are_found(self) -> None:
        """The cost that the solver reports is that of its centers."""
        metric = self.metric()
        k = min(3, len(self.metric()))
        solution = solve(metric, np.ones(len(metric)), k, seed=1)
        cost = metric.distance_rows(solution.centers).min(axis=0).sum()
        assert math.isclose(solution.cost, cost, rel_tol=1e-5)

    def test_snapping_is_the_same_in_every_process(self) -> None:
        """`snap`, the pickled snapper and brute force agree."""
        metric = self.metric()
        if not self._snaps():
            return
        points = self.points()
        at = metric.snap(points)
        assert np.array_equal(pickle.loads(pickle.dumps(metric.snapper()))(points), at)
        known = self._known()
        own = np.flatnonzero(np.isfinite(known).all(axis=1))
        found = metric.snap(known[own])
        assert (known[found] == known[own]).all() or self._distance(found, own) == 0

    def test_snapping_is_the_same_in_every_engine(self, tmp_path: Path) -> None:
        """Demand that an engine snaps has the same costs, for several centers, as demand snapped
        here.
        """
        metric = self.metric()
        if not self._snaps() or self.points().shape[1] != 2:
            return
        points = self.points()
        file = tmp_path / "points.csv"
        rows = (f"{x!r},{y!r}\n" for x, y in points.tolist())
        file.write_text("x,y\n" + "".join(rows), encoding="utf-8")
        here = self._costs(PrivateDemand.from_coordinates(metric, points))
        for engine in self.engines:
            try:
                source, options = _opened(file, engine)
                demand = PrivateDemand.from_frame(metric, source, x="x", y="y", **options)
            except (ImportError, MissingExtraError):
                continue
            self._close(self._costs(demand), here)

    def _known(self) -> Floats:
        return np.asarray(getattr(self.metric(), "points", self.metric().coordinates), np.float64)

    def _snaps(self) -> bool:
        try:
            self.metric().snapper()
        except InputError:
            return False
        return True

    def _distance(self, one: Ints, other: Ints) -> int:
        pairs = zip(one.tolist(), other.tolist())
        rows = (self.metric().grid_rows(np.array([a]), np.array([b])) for a, b in pairs if a != b)
        return max((int(row[0, 0]) for row in rows), default=0)

    def _costs(self, demand: PrivateDemand) -> list[float]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PrivateDataWarning)
            return [exact_cost(demand, [self.metric().ids[i]]) for i in self.sample()[:5]]


def _opened(file: Path, engine: str) -> tuple[Any, dict[str, Any]]:
    """A CSV file as an argument of `from_frame`, and its options."""
    if engine in ("duckdb", "polars"):
        return import_module(engine).read_csv(str(file)), {}
    return file, {"engine": engine}
