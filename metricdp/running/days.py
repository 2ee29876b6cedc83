"""Chooses the tree of the binary (base-b) mechanism of continual counting with the least noise. The
guarantee holds for any tree (`metricdp.accounting.continual`).
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from metricdp.accounting.continual import Node, Schedule


class LeastNoise(Schedule):
    """A schedule whose trees have the base and the number of levels of least mean noise."""

    def shape(self, days: int) -> tuple[int, int]:
        """Base and number of levels, for windows or for totals."""
        return (best_for_totals if self.window is None else best_for_windows)(days, self.gaussian)


@lru_cache(maxsize=256)
def best_for_totals(days: int, gaussian: bool) -> tuple[int, int]:
    """Base and levels of least mean noise for the totals of the first 1, 2, …, `days` days."""
    totals = np.unique(np.linspace(1, days, 512).astype(np.int64))

    def nodes(base: int, levels: int) -> float:
        top = base ** (levels - 1)
        count = totals // top
        rest = totals % top
        for level in range(levels - 2, -1, -1):
            count = count + rest // base**level
            rest = rest % base**level
        return float(count.mean())

    return _least(days, gaussian, nodes)


@lru_cache(maxsize=256)
def best_for_windows(window: int, gaussian: bool) -> tuple[int, int]:
    """Base and levels of least mean noise for all windows of `window` days."""

    def nodes(base: int, levels: int) -> float:
        period = base ** (levels - 1)
        starts = np.unique(np.linspace(0, period - 1, 24).astype(np.int64))
        tree = _FixedShape(window=window, fixed=(base, levels))
        return float(np.mean([len(list(tree.cover(s, s + window - 1))) for s in starts]))

    return _least(window, gaussian, nodes)


@dataclass(frozen=True)
class _FixedShape(Schedule):
    """A schedule with a given base and number of levels."""

    fixed: tuple[int, int] = (2, 1)

    def shape(self, days: int) -> tuple[int, int]:
        """The given shape."""
        return self.fixed


def _least(days: int, gaussian: bool, nodes: Callable[[int, int], float]) -> tuple[int, int]:
    """The shape of least variance: mean number of nodes times levels (squared for Laplace)."""
    best = (np.inf, 2, 1)
    for levels in range(1, max(2, days.bit_length() + 1)):
        if levels == 1 and days > 4096:
            continue
        most = 2 if levels == 1 else max(2, int(days ** (1 / (levels - 1))))
        bases = np.unique(np.geomspace(2, most, 48).round().astype(np.int64)).tolist()
        for base in bases:
            if base ** (levels - 1) > days:
                continue
            variance = nodes(base, levels) * (levels if gaussian else levels**2)
            best = min(best, (variance, base, levels))
    return best[1], best[2]


FAINT = 2.0**-20
"""With a half-life, days of less weight are dropped."""


def present(schedule: Schedule, day: int) -> list[tuple[Node, float]]:
    """The nodes of the tree whose weighted sum is the present after a day, and their weights."""
    if schedule.half_life is not None:
        found = []
        for past in range(day, -1, -1):
            weight = 2.0 ** (-(day - past) / schedule.half_life)
            if weight < FAINT:
                break
            found.append((Node(0, 0, past), weight))
        return found
    first = 0 if schedule.window is None else max(0, day - schedule.window + 1)
    return [(node, 1.0) for node in schedule.cover(first, day)]


def needed(schedule: Schedule, node: Node, day: int) -> bool:
    """Whether the present of some later day may use a node."""
    first = schedule.days(node)[0]
    if schedule.half_life is not None:
        return bool(2.0 ** (-(day + 1 - first) / schedule.half_life) >= FAINT)
    if schedule.window is not None:
        return first > day + 1 - schedule.window
    block = schedule.block(node.block)
    parent = Node(node.block, node.level + 1, node.place // block.base)
    return node.level + 1 >= block.levels or schedule.days(parent)[1] > day + 1
