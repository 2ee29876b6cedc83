"""Every method on every kind of universe, under the exact law of all that it reads."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from fractions import Fraction
from functools import partial
from typing import Any

from metricdp.audit.exact import Case
from metricdp.audit.patch import patched
from metricdp.audit.tape import Tape, recorded
from metricdp.audit.worlds import (
    EPSILON,
    RELATIONS,
    World,
    demands,
    small_nets,
    worlds,
)

LONG = ("lloyd", "k-variates", "balcan", "coreset")
"""Methods of many reads or parts: their laws are followed in the full form only."""


def asking_cases() -> Iterator[tuple[Case, bool]]:
    """Methods as they are asked from the front door."""
    yield from _methods()
    yield from _rounds()
    yield from _levels()


def _offered(method: str, world: World) -> bool:
    """Whether a method answers in this kind of universe at all, by trying it on nobody."""
    import metricdp as mdp

    try:
        with recorded(Tape()), small_nets():
            mdp.k_median(
                world.universe, mdp.PrivateDemand(world.universe, []), 1, epsilon=1, method=method
            )
    except mdp.InputError:
        return False
    return True


def _methods() -> Iterator[tuple[Case, bool]]:
    import metricdp as mdp

    def answers(ask: Callable[..., Any], method: str, demand: Any, ledger: Any) -> Any:
        return ask(demand.universe, demand, 2, epsilon=EPSILON, ledger=ledger, method=method)

    def release(hint: float | None, demand: Any, ledger: Any) -> Any:
        noisy = mdp.release(
            demand.universe, demand, epsilon=EPSILON, ledger=ledger, records_hint=hint
        )
        return [noisy, noisy.histogram, noisy.k_median(1), noisy.k_means(2), noisy.receipt]

    for name, world in worlds().items():
        few = 1 if name in ("a box", "a zero-distance pair") else 2
        for method in mdp.METHODS:
            if not _offered(method, world):
                continue
            reach = (
                (0.8 if name == "a box" else 0.9) if method == "partition" else 0.0
            )  # in a box the last step has 15 %
            for relation in RELATIONS:
                for m in (None, 2) if name == "two points" else (None,):
                    some = [
                        d
                        for d in demands(len(world.places), few, 1 if m is None else 3)
                        if sum(map(len, d)) <= 4
                    ]
                    both = name == "two points" or (name, method) == ("a box", "partition")
                    for ask in (mdp.k_median, mdp.k_means) if both else (mdp.k_median,):
                        case = Case(
                            f"{ask.__name__}, {method}",
                            world,
                            partial(answers, ask, method),
                            some,
                            relation,
                            m,
                            (1, 0),
                            reach,
                        )
                        first = "two points" if mdp.methods.BY_NAME[method].in_finite else "a box"
                        yield (
                            case,
                            ask is mdp.k_median
                            and name == first
                            and m is None
                            and method not in LONG,
                        )
        some = demands(len(world.places), few)
        for kind, hint, relation in (
            ("release", None, "add-remove"),
            ("release, hint", 50.0, "replace-one"),
        ):
            case = Case(
                kind,
                world,
                partial(release, hint),
                some,
                relation,
                None,
                (1, 0),
                0.9,
                journal=name == "two points",
            )
            yield case, name == ("a path" if hint is None else "two points")


def _rounds() -> Iterator[tuple[Case, bool]]:
    """The default method in a box of four dimensions: all designs that a number of records leads
    to, by Laplace and by Gaussian noise.
    """
    import metricdp as mdp
    from metricdp.accounting import Cost
    from metricdp.methods import shares
    from metricdp.methods.box import rounds

    space = mdp.EuclideanSpace([0.0] * 4, [1.0] * 4)
    world = World("a box in R^4", space, [[0.0] * 4, [1.0] * 4])

    def ask(design: str, hint: float, delta: Any, demand: Any, ledger: Any) -> Any:
        with ExitStack() as stack:
            # the tape's noise goes beyond sums of a few records in 2^3 steps
            stack.enter_context(patched(shares, "SUM_BITS", 3))
            stack.enter_context(patched(rounds, "A_CENTER", (1, 2)))
            result = mdp.k_means(
                space, demand, 1, epsilon=EPSILON, delta=delta, ledger=ledger, records_hint=hint
            )
        if result.release.design.name != design:
            raise AssertionError(f"{result.release.design.name} in place of {design}")
        return [result, result.release, result.release.histogram, result.release.k_median(1)]

    for few, relation in enumerate(RELATIONS, 1):
        for delta, hints in ((0, (10**6, 350, 1)), (Fraction(1, 100), (10**6, 70, 1))):
            rho = Cost.zcdp(EPSILON, delta).rho if delta else None
            for design, hint in zip(("rounds", "subspace", "mean"), hints):
                name = f"k_means, {design}{', Gaussian' if delta else ''}"
                reach = (
                    0.2
                    if (relation, design, bool(delta)) == ("replace-one", "rounds", True)
                    else 0.5
                )
                call = partial(ask, design, float(hint * few), delta)
                yield (
                    Case(
                        name,
                        world,
                        call,
                        demands(2, 1),
                        relation,
                        None,
                        (1, delta),
                        reach,
                        rho=rho,
                        steps=True,
                        limit=20,
                    ),
                    False,
                )


def _levels() -> Iterator[tuple[Case, bool]]:
    """The methods hst and quadtree with several levels, by their papers' shares."""
    import metricdp as mdp

    def ask(printed: Any, demand: Any, ledger: Any) -> Any:
        result = mdp.k_median(
            demand.universe, demand, 2, epsilon=EPSILON, ledger=ledger, method=printed
        )
        return [result, result.release.counts.measured]

    for name, printed, world, some, reach in (
        ("hst", mdp.methods.DPHST(levels=2, budget="geometric"), "a path", demands(4, 1), 0.9),
        (
            "quadtree",
            mdp.methods.Quadtree(published=True, depth=2, threshold=0.02, steps=0),
            "a box",
            demands(3, 1),
            0.5,
        ),
    ):
        for relation in RELATIONS:
            yield (
                Case(
                    f"k_median, {name} by levels",
                    worlds()[world],
                    partial(ask, printed),
                    some,
                    relation,
                    None,
                    (1, 0),
                    reach,
                ),
                True,
            )
