"""Reduced costs of sets of clients, against a sum over all cuts."""

import numpy as np
from hypothesis import strategies as st

from metricdp.kernels.packing import reduced_costs
from tests import tries


@tries(30, st.integers(0, 2**32 - 1), st.integers(3, 9), st.integers(0, 12))
def test_reduced_costs_add_the_price_of_each_cut_that_holds_two_clients(seed, n, n_cuts):
    rng = np.random.default_rng(seed)
    sets = [rng.permutation(n)[: rng.integers(1, n + 1)] for _ in range(20)]
    starts = np.cumsum([0, *map(len, sets)])
    triples = np.array([rng.permutation(n)[:3] for _ in range(n_cuts)], np.int64).reshape(-1, 3)
    cost, duals = rng.integers(0, 30, 20) * 1.0, rng.integers(0, 9, n) * 1.0
    cut_duals = np.maximum(rng.integers(-2, 5, n_cuts), 0) * 1.0
    ceilings, found = rng.choice([-5.0, np.inf], 20), np.empty(20)
    reduced_costs((starts, np.concatenate(sets)), cost, duals, triples, cut_duals, ceilings, found)
    for s, mine in enumerate(sets):
        without = cost[s] - duals[mine].sum()
        paid = cut_duals[np.isin(triples, mine).sum(axis=1) >= 2].sum()
        assert found[s] == without + (paid if without < ceilings[s] else 0.0)
