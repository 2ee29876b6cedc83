"""p-center with capacities: the least distance within which k sites can serve everybody.

Bisection over distances: for each, sites that leave as little as possible unserved, and a bound of
what any leave (Özsoy & Pınar, Comput. Oper. Res. 2006).
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

_NOBODY, _ROUNDING = 1e-6, 1e-3
"""Least part of all demand that counts as somebody who is left out; of that, what is rounding."""
_NOTHING = np.empty((0, 0))
_NONE = (
    "no sites were found that can serve everybody within any distance: more capacity, more sites, "
    "or leave single_source out"
)


@dataclass(frozen=True)
class FullCenters:
    """The question; `clients`: positions of those who count."""

    instance: Instance
    clients: Positions
    k: int
    capacities: Any
    single_source: bool

    def check(self) -> None:
        """Refuse what cannot be."""
        self._service(_NOTHING, np.inf).check(False)

    def choose(self, start: Positions, low: float) -> Chosen:
        """Sites, from some to begin with; even without capacities none reach all within less than
        `low`.
        """
        instance, best = self._narrowed, None
        start = self._service(_NOTHING, np.inf).with_capacity(start, False)
        with suppress(InputError):
            best = self.judge(start)
        bound: float | None = low
        if instance.fits:
            block = instance.block()
            radii = np.unique(block[block >= low * (1 - WITHIN)])
            if best is not None:
                radii = radii[radii < best.value * (1 - WITHIN)]
            found, bound = self._bisected(block, radii, start)
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
        """Least distance within which given sites can serve all."""
        known: Chosen | None = self.instance.kept.get("served")
        if known is not None and np.array_equal(known.sites, sites):
            return known
        block = self._narrowed.block(sites)
        radii = np.unique(block[block >= block.min(axis=0).max()])
        found, _ = self._bisected(block, radii, sites, sites)
        if found is None:
            raise InputError(_NONE)
        return replace(found, bound=None)

    @cached_property
    def _narrowed(self) -> Instance:
        """The question with those alone who count."""
        instance = self.instance
        weights, loads = np.zeros((2, len(instance.metric)))
        weights[self.clients], loads[instance.demand] = 1.0, instance.load
        return replace(instance, weights=weights, loads=loads)

    def _service(self, block: Floats, radius: float) -> Service:
        instance = replace(self._narrowed, kept={})
        lost = np.maximum(instance.load, instance.load.mean())

        def costs(places: Positions) -> tuple[Floats, Floats]:
            rows = block
            if len(places) < len(block):
                rows = block[np.searchsorted(instance.allowed, places)]
            return np.where(rows > radius * (1 + WITHIN), 2 * lost, 0.0), lost

        cutoff = _NOBODY * float(lost.sum())
        asked = self.k, self.capacities, self.single_source
        return Service(instance, *asked, costs, cutoff=cutoff, priced_sizes=False)

    def _bisected(
        self, block: Floats, radii: Floats, start: Positions, sites: Positions | None = None
    ) -> tuple[Chosen | None, float | None]:
        """The least of some distances that was found to be enough for any k sites, or for given
        ones; the least that may be enough, None where that is the same.
        """
        instance, best = self.instance, None
        low, high, proven = 0, len(radii), 0
        while low < high and not (sites is None and best is not None and instance.deadline.over):
            middle = (low + high) // 2
            service = self._service(block, float(radii[middle]))
            found = service.choose(start) if sites is None else service.judge(sites)
            if found.value <= _ROUNDING * service.cutoff:
                best, high = self._completed(found), middle
                start = found.sites
                continue
            low = middle + 1
            if found.bound is not None and found.bound > service.cutoff:
                proven = low
        return best, None if proven >= high else float(radii[proven])

    def _completed(self, found: Chosen) -> Chosen:
        """Of all demand; the value is the longest way."""
        instance, served = self._narrowed, found.assignment
        assert served is not None
        at, value = instance.demand[served.clients], 0.0
        for i, site in enumerate(found.sites):
            mine = at[served.sites == i]
            if len(mine):
                value = max(value, float(instance.metric.distance_rows(site[None], mine).max()))
        clients = np.searchsorted(self.instance.demand, at)
        return replace(
            found, value=value, assignment=Assignment(clients, served.sites, served.shares)
        )
