"""``metricdp evidence``: what to sign, from the receipt of a result."""

from __future__ import annotations

from argparse import Namespace
from typing import Any

from metricdp.cli import streams
from metricdp.errors import InputError
from metricdp.report.evidence.front import evidence


def run(args: Namespace) -> None:
    """Read, tell, write."""
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
