"""Facility-location objectives, each a small frozen value: what makes a choice of sites good.

One file an objective, or a family of them; `metricdp.solve` finds sites for them, for public demand
and for releases. ``docs/objectives.md`` has their names in ArcGIS and spopt.
"""

from metricdp.solvers.objectives.capacitated import Capacitated as Capacitated
from metricdp.solvers.objectives.covering import BackupCoverage as BackupCoverage
from metricdp.solvers.objectives.covering import MaxCoverage as MaxCoverage
from metricdp.solvers.objectives.covering import SetCover as SetCover
from metricdp.solvers.objectives.facility_location import FacilityLocation as FacilityLocation
from metricdp.solvers.objectives.medians import KZ as KZ
from metricdp.solvers.objectives.medians import Equity as Equity
from metricdp.solvers.objectives.medians import KMeans as KMeans
from metricdp.solvers.objectives.medians import KMedian as KMedian
from metricdp.solvers.objectives.nested import Nested as Nested
from metricdp.solvers.objectives.objective import Objective as Objective
from metricdp.solvers.objectives.objective import Size as Size
from metricdp.solvers.objectives.p_center import PCenter as PCenter
from metricdp.solvers.objectives.p_dispersion import PDispersion as PDispersion

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

__all__ = ["OBJECTIVES", "Objective", "Size"]
__all__ += [one.__name__ for one in OBJECTIVES.values()]


def __dir__() -> list[str]:
    return __all__
