"""Costs of distances inside of compiled searches, against the impedances of objectives."""

import numpy as np
import pytest

from metricdp.kernels.impedances import impedance_cost, impedance_costs
from metricdp.solvers.objectives.impedances import Impedance

IMPEDANCES = [
    Impedance(1.0),
    Impedance(2.0),
    Impedance(3.5),
    Impedance(growth=0.3),
    Impedance(1.0, 0.0, 4.0, 40.0),
    Impedance(2.0, 0.0, 4.0, 160.0),
    Impedance(growth=3.0, shift=2.5, limit=4.0, beyond=1e6),
]
DISTANCES = np.array([0.0, 0.5, 2.5, 3.0, 4.0, 4.0 * (1 + 5e-10), 4.1, 17.0])


@pytest.mark.parametrize("impedance", IMPEDANCES)
def test_terms_are_the_distribution(impedance):
    found = np.empty(len(DISTANCES))
    impedance_costs(DISTANCES, impedance.terms, found)
    assert found == pytest.approx(impedance(DISTANCES), rel=1e-12)
    assert [impedance_cost(float(d), impedance.terms) for d in DISTANCES] == pytest.approx(found)


@pytest.mark.parametrize("power", [1, 2])
def test_powers(power):
    found = np.empty(len(DISTANCES))
    impedance_costs(DISTANCES, power, found)
    assert np.array_equal(found, DISTANCES**power)
    assert [impedance_cost(float(d), power) for d in DISTANCES] == found.tolist()
