"""What one cell means, at the edges of the rules."""

from decimal import Decimal

import numpy as np

from metricdp.records.ingestion.cells import canonical, number_of, text_of
from tests import cases, refuses


def test_text_keeps_its_characters():
    expected = ["é", "e\u0301", "\ue000", "\U0001f600"]
    assert [text_of(c) for c in ("é", " e\u0301\u3000", "\ue000", "\U0001f600")] == expected
    lost = ("a\ufffd", "\ud800", "a\ud800", "\udfff", "é\udfff", "a\0", "é\0", "\u2003", "\ufffdé")
    assert [text_of(c) for c in lost] == [None] * len(lost)


def test_integers_of_any_length_that_is_not_absurd():
    assert text_of(2**1199 - 1) == str(2**1199 - 1)
    assert text_of(-(2**1199) + 1) == str(1 - 2**1199)
    assert text_of(2**1199) is None
    assert text_of(-(2**1199)) is None


@cases(
    ("numeral", "text"),
    ("1e400", "1" + 400 * "0"),
    ("1e-400", "0." + 399 * "0" + "1"),
    ("1e401", None),
    ("1e-401", None),
    ("1." + 799 * "0", "1"),
    ("1." + 800 * "0", None),
    (401 * "1" + "." + 400 * "1", None),
    (400 * "1" + "." + 400 * "1", 400 * "1" + "." + 400 * "1"),
    ("1e-1", "0.1"),
    ("12e-2", "0.12"),
    ("-0.50", "-0.5"),
    ("-0e5", "0"),
    ("0.0012e2", "0.12"),
    ("120e-1", "12"),
)
def test_a_number_has_one_way_to_be_written(numeral, text):
    assert canonical(numeral) == text


def test_numbers_of_every_kind():
    cells = (np.float32(1.5), np.int8(-3), 7, "1e2", b" 2 ", Decimal("0.25"), ".5", "+3.")
    assert [number_of(c) for c in cells] == [1.5, -3, 7, 100, 2, 0.25, 0.5, 3]


@cases(
    "cell",
    np.datetime64(5, "ns"),
    np.timedelta64(5, "ns"),
    np.datetime64("2026-11-23"),
    True,
    np.bool_(True),
    None,
    "",
    "nan",
    "1_0",
    "\u0661",
    "1e999",
    float("inf"),
    float("nan"),
    10**400,
    Decimal("sNaN"),
    [1],
    ids=str,
)
def test_what_is_no_number(cell):
    refuses("no finite number", number_of, cell)
