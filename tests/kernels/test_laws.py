"""Costs of distances inside of compiled searches, against the laws of objectives."""

import numpy as np
import pytest

from metricdp.kernels.laws import law_cost, law_costs
from metricdp.solvers.objectives.laws import Law

LAWS = [
    Law(1.0),
    Law(2.0),
    Law(3.5),
    Law(growth=0.3),
    Law(1.0, 0.0, 4.0, 40.0),
    Law(2.0, 0.0, 4.0, 160.0),
    Law(growth=3.0, shift=2.5, limit=4.0, beyond=1e6),
    Law(share=0.25, steep=3.0, after=2.5),
    Law(share=0.0, steep=1.0, after=0.0),
]
DISTANCES = np.array([0.0, 0.5, 2.5, 3.0, 4.0, 4.0 * (1 + 5e-10), 4.1, 17.0])


@pytest.mark.parametrize("law", LAWS)
def test_terms_are_the_law(law):
    found = np.empty(len(DISTANCES))
    law_costs(DISTANCES, law.terms, found)
    assert found == pytest.approx(law(DISTANCES), rel=1e-12)
    assert [law_cost(float(d), law.terms) for d in DISTANCES] == pytest.approx(found)


@pytest.mark.parametrize("power", [1, 2])
def test_powers(power):
    found = np.empty(len(DISTANCES))
    law_costs(DISTANCES, power, found)
    assert np.array_equal(found, DISTANCES**power)
    assert [law_cost(float(d), power) for d in DISTANCES] == found.tolist()
