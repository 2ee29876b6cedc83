"""What is verified: every method and front door, on tiny universes and boxes, for every unit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any

import metricdp as mdp
from metricdp.audit.replay.days import DAYS, EACH_DAY, at_once, beneath, stepped
from metricdp.audit.replay.loaders import LOADERS, loaded
from metricdp.audit.replay.verifying import Subject, Unit
from metricdp.audit.worlds import small_nets

GAUSS = (1, "1e-9")
"""So small a delta that no honest transcript of a test ever needs it."""


def _plain(universe: Any, rows: list[Any], users: list[str]) -> Any:
    return mdp.PrivateDemand(universe, rows)


def _bounded(universe: Any, rows: list[Any], users: list[str]) -> Any:
    return mdp.PrivateDemand(universe, rows, user=users, max_contributions=2)


def _shared(universe: Any, rows: list[Any], users: list[str]) -> Any:
    return mdp.PrivateDemand(universe, rows, user=users, weighting="share")


def _capped(universe: Any, rows: list[Any], users: list[str]) -> Any:
    caps = mdp.Caps(parts=2, records=1, areas=min(3, len(universe)))
    return mdp.PrivateDemand(universe, rows, user=users, caps=caps)


RECORD = Unit("record", (1,), _plain)
USER = Unit("user, m = 2", (1, 2, 3), _bounded)
SHARE = Unit("user, share", (1, 2, 3), _shared)
CAPS = Unit("user, caps", (1, 2, 3), _capped)


@cache
def _worlds() -> dict[str, tuple[Any, list[Any]]]:
    import networkx as nx

    grid = mdp.GraphMetric(nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 4)), weight=None)
    two = mdp.PrecomputedMetric([[0.0, 1.0], [1.0, 0.0]], ids=["a", "b"])
    directed = nx.DiGraph([(0, 1), (1, 2), (2, 0), (1, 0)])
    return {
        "two points": (two, ["a", "b"]),
        "a grid": (grid, [0, 3, 5, 10, 15]),
        "a directed graph": (mdp.GraphMetric(directed, weight=None, directed=True), [0, 1, 2]),
        "a box": (mdp.EuclideanSpace([0.0, 0.0], [1.0, 1.0]), [[0.1, 0.2], [0.8, 0.9], [9.0, 0.4]]),
        "a box in R^4": (
            mdp.EuclideanSpace([0.0] * 4, [1.0] * 4),
            [[0.1] * 4, [0.9] * 4, [0.1, 0.9, 0.1, 0.9]],
        ),
    }


def subjects() -> Iterator[Subject]:
    """All rows of the table, before relations."""
    yield from _methods()
    yield from _doors()
    yield from _options()
    yield from _loaded()
    yield from _streamed()


def _asked(ask: Any, k: int, method: Any, epsilon: Any, demand: Any, ledger: Any) -> Any:
    delta = epsilon[1] if isinstance(epsilon, tuple) else 0
    epsilon = epsilon[0] if isinstance(epsilon, tuple) else epsilon
    with small_nets():
        return ask(
            demand.universe, demand, k, epsilon=epsilon, delta=delta, ledger=ledger, method=method
        )


def _methods() -> Iterator[Subject]:
    finite = [m for m, kind in mdp.methods.BY_NAME.items() if kind.in_finite]
    boxes = [m for m, kind in mdp.methods.BY_NAME.items() if kind.in_space]
    for name, methods in (("a grid", finite), ("two points", finite), ("a box", boxes)):
        universe, places = _worlds()[name]
        for method in methods:
            for unit in (RECORD, USER, SHARE, CAPS):
                if unit is CAPS and name == "a box":
                    continue
                for budget in ((1, 0), GAUSS) if name != "two points" else ((1, 0),):
                    asked = partial(_asked, mdp.k_median, 2, method, budget)
                    law = ", delta" if budget[1] else ""
                    short = unit is RECORD and name != "two points" and not budget[1]
                    yield Subject(
                        f"k_median, {method}{law}, {name}",
                        universe,
                        places,
                        asked,
                        unit,
                        budget=budget,
                        essential=short or (method == "partition" and name == "a grid"),
                    )


def _doors() -> Iterator[Subject]:
    def release(demand: Any, ledger: Any) -> Any:
        with small_nets():
            noisy = mdp.release(demand.universe, demand, epsilon=1, ledger=ledger)
            return [noisy, noisy.k_median(1), noisy.receipt]

    def explore(demand: Any, ledger: Any) -> Any:
        with small_nets():
            found = mdp.explore(
                demand.universe, demand, ["1/5", "1/2"], 1, ledger=ledger, repeats=0
            )
        return [found.to_dict(), found.receipt]

    def evaluate(centers: Any, within: Any, demand: Any, ledger: Any) -> Any:
        with small_nets():
            return mdp.evaluate(
                demand.universe, demand, centers, epsilon=1, ledger=ledger, within=within
            )

    for name in ("a grid", "a directed graph", "a box"):
        universe, places = _worlds()[name]
        centers = places[:1]
        calls: dict[str, Callable[..., Any]] = {
            "release": release,
            "evaluate": partial(evaluate, centers, [0.5]),
            "k_means": partial(_asked, mdp.k_means, 2, "partition", 1),
        }
        if name == "a grid":
            calls["explore"] = explore
        for door, call in calls.items():
            for unit in (RECORD, USER):
                short = unit is RECORD and (name == "a grid" or door == "release")
                yield Subject(f"{door}, {name}", universe, places, call, unit, essential=short)
    box, places = _worlds()["a box"]
    for name, call in (
        ("private_median", partial(_center, mdp.private_median)),
        ("private_mean", partial(_center, mdp.private_mean)),
        ("private_lloyd", _lloyd),
    ):
        for unit in (RECORD, USER):
            yield Subject(f"{name}, a box", box, places, call, unit, essential=unit is RECORD)


def _center(ask: Any, demand: Any, ledger: Any) -> Any:
    return ask(demand.universe, demand, epsilon=1, ledger=ledger)


def _lloyd(demand: Any, ledger: Any) -> Any:
    centers = [[0.2, 0.2], [0.7, 0.7]]
    return mdp.private_lloyd(demand.universe, demand, centers, epsilon=1, ledger=ledger, steps=2)


def _options() -> Iterator[Subject]:
    """Questions that methods ask only where they are told to, and users counted for themselves."""
    privtree = mdp.methods.Quadtree(opening="privtree", depth=2, steps=0)
    coreset = mdp.methods.Coreset(published=True, cells=3, left_over=0.5, records_hint=24)
    hst = mdp.methods.DPHST(levels=2, budget="geometric")
    for name, world, ask, method, epsilon in (
        ("k_means, PrivTree", "a box", mdp.k_means, privtree, 1),
        ("k_means, coreset by rounds", "a box", mdp.k_means, coreset, 8),
        ("k_means", "a box in R^4", mdp.k_means, "partition", 1),
        ("k_median, hst by levels", "a grid", mdp.k_median, hst, 1),
    ):
        universe, places = _worlds()[world]
        for unit in (RECORD, USER):
            call = partial(_asked, ask, 2, method, epsilon)
            short = unit is RECORD
            yield Subject(
                f"{name}, {world}",
                universe,
                places,
                call,
                unit,
                budget=(epsilon, 0),
                essential=short,
            )
    grid, places = _worlds()["a grid"]
    for budget in ((1, 0), GAUSS):
        law = ", delta" if budget[1] else ""
        covered = partial(_covered, budget)
        yield Subject(
            f"max_coverage{law}, a grid",
            grid,
            places,
            covered,
            RECORD,
            budget=budget,
            essential=True,
        )
    users = Unit("user, all records", (1, 2, 3), lambda universe, rows, users: users)
    yield Subject("contributions", grid, places[:1], _numbers, users, essential=True)


def _covered(budget: Any, demand: Any, ledger: Any) -> Any:
    epsilon, delta = budget
    sets = [[0, 1, 2, 3], [3, 5, 10], [10, 15], [5, 15, 0]]
    return mdp.max_coverage(sets, demand, 3, epsilon=epsilon, delta=delta, ledger=ledger)


def _numbers(users: Any, ledger: Any) -> Any:
    found = mdp.contributions(users, epsilon=1, ledger=ledger)
    return [found.max_contributions, found.counts]


def _loaded() -> Iterator[Subject]:
    """The same question, whatever records come from."""
    grid, places = _worlds()["a grid"]
    for loader, slow in LOADERS.items():
        for name, sizes, m in (("record", (1,), None), ("user, m = 2", (1, 2, 3), 2)):
            yield Subject(
                f"k_median, hst, from {loader}",
                grid,
                places,
                partial(_asked, mdp.k_median, 2, "hst", 1),
                Unit(name, sizes, partial(loaded, loader, m)),
                neighbors=slow,
                essential=m is not None and loader in ("CSV", "DuckDB"),
            )


def _streamed() -> Iterator[Subject]:
    """All days of a stream together. A place is where a unit is on each day, if anywhere."""
    universe, _ = _worlds()["a grid"]
    for kind, options, budget in (
        ("a known horizon", {"horizon": DAYS}, (1, 0)),
        ("delta", {"horizon": DAYS, "delta": GAUSS[1]}, GAUSS),
        ("an unknown horizon", {}, (1, 0)),
        ("a window", {"window": 2}, (1, 0)),
        ("a half-life", {"half_life": 1.0}, (1, 0)),
        ("a known horizon", {"horizon": DAYS, "unit": "user"}, (1, 0)),
        ("delta", {"horizon": DAYS, "unit": "user", "delta": GAUSS[1]}, GAUSS),
    ):
        users = "unit" in options
        yield Subject(
            f"Stream, {kind}, a grid",
            universe,
            EACH_DAY if users else [day for day in EACH_DAY if day.count(None) == DAYS - 1],
            partial(stepped, universe, options),
            Unit("user, all days" if users else "record", (1,), partial(at_once, users)),
            budget=budget,
            beneath=partial(beneath, universe, options),
            essential=kind == "a known horizon",
        )
