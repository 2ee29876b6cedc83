"""Tables of costs, sites × clients, against brute force."""

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from tests import refuses

SITES, CLIENTS = list("ABCDEF"), list(range(10, 22))


def costs(seed=0):
    return np.random.default_rng(seed).integers(0, 60, (6, 12)).astype(float)


def table(seed=0):
    return mdp.CostTable(costs(seed), sites=SITES, clients=CLIENTS)


def test_rows_are_sites_and_columns_clients():
    universe, matrix = table(), costs()
    assert len(universe) == 12 and universe.sites == SITES
    assert np.array_equal(universe.distances(["C", "A"], [11, 20]), matrix[[2, 0]][:, [1, 10]])
    label, distance = universe.nearest(["F", "B"])
    assert np.array_equal(distance, matrix[[5, 1]].min(axis=0))
    assert np.array_equal(matrix[[5, 1]][label, np.arange(12)], distance)
    assert universe.diameter_bound() == matrix.max()
    found = universe.two_nearest(np.array([0, 3, 4]))
    assert np.array_equal(np.sort(matrix[[0, 3, 4]], axis=0)[:2], [found.near, found.far])


def test_symmetric_is_the_least_bound_between_clients():
    universe, matrix = table(), costs()
    bound = universe.symmetric.distance_rows(np.arange(12))
    assert np.array_equal(bound, np.abs(matrix[:, :, None] - matrix[:, None, :]).max(axis=0))
    assert universe.symmetric.ids == CLIENTS
    for middle in range(12):  # a pseudo-metric
        assert (bound <= bound[:, middle, None] + bound[middle]).all()


def test_private_demand_is_at_clients_and_centers_are_sites():
    universe, matrix = table(), costs()
    demand = mdp.PrivateDemand(universe, [10] * 50_000 + [17] * 40_000)
    weights = np.zeros(12)
    weights[[0, 7]] = 50_000, 40_000
    best = (matrix @ weights).min()
    for method in ("partition", "hst"):
        found = mdp.k_median(universe, demand, k=1, epsilon=1, method=method)
        assert (matrix @ weights)[universe.site_positions(found.centers)[0]] <= 1.02 * best
    release = mdp.release(universe, demand, epsilon=1)
    assert release.weights.shape == (12,) and set(release.k_median(k=4).centers) <= set(SITES)
    assert set(mdp.k_median(universe, demand, k=2, epsilon=1, method="uniform").centers) <= {*SITES}
    report = mdp.evaluate(universe, demand, ["A"], epsilon=1, clip=60.0)
    assert abs(report.mean.estimate - (matrix[0] @ weights) / 90_000) < 0.2


def test_checksums_are_of_one_table():
    other = mdp.CostTable(costs(), sites=list("abcdef"), clients=CLIENTS)
    assert table().checksum() == table().checksum()
    assert len({one.checksum() for one in (table(), table(1), other)}) == 3


def test_a_release_is_searched_as_public_weights_are():
    """Random costs: a search of few starts ends up to 3 % above."""
    universe = mdp.CostTable(np.random.default_rng(2).random((100, 100)))
    release = mdp.release(universe, mdp.PrivateDemand(universe, range(100)), epsilon=1)
    public = mdp.k_median(universe, k=10, weights=release.weights)
    assert release.k_median(10).centers == public.centers


def test_balls_of_sites():
    universe, matrix = table(), costs()
    points, amounts = np.array([0, 4, 9]), np.array([1, 2, 3])
    assert np.array_equal(universe.balls(20).members(3), np.flatnonzero(matrix[3] <= 20))
    for candidates in (None, np.array([5, 1])):
        rows = matrix if candidates is None else matrix[candidates]
        total = np.zeros(len(rows), np.int64)
        universe.balls(20, candidates).add(total, points, amounts)
        assert np.array_equal(total, (rows[:, points] <= 20) @ amounts)


def test_missing_pairs_are_stated():
    matrix = costs()
    matrix[0, 1], matrix[2, 3] = np.nan, np.inf
    universe = mdp.CostTable(matrix, unreachable=500)
    assert (universe.costs[0, 1], universe.costs[2, 3]) == (500, 500)


def test_what_is_repeated_is_named():
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"from_id": ["a", "b", "b"], "to_id": ["S", "T", "T"], "cost": [1, 2, 3]})
    refuses("more than once: that of the site 'b' and the client 'T'", mdp.CostTable, frame)
    refuses("distinct; 'S' is repeated", mdp.CostTable, frame[:2], sites=["S", "S", "T"])


def test_names_of_a_frame_are_found_wherever_they_stand():
    pd = pytest.importorskip("pandas")
    pairs = [("A", 7, 1.0), ("A", 8, 2.0), ("B", 7, 3.0), ("B", 8, 4.0)]
    long = pd.DataFrame(pairs, columns=["origin", "destination", "time"])
    matrix = long.pivot(index="origin", columns="destination", values="time")
    plain = pd.DataFrame(matrix.to_numpy())
    ends = ["origin", "destination"]
    for frame in (long.set_index(ends), long.set_index("origin"), long.set_index(ends[1]), matrix):
        table = mdp.CostTable(frame)
        assert (list(table.sites), list(table.ids)) == (["A", "B"], [7, 8])
        assert table.distances(["A", "B"]).tolist() == [[1, 2], [3, 4]]
        turned = mdp.CostTable(frame, sites=["B", "A"], clients=[8])  # rows were named anew
        assert turned.distances(["A", "B"], [8]).tolist() == [[2], [4]]
    assert mdp.CostTable(plain, sites=[1, 0]).distances([1]).tolist() == [[1, 2]]  # has no names


def test_seeds_are_the_cheapest_free_sites_of_drawn_clients():
    """All sites are drawn in the end; the first serves the only client of positive weight."""
    universe, matrix = table(), costs()
    for client in range(12):
        weights = -np.ones(12)
        weights[client] = 2.0
        centers, label, distance = universe.seed_centers(6, weights, np.random.default_rng(client))
        assert matrix[centers[0], client] == matrix[:, client].min()
        assert sorted(centers) == list(range(6))
        assert np.array_equal(distance, matrix.min(axis=0))
        assert np.array_equal(matrix[centers[label], np.arange(12)], distance)


def universe(seed=0, directed=True):
    rng = np.random.default_rng(seed)
    graph = nx.grid_2d_graph(5, 6).to_directed()
    for _, _, data in graph.edges(data=True):
        data["time"] = int(rng.integers(1, 9))
    travel = mdp.GraphMetric(graph, weight="time", directed=True)
    if not directed:
        travel = travel.symmetric
    entry, access = rng.integers(0, 9, 30).astype(float), rng.integers(0, 5, 30).astype(float)
    rows = entry[:, None] + travel.distance_rows(np.arange(30)) + access
    return travel, travel.with_costs(entry, access), rows


@pytest.mark.parametrize("directed", [True, False])
def test_costs_count_for_each_unit_of_demand(directed):
    for seed in range(4):
        _, metric, rows = universe(seed, directed)
        assert np.array_equal(metric.distance_rows(np.arange(30)), rows)
        assert np.array_equal(metric.grid_rows(np.arange(30)) * metric.unit, rows)
        assert np.array_equal(metric.nearest_to(np.array([3, 8]))[1], rows[[3, 8]].min(axis=0))


def test_private_demand_pays_costs():
    _, metric, rows = universe(2)
    demand = mdp.PrivateDemand(metric, [metric.ids[3]] * 60_000 + [metric.ids[20]] * 50_000)
    totals = 60_000 * rows[:, 3] + 50_000 * rows[:, 20]
    found = mdp.k_median(metric, demand, k=1, epsilon=1)
    assert totals[metric.positions(found.centers)[0]] <= 1.02 * totals.min()


def test_mappings_and_tables():
    table = mdp.CostTable([[1, 5], [4, 2]], sites=["A", "B"], clients=[7, 8])
    costed = table.with_costs(sites={"B": 10}, access={8: 1})
    assert costed.distances(["B", "A"]).tolist() == [[14, 13], [1, 6]]
    assert mdp.k_median(costed, k=1).centers == ["A"]
