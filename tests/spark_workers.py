"""Spark's daemon of Python workers, that has read what they import before it makes them.

After each task a worker collects garbage: among all that is imported, for a quarter of a second.
"""

import gc

import pandas  # noqa: F401
from pyspark.daemon import manager

import metricdp.records.engines.spark_frames  # noqa: F401

if __name__ == "__main__":
    gc.freeze()
    manager()
