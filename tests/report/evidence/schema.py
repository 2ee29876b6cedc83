"""The rules for a record of the public registry of deployments, written from the schema of
github.com/opendp/deployments-registry-data (September 2026). The registry's own check is the last
word.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any, NamedTuple


class Field(NamedTuple):
    """A field: what it may hold, and whether a record needs it."""

    holds: Any
    needed: bool = False


TEXT = str
NUMBER = float
WHOLE = int
DAY = date
ANY = object
FORMULA = complex
"""A number, or a text that tells it."""
_SOURCES = re.compile(r"\w+")
_KINDS = """
article book booklet conference inbook incollection inproceedings manual mastersthesis misc
phdthesis proceedings techreport unpublished
"""
_OF_A_SOURCE = """
address annote author booktitle chapter doi edition editor email howpublished institution issn isbn
journal month note number organization pages publisher school type series title url volume year
"""
_SOURCE_TYPES = (
    "Peer-reviewed publication",
    "Formal publication by the deploying organization",
    "Authorized organizational attestation",
    "Other public source",
)

_BASIC = {
    "name": Field(TEXT, True),
    "data_curators": Field(
        [
            {
                "data_curator_name": Field(TEXT, True),
                "data_curator_type": Field(("Government", "Industry", "Nonprofit"), True),
            }
        ],
        True,
    ),
    "description": Field(TEXT, True),
    "intended_use": Field(TEXT, True),
    "data_product_type": Field(
        (
            "Summary statistics",
            "Machine learning model",
            "Dataset",
            "Synthetic data",
            "Interactive API",
            "SQL queries",
        ),
        True,
    ),
    "data_product_region": Field(TEXT, True),
    "data_product_sector": Field(
        ("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
    ),
    "publication_date": Field(DAY, True),
}
_VARIANT = {
    "variant_name": Field(
        ("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom")
    ),
    "data_domain": Field(TEXT),
    "unprotected_quantities": Field(TEXT),
}
_LOSS = {
    "privacy_unit": Field(TEXT),
    "privacy_unit_details": Field(TEXT),
    "number_of_privacy_units": Field(WHOLE),
    "privacy_parameters": Field(
        {"epsilon": Field(NUMBER), "delta": Field(FORMULA), "rho": Field(NUMBER)}
    ),
    "privacy_parameters_details": Field(TEXT),
}
_MODEL = {
    "model_name": Field(("Local", "Central", "Shuffle", "Federated", "Varies")),
    "model_name_details": Field(TEXT),
    "trust_assumptions": Field(TEXT),
    "actors": Field(ANY),
    "release_type": Field(("One release", "Many releases")),
    "release_type_details": Field(TEXT),
    "data_source_type": Field(("Static", "Dynamic")),
    "data_source_type_details": Field(TEXT),
    "access_type": Field(("Interactive", "Non-interactive")),
    "access_type_details": Field(TEXT),
}
_IMPLEMENTATION = {
    "preprocessing_and_hyperparameter_tuning": Field(TEXT),
    "mechanisms": Field(TEXT),
    "composition": Field(TEXT),
    "post_processing": Field(TEXT),
    "justification": Field(TEXT),
    "utility": Field(ANY),
    "additional_information": Field(ANY),
}
_ADMINISTRATIVE = {
    "evidence_sources": Field("sources"),
    "status": Field(
        (
            "Converted",
            "Draft",
            "Pending",
            "Changes Required",
            "Approved",
            "Approved (Update Requested)",
            "Approved (Pending)",
        ),
        True,
    ),
    "registry_authors": Field([TEXT], True),
    "tier": Field((1, 2, 3), True),
}
RECORD = {
    "url_slug": Field(TEXT, True),
    "deployment": Field(
        {
            "basic": Field(_BASIC, True),
            "dp_variant": Field(_VARIANT),
            "privacy_loss": Field(_LOSS),
            "deployment_model": Field(_MODEL),
            "implementation": Field(_IMPLEMENTATION),
            "administrative": Field(_ADMINISTRATIVE, True),
        },
        True,
    ),
}
"""A whole record."""


def problems(record: Any) -> list[str]:
    """What breaks the registry's rules, each with its place; empty if nothing does."""
    return _problems(record, RECORD, "")


def _problems(value: Any, holds: Any, where: str) -> list[str]:
    if isinstance(holds, Mapping):
        return _in_fields(value, holds, where)
    if isinstance(holds, list):
        if not isinstance(value, list) or not value:
            return [f"{where} must be a list of at least one"]
        return [found for i, one in enumerate(value) for found in _one(one, holds[0], where, i)]
    if isinstance(holds, tuple):
        fits = any(value == choice and type(value) is type(choice) for choice in holds)
        return [] if fits else [f"{where} must be one of {', '.join(map(str, holds))}"]
    if holds == "sources":
        return _in_sources(value, where)
    return [] if _fits(value, holds) else [f"{where} must be a {_NAMES[holds]}"]


_NAMES = {
    TEXT: "text",
    NUMBER: "number",
    FORMULA: "number or text",
    WHOLE: "whole number",
    DAY: "day, YYYY-MM-DD, as text",
}


def _one(value: Any, holds: Any, where: str, i: int) -> list[str]:
    return _problems(value, holds, f"{where}[{i}]")


def _in_fields(value: Any, holds: Mapping[str, Field], where: str) -> list[str]:
    if not isinstance(value, Mapping):
        return [f"{where or 'the record'} must be a mapping"]
    prefix = f"{where}." if where else ""
    found = [f"{prefix}{name} is missing" for name, f in holds.items() if _needed(f, name, value)]
    for name, inner in value.items():
        if name not in holds:
            found.append(f"{prefix}{name} is no field of the registry")
        else:
            found += _problems(inner, holds[name].holds, f"{prefix}{name}")
    return found


def _needed(field: Field, name: str, value: Mapping[str, Any]) -> bool:
    return field.needed and name not in value


def _fits(value: Any, holds: Any) -> bool:
    if holds is ANY:
        return True
    if holds is DAY:
        return isinstance(value, str) and _is_day(value)
    if isinstance(value, bool):
        return False
    if holds is FORMULA and isinstance(value, str):
        return True
    if holds in (NUMBER, FORMULA):
        return isinstance(value, int | float) and value == value and abs(value) != float("inf")
    return isinstance(value, holds)


def _is_day(text: str) -> bool:
    try:
        return len(text) == 10 and date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def _in_sources(value: Any, where: str) -> list[str]:
    if not isinstance(value, Mapping):
        return [f"{where} must be a mapping"]
    found = []
    for name, source in value.items():
        place = f"{where}.{name}"
        kinds = (
            [key for key in source if key in _KINDS.split()] if isinstance(source, Mapping) else []
        )
        others = set(source) - {*_KINDS.split(), "evidence_source_type"} if kinds else {"?"}
        if not _SOURCES.fullmatch(str(name)) or len(kinds) != 1 or others:
            found.append(f"{place} must be one kind of source, under a plain name")
            continue
        if source.get("evidence_source_type", _SOURCE_TYPES[0]) not in _SOURCE_TYPES:
            found.append(f"{place}.evidence_source_type must be one of {', '.join(_SOURCE_TYPES)}")
        entry = source[kinds[0]]
        if not isinstance(entry, Mapping) or set(entry) - set(_OF_A_SOURCE.split()):
            found.append(f"{place}.{kinds[0]} has a field that no source has")
    return found
