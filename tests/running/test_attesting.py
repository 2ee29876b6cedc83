"""What receipts tell of a call: public arguments as plain values, and which are the defaults."""

from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pytest

import metricdp as mdp
from metricdp.methods.expected import Expected
from metricdp.provenance import Provenance
from metricdp.running import attesting

LINE = mdp.EuclideanMetric([[0.0], [1.0]])
GIVEN = Expected(np.array([1.0, 3.0]), "a census")
MADE = Provenance({"call": "release"})


@dataclass(frozen=True)
class Recipe:
    name: ClassVar[str] = "x"
    chooses: ClassVar[str] = "c"
    afterwards: ClassVar[str] = "a"
    share: Any = Fraction(1, 2)
    rounds: Any = 7
    names: Any = field(default_factory=list)


def test_values_are_reported_plainly():
    itself = ((value, value) for value in (None, True, 3, "a"))
    numbers = (Fraction(1, 3), "1/3"), (np.int64(3), 3)
    many = ([1, 2], "2 given"), ({}, "0 given"), (np.zeros(1200), "1,200 given")
    for value, plain in (*itself, *numbers, *many, (GIVEN, repr(GIVEN)), (LINE, "EuclideanMetric")):
        reported = attesting.recipe_options(Recipe(rounds=value))["rounds"]
        assert reported == {"value": plain, "default": False}
        assert type(reported["value"]) is type(plain)


def test_defaults_are_reported_from_what_was_chosen():
    reported = attesting.recipe_options(Recipe(Fraction(2, 4), 8))
    expected = {"share": True, "rounds": False, "names": True}
    assert {name: each["default"] for name, each in reported.items()} == expected
    assert attesting.recipe_options("partition") == {}


@pytest.mark.parametrize("recipe", [attesting.Description("x", "c", "a"), Recipe(rounds=8)])
def test_a_call_is_reported_with_its_options_and_those_of_its_method(recipe):
    demand, ledger = mdp.PrivateDemand(LINE, [0, 1]), mdp.Ledger(2)
    for chooses in (None, "y"):
        budget = ledger.charge("1/2")
        made = attesting.provenance("release", demand, budget, recipe, {"k": 3}, chooses).to_dict()
        assert (made["method"], made["chooses"], made["afterwards"]) == ("x", chooses or "c", "a")
    given = {"epsilon": "1/2", "delta": "0", "k": 3}
    own = attesting.recipe_options(recipe)
    assert made["options"] == {name: {"value": value} for name, value in given.items()} | own
    assert made["ledger"] == ledger.state() and made["universe"]["points"] == 2


@dataclass(frozen=True)
class Answer:
    receipt: Any = None
    release: Any = None


class Bare:
    """A release without a receipt."""


def test_the_answer_and_its_release_are_attested():
    budget = mdp.Ledger(2).charge(1)
    release = mdp.release(LINE, mdp.PrivateDemand(LINE, [0]), epsilon=1, ledger=budget)
    receipt = release.receipt
    for own in (None, Bare(), release):
        for said in (None, receipt):
            release.receipt = receipt
            found = attesting.attest(Answer(said, own), MADE)
            assert getattr(found.receipt, "made", MADE) is MADE
            assert (found.receipt is None) == (said is None) and found.release is own
            assert (release.receipt.made is MADE) == (own is release)
    release.receipt = receipt
    assert attesting.attest(release, MADE) is release and release.receipt.made is MADE
