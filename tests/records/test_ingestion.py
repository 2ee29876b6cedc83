"""Each private cell is read by itself: what it means, the same by every loader, and what one more
cell changes.

The cells below are those that a column's type used to be recognized by, or that readers differ on.
Every test adds one record, or one user's, to rows that hold the others, and looks into the vault.
"""

import gzip
import itertools
from decimal import Decimal

import numpy as np
import pytest

from metricdp.errors import InputError, ReadingError
from metricdp.metrics import EuclideanSpace, PrecomputedMetric
from metricdp.privacy import CountQuery, Ledger, PrivateDemand, _vault, measure
from metricdp.records.engines import Source, embedded
from metricdp.records.ingestion import cells, columns, lines, matching
from tests import cases, refuses

pd, pl, pa = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
pq, pads = pytest.importorskip("pyarrow.parquet"), pytest.importorskip("pyarrow.dataset")
duckdb = pytest.importorskip("duckdb")

BIG = 1234567890123456789
TEXTS = [
    *("1.5", "2e3", "007", "5.0", "-0.0", "+5", "1_000", "1e400", "1e-400", str(BIG), str(BIG + 1)),
    *("nan", "inf", "null", "NULL", "None", "NA", "<NA>", "true", "True", "x", "é", "e\u0301"),
    *("\u0661\u0662", " 5 ", "\u00a05", "1,5", 'a"b', "#5", "%", "0x10", "1-2", "-5", "--", "a b"),
    *("9" * 40, "-" + str(BIG), "2020-01-01", "12:30", "1e5", "1E5", "\u0661", "\uff15", "+", "."),
]
"""Users that a text column may hold."""
OTHERS = [str(BIG + i) for i in range(2, 40)] + ["5", "7", "12", "2000", "ann", "Ann"]
IDS = ["a", "b", "c"]


def universe(ids):
    return PrecomputedMetric(1.0 - np.eye(len(ids)), ids=list(ids))


def counts(demand):
    held = _vault._open(demand)
    n = len(demand.universe)
    if isinstance(held, Source):
        return held.total(lambda block: np.bincount(block, minlength=n))
    return np.bincount(held, minlength=n)


# Loaders: all of texts, so that each can hold each cell


def quoted(cell):
    """As writers of CSV do: an empty line would be no record."""
    return '"' + cell.replace('"', '""') + '"' if not cell or set(cell) & set(',\t"') else cell


def text_file(folder, columns, name, delimiter):
    rows = [delimiter.join(columns)]
    rows += [delimiter.join(map(quoted, row)) for row in zip(*columns.values())]
    data = ("\n".join(rows) + "\n").encode()
    path = folder / name
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


def parquet_file(folder, columns, name="rows.parquet"):
    pq.write_table(pa.table(columns), folder / name)
    return folder / name


def in_parts(folder, columns):
    for i, half in enumerate([{n: c[i::2] for n, c in columns.items()} for i in (0, 1)]):
        parquet_file(folder, half, f"part-{i}.parquet")
    return str(folder / "part-*.parquet")


LOADERS = {
    "lists": None,
    "pandas": lambda folder, c: pd.DataFrame(c),
    "pandas objects": lambda folder, c: pd.DataFrame(c, dtype=object),
    "pandas categories": lambda folder, c: pd.DataFrame(c, dtype="category"),
    "polars": lambda folder, c: pl.DataFrame(c),
    "polars lazy": lambda folder, c: pl.LazyFrame(c),
    "arrow": lambda folder, c: pa.table(c),
    "arrow dataset": lambda folder, c: pads.dataset(pa.table(c)),
    "duckdb": lambda folder, c: duckdb.connect().from_arrow(pa.table(c)),
    "csv": lambda folder, c: text_file(folder, c, "rows.csv", ","),
    "csv.gz": lambda folder, c: text_file(folder, c, "rows.csv.gz", ","),
    "tsv": lambda folder, c: text_file(folder, c, "rows.tsv", "\t"),
    "csv, large": lambda folder, c: text_file(folder, c, "rows.csv", ","),
    "parquet": parquet_file,
    "parquet, large": in_parts,
}
LARGE = ("csv, large", "parquet, large")
SLOW = (*LARGE, "polars lazy", "arrow dataset", "duckdb")
"""Loaders whose users DuckDB bounds: a second for each table on a busy machine."""


@pytest.fixture(params=LOADERS)
def load(request, tmp_path, monkeypatch):
    """From columns to a demand, by one loader."""
    if request.param in LARGE:
        monkeypatch.setattr(embedded, "AT_ONCE", -1)
    make, number = LOADERS[request.param], itertools.count()

    def loaded(metric, columns, **options):
        if make is None:
            users = columns.get("user")
            bound = {**options, "user": users} if users is not None else {}
            return PrivateDemand(metric, columns["vertex"], **bound)
        folder = tmp_path / str(next(number))
        folder.mkdir()
        named = {"user": "user"} if "user" in columns else {}
        return PrivateDemand.from_frame(metric, make(folder, columns), **named, **options)

    loaded.some = 9 if request.param in SLOW else 1
    return loaded


def rows_of(users):
    return {"vertex": [IDS[i % 3] for i in range(len(users))], "user": list(users)}


def test_one_user_more_adds_that_user_alone(load):
    """A hundred records of each adversarial user, one kept: all others keep theirs."""
    metric = universe(IDS)
    before = counts(load(metric, rows_of(OTHERS)))
    assert before.sum() == len(set(OTHERS))
    for user in TEXTS[:: load.some]:
        mine = {n: c + 3 * [{"vertex": "b", "user": user}[n]] for n, c in rows_of(OTHERS).items()}
        after = counts(load(metric, mine))
        expected = 0 if user.strip() in OTHERS else 1
        moved = abs(after - before).sum()
        assert (after.sum() - before.sum(), moved <= 2) == (expected, True), user


BIG_IDS = {"integers": [2**53, 2**53 + 1, -5, 7], "texts": ["007", "7", "1e3", str(BIG)]}
CELLS = [str(2**53), str(2**53 + 1), "-5", "7", "007", "7.0", "1e3", "1000", str(BIG), "", " 7 "]
CELLS += ["+7", "７", "7_0", "nan", "1e400", "x", "-0.0", str(2**53) + ".0", "9007199254740992.5"]


@pytest.mark.parametrize("kind", BIG_IDS)
def test_an_id_is_matched_by_itself_or_refused(load, kind):
    """What a cell means beside others, of every kind, is what it means alone."""
    metric = universe(BIG_IDS[kind])
    meaning = {}
    for cell in CELLS:  # no users, so no engine has to sort
        try:
            meaning[cell] = counts(load(metric, {"vertex": [cell]}))
        except InputError:
            meaning[cell] = None
    assert [meaning[str(i)] is not None for i in BIG_IDS[kind]] == [True] * 4
    good = [cell for cell in CELLS if meaning[cell] is not None]
    together = counts(load(metric, {"vertex": good}))
    assert together.tolist() == sum(meaning[cell] for cell in good).tolist()
    for cell in [cell for cell in CELLS if meaning[cell] is None][::4]:
        refuses("at least one is not", load, metric, {"vertex": [*good, cell]})
    wanted = {
        "integers": [str(2**53), str(2**53 + 1), "-5", "7", "7.0", " 7 ", "+7", str(2**53) + ".0"],
        "texts": ["7", "007", "1e3", str(BIG), " 7 "],
    }
    assert sorted(good) == sorted(wanted[kind])


@pytest.mark.parametrize("cell", ["1.5", "1e400", "nan", "", "x", "１", "1_0", "0x1", "inf", "--1"])
def test_a_coordinate_is_read_by_itself(tmp_path, cell):
    box = EuclideanSpace([0, 0], [10, 10])
    for delimiter, name in ((",", "rows.csv"), ("\t", "rows.tsv")):
        cells = {"x": ["1", "007", cell], "y": ["1", "-2e0", "3"]}
        path = text_file(tmp_path, cells, name, delimiter)
        read = lambda: PrivateDemand.from_frame(box, path, x="x", y="y")  # noqa: E731,B023
        if cell == "1.5":
            assert _vault._open(read()).tolist() == [[1, 1], [7, 0], [1.5, 3]]
        else:
            refuses("at least one is not", read)


# Typed columns, of libraries that typed them


def test_numbers_of_all_kinds_are_one_user():
    """5, 5.0 and "5" are the same user, in any column; floats beyond 2^53 are nobody."""
    metric = universe(IDS)
    same = [5, 5.0, "5", " 5 ", np.int8(5), np.float32(5), Decimal("5.00"), b"5", np.str_("5")]
    assert counts(PrivateDemand(metric, ["a"] * len(same), user=same)).sum() == 1
    typed = [pd.Series([5]), pd.Series([5.0]), pd.Series(["5"]), pd.Series([5], dtype="Int64")]
    for column in typed:
        mixed = pd.Series([*column, "5"], dtype=object)
        frame = pd.DataFrame({"vertex": ["a", "b"], "user": mixed})
        assert counts(PrivateDemand.from_frame(metric, frame, user="user")).sum() == 1
    for lost in (2.0**53, 1e300, float("nan"), None, pd.NA, pd.NaT, float("inf"), "", "  "):
        refuses("", PrivateDemand, metric, ["a"], user=[lost])


def test_a_column_that_its_library_made_floats_does_not_merge_users(tmp_path):
    """`read_csv` of pandas turns ids of 19 digits into floats for one 1.5 among them."""
    path = text_file(tmp_path, rows_of([*OTHERS[:38], "1.5"]), "rows.csv", ",")
    frame = pd.read_csv(path)
    assert frame["user"].dtype.kind == "f"
    refuses("at least one is not", PrivateDemand.from_frame, universe(IDS), frame, user="user")
    assert counts(PrivateDemand.from_frame(universe(IDS), path, user="user")).sum() == 39


def test_ids_of_every_type_in_one_column():
    metric = universe([1, "b", 2.5, True and "yes", ("t", 1)])
    records = ["1", 1.0, "b", b"b", "2.5", 2.5, Decimal("2.50"), "2.50", "yes", ("t", 1), 1]
    assert counts(PrivateDemand(metric, records)).tolist() == [3, 2, 4, 1, 1]
    for bad in ("01", True, "B", 2.25, ("t", 2), None):
        refuses("", PrivateDemand, metric, [bad])
    assert counts(PrivateDemand(universe([1, "1"]), [1, "1", 1.0, " 1"])).tolist() == [2, 2]


# Lines


@cases("row", 'b,"x', "b", "b,x,y", 'b,x"y"', "b,\0", b"b,\xff", '"b,x\ny"', 'b,"x"y', ids=repr)
def test_a_bad_line_is_refused_and_swallows_no_other(tmp_path, row):
    row = row if isinstance(row, bytes) else row.encode()
    path = tmp_path / "rows.csv"
    for data in (b"vertex,user\na,1\n" + row + b"\nc,2\n", b"vertex,user\n" + row + b"\n"):
        path.write_bytes(data)
        if row == b'b,x"y"':  # a quote within a cell that is not quoted is a letter
            assert counts(PrivateDemand.from_frame(universe(IDS), path)).sum() in (1, 3)
        else:
            with pytest.raises(InputError, match="at least one is not"):
                PrivateDemand.from_frame(universe(IDS), path, user="user")


def test_two_open_quotes_do_not_swallow_what_lies_between(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text('vertex,user\na,"1\nb,2\nc,3\nb",4\n')
    refuses("at least one is not", PrivateDemand.from_frame, universe(IDS), path, user="user")


def test_a_file_without_names_is_read_by_place(tmp_path):
    path = tmp_path / "rows.csv"
    path.write_text("2,a\n1,b\n1.5,b\n")
    demand = PrivateDemand.from_frame(universe(IDS), path, node="2", user="1")
    assert counts(demand).tolist() == [1, 2, 0]


def test_plain_blocks_are_read_as_line_by_line(monkeypatch):
    rng = np.random.default_rng(0)
    form = lines.Layout(("a", "b", "c"), ",")
    plain = ["", "\r\n", "x,y\n", "\n\n", "a,b,c\n", " , ,\n"]
    for odd in [*plain, ' ,"q,",\n', "\ufffd,,\n", "\ufeff,1,2\n"]:
        rows = [",".join(map(str, r)) for r in rng.integers(0, 99, (3000, 3))]
        data = ("\n".join(rows[:1500]) + "\n" + odd + "\n".join(rows[1500:]) + "\n").encode()
        block = lines.Lines(data, form)
        table, slow = block.table(["c", "a"]), block.columns(["c", "a"])
        for name in ("c", "a"):
            assert columns.texts(columns.column(table, name)) == columns.texts(slow[name])


@pytest.mark.parametrize("ids", [[3, 1, 2**60], range(5), ["1", "a", " a", "1.0"], [1.5, 2, "x"]])
def test_fast_matching_is_that_of_each_cell(ids):
    find = matching.matcher(ids)
    cells_ = ["1", "1.0", 1, 1.0, 2, "2", "a", " a", "a ", 1.5, "1.5", "x", str(2**60), 2**60, 3]

    def alone(cell):
        try:
            return int(find.position(cell))
        except InputError:
            return None

    known = [c for c in cells_ if alone(c) is not None]
    assert find(known).tolist() == [alone(c) for c in known]
    for kind in (str, int, float):
        some = [c for c in known if type(c) is kind]
        array = pa.array(some, pa.string()) if kind is str else np.array(some, kind)
        assert find(columns.simplified(array)).tolist() == [alone(c) for c in some]
    for cell in [c for c in cells_ if alone(c) is None]:
        with pytest.raises(InputError):
            array = pa.array([cell]) if isinstance(cell, str) else np.array([cell])
            find(columns.simplified(array))


def test_what_is_stripped_is_what_python_strips():
    assert set(cells.BLANKS) == {c for c in map(chr, range(0x110000)) if c.isspace()}


def test_a_table_that_changes_between_readings_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(embedded, "AT_ONCE", -1)
    box = EuclideanSpace([0], [9])
    path = tmp_path / "rows.csv"
    for later in ("x\n1\n2\n3\n", "x\n1\n4\n"):
        path.write_text("x\n1\n2\n")
        demand = PrivateDemand.from_frame(box, path, columns=["x"])
        assert measure(demand, CountQuery(), 1, Ledger(1).charge(1))
        path.write_text(later)
        with pytest.raises(ReadingError, match="changed between two readings"):
            measure(demand, CountQuery(), 1, Ledger(1).charge(1))
