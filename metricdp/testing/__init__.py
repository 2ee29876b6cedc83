"""Tests to inherit: for those who bring a metric or an engine of their own, and for ours."""

from metricdp.testing.engines import EngineTestCase
from metricdp.testing.metrics import MetricTestCase

__all__ = ["EngineTestCase", "MetricTestCase"]
