"""Exceptions. Messages say what was wrong and what to do, and never quote private values."""

from __future__ import annotations

from fractions import Fraction
from importlib.util import find_spec

WORKBOOKS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
"""How .xlsx and .ods, and .xls begin."""
_HEAD = 600
_TAIL = 200
"""Longer messages are cut to so many characters of their start and of their end."""


def one_line(text: str) -> str:
    """Text with line breaks, control characters and undecodable bytes written as escapes.

    Examples
    --------
    >>> one_line("roads\\n.csv")
    'roads\\\\n.csv'
    """
    return "".join(
        c if c.isprintable() else c.encode("unicode_escape", "surrogatepass").decode() for c in text
    )


class MetricDPError(Exception):
    """Base of all exceptions that metricdp raises on purpose. A message is one printable line of
    limited length, whatever it quotes.

    Examples
    --------
    >>> issubclass(mdp.InputError, mdp.MetricDPError), str(mdp.MetricDPError("a\\nb"))
    (True, 'a\\\\nb')
    """

    def __init__(self, message: str = "") -> None:
        line = one_line(message)
        short = f"{line[:_HEAD]} … {line[-_TAIL:]}"
        super().__init__(line if len(line) <= _HEAD + _TAIL else short)


class InputError(MetricDPError, ValueError):
    """A public argument, file or graph breaks a stated rule.

    Examples
    --------
    >>> issubclass(mdp.InputError, ValueError)
    True
    """


class GraphFileError(InputError):
    """The graph file `path` cannot be read in its assumed format; `line`: where reading stopped,
    from 1, if it is known.

    Examples
    --------
    >>> problem = GraphFileError("roads.csv", "a length is negative", line=7)
    >>> str(problem), problem.line
    ('roads.csv, line 7: a length is negative', 7)
    """

    def __init__(self, path: object, reason: str, line: int | None = None) -> None:
        self.path = str(path)
        self.line = line
        where = f"{path}, line {line}" if line is not None else f"{path}"
        super().__init__(f"{where}: {reason}")


class ReadingError(MetricDPError):
    """Private records could not be read for a reason other than their content: an engine failed, or
    the table changed between two readings.

    Examples
    --------
    >>> issubclass(ReadingError, InputError)
    False
    """


class ResourceError(MetricDPError):
    """Memory or disk space ran out while private records were read.

    Examples
    --------
    >>> issubclass(ResourceError, InputError)
    False
    """


class BudgetError(MetricDPError):
    """A charge does not fit the ledger; nothing was read and nothing was spent. `asked`, `spent`,
    `left`: of epsilon, or of what ran out (`what`), as exact fractions.

    Examples
    --------
    >>> try:
    ...     mdp.Ledger(epsilon=1).charge(2)
    ... except mdp.BudgetError as problem:
    ...     print(problem.asked, problem.left)
    2 1
    """

    def __init__(
        self, asked: Fraction, spent: Fraction, left: Fraction, what: str = "epsilon"
    ) -> None:
        self.asked = asked
        self.spent = spent
        self.left = left
        self.what = what
        facts = f"asked {what} {_show(asked)}, spent {_show(spent)}, left {_show(left)}"
        facts += f", exactly {left}" if _show(asked) == _show(left) else ""
        super().__init__(f"privacy budget refused: {facts}")


class JournalError(MetricDPError):
    """The ledger's journal file cannot be trusted (another budget, a damaged line) or cannot be
    written.

    Examples
    --------
    >>> from metricdp.errors import JournalError
    >>> issubclass(JournalError, mdp.InputError)
    False
    """


def installing(extra: str) -> str:
    """The command that installs an extra, from a clone: the package index has no metricdp yet,
    where anybody could claim the name.

    >>> installing("plots")
    "pip install -e '.[plots]'"
    """
    return f"pip install -e '.[{extra}]'"


class MissingExtraError(MetricDPError, ImportError):
    """An optional dependency is not installed; `extra` names what to install.

    Examples
    --------
    >>> problem = MissingExtraError("drawing", "plots")
    >>> problem.extra, isinstance(problem, ImportError)
    ('plots', True)
    """

    def __init__(self, feature: str, extra: str) -> None:
        self.feature = feature
        self.extra = extra
        how = f"{installing(extra)}, in a clone of metricdp"
        super().__init__(f"{feature} needs an optional dependency: {how}")


def need(feature: str, extra: str, *libraries: str) -> None:
    """Raise MissingExtraError unless these libraries of an extra are installed.

    >>> need("arrays", "numpy", "numpy")
    """
    if not all(map(find_spec, libraries)):
        raise MissingExtraError(feature, extra)


def _show(value: Fraction) -> str:
    try:
        return f"{float(value):.6g}"
    except OverflowError:
        return "more than 1e308"


def not_text(data: bytes = b"") -> str:
    """What a file is that is not UTF-8 text, by its first bytes, and what to do.

    >>> not_text()
    'is not UTF-8 text: save it as UTF-8'
    """
    if data.startswith(WORKBOOKS):
        return "is a workbook or an archive, not text: save the sheet as CSV (UTF-8)"
    return "is not UTF-8 text: save it as UTF-8"


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
