"""The transportation problem against linear programs."""

import numpy as np
import pytest
from scipy.optimize import linprog

from metricdp.kernels.transport import transport


@pytest.mark.parametrize("seed", range(60))
def test_against_a_linear_program(seed):
    rng = np.random.default_rng(seed)
    k, n = int(rng.integers(1, 7)), int(rng.integers(1, 25))
    costs = rng.integers(0, 9, (k, n)).astype(float) if seed % 2 else rng.random((k, n))
    loads = rng.integers(0, 6, n).astype(float)
    room = loads.sum() / k * rng.uniform(0.3, 2.2, k)
    flow = np.empty_like(costs)
    found = transport(costs, loads, room, flow)
    everybody, inside = np.kron(np.ones((1, k)), np.eye(n)), np.kron(np.eye(k), np.ones((1, n)))
    best = linprog(costs.ravel(), A_eq=everybody, b_eq=loads, A_ub=inside, b_ub=room)
    assert found == (best.status == 0)
    if found:
        assert np.allclose(flow.sum(axis=0), loads) and (flow >= 0).all()
        assert (flow.sum(axis=1) <= room * (1 + 1e-9) + 1e-9).all()
        assert (costs * flow).sum() == pytest.approx(best.fun)
