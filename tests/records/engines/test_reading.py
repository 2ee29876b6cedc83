"""Rows that were read, beside their users: names, kinds, and what is reported of trouble."""

import numpy as np
import pytest

import metricdp as mdp
from metricdp.errors import ReadingError
from metricdp.records.ingestion.encoders import Reading, RowEncoder, checked_users, ids_encoder
from metricdp.records.trouble import Trouble
from tests import refuses

pd = pytest.importorskip("pandas")
BOX = mdp.EuclideanSpace([0, 0], [9, 9])
ROWS = pd.DataFrame({"id": ["b", "a"], "x": [-0.0, 12.0], "y": [1.0, -0.0], "u": ["v", "w"]})


def test_positions_stand_beside_their_users():
    reading = Reading(ids_encoder("id", ["a", "b", "c"]), "u")
    assert reading.names == ["_0", "_user"] and reading.kind is np.int64
    found = {name: list(cells) for name, cells in reading.rows(ROWS).items()}
    assert found == {"_0": [1, 0], "_user": ["v", "w"]}
    wrong = reading.rows(ROWS.assign(id=["b", "z"]))
    assert {name: list(cells) for name, cells in wrong.items()} == {"_0": [1], "_user": [None]}


def test_points_have_no_negative_zeros():
    reading = Reading(RowEncoder(("x", "y"), BOX.clip), "u")
    assert reading.names == ["_0", "_1", "_user"] and reading.kind is np.float64
    found = reading.rows(ROWS)
    assert [list(found[name]) for name in ("_0", "_1")] == [[0, 9], [1, 0]]
    assert not np.signbit([found["_0"], found["_1"]]).any()
    refuses("a user is missing", lambda: reading(ROWS.assign(u=["v", None])))


@pytest.mark.parametrize("kinds", [(Trouble.BAD, Trouble.FAULT), (Trouble.FAULT, Trouble.BAD)])
def test_of_several_troubles_the_worst_is_reported(kinds):
    block = pd.DataFrame({"_0": [*map(int, kinds), 9], "_user": [None, None, "a"]})
    refuses("", checked_users, block, error=ReadingError)
    refuses("", lambda: checked_users(block.assign(_0=1)))
    checked_users(block[2:])
