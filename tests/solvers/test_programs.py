"""Integer programs with a price for every open row, against all choices."""

import time
from itertools import combinations

import numpy as np
import pytest
from hypothesis import example
from hypothesis import strategies as st

from metricdp.solvers import programs
from metricdp.solvers.programs import CheapestRows, answered
from metricdp.solvers.stopping import NEVER, Deadline
from tests import tries
from tests.solvers.test_bounds import listed


@tries(30, st.integers(0, 10**6), st.sampled_from([1.0, 0.37, 1000.1]))
@example(54177, 1.0)  # HiGHS found nothing where the limit was a little above the best
def test_rows_with_a_price_against_all_choices(seed, unit):
    rng = np.random.default_rng(seed)
    block = rng.integers(0, 30, (7, 9)) * unit
    near = rng.random(block.shape) < 0.7
    beyond = np.where(rng.random(9) < 0.5, rng.integers(5, 30, 9) * unit, np.inf)
    must = np.arange(7) == (0 if seed % 2 else 9)
    fewest, most = sorted(rng.integers(1, 5, 2).tolist())
    price = float(rng.integers(0, 12)) * unit
    costs = np.where(near, block, np.inf)
    choices = [c for q in range(fewest, most + 1) for c in combinations(range(7), q)]
    costs_of = {c: np.minimum(costs[list(c)].min(axis=0), beyond).sum() for c in choices}
    best = min(float(costs_of[c]) + price * len(c) for c in choices if not must[0] or 0 in c)
    target = best + float(rng.integers(-1, 3)) * unit if np.isfinite(best) else 500.0
    asked = CheapestRows(listed(costs), beyond, must, fewest, most, target, price)
    rows, bound = answered(asked, NEVER)
    if best > target:
        assert rows is None
        assert bound == np.inf
        return
    assert fewest <= len(rows) <= most
    assert bound == pytest.approx(best, rel=1e-6) and bound <= best * (1 + 1e-12)
    served = np.minimum(costs[rows].min(axis=0), beyond)
    assert served.sum() + price * len(rows) == pytest.approx(best, rel=1e-12)


def test_python_ends_after_a_program_that_was_left_behind(monkeypatch):
    """HiGHS that ends while Python does aborts the process: status 134 for 0."""
    left = []
    monkeypatch.setattr("atexit.register", lambda wait, *most: left.append(wait))
    assert programs._awaited(Deadline(1e-9), time.sleep, 1.0) is None and len(left) == 1
    left[0]()
    assert programs._awaited(NEVER, time.sleep, 0.0) is None and len(left) == 1
