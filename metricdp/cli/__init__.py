"""The command line: ``metricdp COMMAND …`` or ``python -m metricdp``. Results go to stdout, all
else to stderr.

Each command of `COMMANDS` has a table of options in ``commands/`` and a module with a function
``run(args)``, which is imported only when the command runs.
"""

import os
import sys
import traceback
import warnings
from argparse import Namespace
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from importlib import import_module
from typing import Any

from metricdp.cli.declared import declare, head_of_program
from metricdp.cli.parsing import Parser, ShowVersion, check_effect, in_options
from metricdp.cli.streams import STDOUT, abandon_stdout, hush, raised_at_the_end, say
from metricdp.errors import BudgetError, MetricDPError
from metricdp.interruption import heard, listen, over
from metricdp.progress import Waiting

COMMANDS: tuple[str, ...] = ("cluster", "explore", "plan", "evaluate", "evidence", "stream")
COMMANDS += ("federated", "synthesize", "contributions", "ledger", "tree", "encode", "decode")
COMMANDS += ("bench", "demo")
"""In the order in which ``--help`` lists them."""

BAD_INPUT = 2
UNEXPECTED = 1
NO_BUDGET = 3
INTERRUPTED = 130
BROKEN_PIPE = 141
"""Exit statuses other than 0."""


def main(argv: Sequence[str] | None = None, parsers: Callable[[], Parser] | None = None) -> int:
    """Run one command and return its exit status.

    **Privacy.** An unexpected exception may quote data, so with a demand file only its type is
    shown, unless ``METRICDP_DEBUG=1``.
    """
    args = Namespace(demand="unknown yet: tell nothing")
    try:
        with _own_warnings_only():
            parser = (parsers or build_parser)()
            complete(parser)
            args = parser.parse_args(argv)
            status = _run(args)
            if sys.stdout is not None:
                sys.stdout.flush()
            return status
    except SystemExit as finished:  # --help, --version
        return int(finished.code or 0)
    except BrokenPipeError:
        abandon_stdout()
        return BROKEN_PIPE
    except KeyboardInterrupt as error:
        return _fail(error, "interrupted", INTERRUPTED)
    except BudgetError as error:
        return _fail(error, str(error), NO_BUDGET)
    except MetricDPError as error:
        return _fail(error, in_options(str(error), vars(args)), BAD_INPUT)
    except OSError as error:
        if error.filename == STDOUT:
            abandon_stdout()
        return _fail(error, _os_error(error), BAD_INPUT)
    except MemoryError as error:
        return _fail(error, "not enough memory", UNEXPECTED)
    except Exception as error:
        if heard():
            return _fail(error, "interrupted", INTERRUPTED)
        detail = " (METRICDP_DEBUG=1 shows more, and may show private data)"
        if getattr(args, "demand", None) is None:
            detail = f": {error}"
        return _fail(error, f"unexpected {type(error).__name__}{detail}", UNEXPECTED)


def _run(args: Namespace) -> int:
    """Run the command; on a terminal, long silences are filled with a note unless ``--quiet``."""
    quiet = getattr(args, "quiet", False)
    hush(quiet)
    with Waiting(None if quiet else sys.stderr), raised_at_the_end():
        return int(args.run(args) or 0)


def program() -> int:
    """The program ``metricdp``: `main`, in a process of its own."""
    listen()
    status = main()
    over()
    return status


def complete(parser: Parser) -> None:
    """Answer a shell's request for completions, if the extra ``completion`` is installed."""
    if "_ARGCOMPLETE" not in os.environ:
        return
    with suppress(ImportError):
        import argcomplete

        argcomplete.autocomplete(parser)


@cache
def build_parser() -> Parser:
    """Return the parser of all commands."""
    parser = Parser(prog="metricdp", **head_of_program())
    parser.add_argument("--version", action=ShowVersion, help="show the version and exit")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for name in COMMANDS:
        declare(subparsers, name, run_command)
    return parser


def run_command(name: str, function: str, args: Namespace) -> int:
    """Import a command's module, and run a function of it."""
    check_effect(args, name)
    return int(getattr(import_module(f"metricdp.cli.{name}"), function)(args) or 0)


def _fail(error: BaseException, message: str, status: int) -> int:
    """Write one line to stderr, with the exception's notes (such as what was spent before it)."""
    if os.environ.get("METRICDP_DEBUG") == "1":
        say(traceback.format_exc().rstrip(), raw=True)
    first = message if status == INTERRUPTED else f"error: {message}"
    say("; ".join([first, *getattr(error, "__notes__", [])]))
    return status


def _os_error(error: OSError) -> str:
    """Path and reason of the operating system only, as other texts may quote data."""
    reason = error.strerror or type(error).__name__
    named = isinstance(error.filename, str | bytes | os.PathLike)
    return f"{os.fsdecode(error.filename)}: {reason}" if named else reason


@contextmanager
def _own_warnings_only() -> Iterator[None]:
    """Show only metricdp's own warnings, one line each, as those of libraries may quote data."""

    def show(message: Any, category: type[Warning], *_: Any, **__: Any) -> None:
        if category.__module__.startswith("metricdp"):
            say(f"warning: {message}")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        warnings.showwarning = show
        yield
