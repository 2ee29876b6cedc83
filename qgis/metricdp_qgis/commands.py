"""Commands of metricdp from what was filled in, and how they are run. Imports nothing of QGIS, so
that it can be tested without.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
from pathlib import Path

OPTIONS = {
    "NETWORK_LAYER": "--layer",
    "WEIGHT": "--weight",
    "CRS": "--crs",
    "NODES": "--nodes",
    "DEMAND": "--demand",
    "DEMAND_LAYER": "--demand-layer",
    "DEMAND_CRS": "--demand-crs",
    "X": "--x",
    "Y": "--y",
    "USER": "--user",
    "MAX_CONTRIBUTIONS": "--max-contributions",
    "MAX_SNAP": "--max-snap",
    "K": "-k",
    "EPSILON": "--epsilon",
    "EPSILONS": "--epsilons",
    "RECORDS": "--records",
    "LEDGER": "--ledger",
    "EPSILON_BUDGET": "--epsilon-budget",
    "PURPOSE": "--purpose",
    "CENTERS": "--centers",
    "CENTERS_LAYER": "--centers-layer",
    "WITHIN": "--within",
    "OUTPUT": "--output",
    "MAP": "--map",
    "SAVE_RELEASE": "--save-release",
    "RELEASES": "--from-release",
    "SCENARIOS": "--scenarios",
    "OBJECTIVE": "--objective",
    "LIMIT": "--limit",
    "KS": "--ks",
    "BANDS": "--bands",
    "HEATMAP": "--heatmap",
}
"""Option of each parameter that has a value."""
FLAGS = {
    "SYMMETRIZE": "--symmetrize",
    "LARGEST_COMPONENT": "--largest-component",
    "STABILITY": "--stability",
}
"""Option of each parameter that is on or off."""
VARIABLE = "METRICDP"
"""Environment variable that names the program."""


class Failed(Exception):
    """The program was not found, or ended with an error: its message."""


def program(setting=""):
    """Where metricdp is: what the setting says, the environment variable, or the search path.

    Raises
    ------
    Failed
        It is nowhere; QGIS's own Python is not looked into, for its libraries are not metricdp's.
    """
    for named in (setting, os.environ.get(VARIABLE, "")):
        if named:
            found = shutil.which(str(Path(named).expanduser()))
            if found is None:
                raise Failed(f"{named}: there is no such program")
            return found
    found = shutil.which("metricdp")
    if found is None:
        raise Failed(
            "metricdp was not found: install it in an environment of its own (in a clone of it: "
            "python3 -m venv ~/metricdp && ~/metricdp/bin/pip install '.[geo]'), and name "
            "~/metricdp/bin/metricdp as the program, or in the environment variable METRICDP"
        )
    return found


def command(path, name, network, values):
    """The arguments of a run.

    Examples
    --------
    >>> command("metricdp", "cluster", "a.gpkg", {"K": 3, "SYMMETRIZE": True, "WEIGHT": ""})
    ['metricdp', 'cluster', 'a.gpkg', '-k', '3', '--symmetrize']
    """
    parts = [path, name, network]
    for key, value in values.items():
        if key in FLAGS:
            parts += [FLAGS[key]] if value else []
        elif isinstance(value, list):
            parts += [part for each in value for part in (OPTIONS[key], each)]
        elif value not in (None, ""):
            parts += [OPTIONS[key], str(value)]
    return parts


def asked(values):
    """The values of one question: stages have no number of sites, one release no scenarios.

    Examples
    --------
    >>> asked({"K": 3, "KS": "1,2", "OBJECTIVE": "k-median"})
    {'KS': '1,2', 'OBJECTIVE': 'nested'}
    """
    made = dict(values)
    if made.get("KS"):
        made["OBJECTIVE"] = "nested"
        made.pop("K", None)
    if len(made.get("RELEASES", ())) < 2:
        made.pop("SCENARIOS", None)
    return made


def source_of(uri):
    """File and layer of a QGIS layer's source; errors for what is no file.

    Raises
    ------
    Failed
        A filter, or a database.
    """
    path, *options = uri.split("|")
    named = [o.partition("=")[2] for o in options if o.lower().startswith("layername=")]
    filters = [o.partition("=")[2] for o in options if o.lower().startswith("subset=")]
    if any(filters):
        raise Failed(f"{path}: the layer has a filter, which metricdp would not apply; export it")
    if not Path(path).is_file():
        raise Failed(f"{path[:200]}: metricdp reads files; export the layer to a GeoPackage")
    return path, (named[0] if named else "")


def clean_environment():
    """The process's environment without what makes another Python read QGIS's libraries."""
    hidden = ("PYTHONHOME", "PYTHONPATH", "PYTHONEXECUTABLE", "GDAL_DATA", "PROJ_LIB", "PROJ_DATA")
    return {name: value for name, value in os.environ.items() if name not in hidden}


def run(parts, say=lambda line: None, canceled=lambda: False):
    """Run a command and return its stdout; its notes go to `say` as they come.

    Raises
    ------
    Failed
        It ended with an error, or was canceled: then it was interrupted as by Ctrl-C, so what was
        paid for is saved as on the command line.
    """
    window = {"creationflags": subprocess.CREATE_NO_WINDOW} if sys.platform == "win32" else {}
    notes = []
    with tempfile.TemporaryFile("w+", encoding="utf-8") as out:
        process = subprocess.Popen(
            parts,
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            env=clean_environment(),
            **window,
        )

        def listen():
            for line in process.stderr:
                notes.append(line.rstrip())
                say(line.rstrip())

        ears = threading.Thread(target=listen, daemon=True)
        ears.start()
        stopped = False
        while process.poll() is None:
            if canceled() and not stopped:
                process.send_signal(2 if sys.platform != "win32" else 15)
                stopped = True
            ears.join(0.2)
            if not ears.is_alive():
                process.wait()
        ears.join()
        process.stderr.close()
        out.seek(0)
        text = out.read()
    if process.returncode != 0:
        raise Failed(notes[-1] if notes else f"metricdp ended with status {process.returncode}")
    return text
