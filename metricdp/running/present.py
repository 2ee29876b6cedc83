"""Which released nodes are the present of a stream, and until when each may be."""

from __future__ import annotations

from metricdp.accounting.continual import Node, Schedule

FAINT = 2.0**-20
"""Weight of a day below which it is forgotten, under a half-life."""


def present(schedule: Schedule, day: int) -> list[tuple[Node, float]]:
    """What the present is after a day: nodes and their weights."""
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
    """Whether a node may be part of the present on some day after this one."""
    first = schedule.days(node)[0]
    if schedule.half_life is not None:
        return bool(2.0 ** (-(day + 1 - first) / schedule.half_life) >= FAINT)
    if schedule.window is not None:
        return first > day + 1 - schedule.window
    block = schedule.block(node.block)
    parent = Node(node.block, node.level + 1, node.place // block.base)
    return node.level + 1 >= block.levels or schedule.days(parent)[1] > day + 1
