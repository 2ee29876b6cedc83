"""
Counted where the data are: Spark
=================================

Large demand need not come to this machine: an engine counts it exactly, and the gate adds the
noise. The same call takes tables of DuckDB, Polars, Dask and Spark
(:doc:`/docs/from-a-laptop-to-a-cluster`).

Without pyspark and Java, this script counts on the local machine and says so.
"""

import shutil
import tempfile
import warnings
from importlib.util import find_spec
from pathlib import Path

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np
import pandas as pd

import metricdp as mdp

graph = nx.convert_node_labels_to_integers(nx.grid_2d_graph(20, 20))
metric = mdp.GraphMetric(graph, weight=None)
coins = np.random.default_rng(0)
homes = np.clip(coins.normal([6, 13], 3, (20_000, 2)).round(), 0, 19).astype(int) @ [20, 1]
warnings.simplefilter("ignore", FutureWarning)  # of pyspark, about pandas
engine = "spark" if find_spec("pyspark") and shutil.which("java") else "embedded"
print("counted by", engine)

# %%

with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "homes.parquet"
    pd.DataFrame({"vertex": homes}).to_parquet(file)
    demand = mdp.PrivateDemand.from_frame(metric, str(file), node="vertex", engine=engine)
    result = mdp.k_median(metric, demand, k=3, epsilon=1, ledger=mdp.Ledger(epsilon=1))

    if engine == "spark":
        from pyspark.sql import SparkSession

        SparkSession.builder.getOrCreate().stop()

# %%
# The engine returned one exact number for each part. The gate released these, with noise.

figure, axes = plt.subplots(figsize=(5, 5), layout="constrained")
axes.imshow(result.release.weights.reshape(20, 20).T, origin="lower", cmap="Blues")
axes.scatter(*np.divmod(result.centers, 20), marker="*", s=250, c="#D55E00")
axes.set_axis_off()
axes.set_title("released demand and three centers")
plt.show()
