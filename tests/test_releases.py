"""Receipts and releases: exact, JSON-ready, additive, public."""

import json
import pickle
from fractions import Fraction

import numpy as np
import pytest

from metricdp.privacy import HistogramQuery
from metricdp.releases import Mechanism, Receipt, Release, installed_version
from tests import refuses
from tests.privacy_worlds import TWO, finest

COUNT = Mechanism("discrete Laplace", "number of records", 1, 200.0, Fraction(1, 200))
PARTS = Mechanism("discrete Laplace", "histogram of 8 parts", 1, 200 / 19, Fraction(19, 200))


def test_receipt_adds_up_exactly_and_is_json():
    plain = json.loads(json.dumps(Receipt.of([COUNT, PARTS], "add-remove", "record").to_dict()))
    assert (plain["epsilon"], plain["epsilon_exact"], plain["delta_exact"]) == (0.1, "1/10", "0")
    assert [m["epsilon_exact"] for m in plain["mechanisms"]] == ["1/200", "19/200"]
    assert [m["sensitivity"] for m in plain["mechanisms"]] == [1, 1]
    expected = "add-remove", "record", installed_version()
    assert (plain["neighboring"], plain["unit"], plain["version"]) == expected


def test_receipts_of_one_call_compose():
    one, other = (Receipt.of([m], "replace-one", "user") for m in (COUNT, PARTS))
    both = Receipt.combined([one, other])
    assert both == one + other == Receipt.of([COUNT, PARTS], "replace-one", "user")
    assert Receipt.combined([one]) == one
    cases = Receipt.of([COUNT], "add-remove", "user"), Receipt.of([COUNT], "replace-one", "record")
    for strange in cases:
        refuses("different guarantees", one.__add__, strange)
    refuses("", lambda: one + 1, error=TypeError)


def test_receipt_reads_well():
    text = str(Receipt.of([COUNT, PARTS], "add-remove", "record"))
    start = "epsilon 0.1 (1/10) per record, add-remove neighbors (metricdp "
    assert text.splitlines()[0].startswith(start)
    assert "histogram of 8 parts: discrete Laplace, scale 10.5263, sensitivity 1" in text


def test_release_is_frozen_and_survives_pickling():
    query = HistogramQuery(finest(TWO))
    release = Release(np.array([3, -1]), query, Receipt.of([PARTS], "add-remove", "record"))
    assert not release.values.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        release.values[0] = 7
    with pytest.raises(AttributeError):
        release.values = np.zeros(2)
    again = pickle.loads(pickle.dumps(release))
    assert again.values.tolist() == [3, -1] and again.receipt == release.receipt
    found = repr(release)
    assert found == "Release(2 noisy values of histogram of 2 parts, epsilon 0.095 (19/200))"
