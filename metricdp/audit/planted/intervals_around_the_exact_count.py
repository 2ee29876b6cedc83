"""The interval of the number of records is drawn around the exact number, with the width that the
noise would have had.
"""

from __future__ import annotations

import warnings
from contextlib import AbstractContextManager
from dataclasses import replace
from typing import Any

from metricdp.audit.patch import patched

CAUGHT_BY = ("evaluate, two points, add-remove",)


def plant() -> AbstractContextManager[None]:
    """Count once more, without the gate, after the report is made."""
    from metricdp.privacy.evaluation import exact_counts
    from metricdp.running import evaluation
    from metricdp.solvers.estimate.intervals import Interval

    honest = evaluation._asked

    def asked(design: Any, demand: Any, grant: Any) -> Any:
        report = honest(design, demand, grant)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exact = float(exact_counts(demand).sum())
        reach = report.records.half_width
        return replace(report, records=Interval(exact, exact - reach, exact + reach))

    return patched(evaluation, "_asked", asked)
