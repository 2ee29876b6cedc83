"""The ledger of a command: checked first, opened last, so that a refused call leaves no trace on it."""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from metricdp.cli.streams import say
from metricdp.errors import BudgetError, JournalError

if TYPE_CHECKING:
    from metricdp.privacy import Ledger

_LONGEST_HEADER = 1 << 16


def check_budget(args: Namespace) -> None:
    """Refuse a call that its ledger would refuse, before the graph is read. Makes no file.

    Raises
    ------
    BudgetError, JournalError, OSError
        It does not fit; the journal is of another budget or relation, damaged or unreadable.
    """
    from metricdp.privacy import Ledger, exact

    header = _header(args.ledger)
    ledger = Ledger(**_settings(args, header), journal=None if header is None else args.ledger)
    if not ledger.quote(args.epsilon).fits:
        raise BudgetError(exact(args.epsilon), ledger.spent, ledger.left)


def open_ledger(args: Namespace) -> Ledger:
    """Open the ledger; its journal is made now if it does not exist."""
    from metricdp.privacy import Ledger

    return Ledger(**_settings(args, _header(args.ledger)), journal=args.ledger)


@contextmanager
def noting_expense(ledger: Ledger) -> Iterator[None]:
    """Add to an exception what was spent before it came."""
    before = ledger.spent
    try:
        yield
    except BaseException as error:
        if ledger.spent > before:
            error.add_note(f"epsilon {float(ledger.spent - before):g} was charged before this and stays spent")
        raise


def say_expense(args: Namespace, receipt: Any, ledger: Ledger) -> None:
    """Say on stderr what the result cost, and what a journal has left."""
    paid = f"spent epsilon {float(receipt.epsilon):g} per {receipt.unit} ({receipt.neighboring} neighbors)"
    kept = f"; ledger {args.ledger}: {float(ledger.left):g} of {float(ledger.epsilon):g} left" if args.ledger else ""
    say(paid + kept)


def _settings(args: Namespace, header: dict[str, str] | None) -> dict[str, Any]:
    """Budget and relation: those of an existing journal, else those of the options."""
    from metricdp.privacy import exact

    if header is None:
        return {"epsilon": args.epsilon_budget or args.epsilon, "neighboring": args.neighboring or "add-remove"}
    has = f"the ledger {args.ledger} has"
    if args.neighboring not in (None, header["neighboring"]):
        relation = header["neighboring"]
        raise JournalError(f"{has} {relation} neighbors, not {args.neighboring}; leave --neighboring out")
    if args.epsilon_budget is not None and exact(args.epsilon_budget) != exact(header["epsilon"]):
        budget = header["epsilon"]
        raise JournalError(f"{has} a budget of {budget}, not {args.epsilon_budget}; leave --epsilon-budget out")
    return header


def _header(path: str | None) -> dict[str, str] | None:
    """Budget, delta and relation that an existing journal states in its first line; None if there is no such line yet.

    The `Ledger` opened with them checks the whole file.
    """
    if path is None:
        return None
    try:
        with open(path, "rb") as file:  # noqa: PTH123 - an empty path must stay an error of open
            first = file.readline(_LONGEST_HEADER)
    except FileNotFoundError:
        return None
    if not first.endswith(b"\n") and len(first) < _LONGEST_HEADER:
        return None  # empty, or torn by a crash: Ledger decides
    stated: dict[str, str] = {}
    try:
        line = json.loads(first)["line"]
        stated = {name: line[name] for name in ("epsilon", "delta", "neighboring") if isinstance(line[name], str)}
    except (ValueError, KeyError, TypeError):
        stated = {}
    if len(stated) != 3:
        raise JournalError(f"{path} is not the journal of a ledger")
    return stated
