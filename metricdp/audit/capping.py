"""Users with caps: exact laws of Gaussian counts whose noise follows the L2 sensitivity."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from typing import Any

from metricdp.accounting import Cost
from metricdp.audit.exact import Case, Chance
from metricdp.audit.worlds import RELATIONS, Labels, demands, finest, worlds
from metricdp.methods.caps import Caps
from metricdp.privacy import HistogramQuery, PrivateDemand, measure

GAUSS = (Fraction(4), Fraction(1, 1000))
KEY = b"\x5a"
"""One key of all, for the proof holds with every single one."""
_URANDOM = os.urandom


def capping_cases() -> Iterator[Case]:
    """Histograms of the very parts of the caps, and of one part that spans two of them."""
    world = worlds()["two points"]
    fine = HistogramQuery(finest(world.universe))
    coarse = HistogramQuery(Labels(world.universe, (0, 0), 1))
    key = Chance(lambda demand: [()], lambda outcome, n: KEY * n if n == 32 else _URANDOM(n))
    rho = Cost.zcdp(*GAUSS).rho
    for name, caps, query in (
        ("caps of 2 parts", (2, 1), fine),
        ("caps of 1 part of 2", (1, 2), fine),
        ("caps of 2 parts, a coarser histogram", (2, 1), coarse),
    ):
        for relation in RELATIONS:
            # two users of two parts each are never apart in both of two points
            reach = 0.9
            if relation == "replace-one" and caps == (2, 1):
                reach = 0.4 if query is fine else 0.05
            yield Case(
                name,
                world,
                partial(_asked, query),
                demands(2, 2, 3),
                relation,
                caps[0] * caps[1],
                GAUSS,
                reach,
                rho=rho,
                hold=partial(_held, Caps(*caps, areas=finest(world.universe))),
                chance=key,
                essential=relation == "add-remove",
            )


def _held(caps: Any, universe: Any, records: Any, users: Any, m: Any) -> Any:
    """With names by what a user's records are, so that those of one stay when another goes."""
    own: dict[Any, tuple[Any, ...]] = {}
    for user, record in zip(users, records):
        own[user] = (*own.get(user, ()), record)
    known: Counter[Any] = Counter()
    names = {}
    for user, kind in own.items():
        known[kind] += 1
        names[user] = f"{'-'.join(kind)} {known[kind]}"
    return PrivateDemand(universe, records, user=[names[user] for user in users], caps=caps)


def _asked(query: Any, demand: Any, ledger: Any) -> Any:

    cost = Cost.zcdp(*GAUSS)
    return measure(demand, query, cost.epsilon, ledger.charge(cost), cost.delta)
