"""Exceptions: those of graphs and downloads, and all others by name."""

from __future__ import annotations

from metricdp.refusals import (
    BudgetError,
    GraphFileError,
    InputError,
    JournalError,
    MetricDPError,
    MissingExtraError,
    ReadingError,
    ResourceError,
    installing,
    one_line,
)

__all__ = ["BudgetError", "DirectedGraphError", "DisconnectedGraphError", "DownloadError"]
__all__ += ["GraphFileError", "InputError", "JournalError", "MetricDPError", "MissingExtraError"]
__all__ += ["ReadingError", "ResourceError", "ShatteredGraphError", "UnknownIdError"]
__all__ += ["installing", "one_line"]


class UnknownIdError(InputError, KeyError):
    """An id is not in the universe.

    Examples
    --------
    >>> from metricdp.errors import UnknownIdError
    >>> issubclass(UnknownIdError, KeyError)
    True
    """

    def __str__(self) -> str:
        return str(self.args[0])


class DirectedGraphError(InputError):
    """The graph has one-way arcs, so shortest paths are not a metric; `unmatched` counts them.

    Examples
    --------
    >>> from metricdp.errors import DirectedGraphError
    >>> DirectedGraphError(2).unmatched
    2
    """

    def __init__(self, unmatched: int) -> None:
        self.unmatched = unmatched
        super().__init__(
            f"the graph is directed: {unmatched:,} arcs have no reverse arc of the same length; "
            "pass directed=True (--directed) to keep directions, or symmetrize=True (--symmetrize) "
            "to use the shorter direction both ways"
        )


class DisconnectedGraphError(InputError):
    """The graph has several components (strongly connected ones, of a directed graph), so some
    distances are infinite; `sizes` lists them, largest first.

    Examples
    --------
    >>> from metricdp.errors import DisconnectedGraphError
    >>> DisconnectedGraphError([3, 2]).sizes
    [3, 2]
    """

    def __init__(self, sizes: list[int], strongly: bool = False) -> None:
        self.sizes = sizes
        kind = "strongly connected components" if strongly else "components"
        state = "not strongly connected" if strongly else "disconnected"
        shown = ", ".join(f"{s:,}" for s in sizes[:5]) + (", …" if len(sizes) > 5 else "")
        super().__init__(
            f"the graph is {state}: {len(sizes):,} {kind} of {shown} vertices; "
            "pass largest_component=True (--largest-component) to keep the largest"
        )


class ShatteredGraphError(DisconnectedGraphError):
    """Even the largest component is a small part of the graph: its edges do not share vertices.

    Examples
    --------
    >>> from metricdp.errors import ShatteredGraphError
    >>> str(ShatteredGraphError([1] * 9)).partition(",")[0]
    'the largest component has 1 of 9 vertices'
    """

    def __init__(self, sizes: list[int], strongly: bool = False) -> None:
        self.sizes = sizes
        kind = "strongly connected component" if strongly else "component"
        InputError.__init__(
            self,
            f"the largest {kind} has {sizes[0]:,} of {sum(sizes):,} vertices, so the graph is no "
            f"connected network: lines may not meet where roads do (split them at crossings, round "
            f"their ends), or columns name other vertices",
        )


class DownloadError(MetricDPError):
    """The data set `name` cannot be downloaded from `url`; nothing of it was stored.

    Examples
    --------
    >>> problem = DownloadError("pmed1", "ftp://example.org/pmed1.txt", "no answer")
    >>> problem.name, "METRICDP_DATA" in str(problem)
    ('pmed1', True)
    """

    def __init__(self, name: str, url: str, reason: str) -> None:
        self.name = name
        self.url = url
        super().__init__(
            f"{url} (data set {name}): {reason}; nothing was kept. Offline, name a folder that "
            f"has the file in METRICDP_DATA"
        )
