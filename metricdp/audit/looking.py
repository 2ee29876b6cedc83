"""The default of finite universes where it looks more than once, held to its exact law: on tiny
universes and with few parts, so that later cuts follow what was released before.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from fractions import Fraction
from functools import cache, partial
from typing import Any

from metricdp.audit.exact import LIMIT, Case
from metricdp.audit.patch import patched
from metricdp.audit.worlds import RELATIONS, World, demands

EPSILON = Fraction(7, 10)
ENOUGH = 0.5
MANY = 60.0
"""Records per unit of noise from which on there is more than one look, in this file; and a guess of
their number that is more than that.
"""
SOME = 100
"""Scripts of three looks, drawn at random: their law is followed in part."""


@cache
def two_pairs() -> World:
    """Two pairs of points far apart: either pair may be told apart next."""
    from metricdp.metrics import EuclideanMetric

    line = EuclideanMetric([[0.0], [1.0], [10.0], [11.0]], ids=["a", "b", "c", "d"])
    return World("two pairs", line, list(line.ids))


def look_cases() -> Iterator[tuple[Case, bool]]:
    """Two looks and three at four points, where light parts are not split; one look where the noisy
    count says so.
    """
    for looks in ("two looks", "three looks"):
        for relation in RELATIONS:
            case = Case(
                f"release, {looks}",
                two_pairs(),
                partial(_release, looks, None if relation == "add-remove" else MANY),
                demands(4, 1),
                relation,
                None,
                (1, 0),
                0.9 if looks == "two looks" else 0.3,
                limit=LIMIT if looks == "two looks" else SOME,
            )
            yield case, looks == "two looks"


def _release(looks: str, hint: float | None, demand: Any, ledger: Any) -> Any:
    """Everything that one release tells, with few parts and low thresholds."""
    import metricdp as mdp
    from metricdp.methods.finite import looks as rules

    two = rules.Look(Fraction(1, 3), 1.0), rules.Look(Fraction(2, 3), 1.5, 1.0, True)
    three = zip((look.share for look in rules.FAST), (1.0, 1.5, 2.0), (0.0, 1.0, 0.0))
    changed = {
        "FEWEST_PARTS": 2,
        "PARTS_FACTOR": 0.0,
        "ENOUGH": ENOUGH,
        "THREE": two if looks == "two looks" else tuple(rules.Look(*look) for look in three),
        "ENOUGH_FOR_FAST": float("inf"),
    }
    with ExitStack() as stack:
        for name, value in changed.items():
            stack.enter_context(patched(rules, name, value))
        noisy: Any = mdp.release(
            demand.universe, demand, epsilon=EPSILON, ledger=ledger, records_hint=hint
        )
    return [noisy, *noisy.histograms, noisy.k_median(2), noisy.receipt]
