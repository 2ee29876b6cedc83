"""One private step, and how much of it is believed."""

from metricdp.methods.box.descent import believed


def test_what_is_believed():
    assert believed(2.0, 1.0) == 0.75 and believed(1.0, 2.0) == 0 and believed(0.0, 0.0) <= 1
