"""Heat maps of demand on a finite universe: kernel densities of public or released weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricdp.arguments import Floats, positive
from metricdp.errors import InputError
from metricdp.methods.question import public_weights
from metricdp.metrics.base import Metric, metric_of
from metricdp.metrics.units import positive_in_units_of
from metricdp.options import Length, Weights
from metricdp.report.heat.heatmap import Heatmap
from metricdp.solvers.estimate.smoothing import Smoothing, sampled_demand, standard_error

ERROR = 0.25
"""Default relative standard error of the density, for half of the demand."""


def heatmap(
    universe: Metric,
    weights: Weights | None = None,
    *,
    bandwidth: Length | None = None,
    error: float = ERROR,
) -> Heatmap:
    """A kernel density of public demand along shortest paths. Not private: for private demand
    `Release.heatmap` does the same.

    Every point spreads its demand within the bandwidth b, by the quartic kernel ``(1 - (d / b)²)²``
    of the distance d; the sum of demand is preserved. The density is per length of street in a
    graph, per point elsewhere. One-way streets count both ways.

    Parameters
    ----------
    universe : Metric
        A finite universe; or a release, whose own map is returned.
    weights : array_like of shape (n_points,) or mapping from id to weight, optional
        Demand, none negative; by default 1 everywhere.
    bandwidth : float or str, optional
        How far demand is spread, in the universe's units or such as ``"500 m"``. By default the
        smallest, in steps of 20 %, at which the standard error of the density is at most `error` of
        it for half of the demand; each unit of weight counts as one observation.
    error : float

    Raises
    ------
    InputError
        A bad argument, or a box.

    Notes
    -----
    A bounded search from each point; where many points are within b, from those of a public net of
    covering radius b / 16. Without edges O(n_points²).

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> heat = mdp.heatmap(metric, {4: 10}, bandwidth=2)
    >>> heat.density.round(1)
    array([0. , 0. , 0. , 2.6, 4.7, 2.6, 0. , 0. , 0. ])
    """
    own = getattr(universe, "heatmap", None)
    if callable(own):
        if weights is not None:
            raise InputError("a release has weights of its own: leave weights= out")
        found: Heatmap = own(bandwidth=bandwidth, error=error)
        return found
    metric = metric_of(universe, "a heat map")
    known = public_weights(metric, weights)
    return smoothed(metric, known, sampled_demand(known), bandwidth, error)


def smoothed(
    metric: Metric,
    weights: Floats,
    drawn: Floats | None,
    bandwidth: Any,
    error: Any,
    receipt: Any = None,
) -> Heatmap:
    """The heat map of weights (n_points,), with its standard error by the demand `drawn` from the
    posterior (n_points, n_draws), if that is given.
    """
    kernel = Smoothing(metric)
    demand = np.column_stack([weights, *([] if drawn is None else [drawn])])
    if bandwidth is None:
        share = positive(error, "error")
        if drawn is None:
            raise InputError(
                "the noise of this release is not known point by point: give a bandwidth"
            )
        width = kernel.bandwidth(demand, share)
    else:
        width = positive_in_units_of(metric, bandwidth, "bandwidth")
    density = kernel.density(demand, width)
    deviation = None if drawn is None else standard_error(density)
    return Heatmap(metric, density[:, 0].copy(), deviation, width, kernel.lengths, receipt)
