"""The ledger of a command: its options, checks before the graph is read, and charges."""

import os
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from metricdp.accounting import Cost, Ledger, Protection, exact, stated_budget
from metricdp.cli.parsing import UsageError, given
from metricdp.cli.streams import note
from metricdp.errors import BudgetError, JournalError
from metricdp.interruption import held
from metricdp.releases import Receipt

_OF_LEDGERS = ("dataset", "purpose", "who", "renews", "expires", "anchor")


def check_options(args: Namespace) -> None:
    """Refuse options of ledgers without one, and contribution bounds without users."""
    shared = getattr(args, "weighting", None) == "share"
    bounded = args.max_contributions is not None
    if bounded and args.user is None:
        bounds = "--max-contributions bounds the records of a user"
        raise UsageError(f"{bounds}: say whose a record is with --user COLUMN")
    if getattr(args, "caps", None) is not None and (args.user is None or bounded or shared):
        needs = "it needs --user COLUMN, and neither --max-contributions nor --weighting share"
        raise UsageError(f"--caps bounds the records of each user in every part: {needs}")
    if shared and (args.user is None or bounded):
        needs = "it needs --user COLUMN, and no --max-contributions"
        raise UsageError(f"--weighting share uses all records of each user: {needs}")
    check_of_ledgers(args)
    _take_over_bound(args)


def check_of_ledgers(args: Namespace) -> None:
    """Refuse options of ledgers without a ledger."""
    budgets, facts = given(args, ("epsilon_budget", "delta_budget")), given(args, _OF_LEDGERS)
    if args.ledger is None and budgets + facts:
        is_ = f"{budgets[0]} is the budget of" if budgets else f"{facts[0]} is about"
        raise UsageError(f"{is_} a ledger: give --ledger FILE too")


def _take_over_bound(args: Namespace) -> None:
    """Without options on it, take the contribution bound from the ledger."""
    bounds = [getattr(args, name, None) for name in ("max_contributions", "weighting", "caps")]
    if args.user is None or any(bound is not None for bound in bounds):
        return
    if args.ledger is None or stated_budget(args.ledger) is None:
        return
    known = Ledger.open(args.ledger, anchor=args.anchor, dataset=args.dataset).protects
    if known is not None and known.unit == "user" and known.weighting == "record":
        args.max_contributions = known.max_contributions


def check_budget(args: Namespace, price: Cost, *, question: str | None = None) -> bool:
    """Refuse a call that its ledger would refuse, before the graph is read and without making a
    file. Returns whether the journal exists, or already answers the `question`.
    """
    header = stated_budget(args.ledger)
    begun = header is not None or args.anchor is not None
    ledger = Ledger(**_settings(args, header), journal=args.ledger if begun else None)
    if question is None:
        ledger.check(protection(args))
    elif ledger.answer(question) is not None:
        return True
    quote = ledger.quote(price)
    if quote.epsilon > quote.left:
        raise BudgetError(exact(args.epsilon), ledger.spent, ledger.left)
    if not quote.fits:
        raise BudgetError(quote.delta, ledger.spent_delta, ledger.left_delta, "delta")
    return header is not None


def protection(args: Namespace) -> Protection:
    """The privacy unit and contribution bound of these options."""
    if args.user is None:
        return Protection("record", 1)
    if getattr(args, "caps", None) is not None:
        return Protection("user", args.caps[0] * args.caps[1])
    weighting: Any = getattr(args, "weighting", None) or "record"
    return Protection("user", args.max_contributions or 1, weighting)


def report_interruption() -> None:
    """Report that an interruption waits, by a system call, as Python may be writing to stderr."""
    with suppress(OSError):
        os.write(2, b"metricdp: interrupted: what was paid for is saved first (again: lose it)\n")


@contextmanager
def paying(args: Namespace) -> Iterator[Ledger]:
    """The ledger, whose journal is created if missing. An exception in the block gets a note on
    what was charged before it.
    """
    with held(report_interruption):  # an interruption must not leave half a journal
        ledger = Ledger(**_settings(args, stated_budget(args.ledger)), journal=args.ledger)
    before = ledger.spent
    try:
        yield ledger
    except BaseException as error:
        if ledger.spent > before:
            spent = f"{float(ledger.spent - before):g}"
            error.add_note(f"epsilon {spent} was charged before this and stays spent")
        raise


def say_expense(args: Namespace, receipt: Receipt | None, ledger: Ledger) -> None:
    """Report on stderr what the result cost, what the journal has left, and its anchor."""
    if receipt is None:
        return
    loss = f", delta {float(receipt.delta):g}" if receipt.delta else ""
    left = f"{float(ledger.left):g} of {float(ledger.epsilon):g} left, anchor {ledger.anchor}"
    who = f"per {receipt.unit} ({receipt.neighboring} neighbors)"
    journal = f"; ledger {args.ledger}: {left}" if args.ledger else ""
    note(f"spent epsilon {float(receipt.epsilon):g}{loss} {who}{journal}")


def _settings(args: Namespace, header: dict[str, str] | None) -> dict[str, Any]:
    """Arguments of `Ledger`; budget and relation are those of the journal, if it exists."""
    more: dict[str, Any] = {"dataset": args.dataset, "anchor": args.anchor}
    more |= {"purpose": args.purpose or "", "who": args.who or ""}
    more |= {"renews": args.renews, "expires": args.expires}
    if header is None:
        more |= {"epsilon": args.epsilon_budget or args.epsilon}
        more |= {"delta": args.delta_budget or args.delta or 0}
        return more | {"neighboring": args.neighboring or "add-remove"}
    has = f"the ledger {args.ledger} has"
    relation = header["neighboring"]
    if args.neighboring not in (None, relation):
        wrong = f"{relation} neighbors, not {args.neighboring}"
        raise JournalError(f"{has} {wrong}; leave --neighboring out")
    for name, what in (("epsilon", "budget"), ("delta", "delta")):
        asked = getattr(args, f"{name}_budget")
        if asked is not None and exact(asked) != exact(header[name]):
            wrong = f"a {what} of {header[name]}, not {asked}"
            raise JournalError(f"{has} {wrong}; leave --{name}-budget out")
    return header | more
