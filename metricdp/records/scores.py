"""Exact scores: costs of all swaps of one center for one other point, updated after each swap; rows
of distances from the records' distinct points; and how many records each set of a public set system
contains. Buffers of the latter live for one call: after a bounded search they hold the neighborhood
of its source, which may be a record's point.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from metricdp.arguments import Ints, chunks
from metricdp.errors import InputError
from metricdp.kernels import swap_costs as kernels
from metricdp.kernels.scores import CAP
from metricdp.protocols import Finite, SetSystem, is_trusted, sound_rows
from metricdp.records.exact import combined, digits, to_array


def rows_from(universe: Finite, records: Ints) -> Iterator[tuple[NDArray[Any], Ints, Ints]]:
    """Distinct points of records, their counts, quantized distances (n, n_points), in blocks."""
    points, counts = np.unique(records, return_counts=True)
    for part in chunks(len(points), len(universe)):
        yield points[part], counts[part].astype(np.int64), sound_rows(universe, points[part])


COST_BITS = 30
"""Bits of the largest cost of one record: sums over fewer than 2^33 records fit int64."""
BLOCK = 1 << 18
"""Costs yielded at a time: 2 MB."""


class Scale(NamedTuple):
    """Cost of a quantized distance d: ``min(ceil(d / 2**shift), cap) ** power``, in 30 bits."""

    shift: int
    cap: int
    power: int

    @classmethod
    def of(cls, metric: Finite, power: int, cap: float | None = None) -> Scale:
        """The scale from public facts; `cap` defaults to the diameter bound and is at most that."""
        bound = metric.diameter_bound()
        steps = max(1, math.ceil((bound if cap is None else min(cap, bound)) / metric.unit))
        shift = max(0, steps.bit_length() - COST_BITS // power)
        return cls(shift, -(-steps >> shift), power)

    def cost(self, distances: Ints) -> Ints:
        """Cost of each quantized distance, shape (n,)."""
        out = np.empty(len(distances), np.int64)
        kernels.coarse_costs(np.ascontiguousarray(distances), *self, out)
        return out

    @property
    def unit(self) -> int:
        """Quantization steps (to the power) that a cost of 1 stands for."""
        return 1 << self.shift * self.power

    @property
    def beyond(self) -> int:
        """The distance from which on all distances cost the same."""
        return self.cap << self.shift


class Served(NamedTuple):
    """The assignment of all points, in the metric's inner order, to the `centers` (k,): the slot (0
    to k - 1) of the nearest (`first`), the distances to the two nearest (`near`, `far`).
    """

    centers: Ints
    first: NDArray[np.int32]
    near: Ints
    far: Ints

    @classmethod
    def by(cls, metric: Finite, centers: Ints) -> Served:
        """The assignment to these centers: three Dijkstra searches in a graph, else k rows."""
        first, near, far = metric.two_nearest(centers)
        if (near < 0).any() or (far < near).any():
            raise InputError("two_nearest of a metric must give distances 0 <= near <= far")
        return cls(centers, first, near, far)


class SwapCosts:
    """The exact cost of demand after any one center is swapped for any other point.

    All attributes depend on the demand: where that is private, no such object may leave the vault.
    Sums must fit int64, which `CappedSwapCosts` ensures.

    At the start a search from every demand point enters about 2·n/k vertices. After a swap only
    points whose two nearest centers changed, about 4/k of them, are searched from again. Memory:
    O(n + m) and pages of an n × k table.
    """

    total: int
    _slot: NDArray[np.int32]
    _near: Ints
    _far: Ints
    _reach: Ints

    def __init__(self, metric: Finite, points: Ints, counts: Ints, scale: Scale) -> None:
        self._metric = metric
        self._scale = scale
        self._at = metric.inner(points)
        self._counts = counts
        self._searches = metric.searches(points)
        self._centers = np.empty(0, np.int64)
        self._gain = np.zeros(len(metric), np.int64)

    def serve(self, served: Served) -> None:
        """Update all sums to these centers, with a search from each point whose cost changed."""
        if len(served.centers) != len(self._centers):
            self._start(len(served.centers))
        slot = served.first[self._at]
        scale = self._scale
        near = scale.cost(served.near[self._at])
        far = scale.cost(served.far[self._at])
        reach = np.minimum(served.far[self._at], scale.beyond)
        moved = self._centers != served.centers
        self._vacate(np.flatnonzero(moved))
        # the slot of a nearest center that stays changes only where near or far does
        stale = (near != self._near) | (far != self._far) | moved[self._slot]
        old = (
            np.where(moved[self._slot] | (self._near == self._far), -1, self._slot),
            self._near,
            self._far,
        )
        new = (np.where(near == far, -1, slot), near, far)
        bound = np.maximum(reach, self._reach)
        self._exchange(np.flatnonzero(stale), bound, old, new)
        self._slot, self._near, self._far, self._centers = slot, near, far, served.centers
        self._reach = np.where(stale, reach, self._reach)
        self.total = kernels.removal_costs(slot, near, far, self._counts, self._removal)

    def costs(self, slots: Iterable[int], candidates: Ints) -> Iterator[Ints]:
        """Cost after each slot's center is swapped for each candidate, slot by slot, in blocks."""
        for slot in slots:
            for start in range(0, len(candidates), BLOCK):
                some = candidates[start : start + BLOCK]
                out = np.empty(len(some), np.int64)
                kernels.swap_costs(
                    self._removal[slot], some, self._gain, self._table[slot], self._pages, out
                )
                yield out

    def _start(self, k: int) -> None:
        n = len(self._metric)
        s = len(self._at)
        n_pages = (n >> kernels.PAGE_BITS) + 1
        self._centers, self._removal = np.zeros(k, np.int64), np.zeros(k, np.int64)
        self._slot, self._near, self._far = (
            np.zeros(s, np.int32),
            np.zeros(s, np.int64),
            np.zeros(s, np.int64),
        )
        self._reach = np.zeros(s, np.int64)  # what is at two centers at once adds nothing
        self._gain[:] = 0
        self._table = np.full((k, n_pages), -1, np.int32)
        self._pages = np.zeros((0, 1 << kernels.PAGE_BITS), np.int64)
        self._free = np.empty(k * n_pages, np.int32)
        self._n_free = 0
        self._used = 0

    def _vacate(self, slots: Ints) -> None:
        """Free the pages of slots whose center changed."""
        for slot in slots:
            row = self._table[slot]
            pages = row[row >= 0]
            self._pages[pages] = 0
            self._free[self._n_free : self._n_free + len(pages)] = pages
            self._n_free += len(pages)
            row[:] = -1

    def _claim(self, slot: int, vertices: Ints) -> None:
        self._n_free, self._used = kernels.claim_pages(
            self._table[slot], vertices, self._free, self._n_free, self._used
        )
        if self._used > len(self._pages):
            grown = np.zeros(
                (max(self._used, len(self._pages) * 3 // 2), self._pages.shape[1]), np.int64
            )
            grown[: len(self._pages)] = self._pages
            self._pages = grown

    def _exchange(
        self, which: Ints, bound: Ints, old: tuple[Any, ...], new: tuple[Any, ...]
    ) -> None:
        """Search from demand points `which`, and replace what each adds under its `old` two nearest
        centers by what it adds under the `new` ones (slot, -1 for none, and two costs).
        """

        def replace_one(i: int, vertices: Ints, distance: Ints) -> None:
            if new[0][i] >= 0:  # the slot's row needs pages wherever this search reached
                self._claim(new[0][i], vertices)
            before, after = (tuple(int(part[i]) for part in side) for side in (old, new))
            kernels.exchange(
                vertices,
                distance,
                self._counts[i],
                tuple(self._scale),
                before,
                after,
                self._gain,
                self._table,
                self._pages,
            )

        self._searches.each(which, bound, replace_one)


class CappedSwapCosts:
    """`SwapCosts` for any number of records: ``min(2**61, cost)``, exactly. Counts are split into
    digits whose sums fit int64; the costs of the digits are added in 128 bits and saturated.
    """

    def __init__(self, metric: Finite, points: Ints, counts: Ints, scale: Scale) -> None:
        self._digits: list[tuple[int, SwapCosts]] = []
        for bits, digit in digits(counts, scale.cap**scale.power):
            held = digit > 0
            self._digits.append((bits, SwapCosts(metric, points[held], digit[held], scale)))

    @property
    def total(self) -> int:
        """Cost of the current centers in the scale's units, not saturated."""
        return sum(int(costs.total) << bits for bits, costs in self._digits)

    def serve(self, served: Served) -> None:
        """Update all sums to these centers."""
        for _, costs in self._digits:
            costs.serve(served)

    def costs(self, slots: Ints, candidates: Ints) -> Iterator[Ints]:
        """As `SwapCosts.costs`, saturated at 2^61."""
        for blocks in zip(*(costs.costs(slots, candidates) for _, costs in self._digits)):
            parts = ((bits, block) for (bits, _), block in zip(self._digits, blocks))
            yield to_array(combined(parts))


def bounded(counts: Ints) -> Ints:
    """A copy of counts, each clipped to `CAP` divided by their number, so that sums stay within
    `CAP` and can be subtracted exactly. One more record still raises its count by 0 or 1.
    """
    return np.minimum(counts, CAP // max(1, len(counts)))


def add_sums(sets: SetSystem, total: Ints, elements: Ints, amounts: Ints) -> None:
    """Add ``amounts[i]`` to ``total[s]`` for every set s that contains ``elements[i]``.

    Complexity, for each element: listed sets, the number of sets that contain it; balls, one
    bounded search or one row of distances.
    """
    if not is_trusted(sets):
        raise InputError("sums over sets need ListedSets or Balls")
    sets.add(total, elements, amounts)
