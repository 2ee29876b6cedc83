"""Archives of others: what is read of them, and what is none."""

import io
import zipfile

import numpy as np
import pytest
from numpy.lib import format as npy

from metricdp.archives import read_archive
from tests import cases

HEADER = np.array('{"format": "a"}')


def packed(*heads, data=b""):
    """An archive whose array ``a`` says of itself what `heads` say."""
    file = io.BytesIO()
    np.savez(file, header=HEADER)
    member = io.BytesIO()
    for head in heads:
        npy.write_array_header_1_0(member, head)
    with zipfile.ZipFile(file, "a") as archive:
        archive.writestr("a.npy", member.getvalue() + data)
    return file


def read(file, most=24):
    found = read_archive(file, lambda header: {"a": most})
    return None if found is None else found[1]["a"].tolist()


@cases("array", np.zeros(0), np.zeros((0, 3)), np.arange(3.0), np.eye(3, dtype="b"))
@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_as_long_as_was_asked_for_are_read_and_empty_ones(array, save):
    file = io.BytesIO()
    save(file, header=HEADER, a=array)
    assert read(file, array.nbytes) == array.tolist()
    if array.nbytes:
        assert read(file, array.nbytes - 1) is None


@cases(
    ("shape", "data", "values"),
    ((2,), bytes(16), [0, 0]),
    ((2,), bytes(15), None),
    ((2,), bytes(17), None),
    ((2,), bytes(18), None),
    ((0,), bytes(1), None),
    ((-1,), b"", None),
    ((-1, -2), bytes(16), None),
    ((4,), bytes(32), None),
)
def test_what_an_array_says_of_its_length_must_be_so(shape, data, values):
    head = {"descr": "<f8", "fortran_order": False, "shape": shape}
    assert read(packed(head, data=data)) == values
