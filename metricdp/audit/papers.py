"""Algorithms of papers as they are printed, with the exact law of what they publish."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from metricdp.audit.exact import Case
from metricdp.audit.patch import patched
from metricdp.audit.worlds import RELATIONS, demands, worlds


def paper_cases() -> Iterator[tuple[Case, bool]]:
    """All cases, and whether each is in the short form too."""
    yield from _candidates()
    yield from _tree()
    yield from _runs()
    yield from _regions()


def _candidates() -> Iterator[tuple[Case, bool]]:
    """Maximum coverage in a box, as published: private candidates, then Algorithm 2 on them. Its
    draws have cases of their own; here neighbors must show the same on the same tape.
    """
    import metricdp as mdp

    def ask(demand: Any, ledger: Any) -> Any:
        printed = mdp.methods.MaxCoverage(published=True, picks=1)
        box = demand.universe
        result = mdp.k_means(box, demand, 2, epsilon=4, delta="1/10", ledger=ledger, method=printed)
        return [result, result.release.universe.points, result.release.weights]

    for relation in RELATIONS:
        yield (
            Case(
                "k_means, max-coverage as published",
                worlds()["a box"],
                ask,
                demands(3, 1),
                relation,
                None,
                (4, "1/10"),
                0.0,
                steps=True,
                limit=8,
            ),
            relation == "add-remove",
        )


def _tree() -> Iterator[tuple[Case, bool]]:
    """DP-HST as published: every level below the root, and centers from single counts."""
    import metricdp as mdp

    def ask(demand: Any, ledger: Any) -> Any:
        printed = mdp.methods.DPHST(published=True, levels=2)
        result = mdp.k_median(demand.universe, demand, 2, epsilon=1, ledger=ledger, method=printed)
        return [result, result.release.weights, *result.release.counts.each]

    for relation in RELATIONS:
        yield (
            Case(
                "k_median, hst as published",
                worlds()["a path"],
                ask,
                demands(4, 1),
                relation,
                None,
                (1, 0),
                0.6,
            ),
            True,
        )


def _runs() -> Iterator[tuple[Case, bool]]:
    """The best of two quadtrees: both histograms, then the private comparison of their centers."""
    import metricdp as mdp
    from metricdp.methods.box import best_run

    def ask(demand: Any, ledger: Any) -> Any:
        trees = mdp.methods.Quadtree(rounds=1, depth=2, runs=2, steps=0, records_hint=2.0)
        with patched(best_run, "BITS", 3):
            return mdp.k_means(demand.universe, demand, 1, epsilon=4, ledger=ledger, method=trees)

    for relation in RELATIONS:
        yield (
            Case(
                "k_means, the best of two runs",
                worlds()["a box"],
                ask,
                demands(3, 1),
                relation,
                None,
                (4, 0),
                0.0,
                steps=True,
                limit=60,
            ),
            relation == "add-remove",
        )


def _regions() -> Iterator[tuple[Case, bool]]:
    """Two regions with privacy levels of their own: each record costs what its own region does."""
    import metricdp as mdp

    def ask(demand: Any, ledger: Any) -> Any:
        labels = ["ward", *["elsewhere"] * (len(demand.universe) - 1)]
        two = mdp.methods.Regional(
            regions={"ward": "1/2", "elsewhere": 1}, labels=labels, records_hint=2.0
        )
        result = mdp.k_median(demand.universe, demand, 1, epsilon=1, ledger=ledger, method=two)
        return [result, result.release.weights, result.release.regions]

    for relation in RELATIONS:
        for m in (None, 2):
            some = demands(2, 2) if m is None else demands(2, 1, 2)
            yield (
                Case(
                    "k_median, regions",
                    worlds()["two points"],
                    ask,
                    some,
                    relation,
                    m,
                    (1, 0),
                    0.3,
                ),
                m is None,
            )
