"""``metricdp encode``: public parameters for the local model, and users' messages."""

import base64
import json
import sys
from argparse import Namespace
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from metricdp.cli import inputs, streams
from metricdp.cli.parsing import UsageError, given
from metricdp.cli.streams import note
from metricdp.errors import InputError
from metricdp.local import public_parameters
from metricdp.local.encoder import Encoder
from metricdp.local.parameters import PublicParameters

_OF_PARAMETERS = ("epsilon", "users", "k", "shuffle", "delta", "seed", "write_parameters")
_OF_ITEMS = ("items", "most_epsilon")
"""Options of the two uses of the command."""


def run(args: Namespace) -> int:
    """Write parameters, or messages."""
    if (args.graph is None) == (args.parameters is None):
        either = "GRAPH, to choose public parameters, or --parameters FILE, to encode items"
        raise UsageError(f"give either {either}")
    choosing = args.parameters is None
    idle = given(args, _OF_ITEMS if choosing else _OF_PARAMETERS)
    if idle:
        about = "GRAPH makes" if choosing else "--parameters holds"
        raise UsageError(f"{idle[0]} is of no use here: {about} the public parameters")
    return _choose(args) if choosing else _encode(args)


def _choose(args: Namespace) -> int:
    if args.epsilon is None or args.write_parameters is None:
        raise UsageError("public parameters need --epsilon E and --write-parameters FILE")
    if args.delta is not None and not args.shuffle:
        without = "without a shuffler messages are private by epsilon alone"
        raise UsageError(f"--delta is for --shuffle: {without}")
    streams.check_files(args)
    metric = inputs.read_metric(args)
    trust = "one_round_shuffle" if args.shuffle else "one_round_local"
    asked = {name: getattr(args, name) for name in ("users", "k", "delta", "seed")}
    asked = {name: value for name, value in asked.items() if value is not None}
    found = public_parameters(metric, args.epsilon, trust=trust, **asked)
    streams.write_text(args.write_parameters, found.to_json() + "\n")
    facts = {"output": args.write_parameters, "trust": trust, "message_epsilon": str(found.epsilon)}
    facts |= {"message_bytes": found.message_bytes, "parts": found.items["parts"]}
    streams.show_result(streams.to_json(facts))
    return 0


def _encode(args: Namespace) -> int:
    streams.check_files(Namespace(**vars(args), output=None))
    encoder = Encoder(PublicParameters.load(args.parameters), most_epsilon=args.most_epsilon)
    messages = [base64.b64encode(encoder.encode(item)).decode() for item in _items(args.items)]
    streams.show_result("".join(f'{{"message": "{message}"}}\n' for message in messages))
    size = encoder.parameters.message_bytes
    note(f"encoded items into messages of {size} bytes, epsilon {encoder.epsilon} each")
    return 0


def _items(path: str | None) -> Iterator[Any]:
    """Items, one on each line; error messages quote no line."""
    if path is None:
        yield from map(_item, sys.stdin)
        return
    with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123  # a path of the user's, as it is
        yield from map(_item, file)


def _item(line: str) -> Any:
    plain: Any = None
    with suppress(ValueError, KeyError, RecursionError):
        plain = json.loads(line)
        plain = plain["item"] if isinstance(plain, dict) else plain
        if plain is not None:
            return plain
    raise InputError('every line must be an item as JSON, or an object with the item under "item"')
