"""Options that several suites share, and what they give to a suite's ``run``."""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.frame.figures import checked_folder
from metricdp.bench.p_median import Report
from metricdp.errors import InputError

OPTIONS: dict[str, tuple[Sequence[str], dict[str, Any]]] = {
    "sets": (["--sets"], {"metavar": "LIST", "help": "names with commas between"}),
    "settings": (["--settings"], {"metavar": "LIST", "help": "names with commas between"}),
    "only": (["--only"], {"metavar": "LIST", "help": "exhibits with commas between"}),
    "k": (["-k"], {"metavar": "LIST", "help": "numbers of centers"}),
    "repeats": (
        ["--repeats"],
        {"metavar": "R", "type": int, "help": "repetitions: public coins and noise anew"},
    ),
    "epsilon": (["-e", "--epsilon"], {"metavar": "E", "help": "privacy budget of each answer"}),
    "epsilons": (["-e", "--epsilons"], {"metavar": "LIST", "help": "budgets of each answer"}),
    "delta": (["-d", "--delta"], {"metavar": "D", "help": "for methods to which it is of use"}),
    "power": (["--power"], {"metavar": "Z", "type": int, "help": "1: k-median; 2: k-means"}),
    "records": (["--records"], {"metavar": "N", "type": int, "help": "of each demand"}),
    "points": (["--points"], {"metavar": "N", "type": int, "help": "vertices of a graph"}),
    "methods": (["--methods"], {"metavar": "LIST", "help": "with commas between"}),
}


def add_options(parser: ArgumentParser, defaults: Mapping[str, Any], *, plots: bool = True) -> None:
    """Add options by name, each with the default that its help states; ``--quick``; ``--plots``."""
    for name, default in defaults.items():
        flags, settings = OPTIONS[name]
        stated = f"{settings['help']} (default: {default})"
        parser.add_argument(*flags, **{**settings, "dest": name, "help": stated})
    parser.add_argument(
        "--quick",
        action="store_true",
        help="little data and few repetitions, where nothing else is said",
    )
    if plots:
        parser.add_argument("--plots", metavar="DIR", help="folder for the figures, as PNG")


def given(args: Namespace, names: Iterable[str], quick: Mapping[str, Any]) -> dict[str, Any]:
    """Options that were given, by name, over those of ``--quick`` where that was given."""
    found = {name: getattr(args, name) for name in names}
    found = {name: value for name, value in found.items() if value is not None}
    if "k" in found:
        found["k"] = numbers(found["k"])
    return {**(quick if args.quick else {}), **found}


def with_figures(
    args: Namespace, run: Callable[[], Report], draw: Callable[[Report, Path], Iterable[Path]]
) -> Report:
    """Measure, then draw if ``--plots`` asks for it; its folder is made before anything else."""
    folder = None if args.plots is None else checked_folder(args.plots)
    report = run()
    if folder is not None:
        report.lines.extend(f"wrote {path}" for path in draw(report, folder))
    return report


def numbers(text: str) -> list[int]:
    """Whole numbers with commas between."""
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() and len(part) < 10 for part in parts):
        raise InputError(
            f"k must be whole numbers with commas between, such as 5,20; got {text[:40]!r}"
        )
    return [int(part) for part in parts]


def epsilons(text: str) -> list[str]:
    """Budgets with commas between, as they were written.

    Raises
    ------
    InputError
        One of them is no budget.

    Examples
    --------
    >>> epsilons("1/2, 1")
    ['1/2', '1']
    """
    import metricdp as mdp

    parts = [part.strip() for part in text.split(",")]
    for part in parts:
        mdp.Ledger(part)  # its rules
    if not parts or len(set(parts)) < len(parts):
        raise InputError(
            f"epsilons must be different numbers with commas between; got {text[:40]!r}"
        )
    return parts


def named(text: str | None, known: Sequence[str], what: str, always: str = "") -> tuple[str, ...]:
    """Names of a list with commas between, in the order of those known; all without a list."""
    asked = set(known) if text is None else {part.strip() for part in text.split(",")}
    if unknown := sorted(asked - set(known)):
        raise InputError(f"{what} must be of {', '.join(known)}; got {unknown[0][:40]!r}")
    return tuple(name for name in known if name in asked or name == always)


def check_numbers(power: int = 1, **least_one: int | None) -> None:
    """Refuse a power that is not 1 or 2, and other numbers below 1."""
    if power not in (1, 2):
        raise InputError(f"power must be 1 (k-median) or 2 (k-means), got {power}")
    for name, value in least_one.items():
        if value is not None and value < 1:
            raise InputError(f"{name} must be at least 1, got {value}")


def check_k(k: Sequence[int], most: int) -> None:
    """Refuse numbers of centers outside 1 … `most`, and none."""
    if not k or min(k) < 1 or max(k) > most:
        raise InputError(
            f"k must be numbers from 1 to {most:,}, got {', '.join(map(str, k)) or 'none'}"
        )
