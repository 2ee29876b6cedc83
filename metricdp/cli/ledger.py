"""``metricdp ledger``: creates a ledger, or verifies and shows its journal."""

import os
from argparse import Namespace
from pathlib import Path
from typing import Any

from metricdp.accounting import Ledger
from metricdp.accounting.binding import Policy
from metricdp.cli import streams
from metricdp.cli.parsing import UsageError
from metricdp.cli.tables import grid
from metricdp.errors import InputError, one_line
from metricdp.running.history import History

_TERMS = ("epsilon", "delta", "neighboring", "dataset", "renews", "expires")
"""Options that are fixed when a ledger is created."""


def run(args: Namespace) -> None:
    """Create a ledger, or verify and print one."""
    making = args.action == "create"
    for name in ("anchor", "json") if making else _TERMS:
        if getattr(args, name):
            raise UsageError(f"--{name} is of no use with metricdp ledger {args.action}")
    (_create if making else _show)(args)


def _create(args: Namespace) -> None:
    """Create a ledger; an existing file is refused."""
    if args.epsilon is None:
        raise UsageError("metricdp ledger create needs --epsilon E, the budget that calls share")
    empty = Path(args.ledger).is_file() and Path(args.ledger).stat().st_size == 0
    if os.path.lexists(args.ledger) and not empty:  # a full disk leaves an empty file
        raise InputError(f"{args.ledger} is there already: metricdp ledger show {args.ledger}")
    terms = {name: getattr(args, name) for name in _TERMS if getattr(args, name) is not None}
    ledger = Ledger(**terms, journal=args.ledger)
    streams.say(f"made {args.ledger}: epsilon {ledger.epsilon} to spend; anchor {ledger.anchor}")


def _show(args: Namespace) -> None:
    history = History(args.ledger, anchor=args.anchor)
    facts = history.to_dict()
    streams.show_result(streams.to_json(facts) if args.json else _table(facts))
    if history.torn:
        torn = f"{args.ledger} ends in an unfinished line, which paid for nothing"
        streams.say(f"{torn}: the next call cuts it off")


def _table(facts: dict[str, Any]) -> str:
    """Terms, charges and totals of a ledger as text."""
    about = "any data set" if facts["dataset"] is None else f"data set {facts['dataset']}"
    who = facts["protects"] or "whoever the first call says"
    relation = f"{facts['neighboring']} neighbors"
    budget = f"budget epsilon {facts['epsilon']}, delta {facts['delta']}"
    lines = [f"{budget}; {relation}; protects {who}; {about}"]
    lines += filter(None, [str(Policy(facts["renews"], facts["expires"]))])
    lines += ["", _entries(facts["entries"]), ""]
    when = " in the last charge's period" if facts["renews"] else ""
    delta = f"delta: spent {facts['spent_delta']}, left {facts['left_delta']}"
    lines.append(f"spent {facts['spent']}, left {facts['left']}{when}; {delta}")
    if facts["renews"]:
        lines.append(f"spent in all periods together: {facts['ever_spent']}")
    if facts["purposes"]:
        named = (f"{one_line(name)} {spent}" for name, spent in facts["purposes"].items())
        lines.append(f"by purpose: {', '.join(named)}")
    anchored = ", going on from the given anchor" if facts["anchored"] else ""
    lines.append(f"chain verified: {facts['lines']} lines{anchored}; anchor {facts['anchor']}\n")
    return "\n".join(lines)


def _entries(entries: list[dict[str, Any]]) -> str:
    """A table with one line for each charge; the column `who` only if any charge has it."""
    names = ["day", "epsilon", "delta", "left"]
    names += ["who"] * any("who" in entry for entry in entries) + ["purpose"]
    columns = {"": [str(number) for number in range(1, len(entries) + 1)]}
    columns |= {name: [one_line(entry.get(name, "")) for entry in entries] for name in names}
    columns["day"] = [day or "unknown" for day in columns["day"]]
    return grid(columns, last_left=True)
