"""One Spark for the tests of a process."""

import os
import sys
from pathlib import Path
from shutil import which
from typing import Any

import pytest

OPTIONS = {
    "ui.enabled": "false",
    "sql.shuffle.partitions": "1",
    "driver.memory": "1g",
    "driver.host": "127.0.0.1",
    # compiling takes longer than these few rows
    "sql.codegen.wholeStage": "false",
    "driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "python.daemon.module": "tests.spark_workers",
    "executorEnv.PYTHONPATH": str(Path(__file__).parents[1]),
}


def session() -> Any:
    """Two threads on this computer, which try three times; skips the test where there is none."""
    sql = pytest.importorskip("pyspark.sql")
    if which("java") is None and "JAVA_HOME" not in os.environ:
        pytest.skip("Spark needs Java, and there is none")
    os.environ["PYSPARK_PYTHON"] = sys.executable
    builder = sql.SparkSession.builder.master("local[2, 3]")
    for name, value in OPTIONS.items():
        builder = builder.config(f"spark.{name}", value)
    made = builder.getOrCreate()
    made.sparkContext.setLogLevel("ERROR")
    return made
