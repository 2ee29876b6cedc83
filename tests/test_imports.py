"""No module imports itself through others, at the top or inside of functions."""

import ast
from functools import cache
from importlib import import_module
from pathlib import Path

import networkx as nx
import pytest

import metricdp
import metricdp as mdp
from tests import cases

grimp = pytest.importorskip("grimp")

FACTORIES = (
    ("metricdp.metrics.base", "metricdp.metrics.cost_table", "with_costs returns a subclass"),
    ("metricdp.metrics.graph", "metricdp.metrics.directed", "GraphMetric(directed=True) is one"),
)
"""Imports within a function of a class's own subclass: seen, and no others."""
LAZY = ("__init__", "metrics", "universe", "methods", "federated", "local")
"""Packages whose names are loaded on first use, each also imported for type checkers."""
FOLDER = Path(metricdp.__file__).parent
BY_NAME = {
    "cli/__init__.py": "commands, one file each",
    "lazy.py": "the modules of packages whose names are loaded on first use",
    "testing/metrics.py": "libraries of tables",
}
"""Where else a module is named by a text, and what is named."""


def test_no_import_is_hidden_in_a_text():
    """Import contracts see imports, not texts: whoever asks for a module by its name is listed."""
    found = set()
    ways = {"import_module", "__import__", "modules"}
    for path in FOLDER.rglob("*.py"):
        source = path.read_text("utf-8")
        if not any(way in source for way in ways):
            continue
        nodes = [n for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Name | ast.Attribute)]
        names = {n.attr if isinstance(n, ast.Attribute) else n.id for n in nodes}
        if names & ways:
            found.add(path.relative_to(FOLDER).as_posix())
    assert {f for f in found if not f.startswith("audit/")} == {"__init__.py", *BY_NAME}
    lazy = {path for path in FOLDER.rglob("*.py") if "= on_first_use(" in path.read_text("utf-8")}
    assert lazy == {FOLDER / name.replace("__init__", "") / "__init__.py" for name in LAZY}


@cache
def _graph():
    return grimp.build_graph("metricdp")


@pytest.mark.parametrize("package", ["metricdp", *(f"metricdp.{name}" for name in LAZY[1:])])
def test_names_that_are_loaded_on_first_use_are_imported_for_contracts(package):
    graph = _graph()
    seen = graph.find_modules_directly_imported_by(package)
    module = import_module(package)
    homes = {getattr(getattr(module, name), "__module__", None) for name in module.__all__}
    own = {home for home in homes if isinstance(home, str) and home.startswith(f"{package}.")}
    assert own
    through = {far for near in seen for far in graph.find_modules_directly_imported_by(near)}
    assert own <= seen | through


def test_there_is_no_circle_of_imports():
    graph = _graph()
    imported = graph.find_modules_directly_imported_by
    imports = nx.DiGraph((one, other) for one in graph.modules for other in imported(one))
    for one, other, _ in FACTORIES:
        assert imports.has_edge(one, other)
        imports.remove_edge(one, other)
    circles = [sorted(c) for c in nx.strongly_connected_components(imports) if len(c) > 1]
    assert imports.number_of_edges() > 1000
    assert circles == []
    assert not list(nx.selfloop_edges(imports))


def test_no_one_asks_a_metric_for_its_kind():
    """What a metric can do better is a method that it may override; only the bases are asked for,
    to tell a finite universe from a box.
    """
    from metricdp.metrics import METRICS

    folder, kinds = Path(metricdp.__file__).parent, {*METRICS, "RowMetric", "VectorMetric"}
    sources = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.py")}
    asked = [
        (str(path.relative_to(folder)), call.lineno)
        for path, source in sources.items()
        if any(kind in source for kind in kinds)
        for call in ast.walk(ast.parse(source))
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Name)
        and call.func.id in ("isinstance", "issubclass")
        and {n.id for n in ast.walk(call.args[1]) if isinstance(n, ast.Name)} & kinds
    ]
    assert asked == []


def test_a_call_loads_no_more_than_it_needs():
    """scipy.stats alone takes a third of a second of every process; the gate and OpenDP are of no
    use to public demand.
    """
    import subprocess
    import sys

    heavy = "scipy.stats scipy.optimize pandas pyarrow matplotlib sklearn duckdb geopandas".split()
    code = (
        "import sys, metricdp as mdp\n"
        "metric = mdp.PrecomputedMetric([[0, 1], [1, 0]])\n"
        "mdp.k_median(metric, k=1), mdp.solve(metric, mdp.objectives.KMedian(1))\n"
        "gate = ('metricdp.privacy', 'metricdp.records', 'opendp', 'narwhals')\n"
        "print([name for name in gate if name in sys.modules])\n"
        "mdp.release(metric, mdp.PrivateDemand(metric, [0] * 9), epsilon=1).k_median(k=1)\n"
        "mdp.Stream, mdp.plan, mdp.solve\n"
        f"print([name for name in {heavy} if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stdout == "[]\n[]\n", done.stderr


@cases("name", "datasets", "federated", "local", "methods", "metrics", "objectives")
def test_completion_shows_what_is_public(name):
    assert name in dir(mdp) and "sklearn" in dir(mdp)
    module = getattr(mdp, name)
    assert set(dir(module)) - set(module.__all__) <= {"METRICS"}
    assert all(hasattr(module, public) for public in module.__all__)


def test_completion_shows_the_estimators_of_sklearn():
    pytest.importorskip("sklearn")
    assert dir(mdp.sklearn) == sorted(mdp.sklearn.__all__)
