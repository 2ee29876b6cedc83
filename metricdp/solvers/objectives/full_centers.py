"""Capacitated p-center: the least distance within which k sites can serve everybody.

Bisection over distances. For each, a capacitated search finds sites that leave as little demand as
possible unserved, with a lower bound of what any leave (Özsoy & Pınar, Comput. Oper. Res. 2006).
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from metricdp.errors import InputError
from metricdp.solvers.objectives.instance import (
    WITHIN,
    Assignment,
    Chosen,
    Floats,
    Instance,
    Positions,
)
from metricdp.solvers.objectives.service import Service

_LEFT_OUT, _ROUNDING = 1e-6, 1e-3
"""Least share of the demand that counts as left out; up to this part of it is rounding."""
_NOTHING = np.empty((0, 0))
_NONE = (
    "no sites were found that can serve everybody within any distance: more capacity, more sites, "
    "or leave single_source out"
)


@dataclass(frozen=True)
class FullCenters:
    """The problem; `clients`: positions of the demand that counts."""

    instance: Instance
    clients: Positions
    k: int
    capacities: Any
    single_source: bool

    def check(self) -> None:
        """Refuse capacities by which nobody can serve all."""
        self._service(_NOTHING, np.inf).check(False)

    def choose(self, start: Positions, low: float) -> Chosen:
        """Search from `start`. `low` is the lower bound without capacities."""
        instance, best = self._counting_only, None
        start = self._service(_NOTHING, np.inf).with_capacity(start, False)
        with suppress(InputError):
            best = self.judge(start)
        bound: float | None = low
        if instance.fits:
            block = instance.block()
            radii = np.unique(block[block >= low * (1 - WITHIN)])
            if best is not None:
                radii = radii[radii < best.value * (1 - WITHIN)]
            found, bound = self._bisect(block, radii, start)
            if found is not None:  # time may have ended before the least distance of its sites
                with suppress(InputError):
                    best = self.judge(found.sites)
                best = found if best is None or found.value < best.value else best
        if best is None:
            raise InputError(_NONE)
        bound = best.value if bound is None else min(max(bound, low), best.value)
        best = replace(best, bound=bound)
        self.instance.kept["served"] = best
        return best

    def judge(self, sites: Positions) -> Chosen:
        """The least distance within which these sites can serve everybody."""
        cached: Chosen | None = self.instance.kept.get("served")
        if cached is not None and np.array_equal(cached.sites, sites):
            return cached
        block = self._counting_only.block(sites)
        radii = np.unique(block[block >= block.min(axis=0).max()])
        found, _ = self._bisect(block, radii, sites, sites)
        if found is None:
            raise InputError(_NONE)
        return replace(found, bound=None)

    @cached_property
    def _counting_only(self) -> Instance:
        """The instance in which only `clients` have weight."""
        instance = self.instance
        weights, loads = np.zeros((2, len(instance.metric)))
        weights[self.clients], loads[instance.demand] = 1.0, instance.load
        return replace(instance, weights=weights, loads=loads)

    def _service(self, block: Floats, radius: float) -> Service:
        instance = replace(self._counting_only, kept={})
        left_out = np.maximum(instance.load, instance.load.mean() or 1.0)

        def costs(places: Positions) -> tuple[Floats, Floats]:
            rows = block
            if len(places) < len(block):
                rows = block[np.searchsorted(instance.allowed, places)]
            return np.where(rows > radius * (1 + WITHIN), 2 * left_out, 0.0), left_out

        cutoff = _LEFT_OUT * float(left_out.sum())
        asked = self.k, self.capacities, self.single_source
        return Service(instance, *asked, costs, cutoff=cutoff, priced_sizes=False)

    def _bisect(
        self, block: Floats, radii: Floats, start: Positions, sites: Positions | None = None
    ) -> tuple[Chosen | None, float | None]:
        """The best solution at the least of these distances that was found sufficient, for any k
        sites or the given ones; and the least distance that is not refuted, None where that is the
        same.
        """
        instance, best = self.instance, None
        low, high, proven = 0, len(radii), 0
        while low < high and not (sites is None and best is not None and instance.deadline.over):
            middle = (low + high) // 2
            service = self._service(block, float(radii[middle]))
            found = service.choose(start) if sites is None else service.judge(sites)
            if found.value <= _ROUNDING * service.cutoff:
                best, high = self._with_radius(found), middle
                start = found.sites
                continue
            low = middle + 1
            if found.bound is not None and found.bound > service.cutoff:
                proven = low
        return best, None if proven >= high else float(radii[proven])

    def _with_radius(self, found: Chosen) -> Chosen:
        """The solution in terms of all demand; its value is the largest distance served."""
        instance, served = self._counting_only, found.assignment
        assert served is not None
        at, value = instance.demand[served.clients], 0.0
        for i, site in enumerate(found.sites):
            its_clients = at[served.sites == i]
            if len(its_clients):
                value = max(
                    value, float(instance.metric.distance_rows(site[None], its_clients).max())
                )
        clients = np.searchsorted(self.instance.demand, at)
        return replace(
            found, value=value, assignment=Assignment(clients, served.sites, served.shares)
        )
