"""Coresets by the rounds of Feldman, Xiang, Zhu & Rus, as printed."""

import numpy as np
import pytest

import metricdp as mdp
from benchmarks.methods.printed_coreset import PrintedCoreset
from benchmarks.methods.rec_concave import rec_concave, selections_of
from metricdp.methods.asking import driven
from tests.methods.box.test_coreset import PLANE, clusters


@pytest.mark.parametrize("size", [10, 33, 200, 1000])
@pytest.mark.parametrize("where", [0.0, 0.01, 0.3, 1.0])
def test_rec_concave_finds_good_solutions(size, where):
    quality, asked = 60 - 3 * np.abs(np.arange(size) - int(where * (size - 1))), []

    def choose(views):
        asked.append(views)
        scores = quality
        for view in views:
            scores = view(scores)
        return int(np.argmax(scores))

    found = driven(rec_concave(lambda views: views, size, 60), choose)
    assert quality[found] >= 30 and len(asked) == selections_of(size)


@pytest.mark.parametrize(
    ("relation", "delta", "options"),
    [("add-remove", 1e-6, {"cells": 900}), ("replace-one", 0, {"cells": 400, "chunk": 10_000})],
)
def test_published_rounds_find_the_clusters(relation, delta, options):
    points, middle = clusters()
    demand, ledger = mdp.PrivateDemand(PLANE, points), mdp.Ledger(8, 1e-6, neighboring=relation)
    method = PrintedCoreset(**options)
    result = mdp.k_means(PLANE, demand, 4, epsilon=8, delta=delta, ledger=ledger, method=method)
    assert all(np.linalg.norm(result.centers - m, axis=1).min() < 0.1 for m in middle)
    points, weights = result.release.coreset()
    assert 0.9 * 20_000 < weights.sum() <= 20_400 and (weights > 0).all()
    assert len(points) <= 10 * 4 * (2 if "chunk" in options else 1)
    assert result.receipt.epsilon <= ledger.spent <= 8 and result.receipt.neighboring == relation
    assert (result.receipt.bound == "zCDP") == bool(delta)
    assert ("exact" in {m.name for m in result.receipt.mechanisms}) == (relation == "replace-one")
    spent = ledger.spent
    assert result.release.k_median(2).centers.shape == (2, 2) and ledger.spent == spent
