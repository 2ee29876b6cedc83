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


@pytest.mark.parametrize("impedance", [*IMPEDANCES, 1, 2])
def test_terms_are_the_distribution_and_powers_themselves(impedance):
    power = isinstance(impedance, int)
    terms, found = impedance if power else impedance.terms, np.empty(len(DISTANCES))
    impedance_costs(DISTANCES, terms, found)
    expected = DISTANCES**impedance if power else impedance(DISTANCES)
    assert found == pytest.approx(expected, rel=1e-12)
    assert [impedance_cost(float(d), terms) for d in DISTANCES] == pytest.approx(found)
