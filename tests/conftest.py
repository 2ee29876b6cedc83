"""What tests of several folders begin with."""

import signal

import pytest
from hypothesis import HealthCheck, settings

from metricdp.privacy import _vault
from tests.cli_world import build_world

if settings.default.deadline is not None:  # else who runs the tests has settings of their own
    settings.register_profile("tests", deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.load_profile("tests")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder of the test's own, which it runs in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def sealed(monkeypatch):
    """The vault may not be opened."""
    monkeypatch.setattr(_vault, "_open", lambda holder: pytest.fail("private data was read"))


@pytest.fixture
def world(here):
    """The world of `tests.cli_world` in a folder of its own, which the command line is called
    from.
    """
    build_world(here)
    return here


@pytest.fixture
def ctrl_c_is_heeded():
    """Also where the tests were started in the background of a shell, or an engine that ran in this
    process has left its own handler.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
