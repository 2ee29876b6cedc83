"""Every graph format passes the tests of `metricdp.testing.FormatTestCase`."""

from importlib.util import find_spec

import pytest

from metricdp.testing import FormatTestCase
from metricdp.universe.formats import FORMATS
from tests import beside

FILES = beside(__file__, "files.toml")["formats"]


class TestFormats(FormatTestCase):
    """Each in turn."""

    @pytest.fixture(autouse=True, params=FORMATS)
    def named(self, request):
        self.name = request.param
        if self.name == "geographic" and not find_spec("pyogrio"):
            pytest.skip("needs pyogrio")

    def files(self):
        return {
            name: (text.encode(), {(tail, head): length for tail, head, length in lines})
            for name, text, lines in FILES[self.name]
        }
