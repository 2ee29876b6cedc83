"""Equity: the Kolm–Pollak equally-distributed equivalent of the distances."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metricdp.arguments import positive
from metricdp.errors import InputError
from metricdp.solvers.objectives.impedances import Impedance
from metricdp.solvers.objectives.instance import Chosen, Instance, Positions
from metricdp.solvers.objectives.medians import chosen_by_impedance
from metricdp.solvers.objectives.objective import Objective
from metricdp.solvers.objectives.p_center import PCenter

_MOST_PLAIN, _MOST_AT_MEDIANS, _BEYOND = 24.0, 15.0, 24.0
"""Exponents. If no distance has a larger one, costs are used as they are. If the k-median leaves
none above the second, costs are capped the third above its largest. Otherwise costs are stated
relative to the p-center's distance, which some demand has at least. Sums of costs hold 16 digits;
e**24 is 10 of them.
"""


@dataclass(frozen=True)
class Equity(Objective):
    """k sites of least Kolm–Pollak equally-distributed equivalent of the distances: a distance that
    would be as good if everybody had it [1]_.

    It is ``log(mean(exp(kappa · distance))) / kappa``, a mean by weight. It exceeds the mean
    distance by a penalty for inequality, and goes from the mean distance, as kappa goes to 0, to
    the largest one as kappa grows.

    Parameters
    ----------
    k : int
    aversion : float
        To inequality, without unit. kappa is this times ``sum of distances / sum of squared
        distances`` of the demand from a k-median of as many sites.
    kappa : float, optional
        In one over units of distance, in place of `aversion`.

    Notes
    -----
    The same sites minimize the sum of ``exp(kappa · distance)``: a k-median with transformed costs.

    References
    ----------
    .. [1] D. Horton, T. Logan, D. Skipper, E. Speakman, "A scalable approach to equitable facility
       location: minimizing the Kolm-Pollak equally-distributed equivalent", arXiv:2401.15452.

    Examples
    --------
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
    kappa: float | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        positive(self.aversion, "aversion")
        if self.kappa is not None:
            positive(self.kappa, "kappa")
            if self.aversion != 1.0:
                raise InputError("kappa is in place of aversion: give one of them")

    def choose(self, instance: Instance) -> Chosen:
        """k-median of the transformed distances."""
        impedance = self._impedance(instance)
        found = chosen_by_impedance(instance, self.k, impedance, first=instance.kept.get("sites"))
        value = self._equivalent(instance, found.sites)
        if found.bound is None:
            return Chosen(found.sites, value)
        mean = found.bound / float(instance.weight.sum())
        if impedance.shift:
            level = impedance.shift + np.log(max(mean, np.finfo(float).tiny)) / impedance.growth
        else:
            level = np.log1p(mean) / impedance.growth
        return Chosen(found.sites, value, min(float(level), value))

    def judge(self, instance: Instance, sites: Positions) -> Chosen:
        """See `Objective`."""
        return Chosen(sites, self._equivalent(instance, sites))

    def _equivalent(self, instance: Instance, sites: Positions) -> float:
        kappa, distance = self._impedance(instance).growth, instance.nearest(sites)[1]
        most, weight = float(distance.max()), instance.weight
        if kappa * most <= _MOST_PLAIN:
            mean = float(weight @ np.expm1(kappa * distance)) / float(weight.sum())
            return float(np.log1p(mean) / kappa)
        mean = float(weight @ np.exp(kappa * (distance - most))) / float(weight.sum())
        return most + float(np.log(mean)) / kappa

    def _impedance(self, instance: Instance) -> Impedance:
        """The cost transformation, whose growth is kappa. Also caches initial sites."""
        if "impedance" not in instance.kept:
            instance.kept["impedance"] = self._choose_impedance(instance)
        return instance.kept["impedance"]

    def _choose_impedance(self, instance: Instance) -> Impedance:
        known = None if self.kappa is None else float(self.kappa)
        diameter = instance.metric.diameter_bound()
        if known is not None and known * diameter <= _MOST_PLAIN:
            return Impedance(growth=known)
        sites = chosen_by_impedance(instance, self.k, Impedance(), prove=False).sites
        instance.kept["sites"] = sites
        distance = instance.nearest(sites)[1]
        squares = float(instance.weight @ distance**2)
        alpha = float(instance.weight @ distance) / squares if squares > 0 else 1.0
        kappa = float(self.aversion) * alpha if known is None else known
        if kappa * diameter <= _MOST_PLAIN:
            return Impedance(growth=kappa)
        most = kappa * float(distance.max())
        if most <= _MOST_AT_MEDIANS:
            most += _BEYOND
            return Impedance(growth=kappa, limit=most / kappa, beyond=float(np.expm1(most)))
        center = PCenter(self.k).choose(instance)
        instance.kept["sites"] = center.sites
        limit, beyond = center.value + _BEYOND / kappa, float(np.exp(_BEYOND))
        return Impedance(growth=kappa, shift=center.value, limit=limit, beyond=beyond)
