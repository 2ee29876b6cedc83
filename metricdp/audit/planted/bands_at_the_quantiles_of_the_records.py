"""The narrow bands of a private evaluation are cut where the records' own distances lie, so that
each holds as many of them.
"""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

import numpy as np

from metricdp.audit.patch import patched

CAUGHT_BY = ("evaluate, two points, add-remove", "evaluate, two points, replace-one")


def plant() -> AbstractContextManager[None]:
    """Choose the edges by the exact counts of the points."""
    from metricdp.partitions.service import Bands
    from metricdp.privacy import HistogramQuery
    from metricdp.privacy.evaluation import exact_counts
    from metricdp.running import evaluation

    honest = evaluation._asked

    def asked(design: Any, demand: Any, grant: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            counts = exact_counts(demand)
        distance = design.service.served(np.arange(len(counts)))[1]
        mean = float(counts @ distance) / max(int(counts.sum()), 1)
        narrow = Bands(design.service, [0.1 + mean])
        queries = {**design.queries, "narrow": HistogramQuery(narrow)}
        return honest(replace(design, narrow=narrow, queries=queries), demand, grant)

    return patched(evaluation, "_asked", asked)
