"""The rules for a record of the public registry of deployments, written from the schema of
github.com/opendp/deployments-registry-data (September 2026). The registry's own check is the last
word.
"""

import math
from typing import Any

import pytest

TEXT, NUMBER, WHOLE = {"type": "string"}, {"type": "number"}, {"type": "integer"}
FORMULA = {"type": ["number", "string"]}
KINDS = """
article book booklet conference inbook incollection inproceedings manual mastersthesis misc
phdthesis proceedings techreport unpublished
"""
OF_A_SOURCE = """
address annote author booktitle chapter doi edition editor email howpublished institution issn isbn
journal month note number organization pages publisher school type series title url volume year
"""


def one_of(*choices: object) -> dict[str, Any]:
    return {"enum": list(choices)}


def list_of(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": schema, "minItems": 1}


def fields(needed: str = "", **schemas: dict[str, Any]) -> dict[str, Any]:
    """A mapping with these fields and no other."""
    known = {"properties": schemas, "additionalProperties": False}
    return {"type": "object", "required": needed.split(), **known}


def texts(names: str) -> dict[str, Any]:
    return dict.fromkeys(names.split(), TEXT)


SOURCE_TYPES = one_of(
    "Peer-reviewed publication",
    "Formal publication by the deploying organization",
    "Authorized organizational attestation",
    "Other public source",
)
SOURCE = fields(
    evidence_source_type=SOURCE_TYPES,
    **{kind: fields(**{name: {} for name in OF_A_SOURCE.split()}) for kind in KINDS.split()},
) | {"oneOf": [{"required": [kind]} for kind in KINDS.split()]}
BASIC = fields(
    "name data_curators description intended_use data_product_type data_product_region "
    "publication_date",
    data_curators=list_of(
        fields(
            "data_curator_name data_curator_type",
            data_curator_name=TEXT,
            data_curator_type=one_of("Government", "Industry", "Nonprofit"),
        )
    ),
    data_product_type=one_of(
        *("Summary statistics", "Machine learning model", "Dataset"),
        *("Synthetic data", "Interactive API", "SQL queries"),
    ),
    data_product_sector=one_of(
        *("Technology", "Healthcare", "Education", "Government", "Energy", "Finance")
    ),
    publication_date={"type": "string", "format": "date"},
    **texts("name description intended_use data_product_region"),
)
VARIANTS = ("Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom")
VARIANT = fields(variant_name=one_of(*VARIANTS), **texts("data_domain unprotected_quantities"))
LOSS = fields(
    number_of_privacy_units=WHOLE,
    privacy_parameters=fields(epsilon=NUMBER, delta=FORMULA, rho=NUMBER),
    **texts("privacy_unit privacy_unit_details privacy_parameters_details"),
)
MODEL = fields(
    model_name=one_of("Local", "Central", "Shuffle", "Federated", "Varies"),
    release_type=one_of("One release", "Many releases"),
    data_source_type=one_of("Static", "Dynamic"),
    access_type=one_of("Interactive", "Non-interactive"),
    actors={},
    **texts("model_name_details trust_assumptions release_type_details"),
    **texts("data_source_type_details access_type_details"),
)
IMPLEMENTATION = fields(
    utility={},
    additional_information={},
    **texts("preprocessing_and_hyperparameter_tuning mechanisms composition"),
    **texts("post_processing justification"),
)
STATUS = one_of(
    *("Converted", "Draft", "Pending", "Changes Required", "Approved"),
    *("Approved (Update Requested)", "Approved (Pending)"),
)
ADMINISTRATIVE = fields(
    "status registry_authors tier",
    status=STATUS,
    registry_authors=list_of(TEXT),
    tier=one_of(1, 2, 3),
    evidence_sources={
        "type": "object",
        "patternProperties": {r"^\w+$": SOURCE},
        "additionalProperties": False,
    },
)
RECORD = fields(
    "url_slug deployment",
    url_slug=TEXT,
    deployment=fields(
        "basic administrative",
        basic=BASIC,
        dp_variant=VARIANT,
        privacy_loss=LOSS,
        deployment_model=MODEL,
        implementation=IMPLEMENTATION,
        administrative=ADMINISTRATIVE,
    ),
)
"""A whole record."""


def problems(record: Any) -> list[str]:
    """What breaks the registry's rules, each with its place; empty if nothing does."""
    jsonschema = pytest.importorskip("jsonschema")
    checker = jsonschema.FormatChecker(["date"])
    found = jsonschema.Draft202012Validator(RECORD, format_checker=checker).iter_errors(record)
    return sorted(f"{error.json_path}: {error.message}" for error in found) + _no_numbers(record)


def _no_numbers(value: Any) -> list[str]:
    """What JSON does not know, which the schema lets pass."""
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    own = [f"{value} is no number"] if isinstance(value, float) and not math.isfinite(value) else []
    return own + [problem for one in inner for problem in _no_numbers(one)]
