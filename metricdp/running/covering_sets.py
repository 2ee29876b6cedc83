"""Private maximum coverage by any public sets (Jones, Nguyen & Nguyen, AAAI 2021)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any

from metricdp.accounting import Budget, Cost
from metricdp.accounting.covering import exponent
from metricdp.arguments import Amount, count
from metricdp.errors import InputError
from metricdp.methods.asking import Terms
from metricdp.metrics.base import metric_of
from metricdp.metrics.listing import listed_sets
from metricdp.partitions.finite.labels import LabelParts
from metricdp.privacy import CoverQuery, PrivateDemand, cover
from metricdp.releases import Receipt
from metricdp.running.attesting import Description, attested, provenance
from metricdp.running.charging import Accountant

DESCRIPTION = Description(
    "max-coverage of any sets",
    "Sets, and how many are selected, are public arguments; nothing else is chosen.",
    "None beyond the selections themselves: the sets are released as they were drawn.",
)


@dataclass(frozen=True)
class Coverage:
    """Sets selected to cover a private demand.

    Attributes
    ----------
    sets : list
        Indices of the sets, or their names if a mapping was given, in the order in which they
        were selected.
    receipt : Receipt
        Cost of the selections.

    Examples
    --------
    >>> shops = mdp.GroundSet(["bread", "milk", "tea"])
    >>> bought = mdp.PrivateDemand(shops, ["bread"] * 4000 + ["tea"] * 4000)
    >>> sets = {"bakery": ["bread"], "dairy": ["milk"], "tea room": ["tea", "milk"]}
    >>> sorted(mdp.max_coverage(sets, bought, 2, epsilon=4).sets)
    ['bakery', 'tea room']
    """

    sets: list[Any]
    receipt: Receipt = field(repr=False)


def max_coverage(
    sets: Any,
    demand: PrivateDemand,
    m: int,
    *,
    epsilon: Amount | None = None,
    delta: Amount = 0,
    ledger: Budget | None = None,
) -> Coverage:
    """Select m of the given sets that together cover many private records.

    Greedy: each set is drawn with probability proportional to exp(eta · number of records that it
    covers and no earlier set does).

    Parameters
    ----------
    sets : sequence of iterables of ids, mapping from name to ids, or sparse matrix
        Public sets of ids of the demand's universe, which may be a `GroundSet`; a matrix has one
        row a set, one column a point.
    demand : PrivateDemand
        In a finite universe.
    m : int
        Sets to select, 1 to their number; none is selected twice.
    epsilon, delta : int, float, str, Decimal or Fraction
        Budget of all selections together. A delta allows a larger eta if m is large.
    ledger : Ledger (or BudgetSlice), optional
        Is charged before any data is read; a fresh one of that size by default (add-remove
        neighbors).

    Raises
    ------
    InputError, BudgetError
        A bad argument, or a ledger that does not hold that much: nothing was read.

    Notes
    -----
    **Privacy.** (epsilon, delta)-DP for all m selections together (`metricdp.accounting.covering`).
    Expected coverage: with probability 1 - b the sets cover at least (1 - (1 - 1/k)^m) of what the
    best k sets cover, less m·ln(n_sets·m/b)/eta: each selection misses the best set by at most
    ln(n_sets·m/b)/eta records.

    Examples
    --------
    >>> from metricdp import GroundSet
    >>> shops = GroundSet(["north", "south", "east", "west"])
    >>> demand = PrivateDemand(shops, ["north"] * 500 + ["east"] * 400 + ["west"] * 300)
    >>> sets = {"a": ["north", "south"], "b": ["east", "west"], "c": ["south"]}
    >>> max_coverage(sets, demand, 2, epsilon=1).sets
    ['b', 'a']
    """
    rule = (
        "demand must be a PrivateDemand in a finite universe: "
        "mdp.PrivateDemand(mdp.GroundSet(ids), records) makes one"
    )
    if not isinstance(demand, PrivateDemand):
        raise InputError(rule)
    universe = metric_of(demand.universe, "demand", rule)
    accountant = Accountant(universe, demand, ledger)
    names: list[Hashable] | None = list(sets) if isinstance(sets, Mapping) else None
    listed = list(sets.values()) if isinstance(sets, Mapping) else sets
    system = listed_sets(listed, universe)
    m = count(m, "m", 1, system.n_sets, "the number of sets")
    query = CoverQuery(LabelParts.of(universe), [(system, m)])

    def confirm(terms: Terms) -> None:
        exponent(terms.price, query.rounds, terms.neighboring, terms.max_contributions)

    budget = accountant.charge(attrgetter("price"), confirm, [(epsilon, delta)], "max_coverage")
    (selected,), receipt = cover(demand, query, Cost(budget.epsilon, budget.delta), budget)
    options = {"m": m, "sets": system.n_sets}
    made = provenance("max_coverage", demand, budget, DESCRIPTION, options)
    chosen_sets = [int(i) if names is None else names[i] for i in selected]
    return Coverage(chosen_sets, attested(receipt, made))
