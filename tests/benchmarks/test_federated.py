"""Several holders in processes of their own: one killed in each round, nothing paid unsaid."""

import pytest

pytest.importorskip("cryptography")

from benchmarks.federated import kills


def test_a_holder_killed_in_each_round(tmp_path, capsys):
    assert kills(tmp_path)
    told = capsys.readouterr().out
    assert told.count("killed") >= 2 and "release: epsilon" in told
