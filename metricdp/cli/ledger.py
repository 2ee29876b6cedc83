"""``metricdp ledger``: make a ledger, and check what its journal says."""

from __future__ import annotations

import os
import sys
from argparse import Namespace
from typing import Any

from metricdp.accounting import Ledger
from metricdp.accounting.policy import Policy
from metricdp.cli import streams
from metricdp.cli.parsing import UsageError
from metricdp.errors import InputError, one_line
from metricdp.running.history import read_history

_TERMS = ("epsilon", "delta", "neighboring", "dataset", "renews", "expires")
"""What is settled when a ledger is made, and never again."""


def run(args: Namespace) -> int:
    """Make one, or read, verify and print."""
    making = args.action == "create"
    foreign = ("anchor", "json") if making else _TERMS
    for name in foreign:
        if getattr(args, name):
            raise UsageError(f"--{name} is of no use with metricdp ledger {args.action}")
    return _create(args) if making else _show(args)


def _create(args: Namespace) -> int:
    """A ledger with the whole budget left; a file that is there stays as it is."""
    if args.epsilon is None:
        raise UsageError("metricdp ledger create needs --epsilon E, the budget that calls share")
    if os.path.lexists(args.ledger):
        raise InputError(f"{args.ledger} is there already: metricdp ledger show {args.ledger}")
    terms = {name: getattr(args, name) for name in _TERMS if getattr(args, name) is not None}
    ledger = Ledger(**terms, journal=args.ledger)
    streams.say(f"made {args.ledger}: epsilon {ledger.epsilon} to spend; anchor {ledger.anchor}")
    return 0


def _show(args: Namespace) -> int:
    history = read_history(args.ledger, anchor=args.anchor)
    text = streams.to_json(history.to_dict()) if args.json else _table(history.to_dict())
    streams.show_result(text)
    if history.torn and sys.stderr is not None:
        streams.say(
            f"{args.ledger} ends in an unfinished line, which paid for nothing: the next call cuts "
            f"it off"
        )
    return 0


def _table(told: dict[str, Any]) -> str:
    """Title, history and verdict as lines of text."""
    about = "any data set" if told["dataset"] is None else f"data set {told['dataset']}"
    who = told["protects"] or "whoever the first call says"
    policy = str(Policy(told["renews"], told["expires"]))
    return "\n".join(
        [
            f"budget epsilon {told['epsilon']}, delta {told['delta']}; {told['neighboring']} "
            f"neighbors; protects {who}; {about}",
            *([policy] if policy else []),
            "",
            *_entries(told["entries"]),
            "",
            *_sums(told),
            f"chain verified: {told['lines']} lines"
            + (", going on from the given anchor" if told["anchored"] else "")
            + f"; anchor {told['anchor']}\n",
        ]
    )


def _entries(entries: list[dict[str, Any]]) -> list[str]:
    """A line a charge, under titles; who made it, if that was said of any."""
    names = ["day", "epsilon", "delta", "left"]
    names += ["who"] * any("who" in entry for entry in entries) + ["purpose"]
    rows = [["", *names]]
    for number, entry in enumerate(entries, start=1):
        cells = [one_line(entry.get(name, "")) for name in names]
        rows.append([str(number), cells[0] or "unknown", *cells[1:]])
    widths = [max(map(len, column)) for column in zip(*rows)]
    lines = []
    for row in rows:
        right = [cell.rjust(width) for cell, width in zip(row[:-1], widths)]
        lines.append("  ".join([*right, row[-1]]).rstrip())
    return lines


def _sums(told: dict[str, Any]) -> list[str]:
    """What was spent and is left, by purpose too, if any was named."""
    when = " in the last charge's period" if told["renews"] else ""
    lines = [
        f"spent {told['spent']}, left {told['left']}{when}; delta: spent {told['spent_delta']}, "
        f"left {told['left_delta']}"
    ]
    if told["renews"]:
        lines.append(f"spent in all periods together: {told['ever_spent']}")
    if told["purposes"]:
        named = (f"{one_line(name)} {spent}" for name, spent in told["purposes"].items())
        lines.append(f"by purpose: {', '.join(named)}")
    return lines
