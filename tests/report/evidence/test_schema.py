"""Records that break one of the registry's rules are told, each with the place."""

import copy
import math

import pytest

from tests.report.evidence.schema import problems

GOOD = {
    "url_slug": "x",
    "deployment": {
        "basic": {
            "name": "x",
            "data_curators": [{"data_curator_name": "x", "data_curator_type": "Nonprofit"}],
            "description": "x",
            "intended_use": "x",
            "data_product_type": "Dataset",
            "data_product_region": "x",
            "publication_date": "2026-01-31",
        },
        "privacy_loss": {
            "number_of_privacy_units": 3,
            "privacy_parameters": {"epsilon": 1.0, "delta": "1 / n ln n", "rho": 1},
        },
        "administrative": {
            "status": "Draft",
            "registry_authors": ["x"],
            "tier": 1,
            "evidence_sources": {
                "paper": {
                    "evidence_source_type": "Peer-reviewed publication",
                    "article": {"title": "x", "year": 2026},
                }
            },
        },
    },
}

BAD = [
    (("deployment", "basic", "name"), 3, "must be a text"),
    (("deployment", "basic", "data_product_type"), "Surprise", "must be one of"),
    (("deployment", "basic", "data_product_sector"), "", "must be one of"),
    (("deployment", "basic", "publication_date"), "1/31/2026", "must be a day"),
    (("deployment", "basic", "publication_date"), "2026-02-30", "must be a day"),
    (("deployment", "basic", "publication_date"), None, "must be a day"),
    (("deployment", "basic", "data_curators"), [], "at least one"),
    (("deployment", "basic", "data_curators"), ["x"], r"data_curators\[0\] must be a mapping"),
    (("deployment", "basic", "surprise"), "x", "is no field"),
    (("deployment", "privacy_loss", "number_of_privacy_units"), 3.5, "whole number"),
    (("deployment", "privacy_loss", "number_of_privacy_units"), True, "whole number"),
    (("deployment", "privacy_loss", "privacy_parameters", "epsilon"), "1", "must be a number"),
    (("deployment", "privacy_loss", "privacy_parameters", "epsilon"), math.nan, "must be a number"),
    (("deployment", "privacy_loss", "privacy_parameters", "delta"), None, "number or text"),
    (("deployment", "privacy_loss", "privacy_parameters", "alpha"), 1, "is no field"),
    (("deployment", "administrative", "tier"), 0, "must be one of 1, 2, 3"),
    (("deployment", "administrative", "tier"), True, "must be one of 1, 2, 3"),
    (("deployment", "administrative", "registry_authors"), [3], r"\[0\] must be a text"),
    (("deployment", "administrative", "evidence_sources", "a b"), {"misc": {}}, "one kind"),
    (("deployment", "administrative", "evidence_sources", "web"), {}, "one kind"),
    (
        ("deployment", "administrative", "evidence_sources", "web"),
        {"misc": {}, "book": {}},
        "one kind",
    ),
    (
        ("deployment", "administrative", "evidence_sources", "web"),
        {"misc": {"color": "red"}},
        "a field that no source has",
    ),
    (
        ("deployment", "administrative", "evidence_sources", "web"),
        {"misc": {}, "evidence_source_type": "Rumor"},
        "evidence_source_type must be one of",
    ),
    (("surprise",), 1, "surprise is no field"),
    (("deployment",), [], "deployment must be a mapping"),
]


def test_a_good_record_has_no_problem():
    assert problems(GOOD) == []


@pytest.mark.parametrize(("path", "value", "words"), BAD)
def test_what_breaks_a_rule_is_told(path, value, words):
    record = copy.deepcopy(GOOD)
    inner = record
    for part in path[:-1]:
        inner = inner[part]
    inner[path[-1]] = value
    found = problems(record)
    assert len(found) == 1
    assert path[-1] in found[0] or words in found[0]
    with pytest.raises(AssertionError, match=words):
        raise AssertionError(found[0])


@pytest.mark.parametrize(
    "path",
    [
        ("url_slug",),
        ("deployment", "basic"),
        ("deployment", "administrative"),
        *(("deployment", "basic", name) for name in GOOD["deployment"]["basic"]),
        ("deployment", "administrative", "status"),
        ("deployment", "administrative", "registry_authors"),
        ("deployment", "administrative", "tier"),
    ],
)
def test_what_is_needed_is_missed(path):
    record = copy.deepcopy(GOOD)
    inner = record
    for part in path[:-1]:
        inner = inner[part]
    del inner[path[-1]]
    assert problems(record) == [f"{'.'.join(path)} is missing"]


@pytest.mark.parametrize("record", [None, [], "x", 3])
def test_what_is_no_record_is_told(record):
    assert problems(record) == ["the record must be a mapping"]
