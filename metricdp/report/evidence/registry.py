"""A record for the public registry of deployments, with named blanks for persons."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from metricdp.errors import MissingExtraError
from metricdp.report.assets import words
from metricdp.report.evidence.facts import Facts
from metricdp.report.evidence.people import CHOICES, QUESTIONS, blank

Answers = Mapping[str, str]
Asked = Callable[[str], str]

_PRODUCTS = {"evaluate": "95 % intervals of how well public centers serve the records"}


def record(facts: Facts, answers: Answers) -> dict[str, Any]:
    """The record of a receipt, as the registry's schema orders it.

    ``data_curator_type`` has no room for a blank: where nobody answered, the first choice stands
    there, and the record says at once that it is no answer (`placeholders`).
    """

    def asked(name: str) -> str:
        return answers.get(name) or blank(name)

    open_ = any(name not in answers for name in QUESTIONS if name not in _OPTIONAL)
    unprotected = f"{facts.unprotected()}\n\n{asked('other_releases')}"
    variant = {"variant_name": "Approximate DP" if facts.delta else "Pure DP"}
    variant |= {"data_domain": facts.domain(), "unprotected_quantities": unprotected}
    return {
        "url_slug": _slug(answers.get("name", "unnamed"), facts),
        "deployment": {
            "basic": _basic(facts, answers, asked),
            "dp_variant": variant,
            "privacy_loss": _loss(facts, answers, asked),
            "deployment_model": _model(facts, asked),
            "implementation": _implementation(facts, answers, asked),
            "administrative": {
                "evidence_sources": {"software": _source(facts)},
                "status": "Draft",
                "registry_authors": [asked("author")],
                "tier": 2 if open_ else 3,
            },
        },
    }


def placeholders(answers: Answers) -> list[str]:
    """Names whose place in the record holds no answer though it does not look like a blank."""
    return [name for name in ("curator_type",) if name not in answers]


_OPTIONAL = ("sector", "units")


def _slug(name: str, facts: Facts) -> str:
    words = "".join(c if c.isascii() and c.isalnum() else " " for c in name.lower()).split()
    return "-".join([*words, str(facts.made.get("day", ""))[:4]]).strip("-") or "unnamed"


def product(facts: Facts) -> str:
    """What was published, as far as software knows."""
    call = facts.made.get("call", "a release")
    method = facts.made.get("method", "")
    options = facts.made.get("options") or {}
    k = (options.get("k") or {}).get("value")
    centers = f"{k:,} cluster centers" if isinstance(k, int) else "noisy counts of public areas"
    what = _PRODUCTS.get(call, centers)
    return f"{what[0].upper()}{what[1:]}, made by metricdp.{call} (method: {method})."


def _basic(facts: Facts, answers: Answers, asked: Asked) -> dict[str, Any]:
    choice = answers.get("curator_type") or CHOICES["curator_type"][0]
    synthetic = facts.made.get("method") == "coreset"
    told = {
        "name": asked("name"),
        "data_curators": [{"data_curator_name": asked("curator"), "data_curator_type": choice}],
        "description": f"{product(facts)} {asked('description')}",
        "intended_use": asked("intended_use"),
        "data_product_type": "Synthetic data" if synthetic else "Summary statistics",
        "data_product_region": asked("region"),
    }
    if "sector" in answers:
        told["data_product_sector"] = asked("sector")
    return told | {"publication_date": str(facts.made.get("day", ""))}


def _loss(facts: Facts, answers: Answers, asked: Asked) -> dict[str, Any]:
    unit = "user (one message)" if facts.devices else facts.unit
    parameters = {"epsilon": float(facts.epsilon)}
    if facts.delta:
        parameters["delta"] = float(facts.delta)
    told: dict[str, Any] = {
        "privacy_unit": f"{unit.capitalize()}-level: {facts.protected()}",
        "privacy_unit_details": f"{facts.adjacency()}\n\n{asked('unit_reason')}",
    }
    number = facts.made.get("messages")
    if number is None and "units" in answers:
        number = int(asked("units").replace(",", ""))
    if number is not None:
        told["number_of_privacy_units"] = int(number)
    details = [f"The promise of all that was released together: {facts.price()}.", facts.ledger()]
    return told | {
        "privacy_parameters": parameters,
        "privacy_parameters_details": _list([*details, asked("epsilon_reason")]),
    }


def _model(facts: Facts, asked: Asked) -> dict[str, Any]:
    model = words()["models"][facts.model]
    return {
        "model_name": facts.model,
        "model_name_details": f"Noise is added by {model['noise']}, before anything is released.",
        "trust_assumptions": model["trust"],
        "actors": asked("actors"),
        "release_type": "One release",
        "release_type_details": f"This record is of one call. {facts.ledger()} {asked('future')}",
        "data_source_type": "Static",
        "data_source_type_details": f"The call read the data as they were. {asked('future')}",
        "access_type": "Non-interactive",
        "access_type_details": (
            "Readers get what is published; whoever holds the ledger may make further calls, each "
            "charged before the data are read."
        ),
    }


def _implementation(facts: Facts, answers: Answers, asked: Asked) -> dict[str, Any]:
    prepared = words()["models"][facts.model]["preprocessing"]
    proven = (
        "Sensitivities, noise and composition: each is proven beside its code (docs/privacy.md of "
        "metricdp) and checked by its audit."
    )
    reasons = [asked("public_universe"), asked("epsilon_reason")]
    raw = f"Security of the raw data: {asked('access')}"
    more = [f"Data: {asked('collection')}"]
    more.append("Places of this record that begin with FOR YOU TO ANSWER are not answered.")
    if "curator_type" not in answers:
        more.append("data_curator_type is a placeholder: it is not answered.")
    tuned = [prepared, *facts.choices(), asked("exploration")]
    return {
        "preprocessing_and_hyperparameter_tuning": _list(tuned),
        "mechanisms": _list([*facts.mechanism_lines(), *facts.implementation(), raw]),
        "composition": facts.composition(),
        "post_processing": facts.made.get("afterwards") or "NOT ON THE RECEIPT",
        "justification": _list([proven, f"Audit: {facts.audited()}", *reasons]),
        "utility": " ".join(filter(None, [facts.figures(), asked("fitness")])),
        "additional_information": _list(more),
    }


def _source(facts: Facts) -> dict[str, Any]:
    package = facts.made.get("package") or {}
    note = f"SHA-256 of the package {package.get('sha256', 'unknown')}"
    entry = {"title": "metricdp", "edition": str(package.get("version", "unknown")), "note": note}
    return {"evidence_source_type": "Other public source", "manual": entry}


def _list(lines: list[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def to_yaml(told: Mapping[str, Any], notes: Mapping[str, str]) -> str:
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
    plain = yaml.dump(told, Dumper=Dumper, sort_keys=False, allow_unicode=True, width=100)
    lines = plain.splitlines()
    for i, line in enumerate(lines):
        key = line.strip().removeprefix("- ").split(":")[0]
        if key in notes:
            lines[i] = f"{line}  # {notes[key]}"
    return "\n".join(lines) + "\n"
