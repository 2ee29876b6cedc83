"""The parser, types of option values, and checks that several commands share."""

import argparse
import math
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterable
from contextlib import suppress
from difflib import get_close_matches
from itertools import groupby
from typing import Any, NoReturn

from metricdp.errors import MetricDPError

HELP_WIDTH = 100
"""Most columns of help texts."""


class UsageError(MetricDPError):
    """The arguments of a command do not make sense."""


_SYNONYMS = {
    "--eps": ("--epsilon", "--epsilons"),
    "--epsilon": ("--epsilons",),
    "--k": ("-k",),
    "--user": ("--max-contributions",),
    "--users": ("--user", "--max-contributions"),
    "--column": ("--demand-column",),
    **dict.fromkeys(("--lon", "--lng", "--longitude"), ("--x",)),
    **dict.fromkeys(("--lat", "--latitude"), ("--y",)),
    "--budget": ("--epsilon-budget", "--epsilon"),
    "--input": ("--demand",),
    "--directory": ("--output",),
    "--n": ("-n", "--records"),
}
"""Common synonyms of options; the first one that a command has is suggested."""


class _Formatter(argparse.HelpFormatter):
    """Wrap help at the terminal's width, at most `HELP_WIDTH`; indented examples stay."""

    def __init__(self, prog: str) -> None:
        columns = min(shutil.get_terminal_size().columns, HELP_WIDTH)
        super().__init__(prog, max_help_position=30, width=columns - 2)

    def _format_usage(self, usage: Any, actions: Any, groups: Any, prefix: Any) -> str:
        """Also wrap usage lines from the tables, which argparse does not."""
        text = super()._format_usage(usage, actions, groups, prefix)
        if usage is None:
            return text
        first, *rest = self._split_lines(text, self._width - len("usage: "))
        return "\n".join([first, *("       " + line for line in rest)]) + "\n\n"

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        filled: list[str] = []
        for is_prose, lines in groupby(text.splitlines(), _is_prose):
            kept = list(lines)
            if is_prose:
                kept = self._split_lines(" ".join(kept), width)
            filled += [indent + line for line in kept]
        return "\n".join(filled)

    def _split_lines(self, text: str, width: int) -> list[str]:
        whole = " ".join(text.split())  # names of options and methods have hyphens
        return textwrap.wrap(whole, width, break_on_hyphens=False, break_long_words=False)


def _is_prose(line: str) -> bool:
    return bool(line.strip()) and not line.startswith(" ")


class Parser(argparse.ArgumentParser):
    """argparse with exact option names, whose errors are exceptions."""

    def __init__(self, **options: Any) -> None:
        super().__init__(allow_abbrev=False, formatter_class=_Formatter, **options)
        self._given: list[str] = []

    def error(self, message: str) -> NoReturn:
        """Raise a `UsageError` with a suggestion, if one is likely, and a hint to ``--help``.

        For missing options, unknown ones are compared, as they may be misspelled.
        """
        choice = re.search(r"invalid choice: '(.*?)' \(choose from (.*)\)", message)
        if choice is not None:
            meant = get_close_matches(choice[1], re.findall(r"[\w-]+", choice[2]), 1)
            message += f"; did you mean {meant[0]}?" if meant else ""
        elif message.startswith("the following arguments are required"):
            unknown = [text for text in self._given if text.partition("=")[0] not in self._known]
            message += self._meant(unknown)
        raise UsageError(f"{message} (see {self.prog} --help)")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse; refuse NUL characters and unknown arguments, with suggestions."""
        if any("\0" in text for text in args or ()):
            self.error("an argument holds a NUL character")
        self._given = given = _joined(args)
        found, unknown = super().parse_known_args(given, namespace)
        if unknown:
            hint = self._meant(unknown) or self._one_value(given, unknown[0])
            self.error(f"unrecognized arguments: {' '.join(unknown)}{hint}")
        return found, unknown

    @property
    def _known(self) -> list[str]:
        """Options of this command."""
        return [name for name in self._option_string_actions if name not in ("--help", "-h")]

    def _meant(self, unknown: list[str]) -> str:
        """A suggestion of known options: by synonym, prefix, suffix or similarity."""
        known = [name for name in self._known if name.startswith("--")]
        meant: dict[str, None] = {}
        for given in unknown:
            if not given.startswith("--") or given == "--":
                continue
            name = given.partition("=")[0].lower().replace("_", "-")
            usual = [other for other in _SYNONYMS.get(name, ()) if other in self._known]
            begun = [other for other in known if other.startswith(name)]
            ended = [other for other in known if other.endswith(name.removeprefix("-"))]
            close = get_close_matches(name, known, 1, cutoff=0.7)
            meant |= dict.fromkeys([*usual, *begun, *ended, *close][:1])
        return f"; did you mean {', '.join(meant)}?" if meant else ""

    def _one_value(self, given: list[str], unknown: str) -> str:
        """A hint on lists and quotes, if an option with one value was given several words."""
        first = at = given.index(unknown) if unknown in given else 0
        while first and not given[first - 1].startswith("-"):
            first -= 1
        option = self._option_string_actions.get(given[first - 1]) if first else None
        if option is None or option.nargs is not None or first == at or unknown.startswith("--"):
            return ""
        commas = f"a list has commas ({','.join(given[first : first + 2])})"
        return f"; {given[first - 1]} takes one value: {commas}, a text with spaces quotes"


def _joined(args: Any) -> list[str]:
    """Arguments in which ``--box`` is joined with a value that begins with a minus sign."""
    given = list(sys.argv[1:] if args is None else args)
    for at in range(len(given) - 1, 0, -1):
        if given[at - 1] == "--box" and re.match(r"-[0-9.]", given[at]):
            given[at - 1 : at + 1] = [f"--box={given[at]}"]
    return given


class ShowVersion(argparse.Action):
    """``--version``, looked up only when asked for."""

    def __init__(self, **options: Any) -> None:
        super().__init__(nargs=0, **options)

    def __call__(self, parser: argparse.ArgumentParser, *_: Any) -> None:
        """Print the version and exit."""
        from importlib.metadata import PackageNotFoundError

        import metricdp

        try:
            version = str(metricdp.__version__)
        except PackageNotFoundError:
            version = "(not installed: version unknown)"
        sys.stdout.write(f"metricdp {version}\n")
        parser.exit()


class OneFile(argparse.Action):
    """A file option that must not be repeated: argparse would ignore all but the last."""

    def __call__(
        self, parser: Any, namespace: argparse.Namespace, values: Any, option: str | None = None
    ) -> None:
        """Store the path, or refuse a second one."""
        first = getattr(namespace, self.dest)
        if first != self.default:
            parser.error(f"argument {option} takes one file, got {first} and {values}")
        setattr(namespace, self.dest, values)


def whole_number(least: int, most: float = math.inf) -> Callable[[str], int]:
    """A function that parses integers from `least` to `most`."""
    rule = f"of at least {least}" if math.isinf(most) else f"from {least} to {most:,}"

    def parse(text: str) -> int:
        plain = re.fullmatch(r"\s*[+-]?[0-9]{1,300}\s*", text)
        if not plain or not least <= int(text) <= most:
            raise _refused(f"a whole number {rule}", text)
        return int(text)

    return parse


def _refused(rule: str, text: str) -> argparse.ArgumentTypeError:
    return argparse.ArgumentTypeError(f"must be {rule}, got {text[:60]!r}")


def caps(text: str) -> tuple[int, int]:
    """Parts of a user, and records of a user in a part, at most: "20" or "20,2"."""
    plain = re.fullmatch(r"\s*([0-9]{1,9})\s*(?:,\s*([0-9]{1,9})\s*)?", text)
    found = (int(plain[1]), int(plain[2] or 1)) if plain else (0, 0)
    if not 1 <= found[0] * found[1] < 2**31:
        raise _refused("PARTS or PARTS,RECORDS, two numbers of at least 1", text)
    return found


def budgets(text: str) -> list[str]:
    """Epsilons separated by commas, kept as text."""
    return [budget(part.strip()) for part in text.split(",")]


def open_share(text: str) -> str:
    """A number above 0 and below 1, kept as text."""
    from metricdp.accounting import exact

    with suppress(MetricDPError):
        if 0 < exact(text, "quantile") < 1:
            return text
    raise _refused("a number above 0 and below 1, such as 0.5 or 9/10", text)


def _number(text: str, rule: str, fits: Callable[[float], bool]) -> float:
    with suppress(ValueError):
        if "_" not in text and fits(float(text)):
            return float(text)
    raise _refused(rule, text)


def _positive(number: float) -> bool:
    return 0 < number < math.inf


def at_least_0(text: str) -> float:
    """A finite number that is not negative."""
    return _number(text, "a number of at least 0", lambda number: 0 <= number < math.inf)


def numbers(text: str) -> list[int]:
    """Integers separated by commas."""
    try:
        return [int(one) for one in text.split(",")]
    except ValueError:
        raise _refused("numbers such as 5,10,20", text) from None


def scenarios(text: str) -> str | list[float]:
    """The name of a way to combine scenarios, or weights of scenarios."""
    if text in ("mean", "worst"):
        return text
    return [at_least_0(one) for one in text.split(",")]


def positive_number(text: str) -> float:
    """A positive, finite number."""
    return _number(text, "a positive number", _positive)


def distance(text: str) -> float | str:
    """A distance: a non-negative number, or one with a unit."""
    from metricdp.metrics.units import checked_distance

    given: float | str = text
    with suppress(ValueError):
        given = float(text)
    try:
        checked_distance(given, "limit")
    except MetricDPError as error:
        raise argparse.ArgumentTypeError(str(error)) from None
    return given


def unit(text: str) -> str:
    """The name of a unit."""
    from metricdp.metrics.units import UNITS

    if text not in UNITS:
        raise _refused(f"one of {', '.join(UNITS)}", text)
    return text


def distances(text: str) -> list[float | str]:
    """Distances separated by commas."""
    return [distance(part) for part in text.split(",")]


def effort(text: str) -> str | float:
    """The effort: quick, thorough or a positive number of seconds."""
    rule = "quick, thorough or a number of seconds"
    return text if text in ("quick", "thorough") else _number(text, rule, _positive)


def budget(text: str, **other: str) -> str:
    """An epsilon, checked by the ledger's rules and kept as text, so that 1/3 is exact."""
    from metricdp.privacy import Ledger

    try:
        Ledger(other.get("epsilon", text), other.get("delta", 0))
    except MetricDPError as error:
        raise argparse.ArgumentTypeError(str(error)[:200]) from None
    return text


def delta(text: str) -> str:
    """A delta, checked by the ledger's rules and kept as text."""
    return budget(text, epsilon="1", delta=text)


def column(text: str) -> str:
    """A column name that is not empty."""
    if not text.strip():
        raise argparse.ArgumentTypeError("a column's name must not be empty")
    return text


def page_text(text: str) -> str:
    """Text of a page; bytes that are not UTF-8 come from the command line as surrogates."""
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise argparse.ArgumentTypeError("must be UTF-8 text")
    return text


def box(text: str) -> list[float]:
    """The four numbers of a box."""
    with suppress(ValueError):
        edges = [float(part) for part in text.split(",")]
        if len(edges) == 4 and all(map(math.isfinite, edges)):
            return edges
    raise _refused("XMIN,YMIN,XMAX,YMAX", text)


def check_columns(args: argparse.Namespace) -> None:
    """Refuse contradicting columns of the demand."""
    if (args.x is None) != (args.y is None):
        raise UsageError("--x and --y go together: coordinates need both columns")
    if args.x is not None and args.demand_column is not None:
        raise UsageError("give --demand-column (vertex ids) or --x and --y (coordinates), not both")


def check_unit(args: argparse.Namespace, users: bool, what: str) -> None:
    """Refuse a demand with another privacy unit than the study's or stream's."""
    if users and args.user is None:
        raise UsageError(f"this {what} protects users: say whose record each is with --user COLUMN")
    if not users and args.user is not None:
        raise UsageError(f"this {what} protects records: leave --user out")


_ARGUMENT = r"\b([a-z_]+)=(?:True\b|'([^'=]*)'|(?![\w'\"(\[{=<>./-]))"
_ARGUMENTS, _OPTIONS = (
    f"{one}(?:(?:, | and | or ){one})*" for one in (_ARGUMENT.replace("(", "(?:", 1), r"--[\w-]+")
)
_NAME = r"(?<![\w/.'\"-])([a-z]+(?:_[a-z]+)+)(?![\w/.='\"-])"
_CALLED = {"sites": "source", "clients": "target", "cost": "weight", "column": "demand-column"}
_CALLED |= {"costs": "opening-costs", "capacities": "capacity"}
_CALLED |= {"limits": "bands", "peers": "peer", "journal": "ledger"}
"""Options whose names differ from the library's arguments."""


def in_options(message: str, known: Iterable[str]) -> str:
    """A message of the library in which options stand for arguments: ``--weight`` for ``weight=``
    and for ``weight=, --weight``, ``--max-snap`` for ``max_snap``. `known`: names of the command's
    options.
    """
    for both in (rf"{_ARGUMENTS}[,;] ({_OPTIONS})", rf"{_ARGUMENTS} \(({_OPTIONS})\)"):
        message = re.sub(both, lambda found: found[found.lastindex or 0], message)
    message = re.sub(rf"({_OPTIONS}) \({_ARGUMENTS}\)", r"\1", message)

    def named(found: re.Match[str]) -> str:
        name = _CALLED.get(found[1], found[1].replace("_", "-"))
        value = f" {found[2]}" if found.re.groups > 1 and found[2] else ""
        return f"--{name}{value}" if name.replace("-", "_") in known else found[0]

    return re.sub(_NAME, named, re.sub(_ARGUMENT, named, message))


_PAGES = ("map", "html", "output")
OF_GRAPHS: tuple[str, ...] = ("format", "weight", "nodes", "source", "target", "layer", "crs")
OF_GRAPHS += ("topology", "directed", "direction", "symmetrize", "largest_component")
"""Options with which a graph is read."""


def check_effect(args: argparse.Namespace, command: str) -> None:
    """Refuse options without effect: texts of a page that is not written, facts of a graph that is
    not read; and a page whose name does not end in .html.
    """
    only_page = _PAGES if command in ("explore", "plan") else _PAGES[:2]
    paths = [(name, getattr(args, name, None)) for name in _PAGES]
    pages = [
        (name, path) for name, path in paths if path and path.lower().endswith((".html", ".htm"))
    ]
    for name, path in paths:
        if name in only_page and path and (name, path) not in pages:
            raise UsageError(f"--{name} {path}: the name of a page must end in .html or .htm")
    texts = [name for name in ("title", "attribution") if getattr(args, name, None) is not None]
    if texts and not pages and not getattr(args, "dry_run", False):
        raise UsageError(f"--{texts[0]} is of a page, and none is written")
    facts = [name for name in (*OF_GRAPHS, "name") if getattr(args, name, None)]
    if facts and getattr(args, "graph", "") is None:
        raise UsageError(f"{as_option(facts[0])} is about a graph: give GRAPH too")


def given(args: argparse.Namespace, names: Iterable[str]) -> list[str]:
    """The options among `names` that have a value."""
    return [as_option(name) for name in names if getattr(args, name, None) is not None]


def as_option(name: str) -> str:
    """The option that has this name in the parsed arguments."""
    return "-k" if name == "k" else f"--{name.replace('_', '-')}"
