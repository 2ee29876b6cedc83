"""Subjects of the replay verifier: each method and public call, on tiny universes, for each
unit.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from importlib import import_module
from typing import Any

import networkx as nx

import metricdp as mdp
from metricdp.audit.patch import all_patched, patched
from metricdp.audit.replay.loaders import LOADERS, POINTS, loaded
from metricdp.audit.replay.transcript import Transcript, recorded
from metricdp.audit.replay.verifying import RELATIONS, Subject, Unit
from metricdp.audit.worlds import small_nets

MANY = 300
"""Number of units where with fewer no bucket is above the noise threshold."""
GAUSS = (1, "1e-9")
"""A budget with a delta so small that no correct transcript uses it."""


def _plain(universe: Any, rows: list[Any], users: list[str]) -> Any:
    return mdp.PrivateDemand(universe, rows)


def _of_users(universe: Any, rows: list[Any], users: list[str], **bounds: Any) -> Any:
    return mdp.PrivateDemand(universe, rows, user=users, **bounds)


def _capped(universe: Any, rows: list[Any], users: list[str]) -> Any:
    caps = mdp.Caps(parts=2, records=1, areas=min(3, len(universe)))
    return _of_users(universe, rows, users, caps=caps)


RECORD = Unit("record", (1,), _plain)
USER = Unit("user, m = 2", (1, 2, 3), partial(_of_users, max_contributions=2))
SHARE = Unit("user, share", (1, 2, 3), partial(_of_users, weighting="share"))
CAPS = Unit("user, caps", (1, 2, 3), _capped)


@cache
def _worlds() -> dict[str, tuple[Any, list[Any]]]:
    grid = mdp.GraphMetric(nx.convert_node_labels_to_integers(nx.grid_2d_graph(4, 4)), weight=None)
    two = mdp.PrecomputedMetric([[0.0, 1.0], [1.0, 0.0]], ids=["a", "b"])
    cube = mdp.EuclideanSpace([0.0] * 4, [1.0] * 4)
    directed = nx.DiGraph([(0, 1), (1, 2), (2, 0), (1, 0)])
    return {
        "two points": (two, ["a", "b"]),
        "two pairs": (mdp.EuclideanMetric([[0.0], [1], [10], [11]], ids=[*"abcd"]), [*"abcd"]),
        "a grid": (grid, [0, 3, 5, 10, 15]),
        "a directed graph": (mdp.GraphMetric(directed, weight=None, directed=True), [0, 1, 2]),
        "a box": (mdp.EuclideanSpace([0.0, 0.0], [1.0, 1.0]), [[0.1, 0.2], [0.8, 0.9], [9.0, 0.4]]),
        "a box in R^4": (cube, [[0.1] * 4, [0.9] * 4, [0.1, 0.9, 0.1, 0.9]]),
        "a box in R^5": (mdp.EuclideanSpace([0.0] * 5, [1.0] * 5), [[0.1] * 5, [0.9] * 5]),
    }


def subjects() -> Iterator[Subject]:
    """All subjects."""
    yield from _methods()
    yield from _doors()
    yield from _options()
    yield from _loaded()
    yield from _pointed()
    yield from _streamed()


def _asked(
    ask: Callable[..., Any], k: int, method: Any, budget: Any, demand: Any, ledger: mdp.Ledger
) -> Any:
    epsilon, delta = budget
    asked = {"epsilon": epsilon, "delta": delta, "ledger": ledger, "method": method}
    with small_nets():
        found = ask(demand.universe, demand, k, **asked)
        universe = getattr(getattr(found, "release", None), "universe", None)
        return [found, getattr(universe, "points", None)]


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
                    k = 1 if name == "two points" else 2
                    asked = partial(_asked, mdp.k_median, k, method, budget)
                    suffix = ", delta" if budget[1] else ""
                    short = unit is RECORD and name != "two points" and not budget[1]
                    short = short or (method == "partition" and name == "a grid")
                    form = (universe, places, asked, unit, RELATIONS, budget)
                    relations = RELATIONS if method == "partition" else RELATIONS[:1]
                    row = f"k_median, {method}{suffix}, {name}"
                    yield Subject(row, *form, essential=short, short=relations)


def _doors() -> Iterator[Subject]:
    def release(demand: Any, ledger: mdp.Ledger) -> Any:
        with small_nets():
            noisy = mdp.release(demand.universe, demand, epsilon=1, ledger=ledger)
            return [noisy, noisy.k_median(1), noisy.receipt]

    def explore(demand: Any, ledger: mdp.Ledger) -> Any:
        with small_nets():
            levels = partial(mdp.explore, demand.universe, demand, ["1/5", "1/2"], 1)
            found = levels(ledger=ledger, repeats=0)
        return [found.to_dict(), found.receipt]

    def evaluate(centers: Any, asked: dict[str, Any], demand: Any, ledger: mdp.Ledger) -> Any:
        few = patched(import_module("metricdp.solvers.estimate.intervals"), "_DRAWS", 64)
        with small_nets(), few:
            return mdp.evaluate(demand.universe, demand, centers, epsilon=1, ledger=ledger, **asked)

    for name in ("a grid", "a directed graph", "a box"):
        universe, places = _worlds()[name]
        centers = places[:1]
        calls: dict[str, Callable[..., Any]] = {
            "release": release,
            "evaluate": partial(evaluate, centers, {"within": [0.5]}),
            "k_means": partial(_asked, mdp.k_means, 2, "partition", (1, 0)),
        }
        if name == "a grid":
            calls["explore"] = explore
            areas = ["a", "b"] * (len(universe) // 2) + [None] * (len(universe) % 2)
            by_area = {"by": areas, "against": places[-1:]}
            calls["evaluate by area"] = partial(evaluate, centers, by_area)
        units = (RECORD, USER, SHARE, CAPS) if name == "a grid" else (RECORD, USER, SHARE)
        for door, call in calls.items():
            for unit in units:
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


def _center(ask: Callable[..., Any], demand: Any, ledger: mdp.Ledger) -> Any:
    return ask(demand.universe, demand, epsilon=1, ledger=ledger)


def _lloyd(demand: Any, ledger: mdp.Ledger) -> Any:
    centers = [[0.2, 0.2], [0.7, 0.7]]
    return mdp.private_lloyd(demand.universe, demand, centers, epsilon=1, ledger=ledger, steps=2)


def _options() -> Iterator[Subject]:
    """Methods with options whose queries are asked only then, and counts of users."""
    ours = mdp.methods
    tree = partial(ours.Quadtree, steps=0)
    swaps = partial(ours.LocalSearch, steps=2)
    labels = ["ward", *["elsewhere"] * 15]
    regions = ours.Regional(regions={"ward": "1/2", "elsewhere": 1}, labels=labels, records_hint=24)
    away = tree(budget="uniform", estimate="own", threshold=0.02, rounds=2, depth=2)
    hashed = ours.MaxCoverage(net_dimensions=0, picks=1)
    hoped = partial(mdp.k_means, expected=([[0.2, 0.3], [0.8, 0.9]], [1.0, 3.0]))
    for name, world, ask, method, budget in (
        ("k_means, rounds", "a box", mdp.k_means, ours.Partition(records_hint=1440), (1, 0)),
        ("k_means, expected", "a box", hoped, "partition", (1, 0)),
        ("k_median, quadtree by levels", "a box", mdp.k_median, away, (1, 0)),
        ("k_means, max-coverage by hashing", "a box", mdp.k_means, hashed, (4, 0)),
        ("k_means, max-coverage, delta", "a box in R^5", mdp.k_means, "max-coverage", GAUSS),
        ("k_median, hst by levels", "a grid", mdp.k_median, ours.DPHST(levels=2), (1, 0)),
        ("k_median, regions", "a grid", mdp.k_median, regions, (1, 0)),
        ("k_median, two swaps and the best", "a grid", mdp.k_median, swaps(final=True), (5, 0)),
        ("k_means, two swaps, cap", "a grid", mdp.k_means, swaps(cap=1.0), (5, 0)),
        ("k_median, two swaps, delta", "a grid", mdp.k_median, swaps(), (6, "1/100")),
    ):
        universe, places = _worlds()[world]
        for unit in (RECORD, USER):
            form = (universe, places, partial(_asked, ask, 2, method, budget), unit, RELATIONS)
            n = MANY if method is hashed else 24
            yield Subject(f"{name}, {world}", *form, budget, n, essential=unit is RECORD)
    cube, corners = _worlds()["a box in R^4"]
    for design, delta in itertools.product(HINTS, (0, "1/100")):
        if delta and design == "halves":
            continue
        row = f"k_means, {design}{', delta' if delta else ''}, a box in R^4"
        call = partial(_designed, design, (1, delta))
        yield Subject(row, cube, corners, call, RECORD, budget=(1, delta), essential=not delta)
    line, points = _worlds()["two pairs"]
    for rounds in ("two rounds", "three rounds"):
        for unit in (RECORD, USER):
            call = partial(_refined, rounds)
            yield Subject(f"release, {rounds}, two pairs", line, points, call, unit, essential=True)
    grid, places = _worlds()["a grid"]
    for budget in ((1, 0), GAUSS):
        row = f"max_coverage{', delta' if budget[1] else ''}, a grid"
        call = partial(_covered, budget)
        yield Subject(row, grid, places, call, RECORD, budget=budget, essential=True)
    users = Unit("user, all records", (1, 2, 3), lambda universe, rows, users: users)
    yield Subject("contributions", grid, places[:1], _numbers, users, essential=True)


HINTS = {"rounds": (9000, 9000), "subspace": (240, 70), "mean": (1, 1), "halves": (240, 0)}
"""Hints on the number of records for which the default chooses each design in R^4, without and with
a delta ("halves": only without).
"""


def _designed(design: str, budget: tuple[Any, Any], demand: Any, ledger: mdp.Ledger) -> Any:
    """The default method in a box of four dimensions, with a given design."""
    epsilon, delta = budget
    hint = HINTS[design][bool(delta)] * (1 if ledger.neighboring == "add-remove" else 2)
    asked = {"epsilon": epsilon, "delta": delta, "ledger": ledger, "records_hint": float(hint)}
    default = mdp.methods.box.default
    with patched(default, "FEW", default.FEW if design == "halves" else 0.0):
        result: Any = mdp.k_means(demand.universe, demand, 1, **asked)
    release = result.release
    name = release.design.name if hasattr(release, "design") else "halves"
    if name != design:
        raise AssertionError(f"{name} in place of {design}")
    parts = release.histograms if name == "halves" else [release.histogram]
    return [result, release, *parts]


def _refined(rounds: str, demand: Any, ledger: mdp.Ledger) -> Any:
    """All content of a release, with few parts and low thresholds, so that later rounds vary."""
    rules = mdp.methods.finite.rounds
    three = zip((one.share for one in rules.FAST), (1.0, 1.5, 2.0), (0.0, 1.0, 0.0))
    some = tuple(rules.Round(*one) for one in three)
    few = {"FEWEST_PARTS": 2, "PARTS_FACTOR": 0.0, "ENOUGH": 0.5, "ENOUGH_FOR_FAST": math.inf}
    plane = math.inf if rounds == "two rounds" else 0.0
    usual = {"ENOUGH_FOR_POINTS": 0.5, "ENOUGH_IN_PLANE": plane, "POINTS": some}
    names = few | usual | {"THREE": some, "FEW_PIECES": 1.5}  # some runs end after two rounds
    with all_patched((rules, name, value) for name, value in names.items()):
        noisy: Any = mdp.release(demand.universe, demand, epsilon=1, ledger=ledger)
    return [noisy, *noisy.histograms, noisy.k_median(2), noisy.receipt]


def _covered(budget: tuple[Any, Any], demand: Any, ledger: mdp.Ledger) -> Any:
    epsilon, delta = budget
    sets = [[0, 1, 2, 3], [3, 5, 10], [10, 15], [5, 15, 0]]
    return mdp.max_coverage(sets, demand, 3, epsilon=epsilon, delta=delta, ledger=ledger)


def _numbers(users: list[str], ledger: mdp.Ledger) -> Any:
    found = mdp.contributions(users, epsilon=1, ledger=ledger)
    return [found.max_contributions, found.counts]


def _loaded() -> Iterator[Subject]:
    """One call with records of each loader."""
    grid, places = _worlds()["a grid"]
    for (loader, slow), m in itertools.product(LOADERS.items(), (None, 2)):
        unit = replace(USER if m else RECORD, hold=partial(loaded, loader, m))
        form = (grid, places, partial(_asked, mdp.k_median, 2, "hst", (1, 0)), unit)
        short = m is not None and loader in ("CSV", "DuckDB")
        yield Subject(f"k_median, hst, from {loader}", *form, neighbors=slow, essential=short)


def _pointed() -> Iterator[Subject]:
    """Points of a box from tables with columns of coordinates."""
    box, places = _worlds()["a box"]
    call = partial(_asked, mdp.k_median, 2, "partition", (1, 0))
    for loader, m in itertools.product(POINTS, (None, 2)):
        unit = replace(USER if m else RECORD, hold=partial(loaded, loader, m))
        yield Subject(f"k_median, from {loader}", box, places, call, unit)


def _streamed() -> Iterator[Subject]:
    """Whole streams. A place is a tuple of a unit's place on each day, or None."""
    universe, _ = _worlds()["a grid"]
    for kind, options, budget in (
        ("a known horizon", {"horizon": HORIZON}, (1, 0)),
        ("delta", {"horizon": HORIZON, "delta": GAUSS[1]}, GAUSS),
        ("an unknown horizon", {}, (1, 0)),
        ("a window", {"window": 2}, (1, 0)),
        ("a half-life", {"half_life": 1.0}, (1, 0)),
        ("a known horizon", {"horizon": 2, "unit": "user"}, (1, 0)),
        ("delta", {"horizon": HORIZON, "unit": "user", "delta": GAUSS[1]}, GAUSS),
    ):
        users = "unit" in options
        once = [day for day in EACH_DAY if day.count(None) == DAYS - 1]
        unit = Unit("user, all days" if users else "record", (1,), partial(at_once, users))
        call, under = (partial(work, universe, options) for work in (stepped, beneath))
        form = (universe, EACH_DAY if users else once, call, unit, RELATIONS, budget)
        short = kind == "a known horizon"
        yield Subject(f"Stream, {kind}, a grid", *form, beneath=under, essential=short)


DAYS = 4
HORIZON = 3
PLACES = (0, 10)
EACH_DAY = list(itertools.product((None, *PLACES), repeat=DAYS))[1:]
"""All sequences of a unit's places, or None, on each day."""
TAG = 10**6


def at_once(by_user: bool, universe: Any, rows: list[Any], users: list[str]) -> list[Any]:
    """One demand for each day."""
    found = []
    for day in range(DAYS):
        there = [(row[day], user) for row, user in zip(rows, users) if row[day] is not None]
        named = [user for _, user in there] if by_user else None
        found.append(mdp.PrivateDemand(universe, [place for place, _ in there], user=named))
    return found


def stepped(universe: Any, options: dict[str, Any], demand: list[Any], ledger: Any) -> Any:
    """All releases of a stream with small trees of sums; beyond its horizon the refusals."""
    with _small_trees():
        stream = mdp.Stream(universe, epsilon=1, ledger=ledger, parts=4, **options)
        sums = [form for day in demand for form in _day(stream, day)]
        return [*sums, stream.receipt]


def _day(stream: Any, demand: Any) -> list[Any]:
    try:
        return [stream.step(demand), stream.k_median(1)]
    except mdp.InputError as refused:
        return [str(refused)]


@contextmanager
def _small_trees() -> Iterator[None]:
    """Use trees with two levels, which would not be chosen for so few days."""
    shapes = import_module("metricdp.running.days")
    blocks = import_module("metricdp.accounting.continual")
    best = ("best_for_totals", "best_for_windows")
    small = [(shapes, name, lambda days, gaussian: (2, 2)) for name in best]
    with all_patched(small), patched(blocks, "FIRST", 2):
        yield


def beneath(universe: Any, options: dict[str, Any], demand: list[Any], ledger: Any) -> list[Any]:
    """The exact sum to which each noise draw of a stream is added; 0 if it is not released."""
    sums: dict[int, Any] = {}
    with recorded(Transcript(universe, tag=TAG)) as tagged, _small_trees():
        stream = mdp.Stream(universe, epsilon=1, ledger=ledger, parts=4, **options)
        for day in demand:
            _day(stream, day)
            for released in stream._state.released.values():
                sums[int(released.min()) // TAG - 1] = released % TAG
    return [sums.get(at, 0) for at in range(len(tagged.draws))]
