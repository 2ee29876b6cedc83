"""Private centers in a box, held to their exact law: medians, means, steps from given centers, and
what a quadtree adds to them.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from metricdp.audit.exact import Case
from metricdp.audit.worlds import RELATIONS, World, demands, worlds

EPSILON = Fraction(7, 10)


def center_cases() -> Iterator[tuple[Case, bool]]:
    """Cases, and whether each is in the short form too."""
    import metricdp as mdp

    box = worlds()["a box"]
    space = box.universe
    tree = mdp.methods.Quadtree

    def median(demand: Any, ledger: Any) -> Any:
        return mdp.private_median(space, demand, epsilon=EPSILON, ledger=ledger, steps=1)

    def rings(demand: Any, ledger: Any) -> Any:
        return mdp.private_median(
            space, demand, epsilon=EPSILON, ledger=ledger, steps=1, method="rings", sample=0.9
        )

    def mean(demand: Any, ledger: Any) -> Any:
        return mdp.private_mean(space, demand, epsilon=EPSILON, ledger=ledger, steps=1)

    def steps(demand: Any, ledger: Any) -> Any:
        return mdp.private_lloyd(
            space, demand, [[0.4], [2.0]], epsilon=EPSILON, ledger=ledger, steps=1, power=1
        )

    def opened(demand: Any, ledger: Any) -> Any:
        result = mdp.k_means(
            space,
            demand,
            2,
            epsilon=EPSILON,
            ledger=ledger,
            method=tree(opening="privtree", depth=1, steps=0),
        )
        return [result, result.release.counts.measured]

    def passes(demand: Any, ledger: Any) -> Any:
        found = tree(published=True, depth=1, passes=2, steps=0, threshold=0.02, records_hint=3.0)
        return mdp.k_means(space, demand, 2, epsilon=EPSILON, ledger=ledger, method=found)

    for name, call, reach in (
        ("private_median", median, 0.7),
        ("private_median, rings", rings, 0.3),
        ("private_mean", mean, 0.7),
        ("private_lloyd, k-median", steps, 0.7),
        ("k_means, PrivTree", opened, 0.3),
        ("k_means, badly cut centers", passes, 0.3),
    ):
        for relation in RELATIONS:
            essential = relation == "add-remove" and name in (
                "private_median",
                "private_mean",
                "k_means, PrivTree",
            )
            least = (
                reach if relation == "add-remove" else min(reach, 0.25)
            )  # the places are near each other
            yield Case(name, box, call, demands(3, 1), relation, None, (1, 0), least), essential

    plane = World(
        "a box in R^2", mdp.EuclideanSpace([0.0, 0.0], [1.0, 1.0]), [[0.1, 0.2], [0.9, 0.6]]
    )

    def projected(demand: Any, ledger: Any) -> Any:
        inner = tree(rounds=1, records_hint=2.0)
        found = mdp.methods.Projected(inner=inner, dimensions=1, steps=1)
        return mdp.k_means(plane.universe, demand, 1, epsilon=EPSILON, ledger=ledger, method=found)

    for relation in RELATIONS:
        yield (
            Case(
                "k_means, projected", plane, projected, demands(2, 1), relation, None, (1, 0), 0.05
            ),
            False,
        )
