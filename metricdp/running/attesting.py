"""Provenance of receipts: the public circumstances of a call (arguments, universe, ledger, day).

**Privacy.** Nothing here reads a record.
"""

from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from metricdp.accounting import BudgetSlice, Ledger
from metricdp.accounting import ledger as ledgers
from metricdp.methods.expected import Expected, ExpectedPoints
from metricdp.methods.method import Method
from metricdp.metrics.identity_cache import IdentityCache
from metricdp.privacy import PrivateDemand
from metricdp.provenance import Provenance, package_facts
from metricdp.releases import Receipt

_KEPT = IdentityCache()


def public_universe(universe: Any) -> dict[str, Any]:
    """A universe by kind, name, size and checksum, JSON-ready; computed once, in O(size)."""
    cache = _KEPT.of(universe)
    if "facts" not in cache:
        own = {"kind": type(universe).__name__, "name": str(universe.name)}
        cache["facts"] = own | universe.facts()
    return dict(cache["facts"])


class Description(NamedTuple):
    """A call without a method: its name, what it chooses, and its post-processing, in words."""

    name: str
    chooses: str
    afterwards: str


def provenance(
    call: str,
    demand: PrivateDemand,
    budget: BudgetSlice,
    recipe: Method | Description,
    options: Mapping[str, Any],
    chooses: str | None = None,
) -> Provenance:
    """The circumstances of a call in the central model."""
    asked = {"epsilon": budget.epsilon, "delta": budget.delta, **options}
    facts = circumstances(
        asked,
        recipe,
        call=call,
        model="central",
        max_contributions=demand.protects.max_contributions,
        ledger=ledger_facts(budget),
        **({} if chooses is None else {"chooses": chooses}),
    )
    return Provenance(facts, partial(public_universe, demand.universe))


def circumstances(
    asked: Mapping[str, Any], recipe: Any = None, *, ledger: Any = None, **facts: Any
) -> dict[str, Any]:
    """The circumstances of a call in any trust model: options, method, ledger, day, package."""
    options = {name: {"value": _plain(value)} for name, value in asked.items()}
    how = dict[str, Any]()
    if recipe is not None:
        options |= recipe_options(recipe)
        how = {name: getattr(recipe, name) for name in ("chooses", "afterwards")}
        how["method"] = recipe.name
    made = {"ledger": ledger, "day": ledgers.today(), "package": package_facts()}
    return {**how, **facts, "options": options, **made}


def recipe_options(recipe: Any) -> dict[str, dict[str, Any]]:
    """Each field of a method: its value, and whether it is the default."""
    if not is_dataclass(recipe):
        return {}
    options = {}
    for field in fields(recipe):
        value = getattr(recipe, field.name)
        default = field.default if field.default_factory is MISSING else field.default_factory()
        options[field.name] = {"value": _plain(value), "default": _plain(value) == _plain(default)}
    return options


def ledger_facts(budget: Any) -> dict[str, Any] | None:
    """State of the ledger to which a budget slice was charged, or None."""
    while isinstance(budget, BudgetSlice):
        budget = budget.parent
    return budget.state() if isinstance(budget, Ledger) else None


def attested(receipt: Receipt, made: Provenance) -> Receipt:
    """The receipt with its circumstances."""
    return replace(receipt, made=made)


def attest(answer: Any, made: Provenance) -> Any:
    """The result or release with its circumstances on the receipt."""
    release = getattr(answer, "release", None)
    if is_dataclass(answer) and not isinstance(answer, type):
        if release is not None and hasattr(release, "receipt"):
            release.receipt = attested(release.receipt, made)
        receipt = answer.receipt  # type: ignore[attr-defined]
        return replace(answer, receipt=None if receipt is None else attested(receipt, made))
    answer.receipt = attested(answer.receipt, made)
    return answer


def _plain(value: Any) -> Any:
    """A public value as JSON: collections by their size, other objects by their type."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Fraction):
        return str(value)
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple | set | frozenset | dict | np.ndarray):
        return f"{len(value):,} given"
    return repr(value) if isinstance(value, Expected | ExpectedPoints) else type(value).__name__
