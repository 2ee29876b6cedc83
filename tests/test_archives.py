"""Archives of others: what is read of them, and what is none."""

import io
import tracemalloc
import zipfile

import numpy as np
import pytest
from numpy.lib import format as npy

import metricdp as mdp
from metricdp.archives import read_archive
from tests import cases, grid_metric, refuses

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


GRID = grid_metric(9, 9)
MANY = np.zeros(1 << 21)


def a_release(path):
    mdp.release(GRID, mdp.PrivateDemand(GRID, [(1, 1)] * 300), epsilon=1).save(path)
    return mdp.Release.load


def a_tree(path):
    mdp.build_hst(GRID).save(path)
    return mdp.HST.load


def repacked(path, array, method, data):
    """The archive with one of its arrays in other bytes."""
    with zipfile.ZipFile(path) as archive:
        whole = {name: archive.read(name) for name in archive.namelist()} | {array: data}
    with zipfile.ZipFile(path, "w", method) as archive:
        for name, content in whole.items():
            archive.writestr(name, content)


@cases(
    ("save", "array"),
    *((a_release, name) for name in ("header", "weights", "node", "mean")),
    *((a_tree, name) for name in ("header", "order", "heights")),
)
@cases("how", "long", "lying head", "lzma")
def test_a_bomb_is_refused_before_it_unpacks(save, array, how, tmp_path):
    """16 MB and more in a small file, where a few hundred bytes belong."""
    path, content = tmp_path / "a", io.BytesIO()
    load = save(path)
    long = np.array("x" * (1 << 23)) if array == "header" else MANY
    with np.load(path) as archive:
        npy.write_array(content, long if how == "long" else archive[array])
    data = content.getvalue() + bytes(8 * len(MANY) if how == "lying head" else 0)
    method = zipfile.ZIP_LZMA if how == "lzma" else zipfile.ZIP_DEFLATED
    repacked(path, f"{array}.npy", method, data)
    assert path.stat().st_size < 1 << 20
    tracemalloc.start()
    try:
        refuses("is not a", load, path, GRID)
        assert tracemalloc.get_traced_memory()[1] < 1 << 24
    finally:
        tracemalloc.stop()
