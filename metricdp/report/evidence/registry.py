"""A record for the public registry of deployments, with named blanks for persons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from metricdp.errors import MissingExtraError
from metricdp.report.assets import words
from metricdp.report.evidence.facts import Facts
from metricdp.report.evidence.named import filler

Answers = Mapping[str, str]


def record(facts: Facts, answers: Answers) -> dict[str, Any]:
    """The record of a receipt, as the registry's schema orders it: ``[record]`` of the words.

    ``data_curator_type`` has no room for a blank: where nobody answered, the first choice stands
    there, and the record says at once that it is no answer (`placeholders`).
    """
    content = filler(facts, answers).fill(words()["record"])
    loss = content["privacy_loss"]
    if (units := loss.get("number_of_privacy_units")) is not None:
        loss["number_of_privacy_units"] = int(str(units).replace(",", ""))
    return {"url_slug": _slug(answers.get("name", "unnamed"), facts), "deployment": content}


def placeholders(answers: Answers) -> list[str]:
    """Names whose place in the record holds no answer though it does not look like a blank."""
    return [name for name in ("curator_type",) if name not in answers]


def _slug(name: str, facts: Facts) -> str:
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in name.lower()).split()
    return "-".join([*words, str(facts.made.get("day", ""))[:4]]).strip("-") or "unnamed"


def to_yaml(facts: Mapping[str, Any], notes: Mapping[str, str]) -> str:
    """Readable YAML: texts of several lines as blocks, and a comment behind keys that are noted."""
    try:
        import yaml
    except ImportError:
        raise MissingExtraError("a record in YAML (JSON needs none)", "evidence") from None

    class Dumper(yaml.SafeDumper):
        """Texts of several lines as blocks."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        style = "|" if "\n" in value else None
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style=style)

    Dumper.add_representer(str, text)
    plain = yaml.dump(facts, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100)
    lines = plain.splitlines()
    for i, line in enumerate(lines):
        key = line.strip().removeprefix("- ").split(":")[0]
        if key in notes:
            lines[i] = f"{line}  # {notes[key]}"
    return "\n".join(lines) + "\n"
