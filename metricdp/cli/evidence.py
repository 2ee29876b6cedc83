"""``metricdp evidence``: what to sign, from the receipt of a result."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from metricdp.cli import parsing, streams
from metricdp.errors import InputError

_EPILOG = """\
examples:
  metricdp evidence result.json --registry record.yaml --html statement.html
  metricdp evidence result.json --answers answers.json --registry record.yaml
  python -m metricdp.audit --json > audit.json
  metricdp evidence result.json --audit audit.json

RESULT is what `metricdp cluster --output`, `evaluate --epsilon`, `explore` or `decode` wrote.
Stdout gets JSON: the record for the public registry of deployments, the checklist after NIST
SP 800-226, the blanks that only a person can fill, and what the receipt should hold and does not.
--html is a statement of one sheet for lay readers, with the checklist behind it. Nothing private
is read."""


def register(subparsers: parsing.Subparsers) -> None:
    """Add the command to the parser."""
    parser = subparsers.add_parser(
        "evidence",
        usage="metricdp evidence RESULT [--registry FILE] [--html FILE] [option ...]",
        help="what to sign: registry record, statement and checklist of a result",
        description="Tell from the receipt of a result what was promised to whom and how: for the "
        "registry of deployments,\nfor lay readers and for a privacy officer.",
        epilog=_EPILOG,
    )
    parser.add_argument("result", metavar="RESULT", help="JSON with a receipt")
    group = parser.add_argument_group("what is written")
    entry = "record for the registry of deployments: .yaml (extra: evidence) or .json"
    group.add_argument("--registry", metavar="FILE", help=entry)
    group.add_argument("--html", metavar="FILE", help="statement of one sheet, and the checklist")
    more = parser.add_argument_group("what only you know")
    told = "JSON object: texts by the names of the blanks that stdout lists"
    more.add_argument("--answers", metavar="FILE", help=told)
    audit = "what `python -m metricdp.audit --json` wrote"
    more.add_argument("--audit", metavar="FILE", help=audit)
    report = "what `metricdp evaluate --epsilon` told of these centers: the error, with intervals"
    more.add_argument("--evaluation", metavar="FILE", help=report)
    parsing.add_quiet(parser)
    parser.set_defaults(run=run)


def run(args: Namespace) -> int:
    """Read, tell, write."""
    from metricdp.report.evidence.front import evidence

    given = {"RESULT": args.result, "--answers": args.answers, "--audit": args.audit}
    given["--evaluation"] = args.evaluation
    streams.check_targets({"--registry": args.registry, "--html": args.html}, given)
    _check_endings(args)
    more = {name: _optional(getattr(args, name)) for name in ("answers", "audit", "evaluation")}
    found = evidence(_json(args.result), **more)
    files = {path: found.text_for(path) for path in (args.registry, args.html) if path is not None}
    streams.show_result(streams.to_json(found.to_dict()))
    for path, text in files.items():
        streams.write_text(path, text)
    if not args.quiet:
        _say(found, list(files))
    return 0


def _check_endings(args: Namespace) -> None:
    for option, endings in (("registry", (".yaml", ".yml", ".json")), ("html", (".html", ".htm"))):
        path = getattr(args, option)
        if path is not None and not path.lower().endswith(endings):
            raise InputError(f"--{option} {path}: must end in {', '.join(endings)}")


def _say(found: Any, written: list[str]) -> None:
    if written:
        streams.say(f"wrote {', '.join(written)}")
    if found.missing:
        streams.say(
            f"warning: the receipt does not say: {'; '.join(found.missing)}. It is of another "
            f"version, or put together by hand"
        )
    if found.blanks:
        streams.say(f"for you to answer: {', '.join(found.blanks)}")


def _optional(path: str | None) -> Any:
    return None if path is None else _json(path)


def _json(path: str) -> Any:
    parsed = streams.read_json(path)
    if not isinstance(parsed, dict):
        raise InputError(f"{path}: must hold a JSON object")
    return parsed
