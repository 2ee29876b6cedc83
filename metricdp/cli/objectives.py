"""The questions of planners on the command line: ``metricdp cluster --objective …``."""

from __future__ import annotations

from argparse import ArgumentTypeError, Namespace
from dataclasses import MISSING, fields
from typing import Any

from metricdp.cli import parsing, sites
from metricdp.cli.parsing import UsageError

PLAIN = ("k-median", "k-means")
"""Answered by `metricdp.k_median` and `metricdp.k_means` where nothing else is asked."""
NAMES = (
    *PLAIN,
    "kz",
    "p-center",
    "p-dispersion",
    "max-coverage",
    "backup-coverage",
    "set-cover",
    "facility-location",
    "capacitated",
    "equity",
    "ordered-median",
    "nested",
)
"""Those of `metricdp.solvers.objectives.OBJECTIVES`, known without loading them."""
_OPTION_OF = {
    "k": "k",
    "limit": "limit",
    "threshold": "threshold",
    "z": "z",
    "first": "first",
    "costs": "opening_costs",
    "capacities": "capacity",
    "aversion": "aversion",
    "kappa": "kappa",
    "share": "share",
    "blend": "blend",
    "single_source": "single_source",
    "ks": "ks",
}
"""The command line's name of each field of an objective."""
_TABLES = {"opening_costs": "cost", "capacity": "capacity"}


def add_options(group: Any) -> None:
    """Add ``--objective`` and what objectives take."""
    text = "; all but the first two print an object of their own (docs: objectives.md)"
    group.add_argument(
        "--objective",
        metavar="NAME",
        choices=NAMES,
        default="k-median",
        help=f"what makes sites good: {', '.join(NAMES)}{text}; default: %(default)s",
    )
    limit = "distance beyond which nobody is served or covered, such as 900, '10 min' or '500 m'"
    group.add_argument("--limit", metavar="D", type=parsing.distance, help=limit)
    parsing.add_measured_in(group)
    threshold = "p-center, set-cover: only points of more weight than this count (noisy weights)"
    group.add_argument("--threshold", metavar="W", type=_at_least_0, help=threshold)
    group.add_argument("--z", metavar="Z", type=parsing.positive_number, help="power of kz")
    first = "backup-coverage: share that counts when covered once (default: 0.5)"
    group.add_argument("--first", metavar="SHARE", type=parsing.positive_number, help=first)
    costs = "facility-location: what opening costs, a number or a table with vertex and cost"
    group.add_argument("--opening-costs", metavar="COST", help=costs)
    room = "capacitated: what a site serves at most, a number or a table with vertex and capacity"
    group.add_argument("--capacity", metavar="LOAD", help=room)
    aversion = "equity: aversion to inequality (default: 1)"
    group.add_argument("--aversion", metavar="A", type=parsing.positive_number, help=aversion)
    kappa = "equity: in one over units of distance, in place of --aversion"
    group.add_argument("--kappa", metavar="KAPPA", type=parsing.positive_number, help=kappa)
    share = "ordered-median: share of the demand, the worst off, that counts (default: 0.1)"
    group.add_argument("--share", metavar="SHARE", type=_share, help=share)
    blend = "ordered-median: how much it counts beside the mean of all, 0 to 1 (default: 1)"
    group.add_argument("--blend", metavar="SHARE", type=_share, help=blend)
    whole = "capacitated: every vertex is served by one site alone, never shared by several"
    group.add_argument("--single-source", action="store_true", default=None, help=whole)
    ks = "nested: numbers of sites of the stages, such as 5,10,20; sites that are open stay open"
    group.add_argument("--ks", metavar="K,K,…", type=_numbers, help=ks)
    how = (
        "one set of sites for several releases (--from-release, repeated), such as times of day: "
        "mean, worst, or weights such as 5,1,1; --weight may name a column for each: am,pm"
    )
    group.add_argument("--scenarios", metavar="HOW", type=_scenarios, help=how)
    forbidden = "vertices where no site may stand, such a table as --candidates"
    group.add_argument("--forbidden", metavar="FILE", help=forbidden)
    weights = "public demand: a table with columns vertex and weight, in place of --demand"
    group.add_argument("--weights", metavar="FILE", help=weights)


def planned(args: Namespace) -> bool:
    """Whether `metricdp.solve` is to answer, and not `metricdp.k_median`."""
    plain = args.objective in PLAIN and args.limit is None and args.forbidden is None
    proved = args.exact or args.certificate or args.effort is not None
    if args.scenarios is not None:
        return True
    return not plain or (args.weights is not None and not proved)


def check(args: Namespace) -> None:
    """Refuse options that the objective lacks or does not take, before anything is read."""
    from metricdp.solvers.objectives import OBJECTIVES

    kind = OBJECTIVES[args.objective]
    taken = {field.name: field for field in fields(kind)}  # type: ignore[arg-type]
    for name, option in _OPTION_OF.items():
        given = getattr(args, option) is not None
        shown = "-k" if option == "k" else "--" + option.replace("_", "-")
        own = name in taken and not (name == "z" and args.objective != "kz")
        if given and not own:
            raise UsageError(f"{shown} is of no use with --objective {args.objective}")
        if own and not given and taken[name].default is MISSING:
            raise UsageError(f"--objective {args.objective} needs {shown}")
    if (args.scenarios is not None) != (len(args.from_release or ()) > 1):
        raise UsageError("--scenarios is for several releases: --from-release FILE, repeated")
    if args.weights is not None and (args.demand is not None or args.from_release is not None):
        raise UsageError("--weights is public demand: leave --demand and --from-release out")
    if planned(args) and args.certificate:
        raise UsageError(
            "--certificate is for k-median and k-means; other questions tell their bound as it is"
        )
    if planned(args) and (args.exact or args.effort is not None):
        option = "--exact" if args.exact else "--effort"
        raise UsageError(f"{option} is for k-median and k-means")
    if planned(args) and args.method != "partition":
        raise UsageError(f"--method {args.method} answers k-median and k-means alone")


def objective_of(args: Namespace, metric: Any) -> Any:
    """The objective that was asked for."""
    from metricdp.solvers.objectives import OBJECTIVES

    kind = OBJECTIVES[args.objective]
    values = {}
    for field in fields(kind):  # type: ignore[arg-type]
        option = _OPTION_OF.get(field.name)
        value = None if option is None else getattr(args, option)
        if value is not None:
            if option in _TABLES:
                value = _number_or_table(value, _TABLES[option], metric)
            values[field.name] = value
    return kind(**values)


def asked(args: Namespace, metric: Any) -> dict[str, Any]:
    """What is asked of `metricdp.solve` besides the objective, checked before a charge."""
    import numpy as np

    from metricdp.methods.solving import instance_of

    files = {"candidates": args.candidates, "opened": args.opened, "forbidden": args.forbidden}
    read = {
        name: None if path is None else sites.read_vertices(path, metric)
        for name, path in files.items()
    }
    found = {**read, "seed": args.seed, "time_limit": args.time_limit}
    instance = instance_of(metric, np.zeros(len(metric)), loads=np.zeros(len(metric)), **found)
    objective_of(args, metric).check(instance)
    return found


def margin(plan: Any) -> str:
    """How far true loads may exceed the noisy ones, for which capacities are kept."""
    told, noisy = plan.load_intervals(), list(plan.loads.values())
    above = [high - load for high, load in zip(told.high, noisy)]
    i = above.index(max(above))
    return (
        f"capacities hold for the noisy loads; true ones exceed them by {max(above[i], 0.0):.6g} "
        f"at most, at {plan.centers[i]} ({told.high[i]:.6g}; {100 * told.level:g} % credible for "
        f"each site, load_intervals has all)"
    )


def public_weights(args: Namespace, metric: Any) -> Any:
    """The weights of ``--weights``; None if it was not given."""
    return None if args.weights is None else _by_vertex(args.weights, "weight", metric)


def add_expected(group: Any) -> None:
    """Options for what is expected where."""
    known = (
        "public table of where demand is expected (columns vertex and weight), or polygons with "
        "weights, such as a census, or 'streets': the length of street at each vertex; less noise "
        "where it is right, believed as far as the noisy counts agree"
    )
    group.add_argument("--expected", metavar="FILE", help=known)
    column = "column of --expected that has the weights (default: %(default)s)"
    group.add_argument("--expected-column", metavar="C", default="weight", help=column)


def expected(args: Namespace, metric: Any) -> Any:
    """What ``--expected`` names; None if it was not given."""
    from metricdp.methods.expected import STREETS

    if args.expected is None or args.expected == STREETS:
        return args.expected
    frame = sites.read_polygons(args.expected, args.expected_column, "--expected-column")
    if frame is not None:
        return frame.assign(weight=frame[args.expected_column])
    return _by_vertex(args.expected, args.expected_column, metric, " (--expected-column)")


def _number_or_table(text: str, column: str, metric: Any) -> Any:
    try:
        return float(text)
    except ValueError:
        return _by_vertex(text, column, metric, of_sites=True)


def _by_vertex(
    path: str, column: str, metric: Any, option: str = "", of_sites: bool = False
) -> dict[Any, float]:
    """A mapping from site, or from demand point, to number, out of a public table."""
    ids, table = sites.read_by_vertex(path, column, metric, option, of_sites)
    return dict(zip(ids, table.numbers(column).tolist()))


def _share(text: str) -> float:
    number = _at_least_0(text)
    if number > 1:
        raise ArgumentTypeError(f"must be a number from 0 to 1, got {text[:40]!r}")
    return number


def _numbers(text: str) -> list[int]:
    try:
        return [int(one) for one in text.split(",")]
    except ValueError:
        raise ArgumentTypeError(f"must be numbers such as 5,10,20, got {text[:40]!r}") from None


def _scenarios(text: str) -> Any:
    if text in ("mean", "worst"):
        return text
    return [_at_least_0(one) for one in text.split(",")]


def _at_least_0(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise ArgumentTypeError(f"must be a number of at least 0, got {text[:40]!r}")
    return number
