"""Every graph format passes the tests of `metricdp.testing.FormatTestCase`."""

from importlib.util import find_spec

import pytest

from metricdp.testing import FormatTestCase
from metricdp.universe.formats import FORMATS

GRAPHML = (
    '<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
    '<key id="d0" for="edge" attr.name="length" attr.type="double"/>'
    '<graph edgedefault="undirected"><node id="1"/><node id="2"/>'
    '<edge source="1" target="2"><data key="d0">2.5</data></edge></graph></graphml>'
)
TNTP = (
    "<NUMBER OF NODES> 2\n<NUMBER OF LINKS> 2\n<END OF METADATA>\n"
    "~\tinit_node\tterm_node\tcapacity\tlength\t;\n1\t2\t9\t2.5\t;\n2\t1\t9\t2.5\t;\n"
)
GEOJSON = (
    '{"type": "FeatureCollection", "features": [{"type": "Feature", '
    '"properties": {"u": 1, "v": 2, "length": 7}, '
    '"geometry": {"type": "LineString", "coordinates": [[-71.3, -29.9], [-71.2, -29.9]]}}]}'
)
FILES = {
    "pmed": {"a.pmed": ("3 3 1\n1 2 5\n2 3 4\n2 1 7\n", {(1, 2): 7, (2, 3): 4})},
    "dimacs": {
        "a.gr": ("c note\np sp 3 4\na 1 2 4\na 2 1 4\na 2 3 0\na 3 2 0\n", {(1, 2): 4, (2, 3): 0})
    },
    "metis": {
        "a.graph": ("4 4\n2 3\n1 3\n1 2 4\n3\n", {(1, 2): 1, (1, 3): 1, (2, 3): 1, (3, 4): 1}),
        "b.metis": ("2 1 001\n2 7\n1 7\n", {(1, 2): 7}),
    },
    "graphml": {"a.graphml": (GRAPHML, {(1, 2): 2.5})},
    "edgelist": {
        "a.csv": ("from,to,length\na,b,1.5\nb,c,2\n", {("a", "b"): 1.5, ("b", "c"): 2}),
        "b.tsv": ("u\tv\n1\t2\n2\t3\n", {(1, 2): 1, (2, 3): 1}),
    },
    "tntp": {"a_net.tntp": (TNTP, {(1, 2): 2.5})},
    "geographic": {"a.geojson": (GEOJSON, {(1, 2): 7})},
}


class TestFormats(FormatTestCase):
    """Each in turn."""

    @pytest.fixture(autouse=True, params=FORMATS)
    def named(self, request):
        self.name = request.param
        if self.name == "geographic" and not find_spec("pyogrio"):
            pytest.skip("needs pyogrio")

    def files(self):
        return {file: (text.encode(), edges) for file, (text, edges) in FILES[self.name].items()}
