"""`evidence`: documents from a receipt for the person who signs for a publication."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from metricdp.arguments import file_path
from metricdp.atomic import write_whole
from metricdp.errors import InputError, need
from metricdp.report.assets import words
from metricdp.report.evidence.facts import Facts, is_evaluation
from metricdp.report.evidence.named import CHOICES, QUESTIONS, checked_answers, filler
from metricdp.report.evidence.statement import Point, checklist, page


@dataclass(frozen=True)
class Evidence:
    """Documents on a publication: the facts of its receipt, and the answers of a person.

    Attributes
    ----------
    facts : Facts
        The facts of the receipt.
    answers : mapping of str to str
        The answers of a person, by name of the question.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
    >>> facts = mdp.evidence(mdp.k_median(metric, demand, k=2, epsilon=1))
    >>> len(facts.blanks) > 3, facts.missing
    (True, [])
    """

    facts: Facts
    answers: Mapping[str, str]

    @property
    def blanks(self) -> dict[str, str]:
        """Open questions, which only a person can answer, by name."""
        return {name: text for name, text in QUESTIONS.items() if name not in self.answers}

    @property
    def missing(self) -> list[str]:
        """Facts that the receipt lacks, as those of old versions do."""
        return self.facts.missing

    def registry(self) -> dict[str, Any]:
        """A record in the schema of the public registry of deployments (``[record]`` of the words).

        The schema allows no blank in ``data_curator_type``: if it was not answered, the first
        choice is entered, and the record says that it is not an answer.
        """
        facts, answers = self.facts, self.answers
        content = filler(facts, answers).fill(words()["record"])
        loss = content["privacy_loss"]
        if (units := loss.get("number_of_privacy_units")) is not None:
            loss["number_of_privacy_units"] = int(str(units).replace(",", ""))
        return {"url_slug": _slug(answers.get("name", "unnamed"), facts), "deployment": content}

    def yaml(self) -> str:
        """`registry` as YAML."""
        notes = {}
        if "curator_type" not in self.answers:  # the schema needs a choice, answered or not
            choices = ", ".join(CHOICES["curator_type"])
            notes["data_curator_type"] = f"FOR YOU TO ANSWER: one of {choices}"
        return to_yaml(self.registry(), notes)

    def checklist(self) -> list[Point]:
        """The points of NIST SP 800-226, each answered or marked as open."""
        return checklist(self.facts, self.answers)

    def html(self) -> str:
        """The statement for lay readers, one printed sheet, followed by the checklist."""
        return page(self.facts, self.answers)

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form: record, checklist, blanks and missing facts."""
        return {
            "registry": self.registry(),
            "checklist": [point._asdict() for point in self.checklist()],
            "blanks": self.blanks,
            "missing": self.missing,
        }

    def save(self, path: str | PathLike[str]) -> Path:
        """Write the page (``.html``) or the record (``.yaml``, ``.json``) atomically; return the
        path.
        """
        return write_whole(file_path(path, "path"), self.text_for(path))

    def text_for(self, path: str | PathLike[str]) -> str:
        """The text that `save` writes to this path; errors as there."""
        ending = file_path(path, "path").suffix.lower()
        if ending in (".html", ".htm"):
            return self.html()
        if ending in (".yaml", ".yml"):
            return self.yaml()
        if ending == ".json":
            return json.dumps(self.registry(), indent=2, ensure_ascii=False) + "\n"
        raise InputError("evidence is written to .html, .yaml, .yml or .json")


def evidence(
    result: Any,
    *,
    answers: Mapping[str, str] | None = None,
    audit: Mapping[str, Any] | None = None,
    evaluation: Any = None,
) -> Evidence:
    """Documents for a publication: a record for the registry of deployments, statement, checklist.

    Parameters
    ----------
    result : Result, release, Evaluation, Exploration, LocalEstimate, Receipt, or their JSON form
        Anything with a receipt.
    answers : mapping of str to str, optional
        Answers to the questions of `Evidence.blanks`, by name.
    audit : mapping, optional
        Output of ``python -m metricdp.audit --json``.
    evaluation : Evaluation or its JSON form, optional
        A private evaluation of these centers (`metricdp.evaluate`).

    Raises
    ------
    InputError
        A missing or damaged receipt; an answer to an unknown question; another kind of audit or
        evaluation.

    Notes
    -----
    **Privacy.** Post-processing of a receipt, which is public.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> demand = mdp.PrivateDemand(metric, [1] * 500 + [7] * 400)
    >>> facts = mdp.evidence(mdp.k_median(metric, demand, k=2, epsilon="1/2"))
    >>> facts.missing, facts.registry()["deployment"]["privacy_loss"]["privacy_parameters"]
    ([], {'epsilon': 0.5})
    >>> "curator" in facts.blanks
    True
    """
    judges = is_evaluation(result) or hasattr(result, "p90")
    shown = result if evaluation is None and judges else evaluation
    shown = shown.to_dict() if hasattr(shown, "to_dict") else shown
    found = Evidence(Facts.of(_receipt(result), audit, shown), checked_answers(answers))
    if not _readable(found):
        raise InputError("the receipt or the evaluation is damaged: it does not say what it should")
    return found


def _readable(found: Evidence) -> bool:
    """Whether all documents can be made: a damaged file fails here, not later."""
    try:
        json.dumps(found.to_dict(), allow_nan=False)
        found.html()
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        return False
    return True


def _receipt(result: Any) -> Any:
    found = result
    if not isinstance(found, Mapping):
        found = getattr(found, "receipt", found)
        if found is None or not callable(getattr(found, "to_dict", None)):
            raise InputError(
                f"evidence is read off a receipt, and {type(result).__name__} has none: nothing "
                f"private took part in it, or it is no result"
            )
        found = found.to_dict()
    if "receipt" in found and "mechanisms" not in found:
        found = found["receipt"]
    if found is None:
        raise InputError("the receipt is empty: nothing private took part in this result")
    return found


def _slug(name: str, facts: Facts) -> str:
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in name.lower()).split()
    return "-".join([*words, str(facts.made.get("day", ""))[:4]]).strip("-") or "unnamed"


def to_yaml(facts: Mapping[str, Any], notes: Mapping[str, str]) -> str:
    """YAML with multi-line texts as blocks, and comments after the keys in `notes`."""
    need("a record in YAML (JSON needs none)", "evidence", "yaml")
    import yaml

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
