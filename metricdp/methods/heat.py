"""Heat maps of demand on a universe, private and public: post-processing of weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from metricdp.arguments import positive
from metricdp.arrays import Floats
from metricdp.errors import InputError
from metricdp.methods.result import public_weights
from metricdp.metrics.base import Metric, metric_of
from metricdp.metrics.units import in_units_of
from metricdp.options import Length, Weights
from metricdp.report.heat.heatmap import Heatmap
from metricdp.solvers.estimate.smoothing import Smoothing, sampled_demand, standard_error

ERROR = 0.25
"""Of a density, where half of the demand is."""


def heatmap(
    universe: Metric,
    weights: Weights | None = None,
    *,
    bandwidth: Length | None = None,
    error: float = ERROR,
) -> Heatmap:
    """Where public demand is, smoothed along shortest paths: not private. For private demand
    `Release.heatmap` does the same.

    Every point spreads its demand over what is within the bandwidth by the quartic kernel
    ``(1 - (d / b)²)²`` of the distance d, so that the whole demand is kept: a density per length of
    street in a graph, per point elsewhere. One-way streets count both ways.

    Parameters
    ----------
    universe : Metric
        Finite. A release is asked for its own map.
    weights : array_like of shape (n_points,) or mapping from id to weight, optional
        Demand, none negative; by default 1 everywhere.
    bandwidth : float or str, optional
        How far demand is spread, in the universe's units or such as ``"500 m"``. By default the
        smallest, of steps of 20 %, at which the standard error of the density is at most `error` of
        it for half of the demand; each unit of weight counts as one person seen.
    error : float

    Raises
    ------
    InputError
        A bad argument, or a box.

    Notes
    -----
    A bounded search from each point, or where many are within b from each of a public net of points
    that leaves none farther than b / 16. Without edges O(n_points²).

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
    """The map of weights, and its standard error by what else the demand may be."""
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
        if isinstance(bandwidth, str):
            bandwidth = in_units_of(metric, bandwidth, "bandwidth")
        width = positive(bandwidth, "bandwidth")
    density = kernel.density(demand, width)
    doubt = None if drawn is None else standard_error(density)
    return Heatmap(metric, density[:, 0].copy(), doubt, width, kernel.lengths, receipt)
