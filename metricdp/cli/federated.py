"""``metricdp federated``: several holders, one release, messages as files."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path
from typing import Any

from metricdp.atomic import whole_file
from metricdp.cli import budget, inputs, parsing, streams, tables
from metricdp.cli.parsing import UsageError
from metricdp.cli.streams import say


def run_join(args: Namespace) -> int:
    """A key, and its card."""
    from metricdp.federated.holder import HolderFile
    from metricdp.federated.messages import signed_card

    streams.check_targets({"KEY": args.key, "--output": args.output}, {})
    keys = HolderFile(Path(args.key)).keys(args.name)
    return _wrote(args, signed_card(keys), {"holder": keys.card.name, "key": _short(keys.card)})


def run_invite(args: Namespace) -> int:
    """A new study, or the same round once more."""
    from metricdp.federated import Coordinator

    new: tuple[str, ...] = ("holder", "epsilon", "delta", "method", "colluding")
    new += ("max_contributions", "records_hint", "seed")
    given = [name for name in new if getattr(args, name) is not None]
    old = Path(args.study).exists()
    if old and given:
        option = given[0].replace("_", "-")
        raise UsageError(f"{args.study} exists already: --{option} is for a new study")
    if not old and (args.again or args.without is not None):
        raise UsageError(f"{args.study}: there is no such study")
    if not old and (not args.holder or args.epsilon is None):
        raise UsageError("a new study needs --epsilon E, and --holder CARD for each holder")
    if args.without is not None and not args.again:
        raise UsageError("--without is for --again")
    cards = [Path(path).read_bytes() for path in args.holder or ()]
    _check_targets(args, STATE=args.study)
    metric = inputs.read_universe(args)
    if old:
        coordinator = Coordinator.open(args.study, metric)
        if args.again:
            coordinator.again(without=args.without or ())
    else:
        coordinator = Coordinator(
            metric,
            cards,
            epsilon=args.epsilon,
            delta=args.delta or 0,
            method=args.method or "partition",
            colluding=1 if args.colluding is None else args.colluding,
            unit="record" if args.max_contributions is None else "user",
            max_contributions=args.max_contributions or 1,
            records_hint=args.records_hint,
            seed=args.seed or 0,
        )
    coordinator.save(args.study)
    return _wrote(args, coordinator.invite(), _told(coordinator))


def run_answer(args: Namespace) -> int:
    """Check, pay, count, answer."""
    from metricdp.federated import Holder
    from metricdp.federated.messages import Invitation

    parsing.check_columns(args)
    budget.check_options(args)
    message = Path(args.invitation).read_bytes()
    asked = Invitation.opened(message)
    users = asked.agreement.get("unit") == "user"
    if users != (args.user is not None):
        raise UsageError(
            "this study protects users: say whose record each is with --user COLUMN"
            if users
            else "this study protects records: leave --user out"
        )
    if not Path(args.key).exists():
        raise UsageError(f"{args.key}: there is no such key: metricdp federated join makes one")
    _check_targets(args, **{"KEY": args.key, "--ledger": args.ledger})
    peers = None if args.peer is None else [Path(path).read_bytes() for path in args.peer]
    metric = inputs.read_universe(args)
    args.max_contributions = asked.agreement.get("max_contributions") if users else None
    demand = inputs.read_demand(args, metric)
    holder = Holder(demand, args.key, peers=peers)
    holder.check(message)  # a ledger is made for nothing that is refused
    if args.ledger is not None:
        args.epsilon, args.delta = (asked.agreement[name] for name in ("epsilon", "delta"))
        ledger = budget.open_ledger(args)
        with budget.noting_expense(ledger):
            answer = Holder(demand, args.key, ledger=ledger, peers=peers).answer(message)
        if not args.quiet:
            say(f"ledger {args.ledger}: {float(ledger.left):g} left, anchor {ledger.anchor}")
    else:
        answer = holder.answer(message)
    who = {card.name: _short(card) for card in asked.holders}
    facts = {"study": asked.study, "round": asked.round, "attempt": asked.attempt, "holders": who}
    return _wrote(args, answer, facts)


def run_collect(args: Namespace) -> int:
    """Add up; the next invitation, or the release."""
    from metricdp.federated import Coordinator

    _check_targets(args, **{"STATE": args.study, "--save-release": args.save_release})
    answers = [Path(path).read_bytes() for path in args.answers]
    metric = inputs.read_universe(args)
    coordinator = Coordinator.open(args.study, metric)
    release = coordinator.release or coordinator.collect(answers)
    coordinator.save(args.study)
    if release is None:
        return _wrote(args, coordinator.invite(), _told(coordinator))
    release.save(args.save_release)
    if not args.quiet:
        say(f"wrote {args.save_release}: all rounds are over")
    return _show(args, {"release": args.save_release, "receipt": release.receipt.to_dict()})


def _check_targets(args: Namespace, **targets: str | None) -> None:
    given = {"GRAPH": args.graph, "--nodes": args.nodes, "--demand": args.demand}
    given["INVITATION"] = getattr(args, "invitation", None)
    given |= {f"ANSWER {i}": path for i, path in enumerate(getattr(args, "answers", ()), 1)}
    for option in ("holder", "peer"):
        paths = getattr(args, option, None) or ()
        given |= {f"--{option} {i}": path for i, path in enumerate(paths, 1)}
    streams.check_targets({**targets, "--output": args.output}, given)


def _told(coordinator: Any) -> dict[str, Any]:
    return {"round": coordinator.round, "holders": coordinator.names}


def _short(card: Any) -> str:
    """What people can compare by telephone."""
    import hashlib

    text = hashlib.sha256(card.sign + card.seal).hexdigest()[:20]
    return " ".join(text[i : i + 4] for i in range(0, 20, 4))


def _wrote(args: Namespace, message: bytes, facts: dict[str, Any]) -> int:
    with whole_file(Path(os.path.realpath(args.output))) as file:
        file.write(message)
    return _show(args, {**facts, "output": args.output, "bytes": len(message)})


def _show(args: Namespace, value: dict[str, Any]) -> int:
    tables.show(args, value)
    return 0
