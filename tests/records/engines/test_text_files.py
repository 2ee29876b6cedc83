"""Several text files read as one table: each names the columns, and all alike."""

import gzip

import numpy as np
import pytest

from metricdp.errors import InputError
from metricdp.privacy import HistogramQuery, gate
from metricdp.privacy.contributing import Doublings, contributors
from metricdp.records.ingestion.cells import text_of

FIRST = "u,v\na,1\nb,2\n"


def records_of(folder, *others, engine="embedded"):
    """Users of one record, of two, …, of files in order."""
    if engine == "dask":
        pytest.importorskip("dask.dataframe")
    for i, text in enumerate((FIRST, *others)):
        data = text if isinstance(text, bytes) else text.encode()
        (folder / f"rows-{i}.csv").write_bytes(data)
    source = contributors(str(folder / "rows-*.csv"), "u", engine)
    return [int(n) for n in gate._noisy(source, HistogramQuery(Doublings()), None)[:3]]


@pytest.mark.parametrize("engine", ["embedded", "dask"])
@pytest.mark.parametrize(
    "other",
    ["v,u\n1,a\n", "u;v\nc;1\n", "user,v\nc,1\n", "c,3\nd,4\n", 'u,"v\nc,1\n', "u,v,w\nc,1,1\n"],
    ids=["order", "delimiter", "name", "none", "quote", "more"],
)
def test_other_names_are_refused(tmp_path, other, engine):
    """The second file was read by the first one's names: 1 was a user, and the names were a
    record.
    """
    with pytest.raises(InputError, match=r"first rows of its files.* not the same$") as refused:
        records_of(tmp_path, other, engine=engine)
    assert "c" not in str(refused.value).removeprefix(str(tmp_path)).split()


@pytest.mark.parametrize("engine", ["embedded", "dask"])
def test_the_same_names_in_other_words(tmp_path, engine):
    others = ("u,v\r\nc,3\r\n", "u,v\na,4\n", "")
    assert records_of(tmp_path, *others, engine=engine) == [2, 1, 0]


def test_packed_files_and_marks(tmp_path):
    packed = gzip.compress(b"u,v\nc,3\n")
    assert records_of(tmp_path, packed, "\ufeffu,v\nd,4\n", "\n\nu,v\ne,5\n") == [5, 0, 0]


def test_dates_of_numpy_keep_their_digits():
    """Cut to microseconds, two were one."""
    pd = pytest.importorskip("pandas")
    for digits in ("", ".000001", ".000000001", ".100000001"):
        text = f"2026-11-23T00:00:01{digits}"
        assert text_of(np.datetime64(text)) == str(pd.Timestamp(text))
    assert text_of(np.datetime64("1970-01-01T00:00:01.000000000001")).endswith("000001")
    assert text_of(np.datetime64("NaT", "ns")) is None
