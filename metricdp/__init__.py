"""metricdp: clustering in metric spaces where the space is public and who is in it is private.

::

    PUBLIC                             PRIVATE                 POST-PROCESSING
    universe ─► metric ─► partition ─► gate(demand, query, ─►  release ─► estimate ─► solver ─►
                                            ledger)            centers

>>> import networkx as nx, metricdp as mdp
>>> metric = mdp.GraphMetric(nx.cycle_graph(12), weight=None)
>>> demand = mdp.PrivateDemand(metric, [0] * 300 + [6] * 300)
>>> ledger = mdp.Ledger(epsilon=1.0)
>>> sorted(mdp.k_median(metric, demand, k=2, epsilon=0.5, ledger=ledger).centers)
[0, 6]
>>> ledger.left
Fraction(1, 2)

Names are loaded on first use, so that ``import metricdp`` is fast.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from metricdp.lazy import on_first_use

if TYPE_CHECKING:
    from metricdp import datasets, methods, metrics
    from metricdp.errors import BudgetError, InputError, MetricDPError
    from metricdp.methods.caps import Caps
    from metricdp.methods.demand_release import Coreset, PartitionRelease, Release
    from metricdp.methods.heat import heatmap
    from metricdp.methods.question import Result
    from metricdp.methods.registry import METHODS
    from metricdp.methods.solution import Solution
    from metricdp.methods.solving import solve
    from metricdp.metrics import *  # noqa: F403
    from metricdp.partitions.finite.hst import HST, build_hst
    from metricdp.privacy import Ledger, PrivateDataWarning, PrivateDemand, exact_cost
    from metricdp.releases import Receipt
    from metricdp.report.evidence.front import Evidence, evidence
    from metricdp.report.explore.front import Exploration, explore
    from metricdp.running.contributions import Contributions, contributions
    from metricdp.running.covering_sets import Coverage, max_coverage
    from metricdp.running.evaluation import Evaluation, evaluate, plan_evaluation
    from metricdp.running.front import k_means, k_median
    from metricdp.running.planning import Plan, plan
    from metricdp.running.private_centers import private_lloyd, private_mean, private_median
    from metricdp.running.privately import release
    from metricdp.running.stream import Stream
    from metricdp.solvers import objectives

_load, _, __all__ = on_first_use(__name__)
_OF_EXTRAS = ("federated", "local", "report", "sklearn")
"""Modules that ``import *`` leaves alone."""


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("metricdp")
    return import_module(f"metricdp.{name}") if name in _OF_EXTRAS else _load(name)


def __dir__() -> list[str]:
    return sorted({*__all__, *_OF_EXTRAS, "__version__"})
