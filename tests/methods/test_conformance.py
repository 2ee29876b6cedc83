"""Every private method inherits the tests of `metricdp.testing.MethodTestCase`."""

import metricdp as mdp
from metricdp.methods import BY_NAME
from metricdp.testing import MethodTestCase


class TestPartition(MethodTestCase):
    def method(self):
        return mdp.methods.Partition()


class TestUniform(MethodTestCase):
    def method(self):
        return mdp.methods.Uniform()


class TestHST(MethodTestCase):
    def method(self):
        return mdp.methods.DPHST()


class TestLocalSearch(MethodTestCase):
    def method(self):
        return mdp.methods.LocalSearch()


class TestMaxCoverage(MethodTestCase):
    def method(self):
        return mdp.methods.MaxCoverage()


class TestQuadtree(MethodTestCase):
    def method(self):
        return mdp.methods.Quadtree()


class TestCoreset(MethodTestCase):
    def method(self):
        return mdp.methods.Coreset()


class TestLloyd(MethodTestCase):
    def method(self):
        return mdp.methods.Lloyd()


class TestLSHCoreset(MethodTestCase):
    def method(self):
        return mdp.methods.LSHCoreset()


class TestKVariates(MethodTestCase):
    def method(self):
        return mdp.methods.KVariates()


class TestBalcan(MethodTestCase):
    def method(self):
        return mdp.methods.Balcan()


def test_every_method_has_a_case():
    cases = [c for c in MethodTestCase.__subclasses__() if c.__module__ == __name__]
    assert {type(case().method()) for case in cases} == set(BY_NAME.values())
