"""The audit runs what it is said to run: whatever handles records is replaced by an error, and a
check of the short form must fail.
"""

from contextlib import contextmanager
from functools import cache

import pytest

import metricdp as mdp
from metricdp.audit import runner
from metricdp.local import shuffle
from metricdp.local.randomizers import KRR, LocalHashing, SubsetSelection, TopVectors
from metricdp.privacy import PrivateDemand, gate
from metricdp.records.engines import bounding, sources
from metricdp.records.engines.sources import Tally
from metricdp.report.explore import front

READ = "replay, k_median, hst, from {}, user, m = 2, add-remove"
SEAMS = {
    "from_frame": (PrivateDemand, "from_frame", READ.format("CSV")),
    "bounding of blocks": (bounding.Bounding, "rows", READ.format("DuckDB")),
    "a tally's sums": (Tally, "sums", "a tally, HistogramQuery, a path, add-remove"),
    "a tally's sample": (Tally, "subsampled", "subsampled tally, a line, add-remove"),
    "subsampling": (gate.sources, "subsampled", "subsampled, a box, add-remove"),
    "coins": (sources.Coins, "__call__", "subsampled, a box, add-remove"),
    "mapped": (gate.sources, "mapped", "mapped, counts, a box, add-remove"),
    "moved": (gate.sources, "placed", "moved, counts, a box, add-remove, users of 2"),
    "explore": (front.Exploration, "to_dict", "replay, explore, a grid, record, add-remove"),
    "encode": (mdp.local.Encoder, "_encode", "one message, k-ary response"),
    "k-ary response": (KRR, "draw", "one message, k-ary response"),
    "local hashing": (LocalHashing, "draw", "one message, local hashing"),
    "subset selection": (SubsetSelection, "draw", "one message, subset selection"),
    "vectors": (TopVectors, "draw", "one message, vectors of an interval"),
    "contribute": (gate, "contribute", "several holders, replay, Laplace"),
    "shuffle": (shuffle, "_pair_delta", "4 shuffled messages"),
}


@cache
def checks():
    return {check.name: check for check in runner.checks()}


def never(*_args, **_options):
    raise AssertionError("replaced")


@contextmanager
def replaced(owner, name):
    """The function itself gets other code, so whoever imported it before runs that too."""
    function = getattr(getattr(owner, name), "__func__", getattr(owner, name))
    before, function.__code__ = function.__code__, never.__code__
    try:
        yield
    finally:
        function.__code__ = before


@pytest.mark.parametrize("seam", SEAMS)
def test_what_is_replaced_by_an_error_turns_a_check_red(seam):
    owner, name, check = SEAMS[seam]
    check = checks()[check]
    assert check.essential
    with replaced(owner, name):
        finding = runner.perform(check, quick=True)
    if finding.skipped:
        pytest.skip(finding.found)
    assert not finding.passed
