"""Tables: headers, delimiters, types, and errors that name the line; long tables of travel costs,
as r5py, Valhalla and others write them.
"""

import gzip
import time

import numpy as np
import pandas
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import metricdp as mdp
from metricdp.errors import GraphFileError, MissingExtraError
from metricdp.universe import read_table
from tests import beside, cases, refuses


def write(tmp_path, content, name="t.csv"):
    path = tmp_path / name
    data = content.encode() if isinstance(content, str) else content
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


TABLES = beside(__file__, "tables.toml")


def rows(table):
    columns = [c.tolist() if isinstance(c := table[n], np.ndarray) else c for n in table.names]
    return table.names, [list(r) for r in zip(*columns)]


@cases(("content", "name", "names", "expected"), *TABLES["read"])
def test_what_is_read(tmp_path, content, name, names, expected):
    table = read_table(write(tmp_path, content, name))
    assert rows(table) == (names, expected) and len(table) == len(expected)
    assert table.has_header == (names != ["1", "2"])


def test_a_line_break_inside_quotes_is_part_of_the_cell(tmp_path):
    table = read_table(write(tmp_path, 'a,b\n"x\n\n#y",2\n3,4\n'))
    assert table["a"] == ["x\n\n#y", "3"] and table.numbers("b").tolist() == [2, 4]
    table = read_table(write(tmp_path, 'a,b\n# 5" pipe\n"#1",2\n%z\n3,4\n'))
    assert table["a"] == ["#1", "3"], "a quoted mark is no comment"


def test_leading_titles_are_skipped_only_when_asked(tmp_path):
    path = write(tmp_path, "https://example.org/data\n# comment here\n1 2\n3 4\n", "t.txt")
    assert rows(read_table(path, min_fields=2)) == (["1", "2"], [[1, 2], [3, 4]])
    with pytest.raises(GraphFileError, match="line 3: this row has 2 fields, the first has 1"):
        read_table(path)


@settings(max_examples=80)
@given(
    st.lists(
        st.tuples(st.integers(-(2**62), 2**62), st.floats(allow_nan=False, allow_infinity=False)),
        min_size=1,
        max_size=8,
    ),
    st.sampled_from([",", "\t", ";", " "]),
    st.booleans(),
)
def test_numbers_survive_exactly(tmp_path_factory, cells, delimiter, header):
    lines = [delimiter.join(("id", "w"))] if header else []
    lines += [f"{i}{delimiter}{w!r}" for i, w in cells]
    path = tmp_path_factory.mktemp("t") / "t.txt"
    path.write_text("\n".join(lines))
    table = read_table(path)
    first, second = table.names
    assert list(table.ids(first)) == [i for i, _ in cells]
    assert table.numbers(second).tolist() == [w for _, w in cells]


def test_ids(tmp_path):
    table = read_table(write(tmp_path, "a,b,c,d,e\n12,02139,3.0,x,\n7,10001,4.0,7,q\n"))
    assert table.ids("a").tolist() == [12, 7] and table.ids("b") == ["02139", "10001"]
    assert table.ids("c").tolist() == [3, 4] and table.ids("d") == ["x", "7"]
    refuses(r"t.csv, line 2: column 'e' has an empty cell", table.ids, "e", error=GraphFileError)
    with pytest.raises(GraphFileError, match="column 'a' has an empty cell or NaN"):
        read_table(write(tmp_path, "a\n1\nnan\n")).ids("a")


def test_ids_and_names_that_end_in_zero_are_not_merged(tmp_path):
    """1.10 and 1.1 are two zones, also in a file of numbers alone, which is read as such."""
    for more in (",x", ""):
        cells = ["1.10", "1.1", "12.0"]
        file = write(
            tmp_path, "zone,cost,note\n" + "".join(f"{c},2.50{more or ',0'}\n" for c in cells)
        )
        table = read_table(file)
        assert table.ids("zone") == table.strings("zone") == cells
        assert table["zone"].tolist() == [1.1, 1.1, 12.0] and table.numbers("cost")[0] == 2.5
    assert read_table(write(tmp_path, "zone\n1.1\n1.25\n")).ids("zone") == [1.1, 1.25]
    file = write(tmp_path, "site,client,cost\n1.1,0601.50,3\n1.10,2,4\n")
    table = mdp.CostTable(file, unreachable=9)
    assert table.sites == ["1.1", "1.10"] and list(table.ids) == ["0601.50", "2"]
    file = write(tmp_path, "from,to,length\n1.10,2.5,3\n2.5,1.1,4\n")
    refuses(
        "vertex ids, integers or text, not fractions", mdp.read_graph, file, error=GraphFileError
    )


def test_find_ignores_case_and_keeps_the_order_asked(tmp_path):
    table = read_table(write(tmp_path, "LAT,Lon ,x\n1,2,3\n"))
    assert table.find("lon", "x") == "Lon" and table.find("x", "lon") == "x"
    assert table.find("y") is None
    assert "LAT" in table and "lat" not in table
    assert repr(table).endswith("['LAT', 'Lon', 'x'], 1 rows)")


@cases(
    ("content", "name", "message"),
    *TABLES["broken"],
    (b"a,b\n\xff\xfe,1\n", "t.csv", "is not UTF-8 text: save it as UTF-8"),
    (b"PK\x03\x04\x14\0", "t.xlsx", "is a workbook or an archive, not text: save the sheet as CSV"),
    ("a,b\n1,2\n".encode("utf-16"), "t.csv", "is not UTF-8 text"),
    (b"PAR1 nonsense", "t.parquet", "is not a readable Parquet file"),
)
def test_broken_files(tmp_path, content, name, message):
    caught = refuses(message, read_table, write(tmp_path, content, name), error=GraphFileError)
    assert caught.path.endswith(name)


def test_broken_paths(tmp_path):
    refuses("no such file", read_table, tmp_path / "none.csv", error=GraphFileError)
    refuses("is a directory", read_table, tmp_path, error=GraphFileError)
    whole = gzip.compress(b"a,b\n" + b"1,2\n" * 1000)
    for damaged in (whole[:-20], whole[:5] + b"\0" * 30):
        path = tmp_path / "t.csv.gz"
        path.write_bytes(damaged)
        refuses("damaged or truncated gzip", read_table, path, error=GraphFileError)
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(GraphFileError, match=r"not a gzip file although its name ends in .gz"):
        read_table(path)
    plain = tmp_path / "t.csv"
    plain.write_bytes(whole)  # gzip without the ending is read all the same
    assert len(read_table(plain)) == 1000


def test_column_errors(tmp_path):
    table = read_table(write(tmp_path, "a,b\n1,x\n\n2,\n"))
    refuses("no column 'c'; columns: a, b", lambda: table["c"], error=GraphFileError)
    with pytest.raises(GraphFileError, match="line 2: column 'b' must hold numbers, not 'x'"):
        table.numbers("b")
    table = read_table(write(tmp_path, "a,b\n1,5\n\n2,\n"))
    words = "line 4: column 'b' must hold numbers; one cell is empty"
    refuses(words, table.numbers, "b", error=GraphFileError)


def test_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    columns = {
        "i": pa.array([1, 2], pa.int32()),
        "u": pa.array([2**63, 1], pa.uint64()),
        "f": pa.array([0.5, 2.0], pa.float32()),
        "s": ["12", "x"],
        "digits": ["12", "13"],
        "cat": pa.array(["a", "b"]).dictionary_encode(),
        "gap": pa.array([1, None], pa.int64()),
        "flag": [True, False],
        "blob": [b"1", b"2"],
    }
    pq.write_table(pa.table(columns), path)
    table = read_table(path)
    assert len(table) == 2 and table["i"].tolist() == [1, 2] and table["f"].tolist() == [0.5, 2.0]
    assert table["u"] == [str(2**63), "1"] and table["cat"] == ["a", "b"]
    assert table["flag"] == ["True", "False"]
    assert table.ids("digits") == ["12", "13"], "text ids stay text"
    assert table.numbers("digits").tolist() == [12, 13]
    for act in (table.ids, table.numbers):
        refuses("column 'gap'", act, "gap")
    refuses("column 'blob' is of a type that is neither number nor text", lambda: table["blob"])
    path.write_bytes(path.read_bytes()[:200])
    refuses("not a readable Parquet file", read_table, path, error=GraphFileError)


def test_parquet_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"Parquet.*pip install -e '.\[parquet\]'"):
        read_table(write(tmp_path, b"PAR1....", "t.parquet"))


def test_numbers_only_files_are_read_fast(tmp_path):
    block = np.random.default_rng(0).integers(1, 10**6, (200_000, 3))
    path = write(tmp_path, "u,v,w\n" + "\n".join(map("{},{},{}".format, *block.T.tolist())))
    spent = min(timed(path) for _ in range(2))
    assert spent < 1.0, f"{spent:.2f} s for 200,000 rows"  # 0.08 s of the processor


def timed(path):
    start = time.process_time()
    assert len(read_table(path)) == 200_000
    return time.process_time() - start


MATRIX = np.array([[1.0, 5.5, 9.0], [8.0, 2.0, 3.0]])
ORIGINS, DESTINATIONS = ["A", "A", "A", "B", "B", "B"], [10, 20, 30] * 2


def columns(cost="travel_time", ends=("from_id", "to_id")):
    return {ends[0]: ORIGINS, ends[1]: DESTINATIONS, cost: MATRIX.ravel().tolist()}


def same(table):
    assert np.array_equal(table.costs, MATRIX)
    assert list(table.sites) == ["A", "B"] and list(table.ids) == [10, 20, 30]


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@cases("ends", ("from_id", "to_id"), ("origin", "destination"), ("site", "client"))
def test_frames(library, ends):
    kind = pytest.importorskip(library)
    make = kind.table if library == "pyarrow" else kind.DataFrame
    same(mdp.CostTable(make(columns(ends=ends))))
    same(mdp.CostTable(make(columns("p50", ends=("x", "y"))), sites="x", clients="y"))


def test_files(tmp_path):
    plain, zipped = tmp_path / "times.csv", tmp_path / "times.tsv.gz"
    pandas.DataFrame(columns("travel_time_p50")).to_csv(plain, index=False)
    same(mdp.CostTable(plain))
    same(mdp.CostTable(str(plain), sites="from_id"))
    pandas.DataFrame(columns()).to_csv(zipped, index=False, sep="\t")
    same(mdp.CostTable(zipped))
    assert np.array_equal(mdp.CostTable(plain, sites="to_id", clients="from_id").costs, MATRIX.T)
    pandas.DataFrame(columns()).to_parquet(tmp_path / "times.parquet")
    same(mdp.CostTable(tmp_path / "times.parquet"))


def test_a_frame_that_is_a_matrix():
    same(mdp.CostTable(pandas.DataFrame(MATRIX, index=["A", "B"], columns=[10, 20, 30])))


@pytest.mark.parametrize("name", ["site", "store", "id"])
def test_a_frame_with_its_sites_in_the_first_column_is_read_as_its_file(tmp_path, name):
    frame = pandas.DataFrame({name: ["A", "B"], 10: MATRIX[:, 0], 20: MATRIX[:, 1], 30: [9, 3]})
    same(mdp.CostTable(frame))
    frame.to_csv(tmp_path / "wide.csv", index=False)
    assert np.array_equal(mdp.CostTable(tmp_path / "wide.csv").costs, MATRIX)


def test_a_matrix_whose_corner_is_empty_is_read(tmp_path):
    """As pandas writes one, with clients that are numbers."""
    frame = pandas.DataFrame(MATRIX, index=["A", "B"], columns=[1, 2, 3])
    frame.to_csv(tmp_path / "wide.csv")
    table = mdp.CostTable(tmp_path / "wide.csv")
    assert np.array_equal(table.costs, MATRIX)
    assert list(table.sites) == ["A", "B"] and list(table.ids) == ["1", "2", "3"]


def test_ids_that_are_numbers_are_never_taken_for_costs():
    frame = pandas.DataFrame({"site": [101, 102], "x": [1.0, 2.0], "y": [3.0, 4.0]})
    assert mdp.CostTable(frame).costs.tolist() == [[1, 3], [2, 4]]
    assert list(mdp.CostTable(frame).sites) == [101, 102]
    unclear = frame.rename(columns={"site": "store"})
    refuses(r"'store', may hold the ids .*set_index\('store'\)", mdp.CostTable, unclear)
    same_as = mdp.CostTable(unclear.set_index("store"))
    assert list(same_as.sites) == [101, 102] and same_as.costs.shape == (2, 2)
    assert mdp.CostTable(unclear, sites=["a", "b"]).costs.shape == (2, 3)
    assert mdp.CostTable(pandas.DataFrame(MATRIX, columns=["x", "y", "z"])).costs.shape == (2, 3)


def test_ids_are_kept_in_the_order_given():
    table = mdp.CostTable(pandas.DataFrame(columns()), sites=["B"], clients=[30, 10])
    assert table.costs.tolist() == [[3, 8]]


def test_pairs_without_a_cost(tmp_path):
    file = write(tmp_path, "origin,destination,cost\na,x,3\na,y,\nb,x,4\nb,y,1\n")
    refuses("1 of 4 pairs", mdp.CostTable, file)
    assert mdp.CostTable(file, unreachable=99).costs.tolist() == [[3, 99], [4, 1]]
    write(tmp_path, "origin,destination,cost\na,x,3\nb,y,1\n")
    refuses("2 of 4 pairs", mdp.CostTable, file)


@cases(("content", "options", "said"), *TABLES["refused"])
def test_what_cannot_be_read_is_reported(tmp_path, content, options, said):
    refuses(said, mdp.CostTable, write(tmp_path, content), **options)
