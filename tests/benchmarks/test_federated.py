"""Several holders: one killed in each round, in a process of its own, nothing paid unsaid."""

import json

import pytest

pytest.importorskip("cryptography")

from benchmarks.federated import World, kills
from tests.cli_world import run


def test_a_holder_killed_in_each_round(here, monkeypatch, capsys):
    reported = []

    def done(world, *words):
        reported.append(capsys.readouterr().out)
        ran = run(capsys, "federated", *words, "--json", "-q")
        return ran.status, json.loads(ran.out.strip() or "{}"), ran.err.strip()

    monkeypatch.setattr(World, "done", done)  # what nobody kills runs in this process
    assert kills(here)
    reported = "".join([*reported, capsys.readouterr().out])
    assert reported.count("killed") >= 2 and "release: epsilon" in reported
