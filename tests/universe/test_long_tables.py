"""Long tables of travel costs, as r5py, Valhalla and others write them."""

import gzip

import numpy as np
import pandas
import pytest

import metricdp as mdp
from tests import cases, refuses

MATRIX = np.array([[1.0, 5.5, 9.0], [8.0, 2.0, 3.0]])
ORIGINS, DESTINATIONS = ["A", "A", "A", "B", "B", "B"], [10, 20, 30] * 2


def columns(cost="travel_time", ends=("from_id", "to_id")):
    return {ends[0]: ORIGINS, ends[1]: DESTINATIONS, cost: MATRIX.ravel().tolist()}


def same(table):
    assert np.array_equal(table.costs, MATRIX)
    assert list(table.sites) == ["A", "B"] and list(table.ids) == [10, 20, 30]


def text(data, separator=","):
    rows = [list(data), *zip(*data.values())]
    return "\n".join(separator.join(map(str, row)) for row in rows) + "\n"


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@cases("ends", ("from_id", "to_id"), ("origin", "destination"), ("site", "client"))
def test_frames(library, ends):
    kind = pytest.importorskip(library)
    make = kind.table if library == "pyarrow" else kind.DataFrame
    same(mdp.CostTable(make(columns(ends=ends))))
    same(mdp.CostTable(make(columns("p50", ends=("x", "y"))), sites="x", clients="y"))


def test_files(tmp_path):
    plain = tmp_path / "times.csv"
    plain.write_text(text(columns("travel_time_p50")), encoding="utf-8")
    same(mdp.CostTable(plain))
    same(mdp.CostTable(str(plain), sites="from_id"))
    zipped = tmp_path / "times.tsv.gz"
    zipped.write_bytes(gzip.compress(text(columns(), "\t").encode()))
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


def test_ids_with_leading_zeros_stay_text(tmp_path):
    file = tmp_path / "times.csv"
    file.write_text("origin,destination,cost\n01,0601.50,3\n02,0601.50,4\n", encoding="utf-8")
    assert list(mdp.CostTable(file).ids) == ["0601.50"]


def test_pairs_without_a_cost(tmp_path):
    file = tmp_path / "times.csv"
    file.write_text("origin,destination,cost\na,x,3\na,y,\nb,x,4\nb,y,1\n", encoding="utf-8")
    refuses("1 of 4 pairs", mdp.CostTable, file)
    assert mdp.CostTable(file, unreachable=99).costs.tolist() == [[3, 99], [4, 1]]
    file.write_text("origin,destination,cost\na,x,3\nb,y,1\n", encoding="utf-8")
    refuses("2 of 4 pairs", mdp.CostTable, file)


@cases(
    ("content", "options", "said"),
    ("origin,destination,time,length\na,x,1,2\n", {}, "time.*length.*name one"),
    ("origin,destination,note\na,x,hello\n", {}, "none"),
    ("first,second,cost\na,x,1\n", {}, "no columns are known.*first, second, cost"),
    ("origin,destination,cost\na,x,1\na,x,2\n", {}, "more than once"),
    ("origin,destination,cost\na,x,1\n", {"cost": "toll"}, "no column 'toll'"),
    ("origin,destination,cost\na,x,1\n", {"sites": "town"}, "no column 'town'"),
    ("origin,destination,cost\na,x,1\n", {"cost": ["cost"]}, "no column"),
    ("origin,destination,cost\na,x,1\n", {"sites": [["a"]]}, "hashable"),
    ("1,2,3\n4,5,6\n", {}, "header"),
)
def test_what_cannot_be_read_is_reported(tmp_path, content, options, said):
    file = tmp_path / "times.csv"
    file.write_text(content, encoding="utf-8")
    refuses(said, mdp.CostTable, file, **options)


def test_several_lengths_are_refused(tmp_path):
    file = tmp_path / "roads.csv"
    file.write_text("from,to,length,time\na,b,100,9\nb,c,50,4\n", encoding="utf-8")
    refuses("length, time; name one", mdp.read_graph, file)
    assert mdp.read_graph(file, weight="time").distances(["a"], ["c"]).tolist() == [[13]]
    networkx = pytest.importorskip("networkx")
    graph = networkx.Graph([("a", "b", {"length": 2.0, "travel_time": 1.0})])
    networkx.write_graphml(graph, tmp_path / "roads.graphml")
    refuses("length, travel_time; name one", mdp.read_graph, tmp_path / "roads.graphml")
