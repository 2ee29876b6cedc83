"""Rows that were read once, with their users, and are read again after engines sorted them."""

import math

import numpy as np

import metricdp as mdp
from metricdp.errors import InputError, ReadingError, ResourceError
from metricdp.records.ingestion import encoders
from metricdp.records.ingestion.encoders import ids_encoder
from metricdp.records.trouble import Trouble
from tests import cases, refuses

BOX = mdp.EuclideanSpace([-9, -9], [9, 9])
POINTS = encoders.Reading(encoders.RowEncoder(("x", "y"), BOX.clip), "u")
IDS = encoders.Reading(ids_encoder("v", ["a", "b", "c"]), "u")


def test_points_are_read_again_as_they_are():
    rows = POINTS.rows({"x": [1.5, "-0.0"], "y": [2, 99], "u": ["1", 2.0]})
    assert {name: list(column) for name, column in rows.items()} == {
        "_0": [1.5, 0.0],
        "_1": [2.0, 9.0],
        "_user": ["1", "2"],
    }
    assert math.copysign(1, rows["_0"][1]) == 1  # one zero for sorting
    assert (POINTS.kind, IDS.kind) == (np.float64, np.int64)
    assert POINTS.encoder()(rows).tolist() == [[1.5, 2], [0, 9]]
    weighted = POINTS.encoder(weighted=True)
    assert weighted({**rows, "_2": [3, 4]}).tolist() == [[1.5, 2, 3], [0, 9, 4]]


def test_ids_are_read_again_as_they_are():
    rows = IDS.rows({"v": ["c", "a"], "u": ["1", 2.0]})
    assert IDS.encoder()(rows).tolist() == [2, 0] and IDS.encoder()(rows).dtype == np.int64
    assert IDS.encoder(weighted=True)({**rows, "_1": [3, 4]}).tolist() == [[2, 3], [0, 4]]


@cases("reading", POINTS, IDS, ids=["points", "ids"])
def test_what_cannot_be_read_is_one_row_without_a_user(reading):
    rows = reading.rows({"x": ["?"], "y": [1], "v": ["?"], "u": ["1"]})
    assert list(rows) == reading.names
    assert [list(column) for column in rows.values()] == [[1]] * (len(rows) - 1) + [[None]]
    refuses("breaks a rule", reading.encoder(), rows)
    refuses("a user is missing", reading, {"x": [1], "y": [1], "v": ["a"], "u": [None]})


@cases(
    ("codes", "error"),
    ([Trouble.CHANGED, Trouble.RESOURCES], ResourceError),
    ([Trouble.RESOURCES, Trouble.BAD], ResourceError),
    ([Trouble.CHANGED, Trouble.FAULT, Trouble.BAD], ReadingError),
    ([Trouble.BAD], InputError),
)
def test_the_worst_of_several_errors_is_reported(codes, error):
    block = {"_0": [7, *map(int, codes)], "_user": ["1", *[None] * len(codes)]}
    assert type(refuses("", encoders.checked_users, block, error=error)) is error
    encoders.checked_users({name: column[:1] for name, column in block.items()})
