"""Adds commands and options to the parser, as declared by the tables of ``commands/``.

A table has the texts of ``--help``, groups of options (names in ``shared.toml``, or tables) and
actions, which are subcommands.
"""

import tomllib
from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, partial
from importlib.resources import files
from typing import Any

from metricdp.cli import commands, parsing
from metricdp.cli.objectives import NAMES
from metricdp.methods.catalogue import OF_FINITE_UNIVERSES
from metricdp.universe.formats import FORMATS

Run = Callable[[str, str, Namespace], int]
_HEAD = ("help", "usage", "description", "epilog")
_WORDS = {
    "{formats}": ", ".join(FORMATS.values()),
    "{format_names}": ", ".join(FORMATS),
    "{methods}": "; ".join(f"{name}: {does}" for name, does in OF_FINITE_UNIVERSES.items()),
    "{objectives}": ", ".join(NAMES),
}
_KINDS = {True: "store_true", False: "store"}


def head_of_program() -> dict[str, Any]:
    """The texts of the program's own ``--help``."""
    return _head(_table("shared")["program"])


def declare(subparsers: Any, name: str, run: Run) -> None:
    """Add a command to the parser; `run` gets its name and the name of a function of its module."""
    table = _table(name)
    parser = subparsers.add_parser(name, **_head(table))
    _fill(parser, table, partial(run, name, "run"))
    if "action" in table:
        named = {"title": "actions", "metavar": "ACTION", **table.get("actions", {})}
        actions = parser.add_subparsers(required=True, prog=f"metricdp {name}", **named)
        declare_actions(actions, name, run)


def declare_actions(subparsers: Any, name: str, run: Run) -> None:
    """Add the actions of a command; action A is run by the function ``run_A``."""
    for action in _table(name)["action"]:
        parser = subparsers.add_parser(action["name"], **_head(action))
        _fill(parser, action, partial(run, name, f"run_{action['name']}"))


def add(group: Any, options: Iterable[str | Mapping[str, Any]]) -> None:
    """Add options, given by shared names or as tables, to a parser or to a group."""
    shared = _table("shared")
    for option in _each(options, shared["sets"]):
        own = {"name": option} if isinstance(option, str) else option
        base = {} if own.get("own") else shared["options"].get(own["name"], {})
        _add(group, **{**base, **own})


def _each(options: Iterable[Any], sets: Mapping[str, list[str]]) -> Iterator[Any]:
    for option in options:
        yield from sets.get(option, [option]) if isinstance(option, str) else [option]


def _add(
    group: Any,
    *,
    name: str,
    help: str,
    short: str | None = None,
    own: bool = False,
    **settings: Any,
) -> None:
    for word, text in _WORDS.items():
        help = help.replace(word, text)
    if "type" in settings:
        settings["type"] = _type(*settings["type"].split())
    if settings.get("choices") == "objectives":
        settings["choices"] = NAMES
    if settings.get("required") is False:
        del settings["required"]
    if "flag" in settings:
        unset = settings.pop("flag") == "unset"
        settings |= {"action": "store_true"} | ({"default": None} if unset else {})
    if settings.pop("repeated", False):
        settings["action"] = "append"
    if settings.pop("once", False):
        settings["action"] = parsing.OneFile
    names = [name] if short is None else [short, name]
    group.add_argument(*names, help=" ".join(help.split()), **settings)


def _type(name: str, *bounds: str) -> Callable[[str], Any]:
    """The type of an option: a function of `metricdp.cli.parsing`, or one made with bounds."""
    if name in ("int", "float"):
        return {"int": int, "float": float}[name]
    kind: Callable[..., Any] = getattr(parsing, name)
    return kind(*map(int, bounds)) if bounds else kind


def _fill(parser: Any, table: Mapping[str, Any], run: Callable[[Namespace], int]) -> None:
    for group in table.get("group", ()):
        titled = parser.add_argument_group(group["title"]) if "title" in group else parser
        add(titled, group["options"])
    defaults: dict[str, Any] = dict.fromkeys(table.get("unset", ()))
    if "tells_nothing_of" in table:
        defaults["demand"] = table["tells_nothing_of"]
    parser.set_defaults(run=run, **defaults)


def _head(table: Mapping[str, Any]) -> dict[str, str]:
    return {key: table[key] for key in _HEAD if key in table}


@cache
def _table(name: str) -> dict[str, Any]:
    path = files(commands).joinpath(f"{name}.toml")
    return tomllib.loads(path.read_text(encoding="utf-8"))
