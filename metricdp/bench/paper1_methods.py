"""The methods of ``metricdp bench paper1`` on one set of points."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

import metricdp as mdp
from metricdp.bench import paper1_terms as terms
from metricdp.bench.point_sets import POINT_SETS
from metricdp.bench.ratios import Points, best_known, cost, improved
from metricdp.methods.baselines.k_variates import seeded


@dataclass(frozen=True, eq=False)
class World:
    """A set of points: public, and behind the gate.

    Attributes
    ----------
    name : str
    points : ndarray of float64, shape (n, d)
    space : EuclideanSpace
    demand : PrivateDemand
    radius : float or None
    """

    name: str
    points: Points
    space: mdp.EuclideanSpace
    demand: mdp.PrivateDemand
    radius: float | None

    @classmethod
    def of(cls, name: str, records: int | None, seed: int) -> World:
        """The set of that name, or so many records of it."""
        found = POINT_SETS[name]
        points = np.ascontiguousarray(found.load(records, seed))
        low, high = found.bounds
        space = mdp.EuclideanSpace([low] * points.shape[1], [high] * points.shape[1])
        return cls(name, points, space, mdp.PrivateDemand(space, points), found.radius)

    def cost(self, centers: Points, power: int) -> float:
        """Exact cost, of public points."""
        return cost(self.points, centers, power)

    def reference(self, k: int, power: int, seed: int) -> float:
        """Cost of the best of some runs without privacy."""
        return self.cost(best_known(self.points, k, power, seed, terms.STARTS), power)

    def method(self, name: str) -> Any:
        """A private method by its name in the table, told of the radius if one is known."""
        methods = mdp.methods
        radius = self.radius
        named = {
            "HST": methods.Quadtree(published=True),
            "HST-tree": methods.Quadtree(published=True, steps=0),
            "lsh": methods.LSHCoreset(radius=radius),
            "lloyd": methods.Lloyd(radius=radius),
            "k-variates": methods.KVariates(radius=radius),
            "balcan": methods.Balcan(radius=radius),
        }
        return named.get(name, name)

    def answered(self, name: str, cell: terms.Cell, plan: terms.Plan) -> Points:
        """Centers by a method: private ones from a fresh ledger, add-remove neighbors."""
        coins = 1000 * plan.seed + cell.repeat
        if name == terms.PLAIN:
            rng = np.random.default_rng([coins, cell.k])
            begin = seeded(self.points, np.ones(len(self.points)), cell.k, plan.power, rng)
            return improved(self.points, begin, plan.power, terms.STEPS)
        ask = (mdp.k_median, mdp.k_means)[plan.power - 1]
        return ask(
            self.space,
            self.demand,
            cell.k,
            epsilon=cell.epsilon,
            delta=plan.delta,
            method=self.method(name),
            seed=coins,
        ).centers
