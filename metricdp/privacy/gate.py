"""The gate: the one door through which anything computed from private demand leaves this package."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from metricdp.errors import InputError
from metricdp.privacy import _vault
from metricdp.privacy.demand import PrivateDemand
from metricdp.privacy.ledger import Grant, exact
from metricdp.privacy.noise import DiscreteLaplace
from metricdp.privacy.queries import CountQuery, HistogramQuery, Query
from metricdp.releases import Mechanism, Receipt, Release

TRUSTED = (CountQuery, HistogramQuery)
"""Queries whose sensitivity ``queries.py`` proves; a class outside this list could claim any."""


def measure(demand: PrivateDemand, query: Query, epsilon: object, grant: Grant) -> Release:
    """Answer `query` about `demand` with discrete Laplace noise, paid from `grant`.

    **Privacy.** *Neighboring*: the ledger's; unit: the demand's. *Sensitivity*: the query's, for that relation and the
    demand's `max_contributions`. *Guarantee*: epsilon-DP (`DiscreteLaplace`). A query of sensitivity 0 gives the same
    number on all neighbors, so its exact release is 0-DP and draws nothing. *Composition*: sequential over all calls.
    The order is the point: checks that see public things only, then the grant pays, then the vault opens; from there on
    nothing comes out but noisy values, or one fixed message.

    Parameters
    ----------
    demand : PrivateDemand
    query : CountQuery or HistogramQuery
    epsilon : int, float, str, Decimal or Fraction
        How much of the grant to spend, read by `exact`.
    grant : Grant
        From `Ledger.charge`.

    Raises
    ------
    InputError, BudgetError
        A wrong type or universe; a grant that does not hold that much: nothing was read or spent.
    """
    for value, kind in ((demand, PrivateDemand), (grant, Grant)):
        if not isinstance(value, kind):
            raise InputError(f"measure needs a {kind.__name__}, got {type(value).__name__}")
    if type(query) not in TRUSTED:
        raise InputError(f"query must be one of {', '.join(c.__name__ for c in TRUSTED)}, got {type(query).__name__}")
    query.check(demand.universe)
    sensitivity = query.sensitivity(grant.neighboring, demand.max_contributions)
    cost = exact(epsilon) if sensitivity else Fraction(0)
    noise = DiscreteLaplace(sensitivity, cost) if sensitivity else None
    law, scale = ("discrete Laplace", noise.scale) if noise else ("exact", 0.0)
    receipt = Receipt.of([Mechanism(law, str(query), sensitivity, scale, cost)], grant.neighboring, demand.unit)
    grant.draw(cost)
    rule = "the query failed on private records (details withheld); try its partition's encode on public points"
    return Release(_vault._quietly(rule, lambda: _noisy(demand, query, noise)), query, receipt)


def _noisy(demand: PrivateDemand, query: Query, noise: DiscreteLaplace | None) -> NDArray[np.int64]:
    """The only lines that hold exact answers."""
    answer = query.exact(_vault._open(demand))
    return noise(answer) if noise else answer
