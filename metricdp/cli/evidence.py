"""``metricdp evidence``: documents for a publication from the receipt of a result."""

from argparse import Namespace
from typing import Any

from metricdp.cli import streams
from metricdp.cli.streams import note
from metricdp.errors import InputError
from metricdp.report.evidence.front import evidence


def run(args: Namespace) -> None:
    """Read, report, write."""
    streams.check_files(args)
    endings = (".yaml", ".yml", ".json")
    if args.registry is not None and not args.registry.lower().endswith(endings):
        raise InputError(f"--registry {args.registry}: must end in {', '.join(endings)}")
    asked = ((name, getattr(args, name)) for name in ("answers", "audit", "evaluation"))
    more = {name: _json(path) for name, path in asked if path is not None}
    result = _json(args.result, "; a result is what `metricdp cluster --output FILE.json` wrote")
    found = evidence(result, **more)
    files = {path: found.text_for(path) for path in (args.registry, args.html) if path is not None}
    streams.show_result(streams.to_json(found.to_dict()))
    for path, text in files.items():
        streams.write_text(path, text)
    if files:
        note(f"wrote {', '.join(files)}")
    if found.missing:
        missing = f"the receipt does not say: {'; '.join(found.missing)}"
        note(f"warning: {missing}. It is of another version, or put together by hand")
    if found.blanks:
        note(f"for you to answer: {', '.join(found.blanks)}")


def _json(path: str, hint: str = "") -> Any:
    parsed = streams.read_json(path, hint)
    if not isinstance(parsed, dict):
        raise InputError(f"{path}: must hold a JSON object")
    return parsed
