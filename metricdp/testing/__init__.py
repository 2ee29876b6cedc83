"""Tests to inherit: for those who bring a metric of their own, and for ours."""

from metricdp.testing.metrics import MetricTestCase

__all__ = ["MetricTestCase"]
