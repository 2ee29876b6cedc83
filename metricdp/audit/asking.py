"""Every method on one universe, under the exact distribution of all that it reads."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import metricdp as mdp
from metricdp.accounting import Ledger
from metricdp.audit.exact import Case
from metricdp.audit.worlds import EPSILON, RELATIONS, demands, worlds

FIRST = "partition"
"""The method of the short form."""


def asking_cases() -> Iterator[Case]:
    """Methods as they are asked from the front door, and releases."""
    for method in mdp.METHODS:
        name = "two points" if mdp.methods.BY_NAME[method].in_finite else "a box"
        world = worlds()[name]
        some = demands(len(world.places), 2 if name == "two points" else 1)
        reach = 0.9 if method == FIRST else 0.0
        for relation in RELATIONS:
            call = partial(_answer, method)
            kind = f"k_median, {method}"
            essential = method == FIRST and relation == "add-remove"
            yield Case(kind, world, call, some, relation, reach=reach, essential=essential)
    two = worlds()["two points"]
    for kind, hint, relation in (
        ("release", None, RELATIONS[0]),
        ("release, hint", 50.0, RELATIONS[1]),
    ):
        call = partial(_release, hint)
        form = (demands(2, 2), relation, None, (1, 0), 0.9)
        yield Case(kind, two, call, *form, journal=True, essential=bool(hint))


def _answer(method: str, demand: Any, ledger: Ledger) -> Any:
    asked: dict[str, Any] = {"epsilon": EPSILON, "ledger": ledger, "method": method}
    return mdp.k_median(demand.universe, demand, 2, **asked)


def _release(hint: float | None, demand: Any, ledger: Ledger) -> Any:
    asked: dict[str, Any] = {"epsilon": EPSILON, "ledger": ledger, "records_hint": hint}
    noisy = mdp.release(demand.universe, demand, **asked)
    return [noisy, noisy.histogram, noisy.k_median(1), noisy.k_means(2), noisy.receipt]
