"""Every graph format inherits the tests of `metricdp.testing.FormatTestCase`."""

import pytest

from metricdp.testing import FormatTestCase
from metricdp.universe.formats import FORMATS


class TestPmed(FormatTestCase):
    name = "pmed"

    def files(self):
        return {"a.pmed": (b"3 3 1\n1 2 5\n2 3 4\n2 1 7\n", {(1, 2): 7, (2, 3): 4})}


class TestDimacs(FormatTestCase):
    name = "dimacs"

    def files(self):
        text = b"c note\np sp 3 4\na 1 2 4\na 2 1 4\na 2 3 0\na 3 2 0\n"
        return {"a.gr": (text, {(1, 2): 4, (2, 3): 0})}


class TestMetis(FormatTestCase):
    name = "metis"

    def files(self):
        return {
            "a.graph": (b"4 4\n2 3\n1 3\n1 2 4\n3\n", {(1, 2): 1, (1, 3): 1, (2, 3): 1, (3, 4): 1}),
            "b.metis": (b"2 1 001\n2 7\n1 7\n", {(1, 2): 7}),
        }


class TestGraphML(FormatTestCase):
    name = "graphml"

    def files(self):
        text = (
            '<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
            '<key id="d0" for="edge" attr.name="length" attr.type="double"/>'
            '<graph edgedefault="undirected"><node id="1"/><node id="2"/>'
            '<edge source="1" target="2"><data key="d0">2.5</data></edge></graph></graphml>'
        )
        return {"a.graphml": (text.encode(), {(1, 2): 2.5})}


class TestEdgelist(FormatTestCase):
    name = "edgelist"

    def files(self):
        return {
            "a.csv": (b"from,to,length\na,b,1.5\nb,c,2\n", {("a", "b"): 1.5, ("b", "c"): 2}),
            "b.tsv": (b"u\tv\n1\t2\n2\t3\n", {(1, 2): 1, (2, 3): 1}),
        }


class TestTNTP(FormatTestCase):
    name = "tntp"

    def files(self):
        text = (
            "<NUMBER OF NODES> 2\n<NUMBER OF LINKS> 2\n<END OF METADATA>\n"
            "~\tinit_node\tterm_node\tcapacity\tlength\t;\n1\t2\t9\t2.5\t;\n2\t1\t9\t2.5\t;\n"
        )
        return {"a_net.tntp": (text.encode(), {(1, 2): 2.5})}


class TestGeographic(FormatTestCase):
    name = "geographic"

    def files(self):
        pytest.importorskip("pyogrio")
        line = '{"type": "LineString", "coordinates": [[%s], [%s]]}'
        feature = '{"type": "Feature", "properties": {"u": 1, "v": 2, "length": 7}, "geometry": %s}'
        text = '{"type": "FeatureCollection", "features": [%s]}'
        text %= feature % line % ("-71.3, -29.9", "-71.2, -29.9")
        return {"a.geojson": (text.encode(), {(1, 2): 7})}


def test_every_format_has_a_case():
    assert {
        case.name for case in FormatTestCase.__subclasses__() if case.__module__ == __name__
    } == set(FORMATS)
