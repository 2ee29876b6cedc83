"""Runs one private k-means of another package, in a Python that need not have metricdp: ``python
peer_runner.py REQUEST.json``.

The request names a peer, a file of points (``.npy``), k, epsilon, delta, bounds and radius; the
answer on stdout is JSON with the centers and the CPU seconds of the fit, or says why there are
none. Without a peer it lists those that can be imported, with versions.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    del sys.path[0]  # this folder: its modules are not meant


def diffprivlib(points: Any, request: dict[str, Any]) -> Any:
    """IBM's: DPLloyd, epsilon-DP by its own account."""
    d = points.shape[1]
    models = import_module("diffprivlib.models")
    model = models.KMeans(
        n_clusters=request["k"],
        epsilon=request["epsilon"],
        bounds=([request["low"]] * d, [request["high"]] * d),
    )
    return lambda: model.fit(points).cluster_centers_


def google(points: Any, request: dict[str, Any]) -> Any:
    """The LSH coreset of google's differential-privacy repository, learning/clustering: (epsilon,
    delta)-DP.
    """
    algorithm = import_module("clustering.clustering_algorithm")
    params = import_module("clustering.clustering_params")
    middle = (request["low"] + request["high"]) / 2
    data = params.Data(points - middle, request["radius"])
    price = params.DifferentialPrivacyParam(request["epsilon"], request["delta"])
    return lambda: algorithm.private_lsh_clustering(request["k"], data, price).centers + middle


PEERS = {"google": google, "diffprivlib": diffprivlib}
MODULES = {"google": "clustering.clustering_algorithm", "diffprivlib": "diffprivlib.models"}


def present() -> dict[str, Any]:
    """Of each peer its version, or why it cannot be imported."""
    from importlib.metadata import PackageNotFoundError, version

    found: dict[str, Any] = {}
    for name, module in MODULES.items():
        try:
            import_module(module)
        except Exception as error:  # whatever its dependencies raise
            reason = f"{type(error).__name__}: {' '.join(str(error).split())}"
            found[name] = {"there": False, "reason": reason[:120]}
            continue
        try:
            number = version(name)
        except PackageNotFoundError:
            number = ""
        found[name] = {"there": True, "version": number}
    return found


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Centers and seconds."""
    import numpy as np

    points = np.load(request["points"], allow_pickle=False)
    run = PEERS[request["peer"]](points, request)
    start = time.process_time()
    centers = np.asarray(run(), dtype=float)
    seconds = time.process_time() - start
    if not np.isfinite(centers).all():
        return {"failed": "centers that are not finite"}
    return {"centers": centers.tolist(), "seconds": seconds}


def main() -> None:
    """Read the request, write the answer."""
    warnings.simplefilter("ignore")
    request = json.loads(Path(sys.argv[1]).read_text())
    try:
        reported = present() if request.get("peer") is None else answer(request)
    except Exception as error:
        reported = {"failed": f"{type(error).__name__}: {str(error)[:200]}"}
    sys.stdout.write("\n" + json.dumps(reported) + "\n")


if __name__ == "__main__":
    main()
