"""The notebooks as saved, and the runner that executes them in CI: it must notice what it is
for.
"""

from pathlib import Path

import pytest

from tests import loaded

FOLDER = Path(__file__).resolve().parents[1] / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))

nbformat = pytest.importorskip("nbformat", reason="needs the extra: notebooks")
pytest.importorskip("nbclient", reason="needs the extra: notebooks")
pytest.importorskip("ipykernel", reason="needs the extra: notebooks")


@pytest.fixture(scope="module")
def runner():
    return loaded(FOLDER / "run.py")


def notebook(tmp_path, *sources, name="one.ipynb"):
    cells = [nbformat.v4.new_code_cell(source) for source in sources]
    path = tmp_path / name
    nbformat.write(nbformat.v4.new_notebook(cells=cells), path)
    return path


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.name)
def test_saved_in_order_with_their_outputs(runner, path):
    saved = nbformat.read(path, as_version=4)
    assert runner.saved_problems(saved) == []
    outputs = [o for cell in runner.code_cells(saved) for o in cell.outputs]
    assert any("image/png" in o.get("data", {}) for o in outputs), "shows no picture"


@pytest.fixture(scope="module")
def good(runner, tmp_path_factory):
    """A small notebook, executed and saved."""
    path = notebook(tmp_path_factory.mktemp("notebooks"), "x = 20", "print(x)", "x + 1")
    assert runner.run(path, write=True) == []
    return path


SPOILED = {
    "out of order": (lambda cells: cells[1].update(execution_count=7), "execution counts"),
    "not run": (lambda cells: cells[2].update(execution_count=None), "execution counts"),
    "an output is missing": (lambda cells: cells[1].update(outputs=[]), "no output"),
    "another kind of output": (
        lambda cells: cells[1].update(outputs=cells[2].outputs),
        "running it gives stdout",
    ),
    "a path of this machine": (
        lambda cells: cells[1].outputs[0].update(text="/home/me/secret.csv"),
        "path of the machine",
    ),
    "a warning": (lambda cells: cells[1].outputs[0].update(name="stderr"), "stderr"),
    "code that fails": (lambda cells: cells[0].update(source="x = 20 / 0"), "does not run"),
}


@pytest.mark.parametrize("spoiled", SPOILED, ids=str)
def test_a_spoiled_notebook_is_noticed(runner, good, tmp_path, spoiled):
    edit, problem = SPOILED[spoiled]
    path = tmp_path / "spoiled.ipynb"
    path.write_bytes(good.read_bytes())
    saved = nbformat.read(path, as_version=4)
    edit(saved.cells)
    nbformat.write(saved, path)
    before = path.read_bytes()
    fresh = nbformat.read(good, as_version=4)
    if spoiled == "code that fails":
        assert runner.main([str(path)]) == 1
        assert problem in runner.run(path)[0]
    else:
        assert problem in " ".join(runner.saved_problems(saved) + runner.differences(saved, fresh))
    assert path.read_bytes() == before


def test_a_good_notebook_passes_and_is_left_alone(runner, good, capsys):
    before = good.read_bytes()
    assert runner.main([str(good)]) == 0
    assert good.read_bytes() == before
    assert "one.ipynb: fine" in capsys.readouterr().out
