"""A file that is not there, a storage that cannot be read and a wrong word are distinguished."""

import pytest

import metricdp as mdp
from metricdp.errors import InputError
from metricdp.records.engines.embedded import absent
from tests import cases, path_metric, refuses

METRIC = path_metric(9)


@cases(
    ("named", "words"),
    ("none*.csv", "no file has such a name"),
    ("none*.parquet", "no file has such a name"),
    ("hello world", "no such file"),
    ("nowhere.parquet", "no such file"),
    ("torn*.parquet", "none of its files can be read as Parquet"),
    ("s4://bucket/homes.csv", "unknown kind of storage 's4'"),
    ("ftp://host/homes.parquet", "unknown kind of storage 'ftp'"),
    ("https://localhost:1/homes.csv", r"the storage \(https\) has no such file, or does not"),
)
def test_each_has_a_message_of_its_own(named, words, here):
    (here / "torn1.parquet").write_bytes(b"PAR1 and no more")
    assert str(refuses(words, mdp.PrivateDemand.from_frame, METRIC, named)).startswith(named)


def test_folders(tmp_path):
    assert absent(str(tmp_path), "Parquet") == "is a folder without Parquet files"
    assert absent(str(tmp_path)) == "is a directory, not a file"


def test_a_table_of_names_alone_holds_nobody_and_blank_ids_are_refused(tmp_path):
    (tmp_path / "nobody.csv").write_text("vertex,user\n")
    demand = mdp.PrivateDemand.from_frame(METRIC, str(tmp_path / "nobody.csv"))
    assert mdp.k_median(METRIC, demand, k=2, epsilon=1).k == 2
    whose = mdp.PrivateDemand.from_frame(METRIC, str(tmp_path / "nobody.csv"), user="user")
    assert mdp.k_median(METRIC, whose, k=2, epsilon=1).k == 2
    (tmp_path / "lines.csv").write_text("vertex\n1\n\n2\n\n")  # blank lines are no records
    mdp.PrivateDemand.from_frame(METRIC, str(tmp_path / "lines.csv"))
    for cells in ("1,a\n,b\n", "1,a\n  ,b\n", '1,a\n"",b\n', "1,a\n2,\n", "1,a\n2,  \n"):
        (tmp_path / "blank.csv").write_text("vertex,user\n" + cells)
        with pytest.raises(InputError, match="every record must"):
            mdp.PrivateDemand.from_frame(METRIC, str(tmp_path / "blank.csv"), user="user")
    (tmp_path / "empty.csv").write_text("")
    refuses("the file is empty", mdp.PrivateDemand.from_frame, METRIC, str(tmp_path / "empty.csv"))
