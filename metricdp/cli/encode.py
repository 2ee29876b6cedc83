"""``metricdp encode``: public parameters for the local model, and users' messages."""

from __future__ import annotations

import base64
import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from typing import Any

from metricdp.cli import inputs, parsing, streams
from metricdp.cli.parsing import UsageError
from metricdp.cli.streams import say
from metricdp.errors import InputError

_EPILOG = """\
examples:
  once, by whoever asks:
  metricdp encode roads.csv --epsilon 1 --users 100000 -k 10 \\
      --write-parameters public.json
  on every device:
  echo 4711 | metricdp encode --parameters public.json
  the answer:
  metricdp decode roads.csv --parameters public.json -k 10 < messages.jsonl

Each line read is an item as JSON: a vertex id, or a list of coordinates; or an object with it
under "item". Each line written is {"message": BASE64}. Messages are randomized on this machine
with the operating system's coins, and spend the parameters' epsilon each; nothing else about an
item leaves it. If one item is not in the universe, nothing is written."""


def register(subparsers: parsing.Subparsers) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "encode",
        usage="metricdp encode GRAPH --epsilon E --write-parameters FILE [option ...]\n"
        "       metricdp encode --parameters FILE [--items FILE] [--most-epsilon E]",
        help="one round without a trusted curator: parameters, and a randomized message for "
        "every item",
        description="With a graph: choose the public parameters of a collection and write "
        "them to a file. With such a\n"
        "file: encode items, one a line, into messages that are differentially private each by "
        "itself.",
        epilog=_EPILOG,
    )
    parsing.add_graph_options(parser, required=False)
    group = parser.add_argument_group("the public parameters")
    group.add_argument(
        "--epsilon",
        metavar="E",
        type=parsing.budget,
        help="of each message; with --shuffle of all of them, once shuffled",
    )
    guess = "public guess of the number of users (default: %(default)s)"
    group.add_argument(
        "--users", metavar="N", type=parsing.whole_number(1), default=100_000, help=guess
    )
    group.add_argument(
        "-k",
        type=parsing.whole_number(1),
        default=10,
        metavar="K",
        help="public guess of k (default: %(default)s)",
    )
    group.add_argument(
        "--shuffle",
        action="store_true",
        help="a trusted shuffler mixes the messages: each may say more",
    )
    group.add_argument(
        "--delta",
        metavar="D",
        type=parsing.delta,
        help="with --shuffle: delta of the guarantee (default: 1e-6)",
    )
    group.add_argument(
        "--seed",
        metavar="S",
        type=parsing.whole_number(0),
        default=0,
        help="public coins (default: %(default)s)",
    )
    group.add_argument("--write-parameters", metavar="FILE", help="where to write them, as JSON")
    group = parser.add_argument_group("the items (private)")
    group.add_argument("--parameters", metavar="FILE", help="public parameters to encode by")
    group.add_argument("--items", metavar="FILE", help="JSON lines (default: stdin)")
    group.add_argument(
        "--most-epsilon",
        metavar="E",
        type=parsing.budget,
        help="refuse parameters that would spend more a message",
    )
    parsing.add_quiet(parser)
    parser.set_defaults(run=run, demand="items: tell nothing of them")


def run(args: Namespace) -> int:
    """Write parameters, or messages."""
    if (args.graph is None) == (args.parameters is None):
        raise UsageError(
            "give either GRAPH, to choose public parameters, or --parameters FILE, to encode items"
        )
    return _choose(args) if args.parameters is None else _encode(args)


def _choose(args: Namespace) -> int:
    if args.epsilon is None or args.write_parameters is None:
        raise UsageError("public parameters need --epsilon E and --write-parameters FILE")
    if args.delta is not None and not args.shuffle:
        raise UsageError(
            "--delta is for --shuffle: without a shuffler messages are private by epsilon alone"
        )
    streams.check_targets(
        {"--write-parameters": args.write_parameters}, {"GRAPH": args.graph, "--nodes": args.nodes}
    )
    metric = inputs.read_metric(args)
    from metricdp.local import public_parameters

    trust = "one_round_shuffle" if args.shuffle else "one_round_local"
    found = public_parameters(
        metric,
        args.epsilon,
        users=args.users,
        k=args.k,
        trust=trust,
        delta=args.delta,
        seed=args.seed,
    )
    streams.write_text(args.write_parameters, found.to_json() + "\n")
    figures = {
        "output": args.write_parameters,
        "trust": trust,
        "message_epsilon": str(found.epsilon),
        "message_bytes": found.message_bytes,
    }
    streams.show_result(streams.to_json(figures | {"parts": found.items["parts"]}))
    return 0


def _encode(args: Namespace) -> int:
    from metricdp.local.encoder import Encoder
    from metricdp.local.parameters import PublicParameters

    streams.check_stdout([])
    encoder = Encoder(PublicParameters.load(args.parameters), most_epsilon=args.most_epsilon)
    messages = [encoder.encode(item) for item in _items(args.items)]
    lines = "".join(
        f'{{"message": "{base64.b64encode(message).decode()}"}}\n' for message in messages
    )
    streams.show_result(lines)
    if not args.quiet:
        say(
            f"encoded items into messages of {encoder.parameters.message_bytes} bytes, epsilon "
            f"{encoder.epsilon} each"
        )
    return 0


def _items(path: str | None) -> Iterator[Any]:
    """Items, one a line; messages about them quote no line."""
    if path is None:
        yield from map(_item, sys.stdin)
        return
    with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123  # a path of the user's, as it is
        yield from map(_item, file)


def _item(line: str) -> Any:
    plain: Any = None
    try:
        plain = json.loads(line)
        if isinstance(plain, dict):
            plain = plain["item"]
    except (ValueError, KeyError, RecursionError):
        plain = None
    if plain is None:
        raise InputError(
            'every line must be an item as JSON, or an object with the item under "item"'
        )
    return plain
