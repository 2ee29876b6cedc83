"""Canaries: rare names, ids and numbers of records, which must not appear anywhere."""

import base64
import math
import pickle
import re
import tempfile
import zlib
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import islice
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

import metricdp as mdp
from metricdp.accounting import Ledger
from metricdp.audit.observe import error_text, forms, watched
from metricdp.audit.public import parts
from metricdp.audit.report import Check, Finding, refuted
from metricdp.audit.worlds import Coded
from metricdp.cli import main
from metricdp.errors import MetricDPError
from metricdp.privacy import CountQuery, HistogramQuery, PrivateDemand, _vault, measure, select
from metricdp.report.map.page import map_page

WORD = "CANARY-48611"
NUMBER = 48_611
KEPT = 24_306
"""A word in every user's name; the number of records, two a user; the number kept, one a user."""
_DIGITS = "|".join(f"{n // 1000},?{n % 1000}" for n in (NUMBER, KEPT))
_COUNT = re.compile(rf"(?<![\d.,])(?:{_DIGITS})(?!\d)")
"""The numbers on their own, not within the digits of a noisy one."""

_TIMES = 6
"""How often a place must show a canary: a noisy number of records is the exact one by chance, at
epsilon .3 once in 130 times, and six times in a row with a probability below 1e-12."""

Shown = tuple[str, str | bytes]
"""A place where content is shown, and the content."""


def sings(text: str | bytes) -> bool:
    """Whether a canary is in a text."""
    text = text if isinstance(text, str) else text.decode("latin-1")
    return WORD in text or _COUNT.search(text) is not None


@cache
def scene() -> tuple[Any, np.ndarray, Any]:
    """A public grid of 36 points, the positions of all records, and a demand with canaries."""
    grid = nx.convert_node_labels_to_integers(nx.grid_2d_graph(6, 6))
    universe = mdp.GraphMetric(grid, weight=None)
    places = np.minimum(np.arange(NUMBER) % 36, np.arange(NUMBER) % 35)
    users = [f"{WORD}-{i // 2}" for i in range(NUMBER)]
    return universe, places, mdp.PrivateDemand(universe, places, user=users, max_contributions=1)


@cache
def boxed() -> Any:
    """The same records in a box."""
    _, places, _ = scene()
    users = [f"{WORD}-{i // 2}" for i in range(NUMBER)]
    points = np.stack([places // 6, places % 6], axis=1)
    box = mdp.EuclideanSpace([0, 0], [6, 6])
    return mdp.PrivateDemand(box, points, user=users, max_contributions=1)


def canary_checks() -> Iterator[Check]:
    """All checks."""
    for name, show in (
        ("canaries in results, progress bars, logs and output", _results),
        ("canaries in map pages", _pages),
        ("canaries in ledgers and journals", _ledgers),
        ("canaries in refusals", _refusals),
        ("canaries on the command line", _command_line),
    ):
        yield Check.of(name, True, _check, show)


def leaks(show: Callable[[], Iterator[Shown]]) -> tuple[str, int]:
    """The first place that shows a canary each time that all is shown, or ""; places read."""
    n = 0
    for n, (where, text) in enumerate(show(), 1):
        again = (next(islice(show(), n - 1, None))[1] for _ in range(_TIMES - 1))
        if sings(text) and all(map(sings, again)):
            return where, n
    return "", n


def _check(name: str, show: Callable[[], Iterator[Shown]], quick: bool) -> Finding:
    where, n = leaks(show)
    found = f"found in {where}" if where else f"none in {n} texts"
    return refuted(name, "no canary", found, "canaries", bool(where))


def _answers() -> Iterator[Any]:
    universe, _, demand = scene()
    noisy = mdp.release(universe, demand, epsilon=0.3)
    yield from (noisy, noisy.histogram, noisy.receipt, noisy.k_means(3))
    for method, kind in mdp.methods.BY_NAME.items():
        some = demand if kind.in_finite else boxed()
        yield mdp.k_median(some.universe, some, 3, epsilon=0.3, method=method)


def _results() -> Iterator[Shown]:
    _, places, demand = scene()
    yield "the demand", f"{demand!r} {demand!s} {demand}"
    secrets = [
        array
        for some in (places, _vault._open(demand))
        for array in (some, np.bincount(some, minlength=36))
    ]
    secrets.append(_vault._open(boxed()))
    with watched() as output:
        answers = [(answer, forms(answer)) for answer in _answers()]
    yield from output.items()
    for answer, seen in answers:
        for form in ("repr", "str", "JSON"):
            yield f"{form} of {type(answer).__name__}", seen.get(form, "")
        pickled = seen["pickle"]
        if isinstance(pickled, bytes):
            hidden = _hidden(pickle.loads(pickled), secrets)
            yield "names in a pickle", WORD if WORD.encode() in pickled else ""
            yield "numbers in a pickle", str(NUMBER) if hidden else ""


def _hidden(root: Any, secrets: list[np.ndarray]) -> bool:
    """Whether the number of records, exact counts, or records are reachable from an object."""
    seen = set()
    todo = [root]
    while todo:
        value = todo.pop()
        if id(value) in seen or isinstance(value, type):
            continue
        seen.add(id(value))
        if isinstance(value, int | float | np.number) and value in (NUMBER, KEPT):
            return True
        if not isinstance(value, np.ndarray) or value.dtype.kind == "O":
            todo += parts(value, everyone=True)
        elif value.dtype.kind in "iuf" and any(
            value.shape == s.shape and np.allclose(value, s) for s in secrets
        ):
            return True
    return False


def _pages() -> Iterator[Shown]:
    noisy, _, receipt, result = islice(_answers(), 4)
    facts = {"receipt": receipt, "method": result.method, "k": result.k}
    page = map_page(scene()[0], result.centers, weights=noisy.weights, **facts)
    yield "the page's text", re.sub(r"<script.*?</script>", "", page, flags=re.S)
    read = [_inflated(each) for each in re.findall(r'"([A-Za-z0-9+/]{16,}=*)"', page)]
    found = any(WORD.encode() in each for each in [page.encode(), *read])
    yield "the page's data", WORD if found else ""


def _inflated(text: str) -> bytes:
    """Content of a page that is in base64, inflated if it is deflated."""
    packed = base64.b64decode(text + "=" * (-len(text) % 4))
    try:
        return zlib.decompress(packed)
    except zlib.error:
        return packed


def _ledgers() -> Iterator[Shown]:
    universe, _, demand = scene()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "journal"
        ledger = Ledger(2, journal=path)
        mdp.release(universe, demand, epsilon="1/2", ledger=ledger)
        budget = ledger.charge("1/2", purpose="audit")
        measure(demand, CountQuery(), "1/4", budget)
        yield "a ledger", f"{ledger!r} {ledger.entries} {vars(ledger)}"
        yield "a budget slice", f"{budget!r} {vars(budget)}"
        yield "a journal", path.read_bytes()


def _command_line() -> Iterator[Shown]:
    """``metricdp cluster`` on files: one good, and two with records that break a rule."""
    _, places, _ = scene()
    rows = "".join(f"{WORD}-{i // 2},{place}\n" for i, place in enumerate(places))
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        edges = "".join(f"{i},{(i + 1) % 36},1\n" for i in range(36))
        (at / "graph.csv").write_text(f"source,target,length\n{edges}")
        for name, more in (
            ("good", ""),
            ("unknown id", f"{WORD}-x,{WORD}-y\n"),
            ("ragged", f"{WORD}-x,0,{WORD}\n"),
        ):
            (at / "demand.csv").write_text(f"who,vertex\n{rows}{more}")
            private = ["--demand", at / "demand.csv", "--user", "who", "--epsilon", 0.3]
            paid = ["--ledger", at / "ledger", "--epsilon-budget", 9]
            asked = ["cluster", at / "graph.csv", "-k", 3, *private, *paid]
            with watched() as seen:
                status = main([*map(str, asked), "--output", str(at / "result.json")])
            if status != (0 if name == "good" else 2):
                raise AssertionError(f"{name}: exit status {status}: {seen['stderr']!r}")
            for file in ("ledger", "result.json"):
                yield f"{file}, {name}", (at / file).read_bytes()
            yield from seen.items()


def _bad_calls() -> Iterator[Callable[[], Any]]:
    """Calls with bad private records, or other bad arguments."""
    universe, _, demand = scene()
    box = mdp.EuclideanSpace([0.0], [1.0])
    bad = f"{WORD}-x"
    texts: list[Any] = [[0, bad], [[bad]], {0: 1, bad: 2}, np.array([bad]), _raising(bad)]
    for records in (*texts, [NUMBER], NUMBER, [1.5, math.nan], [10**30, NUMBER]):
        yield partial(PrivateDemand, universe, records)
    endless = np.full((NUMBER, 1), np.inf)
    for points in ([[bad]], [[math.nan]], np.zeros((NUMBER, 2)), endless, [[1.0], [1.0, 2.0]]):
        yield partial(PrivateDemand, box, points)
    users: Any
    for users in ([None], [math.nan], NUMBER * [1], [[bad]], NUMBER, bad):
        yield partial(PrivateDemand, universe, [0], user=users)
    yield partial(PrivateDemand, universe, NUMBER * [0], user=[bad])
    for ask in (len, bool, list, pickle.dumps, iter, lambda d: d[0], lambda d: bad in d):
        yield partial(ask, demand)
    yield partial(mdp.k_median, universe, demand, 0, epsilon=1)
    yield partial(mdp.k_median, universe, demand, 3, epsilon=-1)
    yield partial(mdp.k_median, universe, demand, 3, epsilon=1, ledger=mdp.Ledger(0.5))
    yield partial(mdp.k_median, box, demand, 3, epsilon=1)
    failing = HistogramQuery(Coded(box, _failing))
    for some in (demand, PrivateDemand(box, [[0.48611]])):
        yield partial(measure, some, failing, 1, mdp.Ledger(1).charge(1))
    yield partial(select, demand, demand, 1, mdp.Ledger(1).charge(1))


def _failing(records: np.ndarray) -> np.ndarray:
    """Fail on records, and quote them."""
    raise RuntimeError(f"{WORD}: cannot encode {records}")


def _raising(text: str) -> Iterator[int]:
    yield 0
    raise RuntimeError(text)


def _refusals() -> Iterator[Shown]:
    for i, call in enumerate(_bad_calls()):
        text = f"{WORD}: not refused"
        with watched() as seen:
            try:
                call()
            except (MetricDPError, TypeError) as error:
                # without quoted source, as lines of this file contain the canaries
                text = re.sub(r'(?m)^  File ".*\n(?:    .*\n)*', "", error_text(error))
        yield f"refusal {i}", text
        yield from seen.items()
