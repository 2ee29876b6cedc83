"""The 1-median on rings: it finds the median, spends what is charged and asks by released values
alone; its rings and sample are what they say.
"""

from functools import partial

import numpy as np
import pytest

import metricdp as mdp
from benchmarks.methods.rings import Rings, ring_median
from metricdp.methods.box.descent import N_SHELLS, RATIO
from metricdp.partitions.box.cells import Shells, WholeBox
from tests.running.test_private_centers import (
    BOX,
    check_all_is_spent,
    check_median,
    check_what_is_asked,
    cloud,
)


@pytest.mark.parametrize(("d", "delta"), [(2, 0), (10, 1e-6)])
def test_the_median_is_found_to_a_fraction_of_the_effective_diameter(d, delta):
    assert check_median(ring_median, d, delta).method == "private-median, rings"


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize("delta", [0, "1/1000000"])
@pytest.mark.parametrize("points", [np.empty((0, 2)), cloud(300)])
def test_all_that_is_charged_is_spent_and_no_more(relation, delta, points):
    demand = mdp.PrivateDemand(BOX, points)
    check_all_is_spent(
        lambda ledger, **price: ring_median(BOX, demand, ledger=ledger, sample=0.5, **price),
        relation,
        delta,
    )


def test_what_is_asked_depends_on_released_values_alone():
    check_what_is_asked(partial(ring_median, sample=0.7))


def test_rings_are_what_they_say():
    rng = np.random.default_rng(5)
    centers, points = rng.uniform(0, 100, (3, 2)), rng.uniform(0, 100, (400, 2))
    outer = BOX.diameter_bound() * RATIO ** np.arange(N_SHELLS)
    one = Shells(WholeBox(BOX), centers[:1], N_SHELLS, RATIO)
    parts = Rings(BOX, one, np.arange(N_SHELLS) == 4, 1.0, 0).encode(points)
    away = np.linalg.norm(points - centers[0], axis=1)
    assert (parts == np.where((away <= outer[4]) & (away > outer[5]), 0, 1)).all()
    every = Rings(BOX, one, np.ones(N_SHELLS, bool), 0.3, 7)
    sample = every.encode(np.repeat(points, 5, axis=0)).reshape(-1, 5)
    assert (sample == sample[:, :1]).all() and abs((sample[:, 0] == 0).mean() - 0.3) < 0.1
