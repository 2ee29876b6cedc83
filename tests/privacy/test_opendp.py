"""The version of OpenDP is one whose samplers were tried; those known to be biased are refused."""

import re
from pathlib import Path

import pytest

import metricdp as mdp
from metricdp.errors import InputError
from metricdp.privacy import noise

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("version", noise._BIASED)
@pytest.mark.parametrize("delta", [0, "1e-6"])
def test_a_biased_sampler_is_refused_before_the_vault_opens(monkeypatch, version, delta):
    metric = mdp.PrecomputedMetric([[0.0, 1.0], [1.0, 0.0]])
    demand, ledger = mdp.PrivateDemand(metric, [0]), mdp.Ledger(1, delta)
    budget = ledger.charge(1, delta)
    monkeypatch.setattr(noise, "opendp_version", lambda: version)
    with pytest.raises(InputError, match=rf"OpenDP {version} draws noise of a wrong distribution"):
        mdp.privacy.measure(demand, mdp.privacy.CountQuery(), 1, budget, delta)
    assert budget.spent == 0


def test_the_range_is_pinned_and_leaves_the_biased_ones_out():
    setup = (ROOT / "setup.cfg").read_text("utf-8")
    low, high = re.search(r"^    opendp>=(\S+),<(\S+)$", setup, flags=re.MULTILINE).groups()
    assert (low, high) == ("0.14.2", "0.17")
    assert all(version < low for version in noise._BIASED)
