"""Equity: the distance that everybody might as well have, where those worst off count most."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from metricdp.arguments import positive
from metricdp.solvers.objectives.laws import Law
from metricdp.solvers.objectives.medians import chosen_by_law, judged_by_law
from metricdp.solvers.objectives.objective import Objective, checked_k
from metricdp.solvers.objectives.siting import Chosen, Positions, Siting

_MOST = 500.0
"""Largest exponent: beyond, sums overflow."""


@dataclass(frozen=True)
class Equity(Objective):
    """k sites of least Kolm–Pollak equally-distributed equivalent of the distances: the one
    distance that, had everybody the same, would be as good as theirs [1]_.

    ``log(mean(exp(kappa · distance))) / kappa``, of the weights: above the mean by what inequality
    costs, the mean itself as kappa goes to 0 and the largest distance as it grows.

    Parameters
    ----------
    k : int
    aversion : float
        To inequality; kappa is this times alpha, where ``alpha = sum of distances / sum of squared
        distances`` of the demand from a k-median of as many sites, so that it is free of units.
    kappa : float, optional
        In one over units of distance, in place of that.

    Notes
    -----
    Least also is the sum of ``exp(kappa · distance)``, so it is k-median by another law of cost.

    References
    ----------
    .. [1] D. Horton, T. Logan, D. Skipper, E. Speakman, "A scalable approach to equitable facility
       location: minimizing the Kolm-Pollak equally-distributed equivalent", arXiv:2401.15452.

    Examples
    --------
    >>> import networkx as nx, metricdp as mdp
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> weights = [100, 0, 0, 0, 0, 0, 0, 0, 1]
    >>> mdp.solve(metric, mdp.objectives.KMedian(1), weights=weights).centers
    [0]
    >>> mdp.solve(metric, mdp.objectives.Equity(1, kappa=2), weights=weights).centers
    [3]
    """

    name: ClassVar[str] = "equity"
    arcgis: ClassVar[str] = "Minimize Weighted Impedance, exponential cost transformation"
    spopt: ClassVar[str] = "PMedian, costs exp(kappa · cost)"

    k: int
    aversion: float = 1.0
    kappa: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "k", checked_k(self.k))
        positive(self.aversion, "aversion")
        if self.kappa is not None:
            positive(self.kappa, "kappa")

    def check(self, siting: Siting) -> None:
        """See `Objective`."""
        siting.check_count(self.k)

    def choose(self, siting: Siting) -> Chosen:
        """k-median of the transformed distances."""
        law = self._law(siting)
        found = chosen_by_law(siting, self.k, law, first=siting.kept.get("medians"))
        bound = None if found.bound is None else self._level(siting, law, found.bound)
        return Chosen(found.sites, self._level(siting, law, found.value), bound)

    def judge(self, siting: Siting, sites: Positions) -> Chosen:
        """See `Objective`."""
        law = self._law(siting)
        return Chosen(sites, self._level(siting, law, judged_by_law(siting, sites, law).value))

    def _level(self, siting: Siting, law: Law, total: float) -> float:
        return float(np.log1p(total / siting.mass.sum()) / law.growth)

    def _law(self, siting: Siting) -> Law:
        if "kappa" not in siting.kept:
            siting.kept["kappa"] = self._kappa(siting)
        return Law(growth=siting.kept["kappa"])

    def _kappa(self, siting: Siting) -> float:
        diameter = siting.metric.diameter_bound()
        most = _MOST / diameter if diameter > 0 else 1.0
        if self.kappa is not None:
            return min(float(self.kappa), most)
        sites = chosen_by_law(siting, self.k, Law(), prove=False).sites
        siting.kept["medians"] = sites
        distance = siting.nearest(sites)[1]
        squares = float(siting.mass @ distance**2)
        alpha = float(siting.mass @ distance) / squares if squares > 0 else 1.0
        return min(float(self.aversion) * alpha, most)
