"""Every method's class is importable by the name that stands in its repr, in any order, by
itself.
"""

import subprocess
import sys

import pytest

import metricdp as mdp
from metricdp import methods
from metricdp.errors import InputError
from metricdp.methods.catalogue import OF_BOXES_ALONE, OF_FINITE_UNIVERSES
from metricdp.methods.method import Method

CLASSES = [name for name in methods.__all__ if isinstance(getattr(methods, name), type)]

LISTED = OF_FINITE_UNIVERSES | OF_BOXES_ALONE


def test_every_method_that_has_a_name_has_its_class_here():
    offered = {getattr(methods, name) for name in CLASSES}
    assert set(methods.BY_NAME.values()) | {Method} <= offered
    assert all(issubclass(kind, Method) for kind in offered)
    assert set(mdp.METHODS) == set(methods.BY_NAME)


@pytest.mark.parametrize("name", LISTED)
def test_the_catalogue_says_what_the_class_says(name):
    kind = methods.BY_NAME[name]
    assert kind is getattr(methods, kind.__name__)
    assert kind.in_finite == (name in OF_FINITE_UNIVERSES)
    assert kind.in_finite or kind.in_space


def test_the_catalogue_lists_all_methods_in_their_order():
    assert tuple(LISTED) == methods.METHODS


@pytest.mark.parametrize("name", sorted(set(CLASSES) - {"Method"}))
def test_a_class_is_built_by_its_name_and_says_it(name):
    kind = getattr(methods, name)
    try:
        assert repr(kind()).startswith(f"{name}(")
    except (TypeError, InputError) as error:
        pytest.fail(f"{name}() does not stand: {error}")
    if kind in methods.BY_NAME.values():
        assert methods.BY_NAME[kind.name] is kind and type(methods.method_of(kind.name)) is kind


@pytest.mark.parametrize("name", ["MaxCoverage", "Quadtree", "Lloyd"])
def test_a_class_is_the_first_thing_that_is_imported(name):
    ran = subprocess.run(
        [sys.executable, "-c", f"from metricdp.methods import {name}; print({name}.__name__)"],
        capture_output=True,
        text=True,
    )
    assert ran.stdout.strip() == name, ran.stderr
