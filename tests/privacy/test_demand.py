"""The door of the private demand: what enters, how users are bounded, and that nothing ever
shows.
"""

import collections.abc
import copy
import gc
import logging
import pickle
import sys
from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

from metricdp import Caps
from metricdp.accounting import Protection
from metricdp.errors import InputError, ReadingError
from metricdp.metrics import EuclideanMetric, EuclideanSpace, PrecomputedMetric
from metricdp.privacy import PrivateDemand, _vault, moved
from metricdp.records.engines.sources import Source, Tally
from tests import cases, named, raising, refuses, wrong
from tests.privacy_worlds import BOX, THREE, TWO, all_text, finest, line

CANARY = "CANARY-48611"
NUMBER = 48611
TOWN = PrecomputedMetric(1.0 - np.eye(3), ids=[CANARY, 17, ("a", 2)])


def records(demand):
    kept = _vault._open(demand)
    if isinstance(kept, Tally):
        return np.repeat(kept.points, kept.counts).tolist()
    return (kept.subsampled(1.0) if isinstance(kept, Source) else kept).tolist()


# What enters


@cases("make", list, tuple, iter, lambda r: np.array(r, dtype=object), collections.deque, ids=named)
def test_ids_from_any_sequence(make):
    assert records(PrivateDemand(THREE, make(["c", "a", "c", "c"]))) == [2, 0, 2, 2]


def test_ids_of_any_kind_repeats_and_nobody():
    assert records(PrivateDemand(TOWN, [17, ("a", 2), CANARY, 17])) == [1, 2, 0, 1]
    assert records(PrivateDemand(line(5), np.array([4, 4, 0]))) == [4, 4, 0]
    assert records(PrivateDemand(TOWN, [])) == records(PrivateDemand(line(3), [])) == []
    assert _vault._open(PrivateDemand(BOX, [])).shape == (0, 1)
    assert records(PrivateDemand(TOWN, [], user=[], max_contributions=2)) == []


def test_ids_from_data_frame_columns():
    pl, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    plain = pd.Series(["b", "c"])
    for column in (plain, plain.astype("category"), pl.Series(["b", "c"]), pa.array(["b", "c"])):
        assert records(PrivateDemand(THREE, column)) == [1, 2]


def test_points_outside_the_box_are_clipped():
    space = EuclideanSpace([0, 0], [1, 2])
    assert records(PrivateDemand(space, [[-3, 1], [0.5, 9]])) == [[0, 1], [0.5, 2]]
    assert records(PrivateDemand.from_coordinates(space, [[0.25, 1]])) == [[0.25, 1]]


def test_coordinates_are_snapped():
    metric = EuclideanMetric([[0.0, 0], [0, 10], [10, 0]], ids=["o", "n", "e"])
    assert records(PrivateDemand.from_coordinates(metric, [[1, 7], [6, 1], [1, 7]])) == [1, 2, 1]


def test_the_vault_keeps_its_own_read_only_copy_and_lets_go():
    points = np.array([[0.5], [1.5]])
    demand = PrivateDemand(BOX, points)
    points[:] = 9
    assert records(demand) == [[0.5], [1.5]]
    assert not _vault._open(demand).flags.writeable
    gc.collect()
    before = len(_vault._RECORDS)
    refuses("set once", _vault._put, demand, points)
    refuses("set once", demand.__init__, BOX, points, user=[1, 2], max_contributions=2)
    assert demand.unit == "record"
    del demand
    gc.collect()
    assert len(_vault._RECORDS) == before - 1


def frames():
    columns = {"vertex": ["b", "c", "c"], "lon": [0.0, 1.0, 2.0]}
    columns |= {"lat": [5.0, 6.0, 7.0], "who": [1, 1, 2]}
    for made in ("pandas.DataFrame", "polars.DataFrame", "polars.LazyFrame", "pyarrow.table"):
        name, make = made.split(".")
        yield getattr(pytest.importorskip(name), make)(columns)


def test_frames_of_every_library():
    plane = EuclideanMetric([[0.0, 5], [2, 7]])
    for frame in frames():
        assert records(PrivateDemand.from_frame(THREE, frame)) == [1, 2, 2]
        assert records(PrivateDemand.from_frame(plane, frame, x="lon", y="lat"))[::2] == [0, 1]
        box = PrivateDemand.from_frame(EuclideanSpace([0, 0], [1, 9]), frame, x="lon", y="lat")
        assert records(box) == [[0, 5], [1, 6], [1, 7]]
        by_user = PrivateDemand.from_frame(THREE, frame, user="who", max_contributions=1)
        assert (by_user.unit, by_user.max_contributions, len(records(by_user))) == ("user", 1, 2)
        assert records(by_user)[-1] == 2
        words = r"no column 'node'; the columns are vertex, lon, lat, who"
        refuses(words, PrivateDemand.from_frame, THREE, frame, node="node")
        refuses("no column 'patient'", PrivateDemand.from_frame, THREE, frame, user="patient")


# Users


def test_each_user_keeps_at_most_m_records_and_all_when_there_are_fewer():
    rng = np.random.default_rng(1)
    owners = rng.integers(0, 300, 2000)
    places = rng.integers(0, 2000, 2000)
    for m in (1, 3, 50):
        owned = places * 300 + owners
        demand = PrivateDemand(line(2000 * 300), owned, user=owners, max_contributions=m)
        kept = np.array(records(demand))
        expected = np.minimum(np.bincount(owners, minlength=300), m)
        assert (np.bincount(kept % 300, minlength=300) == expected).all()
        assert not np.setdiff1d(kept, places * 300 + owners).size


def test_users_may_be_any_hashable_and_interleaved():
    who = ["x", ("y", 1), "x", 7, "x", ("y", 1)]
    kept = records(PrivateDemand(line(6), range(6), user=iter(who)))
    assert sorted(map(str, (who[i] for i in kept))) == sorted(map(str, ["x", ("y", 1), 7]))


def test_the_sample_is_uniform_and_fresh():
    # 6,000 users with the same 4 places, 2 kept: all 6 pairs equally likely; p < 1e-7 by chance
    # once in 10^7 runs
    users = np.repeat(np.arange(6000), 4)
    places = np.arange(24_000)
    samples = []
    for _ in range(2):
        np.random.seed(5)  # noqa: NPY002 - shows that it has no effect
        demand = PrivateDemand(line(24_000), places, user=users, max_contributions=2)
        samples.append(records(demand))
        pairs = np.array(samples[-1]).reshape(6000, 2) % 4
        all_pairs = combinations(range(4), 2)
        counts = [int(((pairs[:, 0] == a) & (pairs[:, 1] == b)).sum()) for a, b in all_pairs]
        assert sum(counts) == 6000 and chisquare(counts).pvalue > 1e-7
    assert samples[0] != samples[1]


def test_what_one_user_keeps_does_not_depend_on_others(monkeypatch):
    # the coupling of the privacy proof: with the same key, one user more or less leaves the
    # others' sample alone
    monkeypatch.setattr("secrets.token_hex", lambda n: "5a" * n)
    users = [i % 7 for i in range(35)]
    without = records(PrivateDemand(line(40), range(35), user=users, max_contributions=3))
    demand = PrivateDemand(line(40), range(40), user=[*users, *5 * ["new"]], max_contributions=3)
    more = records(demand)
    assert more[: len(without)] == without and len(more) == len(without) + 3


@pytest.mark.parametrize("m", [0, -1, 1.5, True, "2", 2**31, np.timedelta64(5, "s")], ids=repr)
def test_bad_bounds(m):
    with pytest.raises(InputError, match="max_contributions must be an integer of at least 1"):
        PrivateDemand(TWO, ["a"], user=[1], max_contributions=m)


PLANE = EuclideanMetric([[0.0, 0.0], [1.0, 1.0]], ids=["a", 7])
ONE = {"user": [1, 1]}


@cases(
    ("options", "protects", "bound", "words"),
    ({}, Protection("record", 1), 1, "each record"),
    (ONE, Protection("user", 1), 1, "each user, keeps up to 1 records of each"),
    (
        ONE | {"max_contributions": 2**31 - 1},
        Protection("user", 2**31 - 1),
        2**31 - 1,
        "each user, keeps up to 2147483647 records of each",
    ),
    (
        ONE | {"weighting": "share"},
        Protection("user", 1, "share"),
        65_536,
        "each user, one unit of weight over all records of each",
    ),
    (
        ONE | {"caps": Caps(2, 3)},
        Protection("user", 6),
        6,
        "each user, keeps up to 6 records of each",
    ),
)
def test_who_is_protected_however_the_records_come(tmp_path, options, protects, bound, words):
    path = tmp_path / "demand.csv"
    path.write_text("vertex,x,y,who\na,0,0,1\n7,1,1,1\n")
    named = {**options, **({"user": "who"} if options else {})}
    for demand in (
        PrivateDemand(PLANE, ["a", 7], **options),
        PrivateDemand.from_coordinates(PLANE, [[0, 0], [1, 1]], **options),
        PrivateDemand.from_frame(EuclideanMetric(PLANE.points, ids=["a", "7"]), path, **named),
        PrivateDemand.from_frame(PLANE, path, x="x", y="y", **named),
    ):
        assert demand.protects == protects and demand.max_contributions == bound
        assert demand.weight_units * protects.max_contributions == bound
        assert repr(demand).endswith(f"; protects {words})")
        assert (demand.caps is not None) == ("caps" in options)
        assert (demand.unit, demand.weighting) == (protects.unit, protects.weighting)
        if options != ONE:  # else one of both is kept
            assert sorted(set(records(demand))) == [0, 1]


@cases(
    ("options", "error"),
    ({"weighting": "people"}, "weighting must be one of record, share"),
    ({"weighting": "share"}, "say whose each record is with user="),
    (ONE | {"weighting": "share", "max_contributions": 1}, "three ways to bound users"),
    ({"max_contributions": 1}, "max_contributions= bounds users"),
    ({"caps": Caps(1)}, "caps= bounds users"),
    (ONE | {"caps": (1, 1)}, r"caps must be mdp.Caps\(parts, records\)"),
    (ONE | {"caps": Caps(1), "max_contributions": 1}, "three ways to bound users"),
    (ONE | {"caps": Caps(1), "weighting": "share"}, "three ways to bound users"),
    *wrong("of a table or a file, name its column .* of from_frame", user=["u", b"u"]),
    ({"user": SimpleNamespace(columns=["u"])}, "of a table or a file, name its column"),
    *wrong("user must give one entry per record", user=[{1: "u", 2: "u"}, np.array(1), [1]]),
    *wrong("user must give one entry per record", user=[np.array([[1], [2]])]),
)
def test_bounds_that_contradict_each_other_are_refused(options, error):
    for make in (
        lambda: PrivateDemand(PLANE, ["a", 7], **options),
        lambda: PrivateDemand.from_coordinates(PLANE, [[0, 0], [1, 1]], **options),
    ):
        refuses(error, make)


@pytest.mark.parametrize("dimension", [1, 2, 3])
@pytest.mark.parametrize("made", [list, tuple, iter], ids=named)
def test_no_point_is_no_other_demand_than_one(made, dimension):
    """An empty list was taken for points of the plane, and refused elsewhere."""
    corners = EuclideanMetric(np.eye(2, dimension), ids=["a", "b"])
    for n in (0, 1, 2):
        demand = PrivateDemand.from_coordinates(corners, made([[0.0] * dimension] * n))
        assert len(_vault._open(demand)) == n


def test_each_rule_names_what_a_record_must_be(tmp_path):
    path, alone = tmp_path / "demand.csv", PrecomputedMetric([[0.0]], ids=["a"])
    path.write_text("vertex,x,y\nz,nan,0\n")
    box, at = EuclideanSpace([0, 0], [1, 1]), {"x": "x", "y": "y"}
    lines = "and be one line of UTF-8 text"
    for make, *words in (
        (lambda: PrivateDemand(alone, ["z"]), r"the id \(str\) of a point of 1 points; at least"),
        (lambda: PrivateDemand.from_frame(alone, path), r"the id \(str\) of a point.*", lines),
        (lambda: PrivateDemand.from_frame(PLANE, path), r"the id \(str\) of a point.*", lines),
        (lambda: PrivateDemand.from_frame(box, path, **at), "be a finite point, .*", lines),
        (lambda: PrivateDemand.from_frame(PLANE, path, **at), "be a finite point, .*", lines),
        (
            lambda: PrivateDemand.from_frame(PLANE, path, box=(0, 0, 1, 1), **at),
            "be a finite point inside the box that was stated",
        ),
        (
            lambda: PrivateDemand.from_coordinates(PLANE, [[5, 5]], box=(0, 0, 1, 1)),
            "be a finite point inside the box that was stated.*; at least one is not",
        ),
        (lambda: PrivateDemand.from_coordinates(PLANE, np.zeros((3, 3))), r"shape \(n, 2\)"),
        (lambda: PrivateDemand.from_frame(PLANE, path, x="x"), "both x= and y="),
        (lambda: PrivateDemand.from_frame(PLANE, path, y="y"), "both x= and y="),
    ):
        refuses("".join(words), make)
    with pytest.raises(InputError, match="have a user if users are named; at least"):
        PrivateDemand.from_frame(PLANE, pd.DataFrame({"vertex": ["z"]}))


def test_a_broken_universe_is_named_before_records_are_looked_at(monkeypatch):
    whole = PrivateDemand(TWO, ["a"])
    monkeypatch.setattr(PrecomputedMetric, "check", raising(InputError("the universe is broken")))
    for make in (
        lambda: PrivateDemand(TWO, ["no such point"]),
        lambda: moved(whole, finest(TWO), PrecomputedMetric(TWO.matrix)),
    ):
        refuses("the universe is broken", make)


# Nothing shows


def bad_inputs():
    nan, of_frame = float("nan"), PrivateDemand.from_frame
    plane = EuclideanMetric([[0.0, 0], [1, 1]])
    bad = CANARY + "-x"
    yield lambda: PrivateDemand(TWO, ["a", bad])
    yield lambda: PrivateDemand(TWO, ["a", None])
    yield lambda: PrivateDemand(TWO, ["a", [bad]])
    yield lambda: PrivateDemand(TWO, {"a": 1, bad: 2})
    yield lambda: PrivateDemand(TWO, NUMBER)
    yield lambda: PrivateDemand(line(5), [NUMBER])
    yield lambda: PrivateDemand(line(5), [-NUMBER])
    yield lambda: PrivateDemand(line(5), [1.5, nan])
    yield lambda: PrivateDemand(line(5), [10**30 + NUMBER])
    yield lambda: PrivateDemand(line(5), np.array([bad]))
    yield lambda: PrivateDemand(TWO, ["a"], user="u")
    yield lambda: PrivateDemand(TWO, breaking_off(bad))
    yield lambda: PrivateDemand(BOX, [[bad]])
    yield lambda: PrivateDemand(BOX, [[1.0], [nan]])
    yield lambda: PrivateDemand(BOX, np.full((NUMBER, 1), np.inf))
    yield lambda: PrivateDemand(BOX, np.zeros((NUMBER, 2)))
    yield lambda: PrivateDemand(BOX, [[1.0], [1.0, 2.0]])
    yield lambda: PrivateDemand.from_coordinates(plane, [[nan, NUMBER]])
    yield lambda: PrivateDemand.from_coordinates(plane, [[bad, 1]])
    yield lambda: PrivateDemand.from_coordinates(plane, np.zeros((NUMBER, 3)))
    yield lambda: PrivateDemand.from_coordinates(TWO, [[NUMBER, 1]])
    yield lambda: PrivateDemand(TWO, NUMBER * ["a"], user=[1])
    yield lambda: PrivateDemand(TWO, ["a"], user=NUMBER * [1])
    yield lambda: PrivateDemand(TWO, ["a"], user=[None])
    yield lambda: PrivateDemand(TWO, ["a"], user=[nan])
    yield lambda: PrivateDemand(TWO, ["a"], user=[pd.NA])
    yield lambda: PrivateDemand(TWO, ["a"], user=[[bad]])
    yield lambda: PrivateDemand(TWO, ["a"], user=NUMBER)
    yield lambda: of_frame(TWO, pd.DataFrame({"vertex": ["a", bad, None]}))
    yield lambda: of_frame(TWO, pd.DataFrame({"vertex": [NUMBER]}))
    yield lambda: of_frame(plane, pd.DataFrame({"x": [bad], "y": [1]}), x="x", y="y")
    yield lambda: of_frame(plane, pd.DataFrame({"x": [NUMBER, None], "y": [1, 2]}), x="x", y="y")
    yield lambda: of_frame(TWO, pd.DataFrame({"vertex": ["a"], "u": [None]}), user="u")
    yield lambda: PrivateDemand(TWO, {"a": NUMBER})
    yield lambda: of_frame(TWO, lazily(bad))


def lazily(bad):
    pl = pytest.importorskip("polars")
    return pl.LazyFrame({"vertex": ["a", bad]}).with_columns(pl.col("vertex").cast(pl.Int64))


def breaking_off(text):
    yield "a"
    raise RuntimeError(text)


@pytest.mark.parametrize("make", list(bad_inputs()), ids=lambda f: "")
def test_refusals_name_the_rule_and_never_the_record(make, capfd, caplog):
    caplog.set_level(logging.DEBUG)
    refused = refuses("", make, error=(InputError, ReadingError))
    said = caplog.text + "".join(capfd.readouterr())
    shown = all_text(refused).replace(source_lines(make), "") + said
    assert CANARY not in shown
    assert str(NUMBER) not in shown
    assert refused.__cause__ is None and refused.__context__ is None
    assert len(str(refused)) > 20


def source_lines(make) -> str:
    """The traceback quotes the line of this file that made the call; the test writes the canary
    there itself.
    """
    with open(__file__, encoding="utf-8") as file:  # noqa: PTH123
        text = file.read().splitlines()[make.__code__.co_firstlineno - 1]
        return text.replace("yield lambda: ", "").strip()


FILES = {
    "unknown id": "vertex\na\nCANARY-48611-x\n",
    "empty cell": "vertex,u\na,1\n,CANARY-48611\n",
    "ragged": "vertex\na\nCANARY-48611,CANARY-48611\n",
    "quotes": 'vertex\na\n"CANARY-48611\n',
    "no header": "CANARY-48611\na\n",
    "numbers": "48611\n48612\n",
    "empty": "",
    "twice": "CANARY-48611,CANARY-48611\na,a\n",
    "binary": "\0CANARY-48611",
}


@pytest.mark.parametrize("kind", FILES)
def test_refusals_of_files_never_show_their_content(tmp_path, kind):
    path = tmp_path / "demand.csv"
    path.write_text(FILES[kind])
    for columns in ({}, {"x": "vertex", "y": "u"}, {"user": "u"}):
        refused = refuses("", PrivateDemand.from_frame, TWO, path, **columns)
        assert CANARY not in all_text(refused)
        assert str(NUMBER) not in all_text(refused)


def test_no_attribute_leads_to_the_records():
    demand = PrivateDemand(TOWN, 300 * [CANARY] + [17])
    by_user = PrivateDemand(line(5), [3, 3, 3], user=["Ann", "Ann", "Bob"], max_contributions=7)
    text = f"PrivateDemand({TOWN.name}; protects each record)"
    assert repr(demand) == str(demand) == f"{demand}" == text
    found = repr(by_user)
    assert found == "PrivateDemand(5 points; protects each user, keeps up to 7 records of each)"
    refuses("", vars, demand, error=TypeError)
    with pytest.raises(AttributeError):
        demand.records = 1
    for name in ("universe", "max_contributions", "unit"):
        refuses("", setattr, demand, name, None, error=AttributeError)
    reachable = [getattr(demand, name) for name in dir(demand) if not name.startswith("__")]
    assert not any(isinstance(value, np.ndarray | list | dict | set) for value in reachable)
    held = gc.get_referents(demand)
    assert not any(isinstance(value, np.ndarray | list | dict) for value in held)
    assert sys.getsizeof(demand) == sys.getsizeof(PrivateDemand(TOWN, []))


@cases(
    "act",
    len,
    bool,
    list,
    iter,
    set,
    lambda d: 1 in d,
    lambda d: d[0],
    lambda d: d + d,
    sorted,
    np.array([1]).__add__,
    pickle.dumps,
    copy.copy,
    copy.deepcopy,
    lambda d: pickle.dumps(d, 0),
    memoryview,
    int,
    float,
)
def test_questions_a_demand_does_not_answer(act):
    refused = refuses("", act, PrivateDemand(TOWN, [CANARY, 17, 17]), error=TypeError)
    assert CANARY not in all_text(refused)


def test_messages_explain_themselves():
    demand = PrivateDemand(TWO, ["a"])
    refuses("is private: measure a CountQuery", len, demand, error=TypeError)
    with pytest.raises(TypeError, match="cannot be copied or pickled: private records stay"):
        pickle.dumps(demand)
    refuses("has no coordinates", PrivateDemand.from_coordinates, TWO, [[0, 0]])
    refuses("from_coordinates", PrivateDemand, EuclideanMetric([[0.0, 0]]), np.array([[0.0, 0]]))
    refuses("universe must be a metric or an EuclideanSpace, got list", PrivateDemand, [1], [1])
    kinds = "a pandas, Polars, PyArrow, DuckDB, Ibis, Dask or PySpark table"
    refuses(f"expected a path or {kinds}, got list", PrivateDemand.from_frame, TWO, ["a"])
    assert np.asarray(demand).shape == ()  # NumPy wraps it without looking inside
