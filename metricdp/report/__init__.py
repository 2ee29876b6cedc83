"""Pages for people: post-processing of releases on the public universe, never the demand.

The page of several privacy levels is `metricdp.report.explore.front`, ``mdp.explore`` for short.
"""

from metricdp.report.days.page import days_page
from metricdp.report.layout import pivot_layout
from metricdp.report.map.page import map_page

__all__ = ["days_page", "map_page", "pivot_layout"]
