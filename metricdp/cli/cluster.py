"""``metricdp cluster``: k centers of a public graph, for private demand, none, or public demand."""

import os
import time
from argparse import Namespace
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import fields, replace
from typing import Any, cast

import metricdp as mdp
from metricdp.cli import budget, inputs, objectives, parsing, sites, streams, tables
from metricdp.cli.parsing import UsageError, given
from metricdp.cli.streams import note, say
from metricdp.errors import MetricDPError
from metricdp.interruption import held
from metricdp.methods.question import Question
from metricdp.methods.remarks import too_few
from metricdp.methods.summary import check_stability
from metricdp.metrics.base import Metric
from metricdp.metrics.units import positive_in_units_of, unit_shown
from metricdp.partitions.finite.ward import hierarchy
from metricdp.progress import doing
from metricdp.report.bands import checked_ends
from metricdp.report.heat.heatmap import ENDINGS
from metricdp.report.layers import crs_of
from metricdp.report.plan_files import ending_of, extra_facts, plan_ending
from metricdp.report.point_files import checked_ending
from metricdp.running.runner import price_of

_PRIVATE = (
    *("epsilon", "delta", "neighboring", "ledger", "epsilon_budget", "delta_budget", "dataset"),
    *("purpose", "who", "renews", "expires", "anchor", "user", "max_contributions", "weighting"),
    *("method", "caps", "records_hint", "expected", "expected_column", "tree", "coreset"),
    *("engine", "save_release"),
)
_DEMAND = ("demand_column", "x", "y", "demand_layer", "demand_crs", "max_snap", "box")


def run(args: Namespace) -> None:
    """Check, read, charge, solve, write."""
    start = time.perf_counter()
    _check(args)
    metrics = _universes(args)
    metric = metrics[0]
    inputs.check_k(args, metric)
    if args.coreset is not None:
        checked_ending(args.coreset, metric.coordinates, crs=crs_of(metric))
    if args.output is not None:
        plan_ending(args.output, metric)
    if args.heatmap is not None:
        ending_of(args.heatmap, metric, ENDINGS)
    if args.bandwidth is not None:
        positive_in_units_of(metric, args.bandwidth, "bandwidth")
    if args.bands is not None:
        checked_ends(args.bands, metric)
    if args.stability and (args.from_release or args.epsilon is not None):
        check_stability(metric)
    if args.from_release is not None:
        result = _saved(args, metrics)
    elif args.demand is None or args.non_private:
        result = _unprotected(args, metric)
    else:
        result = _private(args, metric)
    caution = "" if args.demand is None else " (times depend on the data: do not publish them)"
    note(f"done in {time.perf_counter() - start:.1f} s{caution}")
    _write(args, metric, result)


def _check(args: Namespace) -> None:
    """Refuse bad options before anything is read."""
    objectives.check(args)
    _check_options(args)
    args.method = objectives.method_asked(args)
    objectives.check_method(args, releases=False)
    method = mdp.methods.BY_NAME[args.method]
    if args.demand is not None and not method.releases:
        for name in given(args, ("coreset", "save_release")):
            raise UsageError(f"{name}: the method {args.method} releases no weights")
    counted = given(args, ("expected", "bands", "heatmap")) + ["--stability"] * args.stability
    for name in counted:
        if args.method != "partition" and (args.demand or name == "--expected"):
            raise UsageError(f"{name} is for the method partition, not for {args.method}")
    if args.tree is not None and "tree" not in {field.name for field in fields(method)}:
        raise UsageError(f"--tree is for --method hst or local-search, not for {args.method}")
    if args.save_release == "no":
        args.save_release = None
    elif args.save_release is None and args.ledger is not None and method.releases:
        args.save_release = _beside(args.ledger)
    streams.check_files(args)
    if args.epsilon is not None:
        from metricdp.methods.registry import method_of

        budget.check_budget(args, method_of(args.method).price(args.epsilon, args.delta or 0))


def _check_options(args: Namespace) -> None:
    if args.bandwidth is not None and args.heatmap is None:
        raise UsageError("--bandwidth is of --heatmap FILE")
    if args.scenarios is not None:
        for name in given(args, ("coreset", "heatmap")) + ["--stability"] * args.stability:
            raise UsageError(f"{name} is of one release, and --scenarios of several")
    private = given(args, _PRIVATE)
    needless = [*private, *given(args, _DEMAND)]
    needless += ["--non-private"] * args.non_private
    if args.from_release is not None:
        taken = given(args, ("demand",)) + [name for name in needless if name != "--coreset"]
        taken += ["--certificate"] * args.certificate + ["--exact"] * args.exact
        if taken:
            raise UsageError(f"{taken[0]} is of no use with --from-release, which reads no demand")
        return
    if args.demand is None:
        if needless:
            about = f"{needless[0]} is about private demand"
            raise UsageError(f"{about}: give --demand FILE, or leave it out")
        return
    if (args.certificate or args.exact) and not args.non_private:
        option = "--exact" if args.exact else "--certificate"
        must_not = "the exact cost, which private demand must not"
        raise UsageError(f"{option} tells {must_not}: leave it out")
    if args.non_private and private:
        raise UsageError(f"{private[0]} and --non-private contradict each other")
    if args.epsilon is None and not args.non_private:
        needs = "--demand needs --epsilon E, the privacy budget of this call"
        raise UsageError(f"{needs}; for no privacy: --non-private")
    budget.check_options(args)
    parsing.check_columns(args)


def _solver(args: Namespace) -> Any:
    return mdp.k_means if args.objective == "k-means" else mdp.k_median


def _unprotected(args: Namespace, metric: Metric) -> Any:
    """Centers for the graph itself, or for demand that is treated as public."""
    weights = objectives.public_weights(args, metric)
    if args.demand is not None:
        how = "computed from the demand without any protection and may reveal it"
        say(f"warning: --non-private: the result is {how}")
        weights = inputs.read_as_weights(args, metric)
    search = _search(args, metric)
    if objectives.planned(args):
        return _answered_objective(args, metric, weights, search)
    proof = {"certificate": args.certificate, "exact": args.exact}
    result = _solver(args)(metric, k=args.k, weights=weights, **proof, **search)
    if args.certificate or args.exact:
        note(tables.proof(result.gap))
    return result


def _answered_objective(args: Namespace, of: Any, weights: Any, search: dict[str, Any]) -> Any:
    """The answer of `metricdp.solve`, for a universe with public weights, or for releases."""
    first: Any = of[0] if isinstance(of, list) else of
    metric: Metric = getattr(first, "universe", first)
    objective = objectives.objective_of(args, metric)
    public = {} if weights is None else {"weights": weights}
    public |= {} if args.scenarios is None else {"scenarios": args.scenarios}
    with _stdout_to_stderr():
        result = mdp.solve(of, objective, **public, **search)
    given = weights.values() if isinstance(weights, dict) else weights
    known = given is not None and any(given)
    kind = "the noisy weights" if result.noisy else "the given weights" if known else "weights of 1"
    note(f"{objective.name}: {result.value:.6g} for {kind}, {tables.proof(result.gap)}")
    if args.capacity is not None and result.has_intervals:
        note(objectives.margin(result))
    return result


@contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    """Redirect stdout of C libraries to stderr: HiGHS prints a line there."""
    stdout = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(stdout, 1)
        os.close(stdout)


def _search(args: Namespace, metric: Metric) -> dict[str, Any]:
    """Options of the solver, checked before the charge, so that a refused call leaves no file."""
    if objectives.planned(args):
        return objectives.asked(args, metric)
    asked = sites.read_options(args, ("candidates", "opened"), metric)
    asked |= {"seed": args.seed, "time_limit": args.time_limit, "effort": args.effort or "quick"}
    Question.checked(metric, args.k, 1, **asked)
    return asked


def _private(args: Namespace, metric: Metric) -> Any:
    """Centers for private demand."""
    expected = objectives.expected(args, metric)
    demand = inputs.read_demand(args, metric)
    doing("counting the demand and finding centers")
    search = _search(args, metric)
    method: Any = args.method
    if args.tree is not None:
        tree = mdp.HST.load(args.tree, metric)
        method = replace(cast(Any, mdp.methods.method_of(method)), tree=tree)
    if method == "partition" and args.save_release is not None:
        hierarchy(metric, args.seed)  # public but slow, so computed before the charge
    price = price_of(mdp.methods.method_of(method), demand, args.epsilon, args.delta or 0)
    budget.check_budget(args, price)  # with caps, the price is known only now
    with budget.paying(args) as ledger:
        paid = {"epsilon": args.epsilon, "delta": args.delta or 0, "ledger": ledger}
        paid |= {"records_hint": args.records_hint, "expected": expected}
        saved = args.save_release is not None
        if method == "partition" and (saved or objectives.planned(args)):
            # an interruption waits from the charge until the release is saved
            with held(budget.report_interruption):
                release = mdp.release(metric, demand, seed=args.seed, **paid)
                _save(args, release)
            result = _searched(args, release, search)
        else:
            with held(budget.report_interruption) if saved else nullcontext():
                result = _solver(args)(metric, demand, args.k, method=method, **paid, **search)
                _save(args, result.release)
    budget.say_expense(args, result.receipt, ledger)
    noisy = result.release
    warning = noisy is not None and too_few(float(noisy.weights.sum()), len(result.centers))
    if warning:
        note(f"{warning} (were records left out as too far away, or at other places?)")
    return result


def _universes(args: Namespace) -> list[Metric]:
    """The public graph, or one for each scenario if each has its own column of lengths."""
    columns = str(args.weight or "").split(",")
    if args.scenarios is None or len(columns) == 1:
        return [inputs.read_universe(args)]
    if len(columns) != len(args.from_release):
        raise UsageError("--weight names a column for each release of --from-release, or one")
    each = (Namespace(**{**vars(args), "weight": column}) for column in columns)
    return list(map(inputs.read_universe, each))


def _saved(args: Namespace, metrics: list[Metric]) -> Any:
    """Centers from saved releases."""
    own = metrics * len(args.from_release) if len(metrics) == 1 else metrics
    releases = [mdp.Release.load(path, metric) for path, metric in zip(args.from_release, own)]
    one = releases[0] if args.scenarios is None else releases
    return _question(args, one, _search(args, metrics[0]))


def _question(args: Namespace, release: Any, search: dict[str, Any]) -> Any:
    if objectives.planned(args):
        return _answered_objective(args, release, None, search)
    ask = release.k_means if args.objective == "k-means" else release.k_median
    return ask(args.k, **search)


def _searched(args: Namespace, release: Any, search: dict[str, Any]) -> Any:
    """The answer from a release; if the search fails, the exception tells where it is saved."""
    try:
        return _question(args, release, search)
    except BaseException as error:
        path = args.save_release
        if path is not None:
            error.add_note(
                f"{path} holds the release that was paid for: --from-release asks it, free"
            )
        raise


def _beside(ledger: str) -> str:
    """The first unused name for a release beside a ledger."""
    number = 1
    while os.path.lexists(f"{ledger}.{number}.release"):
        number += 1
    return f"{ledger}.{number}.release"


def _save(args: Namespace, release: Any) -> None:
    """Write the release, if a file for it was named."""
    if args.save_release is not None and release is not None:
        release.save(args.save_release)
        note(f"wrote {args.save_release}: --from-release answers other questions from it, free")


def _write(args: Namespace, metric: Metric, result: Any) -> None:
    """Write the result, to stdout first: so a failure to write a file does not lose it."""
    summary = firm = bands = None
    failed: MetricDPError | None = None
    try:
        summary = result.summary() if getattr(result, "has_interval", False) else None
        firm = result.stability() if args.stability else None
        bands = None if args.bands is None else result.bands(args.bands)
    except MetricDPError as error:
        failed = error
    facts = result.to_dict()
    if summary is not None:
        facts |= {"estimates": {**summary.to_dict(), "distance_unit": metric.measured}}
    facts |= extra_facts(firm, bands)
    if firm is not None:
        note(firm.sentence(unit_shown(metric)))
    tables.show(args, facts, lambda: tables.of_centers(result, summary))
    basis = "public" if args.demand is None else "non-private"
    page = {"title": args.title, "attribution": args.attribution, "basis": basis}
    if args.output is not None and args.output.lower().endswith(".json"):
        streams.write_text(args.output, streams.to_json(facts))
    elif args.output is not None:
        result.save(args.output, stability=args.stability, bands=args.bands, **page)
    if args.coreset is not None:
        result.release.coreset().save(args.coreset)
    if args.map is not None:
        streams.write_text(args.map, result.page(stability=args.stability, **page))
    if args.heatmap is not None:
        of = (metric, result.weights) if result.release is None else (result.release,)
        mdp.heatmap(*of, bandwidth=args.bandwidth).save(args.heatmap)
    written = list(filter(None, [args.output, args.coreset, args.map, args.heatmap]))
    if written:
        note(f"wrote {', '.join(written)}")
    if failed is not None:
        raise failed
