"""What an installed metricdp must do at the least: run by ``tools/release.py`` in a fresh
environment, outside of any checkout, and by whoever wants to know whether an installation works.

    python tools/smoke.py
"""

import importlib.metadata
import subprocess
import sys
import tempfile
from pathlib import Path

import metricdp as mdp
from metricdp.universe import sample_path


def main() -> int:
    """A first private result, a saved release, the command line; 0 if all is well."""
    home = Path(mdp.__file__).resolve().parent
    assert not (home.parent / "setup.cfg").exists(), f"this is a checkout, not a wheel: {home}"
    assert mdp.__version__ == importlib.metadata.version("metricdp")
    assert (home / "py.typed").is_file()

    metric = mdp.read_graph(sample_path("generated_pmed.txt"), format="pmed")
    demand = mdp.PrivateDemand(metric, [metric.ids[0]] * 3_000 + [metric.ids[150]] * 3_000)
    ledger = mdp.Ledger(epsilon=1)
    release = mdp.release(metric, demand, epsilon="1/2", ledger=ledger)
    found = set(release.k_median(k=2).centers)
    assert found == {metric.ids[0], metric.ids[150]}, found
    assert str(ledger.left) == "1/2"

    space = mdp.EuclideanSpace([0, 0], [1, 1])
    points = [[0.2, 0.2]] * 2_000 + [[0.8, 0.7]] * 2_000
    centers = mdp.k_means(space, mdp.PrivateDemand(space, points), k=2, epsilon=1).centers
    assert abs(sorted(centers.tolist())[0][0] - 0.2) < 0.05, centers

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "demand.release"
        release.save(file)
        again = mdp.Release.load(file, metric)
        assert set(again.k_median(k=2).centers) == found
    command = [sys.executable, "-m", "metricdp", "--version"]
    reported = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert mdp.__version__ in reported, reported
    versions = [f"{n} {importlib.metadata.version(n)}" for n in ("numpy", "scipy", "opendp")]
    print(
        f"metricdp {mdp.__version__} works: Python {sys.version.split()[0]}, {', '.join(versions)}"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
