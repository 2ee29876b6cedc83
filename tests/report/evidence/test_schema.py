"""Records that break one of the registry's rules are told, each with the place."""

import copy
import math

import pytest

from tests.report.evidence.schema import problems

BASIC = dict.fromkeys("name description intended_use data_product_region".split(), "x") | {
    "data_curators": [{"data_curator_name": "x", "data_curator_type": "Nonprofit"}],
    "data_product_type": "Dataset",
    "publication_date": "2026-01-31",
}
PAPER = {
    "evidence_source_type": "Peer-reviewed publication",
    "article": {"title": "x", "year": 2026},
}
ADMINISTRATIVE = {"status": "Draft", "registry_authors": ["x"], "tier": 1}
GOOD = {
    "url_slug": "x",
    "deployment": {
        "basic": BASIC,
        "privacy_loss": {
            "number_of_privacy_units": 3,
            "privacy_parameters": {"epsilon": 1.0, "delta": "1 / n ln n", "rho": 1},
        },
        "administrative": ADMINISTRATIVE | {"evidence_sources": {"paper": PAPER}},
    },
}
GONE = object()


def test_a_good_record_has_no_problem():
    assert problems(GOOD) == []


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("basic.name", 3),
        ("basic.data_product_type", "Surprise"),
        ("basic.publication_date", "1/31/2026"),
        ("basic.publication_date", "2026-02-30"),
        ("basic.data_curators", []),
        ("basic.data_curators", ["x"]),
        ("basic.surprise", "x"),
        ("privacy_loss.number_of_privacy_units", 3.5),
        ("privacy_loss.number_of_privacy_units", True),
        ("privacy_loss.privacy_parameters.epsilon", "1"),
        ("privacy_loss.privacy_parameters.epsilon", math.nan),
        ("privacy_loss.privacy_parameters.delta", None),
        ("administrative.tier", True),
        ("administrative.registry_authors", [3]),
        ("administrative.evidence_sources.a b", {"misc": {}}),
        ("administrative.evidence_sources.web", {"misc": {}, "book": {}}),
        ("administrative.evidence_sources.web", {"misc": {"color": "red"}}),
        ("administrative.evidence_sources.web", {"misc": {}, "evidence_source_type": "Rumor"}),
        *((f"basic.{name}", GONE) for name in BASIC),
        *((f"administrative.{name}", GONE) for name in ADMINISTRATIVE),
    ],
)
def test_what_breaks_a_rule_is_told(path, value):
    record = copy.deepcopy(GOOD)
    *parents, last = path.split(".")
    inner = record["deployment"]
    for part in parents:
        inner = inner[part]
    inner[last] = value
    if value is GONE:
        del inner[last]
    (found,) = problems(record)
    assert parents[-1] in found or last in found or str(value) in found
