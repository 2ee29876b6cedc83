"""``metricdp federated``: a release by several holders, with messages in files."""

from __future__ import annotations

from argparse import Namespace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metricdp.atomic import write_whole
from metricdp.cli import budget, inputs, parsing, streams, tables
from metricdp.cli.parsing import UsageError
from metricdp.cli.streams import note

if TYPE_CHECKING:
    from metricdp.federated import Coordinator


def run_join(args: Namespace) -> None:
    """Make a key, and write its card."""
    from metricdp.federated.holder import HolderFile
    from metricdp.federated.messages import signed_card

    streams.check_files(args)
    keys = HolderFile(Path(args.key)).keys(args.name)
    _wrote(args, signed_card(keys), {"holder": keys.card.name, "key": _short(keys.card)})


def run_invite(args: Namespace) -> None:
    """Begin a study, or repeat the current round; write the invitation."""
    from metricdp.federated import Coordinator

    new: tuple[str, ...] = ("holder", "epsilon", "delta", "method", "colluding", "records_hint")
    new += ("max_contributions", "seed")
    given = parsing.given(args, new)
    old = Path(args.study).exists()
    if old and given:
        raise UsageError(f"{args.study} exists already: {given[0]} is for a new study")
    if not old and (args.again or args.without is not None):
        raise UsageError(f"{args.study}: there is no such study")
    if not old and (not args.holder or args.epsilon is None):
        raise UsageError("a new study needs --epsilon E, and --holder CARD for each holder")
    if args.without is not None and not args.again:
        raise UsageError("--without is for --again")
    cards = [Path(path).read_bytes() for path in args.holder or ()]
    streams.check_files(args)
    metric = inputs.read_universe(args)
    if old:
        coordinator = Coordinator.open(args.study, metric)
        if args.again:
            coordinator.again(without=args.without or ())
    else:
        options = {name: getattr(args, name) for name in new[1:]}
        asked = {name: value for name, value in options.items() if value is not None}
        asked["unit"] = "record" if args.max_contributions is None else "user"
        coordinator = Coordinator(metric, cards, **asked)
    coordinator.save(args.study)
    _wrote(args, coordinator.invite(), _progress(coordinator))


def run_answer(args: Namespace) -> None:
    """Check, charge, count, write the answer."""
    from metricdp.federated import Holder
    from metricdp.federated.messages import Invitation

    parsing.check_columns(args)
    budget.check_options(args)
    message = Path(args.invitation).read_bytes()
    asked = Invitation.parsed(message)
    users = asked.agreement.get("unit") == "user"
    parsing.check_unit(args, users, "study")
    if not Path(args.key).exists():
        raise UsageError(f"{args.key}: there is no such key: metricdp federated join makes one")
    streams.check_files(args)
    peers = None if args.peer is None else [Path(path).read_bytes() for path in args.peer]
    metric = inputs.read_universe(args)
    args.max_contributions = asked.agreement.get("max_contributions") if users else None
    demand = inputs.read_demand(args, metric)
    holder = Holder(demand, args.key, peers=peers)
    holder.check(message)  # before a ledger is made
    if args.ledger is not None:
        args.epsilon, args.delta = (asked.agreement[name] for name in ("epsilon", "delta"))
        with budget.paying(args) as ledger:
            answer = Holder(demand, args.key, ledger=ledger, peers=peers).answer(message)
        note(f"ledger {args.ledger}: {float(ledger.left):g} left, anchor {ledger.anchor}")
    else:
        answer = holder.answer(message)
    who = {card.name: _short(card) for card in asked.holders}
    facts = {"study": asked.study, "round": asked.round, "attempt": asked.attempt, "holders": who}
    _wrote(args, answer, facts)


def run_collect(args: Namespace) -> None:
    """Add up the answers; write the next invitation, or the release."""
    from metricdp.federated import Coordinator

    streams.check_files(args)
    answers = [Path(path).read_bytes() for path in args.answer]
    metric = inputs.read_universe(args)
    coordinator = Coordinator.open(args.study, metric)
    release = coordinator.release or coordinator.collect(answers)
    coordinator.save(args.study)
    if release is None:
        _wrote(args, coordinator.invite(), _progress(coordinator))
        return
    release.save(args.save_release)
    note(f"wrote {args.save_release}: all rounds are over")
    tables.show(args, {"release": args.save_release, "receipt": release.receipt.to_dict()})


def _progress(coordinator: Coordinator) -> dict[str, Any]:
    return {"round": coordinator.round, "holders": coordinator.names}


def _short(card: Any) -> str:
    """A short fingerprint of a card, which people can compare by telephone."""
    import hashlib

    text = hashlib.sha256(card.sign + card.seal).hexdigest()[:20]
    return " ".join(text[i : i + 4] for i in range(0, 20, 4))


def _wrote(args: Namespace, message: bytes, facts: dict[str, Any]) -> None:
    write_whole(Path(args.output), message)
    tables.show(args, {**facts, "output": args.output, "bytes": len(message)})
