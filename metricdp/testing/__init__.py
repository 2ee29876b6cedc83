"""Test classes to inherit, for own metrics, engines, methods, objectives and formats."""

from metricdp.testing.engines import EngineTestCase
from metricdp.testing.formats import FormatTestCase
from metricdp.testing.methods import MethodTestCase
from metricdp.testing.metrics import MetricTestCase
from metricdp.testing.objectives import ObjectiveTestCase

__all__ = ["EngineTestCase", "FormatTestCase", "MethodTestCase"]
__all__ += ["MetricTestCase", "ObjectiveTestCase"]
