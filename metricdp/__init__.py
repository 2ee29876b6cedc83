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

from metricdp import metrics

if TYPE_CHECKING:
    from metricdp import datasets, methods
    from metricdp.errors import BudgetError, InputError, MetricDPError
    from metricdp.methods.caps import Caps as Caps
    from metricdp.methods.demand_release import Coreset, PartitionRelease, Release
    from metricdp.methods.heat import heatmap
    from metricdp.methods.registry import METHODS
    from metricdp.methods.result import Result
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

_HOME = {
    "metricdp.running.front": ("k_means", "k_median"),
    "metricdp.running.privately": ("release",),
    "metricdp.running.covering_sets": ("Coverage", "max_coverage"),
    "metricdp.running.evaluation": ("Evaluation", "evaluate", "plan_evaluation"),
    "metricdp.running.contributions": ("Contributions", "contributions"),
    "metricdp.methods.heat": ("heatmap",),
    "metricdp.methods.registry": ("METHODS",),
    "metricdp.methods.demand_release": ("Coreset", "PartitionRelease", "Release"),
    "metricdp.methods.solution": ("Solution",),
    "metricdp.methods.solving": ("solve",),
    "metricdp.running.stream": ("Stream",),
    "metricdp.running.planning": ("Plan", "plan"),
    "metricdp.running.private_centers": ("private_lloyd", "private_mean", "private_median"),
    "metricdp.methods.result": ("Result",),
    "metricdp.errors": ("BudgetError", "InputError", "MetricDPError"),
    "metricdp.metrics": metrics.__all__,
    "metricdp.methods.caps": ("Caps",),
    "metricdp.privacy": ("Ledger", "PrivateDataWarning", "PrivateDemand", "exact_cost"),
    "metricdp.releases": ("Receipt",),
    "metricdp.report.evidence.front": ("Evidence", "evidence"),
    "metricdp.report.explore.front": ("Exploration", "explore"),
    "metricdp.partitions.finite.hst": ("HST", "build_hst"),
}
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}
_SUBMODULES = {
    "datasets": "metricdp.datasets",
    "federated": "metricdp.federated",
    "local": "metricdp.local",
    "methods": "metricdp.methods",
    "objectives": "metricdp.solvers.objectives",
    "report": "metricdp.report",
}
_SUBMODULES |= {"sklearn": "metricdp.sklearn"}

__all__ = [
    *metrics.__all__,
    "HST",
    "METHODS",
    "BudgetError",
    "Caps",
    "Contributions",
    "Coreset",
    "Coverage",
    "Evaluation",
    "Evidence",
    "Exploration",
    "InputError",
    "Ledger",
    "MetricDPError",
    "PartitionRelease",
    "Plan",
    "PrivateDataWarning",
    "PrivateDemand",
    "Receipt",
    "Release",
    "Result",
    "Solution",
    "Stream",
    "build_hst",
    "contributions",
    "datasets",
    "evaluate",
    "evidence",
    "exact_cost",
    "explore",
    "heatmap",
    "k_means",
    "k_median",
    "max_coverage",
    "methods",
    "metrics",
    "objectives",
    "plan",
    "plan_evaluation",
    "private_lloyd",
    "private_mean",
    "private_median",
    "release",
    "solve",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("metricdp")
    if name in _SUBMODULES:
        return import_module(_SUBMODULES[name])
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'metricdp' has no attribute {name!r}")
    value = getattr(import_module(_MODULE_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*__all__, *_SUBMODULES, "__version__"})
