"""Every public name shows how it is used: its docstring has an example, which is run as a test."""

from __future__ import annotations

import importlib
import inspect
import re
from functools import cached_property
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = re.findall(r"^   (metricdp\S*)$", (ROOT / "docs/api.rst").read_text("utf-8"), re.M)
FLOORS = (
    "metricdp.metrics",
    "metricdp.universe",
    "metricdp.accounting",
    "metricdp.privacy",
    "metricdp.releases",
    "metricdp.report",
    "metricdp.audit",
)
"""Packages that the pages name beside the reference."""
RETURNED = (
    "metricdp.accounting.continual.Schedule",
    "metricdp.accounting.covering.Exponent",
    "metricdp.accounting.history.History",
    "metricdp.accounting.policy.Policy",
    "metricdp.local.estimate.LocalRelease",
    "metricdp.local.randomizers.KRR",
    "metricdp.local.randomizers.LocalHashing",
    "metricdp.local.randomizers.SubsetSelection",
    "metricdp.local.randomizers.TopVectors",
    "metricdp.methods.box.box_release.BoxRelease",
    "metricdp.methods.evaluation.Comparison",
    "metricdp.methods.finite.max_coverage.CoverageRelease",
    "metricdp.methods.finite.regional.RegionalRelease",
    "metricdp.methods.finite.stream.DayCenters",
    "metricdp.methods.finite.stream.PastDay",
    "metricdp.methods.finite.stream.StreamRelease",
    "metricdp.methods.planning.Forecast",
    "metricdp.methods.planning.Shape",
    "metricdp.methods.question.Question",
    "metricdp.methods.saving.SavedBoxRelease",
    "metricdp.methods.saving.SavedRelease",
    "metricdp.methods.summary.Stability",
    "metricdp.methods.summary.Summary",
    "metricdp.methods.synthetic.SyntheticPoints",
    "metricdp.metrics.costed.CostedMetric",
    "metricdp.metrics.set_systems.Balls",
    "metricdp.metrics.set_systems.ListedSets",
    "metricdp.metrics.snapping.Snapper",
    "metricdp.partitions.box.grid.Grid",
    "metricdp.partitions.box.quadtree.ShiftedQuadtree",
    "metricdp.partitions.box.simhash.HashCells",
    "metricdp.partitions.box.simhash.SimHash",
    "metricdp.partitions.finite.labels.Labels",
    "metricdp.partitions.finite.ward.Hierarchy",
    "metricdp.partitions.finite.ward.PartitionTree",
    "metricdp.partitions.service.Bands",
    "metricdp.partitions.service.Service",
    "metricdp.partitions.service.Territories",
    "metricdp.privacy.caps.Capped",
    "metricdp.privacy.continual.Counting",
    "metricdp.privacy.totals.TotalsQuery",
    "metricdp.provenance.Provenance",
    "metricdp.report.evidence.checklist.Point",
    "metricdp.report.explore.scene.Level",
    "metricdp.solvers.bounds.Certificate",
    "metricdp.solvers.estimate.intervals.Interval",
    "metricdp.universe.edges.EdgeData",
    "metricdp.universe.formats.format.Columns",
    "metricdp.universe.formats.format.File",
    "metricdp.universe.graph.Asymmetry",
)
"""What calls return or take, and what the pages of proofs name, beside the reference."""
WITHOUT: dict[str, str] = {}
"""Public names that need no example, and why."""


def offered(name):
    """Classes and functions that a page of the reference is made of."""
    module = importlib.import_module(name)
    listed = getattr(module, "__all__", None)
    own = [n for n, v in vars(module).items() if getattr(v, "__module__", "") == name]
    names = listed if listed is not None else [n for n in own if not n.startswith("_")]
    values = ((n, getattr(module, n)) for n in names)
    return [(n, v) for n, v in values if inspect.isclass(v) or inspect.isfunction(v)]


def members(kind):
    """Methods and properties of a class, by name: its own and those of bases of ours."""
    found = {}
    for base in reversed(kind.__mro__):
        if base.__module__.startswith("metricdp") or base is kind:
            found |= vars(base)
    kinds = (property, cached_property, staticmethod, classmethod)
    return [
        name
        for name, value in found.items()
        if not name.startswith(("_", "test_"))
        and (inspect.isfunction(value) or isinstance(value, kinds))
    ]


def shown(kind, name):
    """Whether a member, or the one of a base that it overrides, has an example. A property may be
    shown in that of its class.
    """
    having = [base for base in kind.__mro__ if name in vars(base)]
    if any(">>>" in (vars(base)[name].__doc__ or "") for base in having):
        return True
    if not isinstance(vars(having[0])[name], property):
        return False
    examples = "".join(
        line
        for base in having
        for line in (base.__doc__ or "").splitlines(True)
        if line.lstrip().startswith((">>>", "..."))
    )
    return re.search(rf"\.{name}\b", examples) is not None


def lacking(kind):
    """Members of a class that no example shows."""
    return [name for name in members(kind) if not shown(kind, name)]


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_an_example(module):
    assert offered(module)
    without = [name for name, value in offered(module) if ">>>" not in (value.__doc__ or "")]
    assert not without


@pytest.mark.parametrize("module", FLOORS)
def test_names_of_the_floors_have_examples(module):
    assert offered(module)
    without = [name for name, value in offered(module) if ">>>" not in (value.__doc__ or "")]
    assert not [name for name in without if name not in WITHOUT]


@pytest.mark.parametrize("module", [*MODULES, *FLOORS])
def test_methods_and_properties_have_examples(module):
    kinds = [value for _, value in offered(module) if inspect.isclass(value)]
    without = [f"{kind.__name__}.{name}" for kind in kinds for name in lacking(kind)]
    assert not [name for name in without if name not in WITHOUT]


@pytest.mark.parametrize("name", RETURNED)
def test_what_calls_return_has_examples(name):
    module, _, kind = name.rpartition(".")
    found = getattr(importlib.import_module(module), kind)
    assert ">>>" in (found.__doc__ or "")
    assert not lacking(found)


def test_what_is_excused_lacks_one():
    """An excuse that is no longer needed goes."""
    kinds = {v for m in (*MODULES, *FLOORS) for _, v in offered(m)}
    names = {k.__name__ for k in kinds if ">>>" not in (k.__doc__ or "")}
    names |= {f"{k.__name__}.{n}" for k in kinds if inspect.isclass(k) for n in lacking(k)}
    assert set(WITHOUT) <= names


def test_the_lack_of_an_example_is_seen():
    class Base:
        def kept(self):
            """
            >>> 1
            """

        def forgotten(self):
            """It does."""

    class Mine(Base):
        """
        >>> Mine().seen
        """

        seen = property(lambda self: 1, doc="One.")
        unseen = property(lambda self: 1, doc="One.")

        def kept(self):
            """In another way."""

        @classmethod
        def made(cls):
            """One."""

    assert sorted(lacking(Mine)) == ["made", "unseen"]
    assert sorted(lacking(Base)) == ["forgotten"]
