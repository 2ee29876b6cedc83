"""A stream tells every sum under way each day, to cover the present by fewer of them, with noise
drawn anew each time: the same records are told again and again, for one price.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = ("Stream, event level, 4 days, add-remove", "Stream, event level, 4 days, replace-one")


def plant() -> AbstractContextManager[None]:
    """Release the day's open sums too, as a day's counts with another draw of noise."""
    from metricdp.privacy import continual
    from metricdp.running import stream as streams

    real = streams.observe

    def observe(counter: Any, demand: Any) -> Any:
        after, ended = real(counter, demand)
        sums = continual.stored(after)
        for node, held in zip(after.nodes, sums):
            ended[node._replace(place=-1 - node.place)] = held % 10**6 + continual._opening(
                counter.counting, node
            )
        return after, ended

    return patched(streams, "observe", observe)
