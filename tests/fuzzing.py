"""Fuzzing: valid files made invalid, absurd values, and what must hold whatever comes in."""

import gzip
import io
import math
import os
import re
import resource
import signal
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import date
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from metricdp.arguments import shown
from metricdp.errors import MetricDPError

ROOM, SECONDS, LONGEST_MESSAGE = 2 << 30, 40, 1000
LONG_FORM = int(os.environ.get("METRICDP_FUZZ", "0"))
"""How many times more examples the long form draws; there is one only if this variable asks for it.
"""


def fuzz(
    examples: int, known: Sequence[dict[str, Any]] = (), **strategies: Any
) -> Callable[[Callable[..., None]], Any]:
    """Decorate a check: a short form that draws the same examples in every run.

    With METRICDP_FUZZ=40 in the environment there is one more, that draws 40 times as many, and
    fresh ones. `known` are examples that failed once; both forms run them first.
    """

    def decorate(check: Callable[..., None]) -> Any:
        def form(number: int, **options: Any) -> Any:
            options |= {"deadline": None, "database": None}
            asked = {"max_examples": number, "suppress_health_check": list(HealthCheck)}
            settled = settings(**asked, **options)
            run = settled(given(**strategies)(check))
            for arguments in known:
                run = example(**arguments)(run)
            return pytest.param(run, id="short" if options else "long")

        forms = [form(examples, derandomize=True)]
        forms += [form(LONG_FORM * examples)] if LONG_FORM else []

        @pytest.mark.parametrize("run", forms)
        def test(run: Callable[[], None]) -> None:
            run()

        test.__name__, test.__doc__ = check.__name__, check.__doc__
        test.__module__ = check.__module__
        return test

    return decorate


# What must hold


@contextmanager
def bounded() -> Iterator[None]:
    """2 GB of address space more than now, 40 seconds of the processors, and no warning of any
    library: beyond these, an exception.
    """

    def too_long(*_: Any) -> None:
        raise AssertionError(f"no answer within {SECONDS} s")

    limit, hard = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", "rb") as statm:  # noqa: PTH123
        now = int(statm.read().split()[0]) * resource.getpagesize()
    former = signal.signal(signal.SIGPROF, too_long)
    resource.setrlimit(resource.RLIMIT_AS, (now + ROOM, hard))
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
        signal.signal(signal.SIGPROF, former)


def tried(call: Callable[[], Any], expected: Any = MetricDPError) -> tuple[Any, Exception | None]:
    """(answer, None), or (None, error) for an expected error, of the package, with a clear message.
    Any other passes through.
    """
    error = None
    with bounded():
        try:
            answer = call()
        except expected as refused:
            answer, error = None, refused
    if isinstance(error, MetricDPError):
        assert_clear(str(error))
    return answer, error


def assert_clear(message: str) -> None:
    """One printable line of a length that a person reads."""
    assert message.strip()
    assert message.isprintable(), message
    assert len(message) <= LONGEST_MESSAGE, len(message)


def assert_graph(graph: Any) -> None:
    """What `Graph` promises: symmetric CSR, sorted, without loops or duplicates; finite lengths;
    connected; distinct ids.
    """
    n, (indptr, indices, lengths) = len(graph), (graph.indptr, graph.indices, graph.lengths)
    assert n == len(graph.ids) == len(set(graph.ids)) == len(indptr) - 1 >= 1
    assert (indptr.dtype, indices.dtype, lengths.dtype) == (np.int64, np.int32, np.float64)
    assert indptr[0] == 0 and indptr[-1] == len(indices) == len(lengths)
    assert (np.diff(indptr) >= 0).all()
    rows = np.repeat(np.arange(n), np.diff(indptr))
    assert (np.diff(rows * n + indices) > 0).all(), "unsorted or repeated"
    assert ((indices >= 0) & (indices < n) & (indices != rows)).all()
    assert (np.isfinite(lengths) & (lengths >= 0)).all()
    back = np.lexsort((rows, indices))
    assert np.array_equal(rows[back], indices) and np.array_equal(indices[back], rows)
    assert np.array_equal(lengths[back], lengths), "asymmetric"
    ones = csr_array((np.ones(len(rows), np.int8), (rows, indices)), shape=(n, n))
    assert connected_components(ones, directed=False)[0] == 1
    xy, system = graph.coordinates, graph.coordinate_system
    assert (xy is None) == (system is None)
    if xy is not None:
        assert xy.shape == (n, 2) and not np.isinf(xy).any()
        assert system == "xy" or not (np.abs(xy) > (180, 90)).any()


def everything_said(error: BaseException) -> str:
    """The text of an exception and of all that hang on it."""
    text, queue, seen = [], [error], set[int]()
    while queue:
        one = queue.pop()
        if id(one) not in seen:
            seen.add(id(one))
            text += [repr(one), str(one), *map(repr, vars(one).values())]
            text += getattr(one, "__notes__", [])
            queue += [e for e in (one.__cause__, one.__context__) if e is not None]
    return "\n".join(text)


# Files

NUMBERS = [
    b"",
    *b"0 -1 -1.5 1.5 +3 -0.0 007 1_0 nan inf -inf 1e3 1e16 1e19 1e308 1e400 5e-324 1e-30".split(),
    *b"2147483648 1000000000000 9007199254740993 9223372036854775808".split(),
    *b"-9223372036854775809 18446744073709551616".split(),
    b"9" * 30,
    b"9" * 5000,
    *"١٢ ² a 1 3 200".encode().split(),
]
TOKENS = [
    *NUMBERS,
    *b"0x10 1/2 -nan Infinity None True".split(),
    b"1" + b"0" * 400,
    *(letter.encode() for letter in "½é\u2028\u202e\ue000"),
    *(b"\xef\xbb\xbf", b"\xff\xfe", b"\xc3", b"\0", b"\r", b"\r\n", b"\n", b"\n\n", b"\x0b"),
    *(b"\x0c", b"\x1c", b"\x85", b" ", b"\t"),
    *b", ; | \" ' # % < > & &#0; ~ / =".split(),
    *b"c p v length weight source unit id direction oneway".split(),
    b"a" * 70_000,
    b"1 " * 20_000,
]
_NUMBER, _LINE = re.compile(rb"[-+.\d]*\d[.\d]*"), re.compile(rb"[^\n]*\n?")
_WORD = re.compile(rb"[^\s,;|<>\"=/]+")
_SWAPS = [(b"\n", b"\r\n"), (b"\n", b"\r"), (b",", b";"), (b",", b"\t"), (b" ", b"\t"), (b"1", b"")]


@st.composite
def mutated(draw: Any, data: bytes) -> bytes:
    """Bytes after some typical damages, most often one."""
    for _ in range(draw(st.sampled_from([0, 1, 1, 1, 1, 2, 3]))):
        data = _damaged(draw, data)
    return data


def _damaged(draw: Any, data: bytes) -> bytes:
    kind = draw(st.sampled_from("nnnnnnwwwiibbdlLstr"))
    if kind in "nwlLs":  # a number, word or line: replaced, deleted, doubled, moved
        pattern = {"n": _NUMBER, "w": _WORD}.get(kind, _LINE)
        parts = [m.span() for m in pattern.finditer(data)] or [(0, 0)]
        a, b = parts[draw(st.integers(0, len(parts) - 1))]
        if kind == "s":
            other = parts[draw(st.integers(0, len(parts) - 1))][0]
            rest = data[:a] + data[b:]
            return rest[:other] + data[a:b] + rest[other:]
        kinds = {"n": NUMBERS, "w": TOKENS, "l": [b""], "L": [data[a:b] * 2]}
        return data[:a] + draw(st.sampled_from(kinds[kind])) + data[b:]
    at = draw(st.integers(0, len(data)))
    if kind == "i":
        return data[:at] + draw(st.sampled_from(TOKENS)) + data[at:]
    if kind == "b":  # one byte
        return data[:at] + bytes([draw(st.integers(0, 255))]) + data[at + 1 :]
    if kind == "d":
        return data[:at] + data[at + draw(st.integers(1, 30)) :]
    return data[:at] if kind == "t" else data.replace(*draw(st.sampled_from(_SWAPS)))


@st.composite
def packed(draw: Any, data: bytes) -> bytes:
    """The bytes as they are, or gzipped, mostly with damage to the stream."""
    kind = draw(st.sampled_from(["plain"] * 16 + ["gzip", "cut", "tail", "two", "flip"]))
    if kind == "plain":
        return data
    stream = gzip.compress(data, mtime=0)
    at = draw(st.integers(0, len(stream) - 1))
    return {
        "gzip": stream,
        "cut": stream[:at],
        "tail": stream + data[:20],
        "two": stream + gzip.compress(data[:at], mtime=0),
        "flip": stream[:at] + bytes([stream[at] ^ 1 << at % 8]) + stream[at + 1 :],
    }[kind]


def damaged_files(seeds: dict[str, bytes]) -> st.SearchStrategy[tuple[str, bytes]]:
    """(name, content): one of the seeds, damaged."""
    return st.sampled_from(sorted(seeds)).flatmap(
        lambda name: st.tuples(st.just(name), mutated(seeds[name]).flatmap(packed))
    )


def parquet(columns: dict[str, Any]) -> bytes:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    out = io.BytesIO()
    pq.write_table(pa.table(columns), out, compression="none")
    return out.getvalue()


# Values


class Nothing:
    """An object without any protocol."""

    def __repr__(self) -> str:
        return "nothing"


def absurd_values() -> list[Any]:
    """Values that some argument somewhere was given by mistake."""
    numbers: list[Any] = [0, -1, 1, 2, 3, 7, 2**31, 2**63, -(2**63), 2**64]
    numbers += [10**30, 10**400, -(10**400), 10**5000, True, False]
    floats = [0.0, -0.0, 0.5, -0.5, 2.0, 1e-9, 1e-300, 5e-324, 1e16, 1e308]
    floats += [float("nan"), float("inf"), -float("inf")]
    scalars = [np.float64("nan"), np.float64(0.5), np.float32(0.3), np.float16(3), np.int8(2)]
    scalars += [np.int64(-5), np.uint64(2**64 - 1), np.True_, np.longdouble("1e4000")]
    scalars += [np.datetime64("NaT", "s"), np.timedelta64(3, "s"), np.str_("a"), np.complex128(1j)]
    exact = [Fraction(1, 3), Fraction(-1, 3), Fraction(10**400), Fraction(1, 10**400)]
    exact += [Fraction(1, 10**5000), Fraction(0), Fraction(10**5000 + 1, 3 * 10**5000)]
    exact += [Decimal(d) for d in ("0.5", "NaN", "sNaN", "Infinity", "1e999999", "1e-999999", "0")]
    texts = ["", " ", *"0 0.5 1/3 1/0 -1/3 nan inf 1e400 1e999999999 1_0 ٣ ½".split()]
    texts += ["0.5\n", "\0", "\ud800", "a", "Peña", "e\u0301", "\u202e", "x" * 5000, "9" * 5000]
    texts += ["1/1" + "0" * 5000, "partition", "length"]
    arrays = [np.array(0.5), np.array([]), np.array([0, 1]), np.array([0.5, np.nan])]
    arrays += [np.zeros((2, 2)), np.zeros((0, 2)), np.zeros((1, 2, 3)), np.array(["a", "b"])]
    arrays += [np.array([Nothing()]), np.array([2**63], np.uint64), np.array([True, False])]
    arrays += [np.array([[1e308, -1e308], [1, 2]]), np.ma.masked_array([1.0, 2.0], [True, False])]
    arrays += [np.array([1j]), np.array([(1, 2.0)], "i4,f8"), np.array([[0, 1], [2, 0]])]
    arrays += [np.array([[0, np.nan], [1, 2]]), np.array([[np.inf, 0], [1, 2]])]
    boxes = [[], [0], [0, 0], [0.5], [[0, 0]], [[0, 1], [2]], ["a"], ["0"], [None], [np.nan], [[]]]
    boxes += [[[0]], [2**63], [10**400], [True], (), (0, 1), {}, {0: 1}, {"a": 2}, {0: np.nan}]
    boxes += [{0, 1}, frozenset(), range(3), range(0), range(10**30), [Nothing()], [{}]]
    boxes += [[1e308, -1e308], [5e-324, 0.0], [1e-200, 1e200]]
    others = [None, Ellipsis, NotImplemented, Nothing(), Nothing, print, 1j, b"", b"0.5"]
    others += [bytearray(b"a"), memoryview(b"a"), slice(3), Path("nowhere"), Path("/"), "/"]
    others += ["/dev/null/x", math, date(2026, 1, 1)]
    with suppress(ImportError):
        import pandas as pd

        others += [pd.NA, pd.NaT, pd.DataFrame({"vertex": [1, 2]})]
        others += [pd.Series([0, 1]), pd.Series([0, None]), pd.Index(["a"])]
    return [*numbers, *floats, *scalars, *exact, *texts, *arrays, *boxes, *others]


ABSURD = absurd_values()
PRINTABLE = [value for value in ABSURD if shown(value) != "int"]
"""Those whose repr exists, for strategies whose examples Hypothesis prints itself."""


class Case(NamedTuple):
    """A call by its name, and the arguments that are replaced."""

    name: str
    spoils: dict[str, Any]

    def __repr__(self) -> str:
        spoils = (f"{argument!r}: {shown(value)}" for argument, value in self.spoils.items())
        return f"Case({self.name!r}, {{{', '.join(spoils)}}})"


@st.composite
def spoiled(draw: Any, calls: dict[str, Sequence[str]], most: int = 2) -> Case:
    """At most so many arguments of one of the calls, each replaced by an absurd value."""
    name = draw(st.sampled_from(sorted(calls)))
    chosen = draw(st.lists(st.sampled_from(sorted(calls[name])), max_size=most, unique=True))
    wrong = {argument: ABSURD[draw(st.integers(0, len(ABSURD) - 1))] for argument in chosen}
    return Case(name, wrong)
