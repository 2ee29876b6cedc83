"""Tests to inherit: for those who bring a metric, an engine, a private method, an objective or a
format of their own, and for ours.
"""

from metricdp.testing.engines import EngineTestCase
from metricdp.testing.formats import FormatTestCase
from metricdp.testing.methods import MethodTestCase
from metricdp.testing.metrics import MetricTestCase
from metricdp.testing.objectives import ObjectiveTestCase

__all__ = ["EngineTestCase", "FormatTestCase", "MethodTestCase"]
__all__ += ["MetricTestCase", "ObjectiveTestCase"]
