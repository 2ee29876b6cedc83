"""The two tiers of the tests, and how they are shared out among processes.

The first tier is what every change is held to: ``pytest -m "not extended"``, with the extras
``test`` and ``check`` alone. The second, ``pytest -m extended``, needs the other extras, a browser
or minutes. `EXTENDED` lists it; so does whatever the first run skipped for lack of a library, which
it notes in pytest's cache. ``.ci/run`` runs both; without ``-m`` pytest runs all.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Generator
from contextlib import suppress
from doctest import UnexpectedException
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

MOST_PROCESSES = 6
"""Each may need half a gigabyte."""
EXTENDED = (
    "benchmarks/",
    "metricdp/sklearn.py",
    "tests/audit/test_audit.py",
    "tests/audit/test_replay.py::test_exact_distributions_by_recorded_randomness",
    "tests/benchmarks/",
    "tests/fuzz/",
    "tests/local/test_decoding.py::test_messages_are_decoded_to_where_users_are",
    "tests/local/test_decoding.py::test_the_demonstration",
    "tests/metrics/test_diameter.py",
    "tests/methods/box/test_coreset.py::test_means_that_a_release",
    "tests/methods/box/test_coreset.py::test_more_dimensions[4]",
    "tests/methods/box/test_coreset.py::test_the_default_coreset_holds_lone_records",
    "tests/methods/box/test_default.py::test_a_loose_box_costs_next_to_nothing",
    "tests/methods/box/test_default.py::test_small_clusters_beside_tight",
    "tests/methods/box/test_quadtree.py::test_finds_the_groups",
    "tests/methods/box/test_quadtree.py::test_long_boxes",
    "tests/methods/box/test_quadtree.py::test_more_centers_than_cells",
    "tests/methods/box/test_quadtree.py::test_other_dimensions",
    "tests/methods/finite/test_max_coverage.py::test_demand_in_one_corner",
    "tests/methods/test_expected.py::test_a_box_believes",
    "tests/methods/test_expected.py::test_a_right_expectation_gains",
    "tests/methods/test_summary.py::test_a_box_has_intervals",
    "tests/methods/finite/test_lower_bounds.py",
    "tests/running/test_stream_crashes.py",
    "tests/running/test_stream.py::test_kill_at_any_moment",
    "tests/running/test_evaluation.py::test_every_interval_covers_through_the_gate",
    "tests/cli/test_commands.py::test_demo",
    "tests/partitions/finite/test_hst.py::test_larger_universes_against_the_matrix",
    "tests/partitions/finite/test_ward.py::test_cuts_at_the_real_sizes_of_landmarks",
    "tests/records/engines/",
    "tests/records/test_doors.py",
    "tests/records/test_geographic.py",
    "tests/records/test_trouble.py",
    "tests/report/test_bands.py::test_a_page_shows_bands",
    "tests/privacy/test_shares.py::test_honest_shares_are_laplace_noise_together[12",
    "tests/report/explore/",
    "tests/report/heat/",
    "tests/report/map/",
    "tests/report/days/",
    "tests/solvers/estimate/test_intervals.py",
    "tests/solvers/estimate/test_joint_posterior.py",
    "tests/solvers/test_bounds.py::test_or_library",
    "tests/solvers/test_kmedian.py::test_among_the_centers_of_several_searches",
    "tests/solvers/test_kmedian.py::test_nearly_as_good_without_a_block_of_all_distances",
    "tests/solvers/test_kmedian.py::test_opened_facilities_of_large_universes",
    "tests/solvers/test_near_lists.py::test_thorough_without_a_block",
    "tests/solvers/objectives/test_beyond_a_block.py",
    "tests/solvers/objectives/test_capacity_search.py::test_sharing_clients",
    "tests/solvers/objectives/test_capacitated.py",
    "tests/solvers/objectives/test_p_dispersion.py::test_hundreds_of_points_are_proven[12]",
    "tests/test_datasets.py::test_real_sets_are_what_the_registry_says[USA-road-d.BAY]",
    "tests/test_from_clone_to_map.py",
    "tests/test_gallery.py",
    "tests/test_interruption.py",
    "tests/test_mutants.py::test_what_is_explained",
    "tests/test_notebooks.py",
    "tests/test_readme.py::test_the_tutorial_runs_as_pasted",
    "tests/test_release_script.py",
    "tests/test_sklearn",
    "tests/universe/test_shared_data.py",
)
"""What ids of the second tier begin with: other libraries, browsers, long runs."""
ABSENT = "metricdp/absent"
"""Where pytest's cache keeps what the first tier skipped for lack of a library."""
KERNELS = "tests/kernels/"
_SKIPPED: set[str] = set()
collect_ignore = ["tests/spark_workers.py"]
collect_ignore += [] if find_spec("sklearn") else ["metricdp/sklearn.py"]
"""Modules that are nothing without their library."""


@pytest.fixture(autouse=True, scope="session")
def _names_of_examples(doctest_namespace: dict[str, object]) -> None:
    """What examples in docstrings take for granted; docs/api.rst says so to those who copy them."""
    import networkx
    import numpy

    import metricdp

    doctest_namespace |= {"mdp": metricdp, "np": numpy, "nx": networkx}


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Processes for ``-n auto``: one for each processor this one may use, within reason."""
    usable = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    return min(usable, MOST_PROCESSES)


def pytest_configure() -> None:
    """Let bytecode be kept, whatever the environment says.

    Processes of pytest and of the command line would otherwise each compile all that they import.
    """
    sys.dont_write_bytecode = False
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    gc.disable()  # until all is collected: modules and tests stay to the end


def pytest_collection_finish() -> None:
    """Let the garbage collector look at what tests make alone.

    One look at all that was collected takes a fifth of a second.
    """
    gc.freeze()
    gc.enable()


def pytest_sessionstart(session: pytest.Session) -> None:
    """Read a share of the tests' files ahead, where several processes will all read them all.

    pytest rewrites a file's assertions when it is first read, and leaves the result on disk.
    """
    config = session.config
    process = getattr(config, "workerinput", {"workercount": 1})
    if process["workercount"] == 1 or "tests" not in config.args:
        return
    files = sorted(Path("tests").rglob("test_*.py"))
    files = [file for file in files if not pytest_ignore_collect(config.rootpath / file, config)]
    number, processes = int(process["workerid"].removeprefix("gw")), process["workercount"]
    for file in files[_part(files, number, processes) : _part(files, number + 1, processes)]:
        with suppress(Exception, pytest.skip.Exception):  # collection will tell
            import_module(".".join(file.with_suffix("").parts))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave the files of the other tier unread where one alone is asked for."""
    file = collection_path.relative_to(config.rootpath).as_posix()
    whole = f"{file}/" if collection_path.is_dir() else file
    if config.option.markexpr == "not extended":
        return whole.startswith(EXTENDED) or None
    if config.option.markexpr == "extended" and collection_path.is_file():
        listed = any(start.startswith(file) for start in (*EXTENDED, *_absent(config)))
        marked = "mark.extended" in collection_path.read_text("utf-8", errors="replace")
        return not (listed or marked or whole.startswith(EXTENDED)) or None
    return None


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes go by their number in the ids of tests: those of archives hold the time of day, which
    differs between processes.
    """
    return f"{argname} of {len(val)} bytes" if isinstance(val, bytes) else None


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(
    config: pytest.Config, items: list[pytest.Item]
) -> Generator[None, None, None]:
    """Mark the second tier, and put a share of the kernels' tests at the head of each process's
    share of all, and Spark's at the head of the first's.

    The first call compiles a kernel, for seconds, and leaves it on disk. Processes that come to the
    same kernel at the same time would all compile it. Each process has a Spark of its own.
    """
    second = (*EXTENDED, *_absent(config))
    for item in items:
        if item.nodeid.startswith(second):
            item.add_marker("extended")
    yield  # here pytest leaves out those of the other tier
    processes = getattr(config, "workerinput", {}).get("workercount", 1)
    spark, kernels, others = [
        [item for item in items if _group(item) == name] for name in ("Spark", "kernels", "others")
    ]
    items[:] = spark + [
        item
        for number in range(processes)
        for group in (kernels, others)
        for item in group[_part(group, number, processes) : _part(group, number + 1, processes)]
    ]


def _group(item: pytest.Item) -> str:
    """What a test waits for at first."""
    if "spark" in item.nodeid.lower():
        return "Spark"
    return "kernels" if item.nodeid.startswith(KERNELS) else "others"


def _absent(config: pytest.Config) -> list[str]:
    """What the first tier skipped for lack of a library."""
    cache = getattr(config, "cache", None)
    return [] if cache is None else cache.get(ABSENT, [])


def _part(group: list[Any], number: int, parts: int) -> int:
    """Where a part of a list begins."""
    return len(group) * number // parts


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Skip an example in a docstring that ends for lack of a library."""
    try:
        return (yield)
    except UnexpectedException as failed:
        error = failed.exc_info[1]
        others = isinstance(error, ModuleNotFoundError) and "metricdp" not in str(error.name)
        if others or type(error).__name__ == "MissingExtraError":
            pytest.skip(f"could not import: {error}")
        raise


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """Remember a test that a missing library skipped."""
    _remember(report)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """Remember a file that a missing library skipped."""
    _remember(report)


def _remember(report: pytest.TestReport | pytest.CollectReport) -> None:
    reason = str(report.longrepr) if report.skipped else ""
    if "could not import" in reason or "needs the extra" in reason:
        _SKIPPED.add(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Note for the second tier what the first one skipped."""
    config, cache = session.config, getattr(session.config, "cache", None)
    whole = config.option.markexpr == "not extended" and not hasattr(config, "workerinput")
    if whole and cache is not None:
        cache.set(ABSENT, sorted(_SKIPPED))
