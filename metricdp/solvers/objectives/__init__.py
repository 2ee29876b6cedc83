"""Facility-location objectives, each a small frozen value: what makes a choice of sites good.

One file an objective, or a family of them; `metricdp.solve` finds sites for them, for public demand
and for releases. ``docs/objectives.md`` has their names in ArcGIS and spopt.
"""

from metricdp.solvers.objectives.capacitated import Capacitated
from metricdp.solvers.objectives.covering import BackupCoverage, MaxCoverage, SetCover
from metricdp.solvers.objectives.facility_location import FacilityLocation
from metricdp.solvers.objectives.medians import KZ, Equity, KMeans, KMedian
from metricdp.solvers.objectives.nested import Nested
from metricdp.solvers.objectives.objective import Objective, Size
from metricdp.solvers.objectives.p_center import PCenter
from metricdp.solvers.objectives.p_dispersion import PDispersion

OBJECTIVES: dict[str, type[Objective]] = {
    one.name: one
    for one in (
        KMedian,
        KMeans,
        KZ,
        PCenter,
        PDispersion,
        MaxCoverage,
        BackupCoverage,
        SetCover,
        FacilityLocation,
        Capacitated,
        Equity,
        Nested,
    )
}
"""By the names that the command line uses."""

__all__ = [
    "KZ",
    "OBJECTIVES",
    "BackupCoverage",
    "Capacitated",
    "Equity",
    "FacilityLocation",
    "KMeans",
    "KMedian",
    "MaxCoverage",
    "Nested",
    "Objective",
    "PCenter",
    "PDispersion",
    "SetCover",
    "Size",
]


def __dir__() -> list[str]:
    return __all__
