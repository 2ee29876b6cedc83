"""Tests of metricdp."""

import importlib.util
import re
import tomllib
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import Mock

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings

from metricdp import GraphMetric
from metricdp.errors import BudgetError, InputError
from metricdp.universe.graph import build_graph


def named(value: object) -> str:
    """Name of a parameter in the ids of tests: the same in every process, as those that share the
    tests compare them.
    """
    return re.sub(r" at 0x[0-9a-f]+", "", str(value))


def each(**options: list[Any]) -> list[dict[str, Any]]:
    """One option at a time, with each of its values."""
    return [{name: value} for name, values in options.items() for value in values]


def wrong(rule: str, /, **options: list[Any]) -> list[tuple[dict[str, Any], str]]:
    """The same, and the rule that a refusal of it names."""
    return [(option, rule) for option in each(**options)]


def cases(names: str | tuple[str, ...], *rows: Any, ids: Any = None) -> pytest.MarkDecorator:
    """Decorate a test that runs once for each row of a table: pytest's ``parametrize``."""
    return pytest.mark.parametrize(names, rows, ids=ids)


def tries(examples: int, *strategies: Any, fixed: bool = False, **named: Any) -> Any:
    """Decorate a test that hypothesis runs on so many inputs: fresh ones, or each time the same."""
    settled = settings(max_examples=examples, derandomize=fixed)
    return lambda test: settled(given(*strategies, **named)(test))


def beside(file: str, name: str) -> dict[str, Any]:
    """The tables of a TOML file that stands beside a test's."""
    return tomllib.loads(Path(file).with_name(name).read_text("utf-8"))


def path_metric(places: Any) -> GraphMetric:
    """A path of so many places, or of these, one hop from each to the next."""
    return GraphMetric(nx.path_graph(places), weight=None)


def grid_metric(rows: int, columns: int, step: float = 0, crs: str | None = None) -> GraphMetric:
    """A grid of places (0, 0) to (rows - 1, columns - 1), one hop from each to the next; with a
    step, they have coordinates so far apart.
    """
    graph = nx.grid_2d_graph(rows, columns)
    graph.graph["crs"] = crs
    for node, data in graph.nodes(data=True) if step else ():
        data["x"], data["y"] = (step * place for place in node)
    return GraphMetric(graph, weight=None)


def one_way_metric(n: int, direction: str = "to-center") -> GraphMetric:
    """A ring of n places with short cuts, where ways there and back have other lengths, 1 to 8."""
    lengths, graph = np.random.default_rng(3).integers(1, 9, (n, 2)), nx.DiGraph()
    graph.add_nodes_from(range(n))
    for u, (near, far) in enumerate(lengths.tolist()):
        graph.add_edge(u, (u + 1) % n, length=near)
        graph.add_edge(u, (u + 5) % n, length=far)
    return GraphMetric(graph, directed=True, direction=direction)


def metric_of(n: int, edges: Any, **options: Any) -> GraphMetric:
    """The metric of a graph whose edges are (tail, head, length)."""
    tails, heads, lengths = zip(*edges) if edges else ((), (), ())
    return GraphMetric(build_graph(tails, heads, lengths, ids=range(n), directed=False), **options)


def everything(metric: Any) -> np.ndarray:
    """All distances, (n_points, n_points)."""
    return metric.distance_rows(np.arange(len(metric)))


def road_like(side: int, seed: int = 0) -> GraphMetric:
    """A grid of streets with some blocks missing and lengths of 80 to 120."""
    rng = np.random.default_rng(seed)
    G = nx.convert_node_labels_to_integers(nx.grid_2d_graph(side, side))
    G.remove_edges_from([e for e in list(G.edges) if rng.random() < 0.08])
    nx.set_edge_attributes(G, {e: float(rng.uniform(80, 120)) for e in G.edges}, "length")
    return GraphMetric(G, largest_component=True)


Errors = type[BaseException] | tuple[type[BaseException], ...]


def refuses(
    words: str, call: Callable[..., object], /, *args: Any, error: Errors = InputError, **more: Any
) -> Any:
    """Hold that a call is refused, with a message that has these words (a regular expression); the
    error.
    """
    __tracebackhide__ = True
    with pytest.raises(error, match=words or None) as refused:
        call(*args, **more)
    return refused.value


def granted_to_threads(spend: Callable[[int], object], times: int) -> int:
    """How many of so many calls, numbered and made by eight threads, a budget grants."""

    def one(number: int) -> int:
        try:
            spend(number)
        except BudgetError:
            return 0
        return 1

    with ThreadPoolExecutor(8) as threads:
        return sum(threads.map(one, range(times)))


def raising(error: BaseException | type[BaseException]) -> Mock:
    """A function that raises this, whatever it is given."""
    return Mock(side_effect=error)


def loaded(script: Path) -> ModuleType:
    """A script that stands in no package, as a module."""
    spec = importlib.util.spec_from_file_location(script.stem, script)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
