"""Facility-location objectives on the command line: ``metricdp cluster --objective …``."""

from __future__ import annotations

import re
from argparse import Namespace
from dataclasses import MISSING, Field, fields
from typing import TYPE_CHECKING, Any

from metricdp.cli import sites
from metricdp.cli.parsing import UsageError, as_option

if TYPE_CHECKING:
    from metricdp.methods.solution import Solution
    from metricdp.metrics.base import Metric
    from metricdp.solvers.objectives import Objective, Size

PLAIN = ("k-median", "k-means")
"""Objectives answered by `metricdp.k_median` and `metricdp.k_means`, unless options need
`solve`.
"""
NAMES: tuple[str, ...] = (*PLAIN, "kz", "p-center", "p-dispersion", "max-coverage")
NAMES += ("backup-coverage", "set-cover", "facility-location", "capacitated", "equity", "nested")
"""Names in `metricdp.solvers.objectives.OBJECTIVES`, without importing it."""
_OTHERWISE = {"costs": "opening_costs", "capacities": "capacity"}
"""Names of options that differ from the objective's field."""
_TABLES = {"opening_costs": "cost", "capacity": "capacity"}


def planned(args: Namespace) -> bool:
    """Whether `metricdp.solve` answers, instead of `metricdp.k_median` or `metricdp.k_means`."""
    plain = args.objective in PLAIN and args.limit is None and args.forbidden is None
    proved = args.exact or args.certificate or args.effort is not None
    if args.scenarios is not None or args.start is not None:
        return True
    return not plain or (args.weights is not None and not proved)


def check(args: Namespace) -> None:
    """Refuse missing and unknown options of the objective, before anything is read."""
    from metricdp.solvers.objectives import OBJECTIVES

    kind = OBJECTIVES[args.objective]
    own = _fields(kind)
    if args.objective != "kz":
        own.pop("z", None)
    every = dict.fromkeys(name for one in OBJECTIVES.values() for name in _fields(one))
    for name in (name for name in every if hasattr(args, name)):
        given = getattr(args, name) is not None
        if given and name not in own:
            raise UsageError(f"{as_option(name)} is of no use with --objective {args.objective}")
        if not given and name in own and own[name].default is MISSING:
            raise UsageError(f"--objective {args.objective} needs {as_option(name)}")
    if (args.scenarios is not None) != (len(args.from_release or ()) > 1):
        raise UsageError("--scenarios is for several releases: --from-release FILE, repeated")
    if args.weights is not None and (args.demand is not None or args.from_release is not None):
        raise UsageError("--weights is public demand: leave --demand and --from-release out")
    if not planned(args):
        return
    if args.certificate:
        others = "other questions tell their bound as it is"
        raise UsageError(f"--certificate is for k-median and k-means; {others}")
    if args.exact or args.effort is not None:
        option = "--exact" if args.exact else "--effort"
        raise UsageError(f"{option} is for k-median and k-means")
    method = method_asked(args)
    if method != "partition":
        raise UsageError(f"--method {method} answers k-median and k-means alone")


def method_asked(args: Namespace) -> str:
    """The method that is asked for: the default, but with a tree the one that it is made for."""
    default = "partition" if args.tree is None else "hst"
    return default if args.method is None else str(args.method)


def check_method(args: Namespace, *, releases: bool) -> None:
    """Refuse an unknown method or, with `releases`, one without a release."""
    from metricdp.methods.registry import BY_NAME

    finite = [name for name, kind in BY_NAME.items() if kind.in_finite]
    fitting = [name for name in finite if BY_NAME[name].releases or not releases]
    if args.method not in fitting:
        raise UsageError(f"--method must be one of {', '.join(fitting)}; got {args.method!r}")


def _fields(kind: type[Objective]) -> dict[str, Field[Any]]:
    """The fields of an objective by the name of their option."""
    return {_OTHERWISE.get(f.name, f.name): f for f in fields(kind)}  # type: ignore[arg-type]


def objective_of(args: Namespace, metric: Metric) -> Objective:
    """The objective of the options."""
    from metricdp.solvers.objectives import OBJECTIVES

    kind = OBJECTIVES[args.objective]
    values = {}
    for option, field in _fields(kind).items():
        value = getattr(args, option, None)
        if value is not None:
            if option in _TABLES:
                sizes = _sizes(value) if option == "capacity" else None
                value = sizes or _number_or_table(value, _TABLES[option], metric)
            values[field.name] = value
    return kind(**values)


def asked(args: Namespace, metric: Metric) -> dict[str, Any]:
    """Arguments of `metricdp.solve` besides the objective, checked before a charge."""
    import numpy as np

    from metricdp.methods.solving import instance_of

    found = sites.read_options(args, ("candidates", "opened", "forbidden"), metric)
    if args.start is not None:
        found["start"] = sites.read_centers(args.start, metric)
    found |= {"seed": args.seed, "time_limit": args.time_limit}
    instance = instance_of(metric, np.zeros(len(metric)), loads=np.zeros(len(metric)), **found)
    objective_of(args, metric).check(instance)
    return found


def margin(plan: Solution) -> str:
    """A note on how far true loads may exceed noisy ones, to which capacities apply."""
    facts, noisy = plan.load_intervals(), list(plan.loads.values())
    above = [high - load for high, load in zip(facts.high, noisy)]
    i = above.index(max(above))
    return (
        f"capacities hold for the noisy loads; true ones exceed them by {max(above[i], 0.0):.6g} "
        f"at most, at {plan.centers[i]} ({facts.high[i]:.6g}; {100 * facts.level:g} % credible for "
        f"each site, load_intervals has all)"
    )


def public_weights(args: Namespace, metric: Metric) -> Any:
    """The weights of ``--weights``; None if it was not given."""
    return None if args.weights is None else _by_vertex(args.weights, "weight", metric)


def expected(args: Namespace, metric: Metric) -> Any:
    """The argument `expected` from ``--expected``; None if it was not given."""
    from metricdp.methods.expected import STREETS

    if args.expected is None or args.expected == STREETS:
        if args.expected_column is not None:
            raise UsageError("--expected-column names a column of --expected FILE: give both")
        return args.expected
    column = args.expected_column or "weight"
    frame = sites.read_polygons(args.expected, column, "--expected-column")
    if frame is not None:
        return frame.assign(weight=frame[column])
    nodes = args.expected == args.nodes
    ids, table = sites.read_by_vertex(
        args.expected, column, metric, " (--expected-column)", of_nodes=nodes
    )
    known = set(metric.ids)
    return {i: w for i, w in zip(ids, table.numbers(column).tolist()) if i in known}


def _sizes(text: str) -> list[Size] | None:
    """Sizes from text such as 300:0:5,1000:50000:2; None for other text."""
    from metricdp.solvers.objectives import Size

    if not re.fullmatch(r"[0-9.e+]+[:,][^./\\]*(\.\d[^./\\]*)*", text):
        return None
    try:
        parts = [one.split(":") if ":" in one else [one, ""] for one in text.split(",")]
        return [Size(float(one), float(cost or 0), *map(int, most)) for one, cost, *most in parts]
    except (TypeError, ValueError):
        raise UsageError(
            f"--capacity {text[:40]} must be sizes such as 300:0:5,1000:50000:2: capacity, cost of "
            f"opening one, most of them"
        ) from None


def _number_or_table(text: str, column: str, metric: Metric) -> float | dict[Any, float]:
    try:
        return float(text)
    except ValueError:
        return _by_vertex(text, column, metric, of_sites=True)


def _by_vertex(path: str, column: str, metric: Metric, of_sites: bool = False) -> dict[Any, float]:
    """Numbers by vertex (of demand, or of sites) from a public table."""
    ids, table = sites.read_by_vertex(path, column, metric, of_sites=of_sites)
    return dict(zip(ids, table.numbers(column).tolist()))
