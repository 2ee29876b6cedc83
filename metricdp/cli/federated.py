"""``metricdp federated``: several holders, one release, messages as files."""

from __future__ import annotations

import os
from argparse import Namespace
from pathlib import Path
from typing import Any

from metricdp.cli import budget, inputs, parsing, streams, tables
from metricdp.cli.parsing import UsageError
from metricdp.cli.streams import say

_EPILOG = """\
examples:

Each holder makes a key and sends its card to the coordinator, and to the other holders:
  metricdp federated join north.key --name "North hospital" --output north.card

The coordinator, who may be one of them or anybody, invites all of them:
  metricdp federated invite study roads.csv --holder north.card --holder south.card \\
      --epsilon 1 --colluding 1 --output 1.invitation

Each holder answers, from its own file, paid from its own ledger:
  metricdp federated answer 1.invitation roads.csv --key north.key --peer south.card \\
      --demand patients.csv --ledger north.ledger --output north-1.answer

The coordinator adds up; what comes out is the next invitation, or in the end the release:
  metricdp federated collect study roads.csv north-1.answer south-1.answer \\
      --output 2.invitation --save-release places.release
  metricdp cluster roads.csv --from-release places.release -k 20

There are two to four rounds. An answer that was lost can be made again, the same bytes, for
nothing, and so can an invitation (invite STUDY GRAPH). Where the key's file was lost too, or a call
was killed between payment and answer, invite --again asks for the round once more, and each ledger
pays for that once more. Key, study and ledger must not be lost, and the first two are secret;
cards, invitations, answers and releases are neither."""
_OF_TABLES = {"unreachable": None, "map": None, "tree": None}


def register(subparsers: parsing.Subparsers) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "federated",
        usage="metricdp federated join|invite|answer|collect [argument ...] [option ...]",
        help="several holders, one release, nobody who sees it all",
        description="Let several holders make one private release, without pooling their records. "
        "Nobody sees one holder's counts; each holder's ledger pays for the release.",
        epilog=_EPILOG,
    )
    named = {"title": "actions", "metavar": "ACTION", "prog": "metricdp federated"}
    actions = parser.add_subparsers(required=True, **named)
    _register_join(actions)
    _register_invite(actions)
    _register_answer(actions)
    _register_collect(actions)


def _common(parser: Any, run: Any, output: str, *, required: bool = True) -> None:
    parser.add_argument("--output", metavar="FILE", required=required, help=output)
    tables.add_json(parser)
    parsing.add_quiet(parser)
    parser.set_defaults(run=run, **_OF_TABLES)


def _register_join(actions: Any) -> None:
    parser = actions.add_parser("join", help="a holder: make a key, and the card that others get")
    parser.add_argument("key", metavar="KEY", help="file of the secret key; made if there is none")
    name = "by which others know this holder (default: the file's)"
    parser.add_argument("--name", metavar="TEXT", help=name)
    _common(parser, run_join, "the card: name and public keys, for everybody who takes part")
    parser.set_defaults(demand=None)


def _register_invite(actions: Any) -> None:
    parser = actions.add_parser("invite", help="the coordinator: begin a study, or ask once more")
    parser.add_argument("study", metavar="STUDY", help="file of the coordinator's state")
    parsing.add_graph_options(parser)
    group = parser.add_argument_group("a new study (public)")
    card = "card of a holder; once for each, two or more"
    group.add_argument("--holder", metavar="CARD", action="append", help=card)
    spent = "privacy budget of the release, of each holder's ledger"
    group.add_argument("--epsilon", metavar="E", type=parsing.budget, help=spent)
    loss = "for Gaussian noise in place of Laplace (default: 0)"
    group.add_argument("--delta", metavar="D", type=parsing.delta, help=loss)
    how = "partition (the default), or hst"
    group.add_argument("--method", metavar="NAME", choices=("partition", "hst"), help=how)
    many = "how many holders may work together against the others (default: 1)"
    group.add_argument("--colluding", metavar="C", type=parsing.whole_number(0), help=many)
    kept = "protect users, of whom each holder keeps up to M records (default: protect records)"
    most = parsing.whole_number(1, 2**31 - 1)
    group.add_argument("--max-contributions", metavar="M", type=most, help=kept)
    hint = "public guess of the number of records of all holders; saves a round"
    group.add_argument("--records-hint", metavar="N", type=parsing.positive_number, help=hint)
    coins = "public coins (default: 0)"
    group.add_argument("--seed", metavar="S", type=parsing.whole_number(0), help=coins)
    group = parser.add_argument_group("a study that is under way")
    once = "ask for this round once more: each ledger that has paid for it pays once more"
    group.add_argument("--again", action="store_true", help=once)
    gone = "of the first round, without a holder that is gone: its name"
    group.add_argument("--without", metavar="NAME", action="append", help=gone)
    _common(parser, run_invite, "the invitation, the same for all holders")
    parser.set_defaults(demand=None)


def _register_answer(actions: Any) -> None:
    parser = actions.add_parser("answer", help="a holder: count, add noise and a mask, pay")
    parser.add_argument("invitation", metavar="INVITATION", help="file from the coordinator")
    parsing.add_graph_options(parser)
    demand = parsing.add_demand_options(parser, required=True)
    whose = "column that says whose record it is, where the study protects users"
    demand.add_argument("--user", metavar="COLUMN", type=parsing.column, help=whose)
    group = parser.add_argument_group("this holder")
    secret = "file of the secret key, as join made it"
    group.add_argument("--key", metavar="KEY", required=True, help=secret)
    card = "card of another holder, from itself; once for each: refuse a study with others"
    group.add_argument("--peer", metavar="CARD", action="append", help=card)
    price = parser.add_argument_group("the price")
    budget.add_ledger_options(
        price,
        total="budget of a new ledger (default: the study's epsilon)",
        loss="delta of a new ledger (default: the study's)",
    )
    _common(parser, run_answer, "the answer, for the coordinator")
    parser.set_defaults(neighboring=None, max_contributions=None)


def _register_collect(actions: Any) -> None:
    parser = actions.add_parser("collect", help="the coordinator: add up a round's answers")
    parser.add_argument("study", metavar="STUDY", help="file of the coordinator's state")
    parsing.add_graph_options(parser)
    parser.add_argument("answers", metavar="ANSWER", nargs="+", help="files from all the holders")
    kept = "the release, after the last round: for cluster and synthesize --from-release"
    parser.add_argument("--save-release", metavar="FILE", required=True, help=kept)
    _common(parser, run_collect, "the next invitation, before it")
    parser.set_defaults(demand=None)


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
    from metricdp.atomic import whole_file

    with whole_file(Path(os.path.realpath(args.output))) as file:
        file.write(message)
    return _show(args, {**facts, "output": args.output, "bytes": len(message)})


def _show(args: Namespace, value: dict[str, Any]) -> int:
    tables.show(args, value)
    return 0
