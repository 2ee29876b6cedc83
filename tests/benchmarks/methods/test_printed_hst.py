"""Algorithm 6 of Fan, Li & Li as printed, beside a literal twin on uncompressed levels."""

from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from benchmarks.methods.printed_hst import PrintedHST, chosen, released
from metricdp.methods.question import Question
from metricdp.releases import Receipt
from tests import grid_metric

PRINTED = PrintedHST()


def literal(tree, levels, counts, k, power, rank):
    """Algorithms 4, 5 and 6 word by word. Nodes are (level, cluster) pairs; `counts` are those of
    each level's clusters, by the cluster's lowest position.
    """
    labels = {i: tree.labels_at(i) for i in levels}
    members = {
        (i, c): frozenset(np.flatnonzero(labels[i] == c).tolist())
        for i in levels
        for c in range(labels[i].max() + 1)
    }
    noisy = {(i, c): counts[i][c] for i, c in members}
    score = {v: noisy[v] * 2.0 ** (power * (levels[-1] - v[0])) for v in members}

    def below(v, u):
        return v[0] > u[0] and members[v] <= members[u]

    ranked, chosen, dropped = sorted(members, key=lambda v: -score[v]), [], set()
    while len(chosen) < k:
        free = [v for v in ranked if v not in chosen and v not in dropped]
        free = [v for v in free if not any(below(c, v) for c in chosen)]
        assert free
        chosen += free[: k - len(chosen)]
        ancestors = {v for v in chosen if any(below(u, v) for u in chosen)}
        dropped |= ancestors
        chosen = [v for v in chosen if v not in ancestors]
    found = []
    for v in chosen:
        while v[0] < levels[-1]:
            v = max(
                (w for w in members if w[0] == v[0] + 1 and members[w] <= members[v]),
                key=lambda w: noisy[w],
            )
        found.append(min(members[v], key=lambda p: rank[p]))
    return sorted(found)


@pytest.mark.parametrize("power", [1, 2])
@pytest.mark.parametrize("seed", range(4))
def test_centers_are_those_of_the_literal_algorithm(seed, power):
    rng = np.random.default_rng(seed)
    metric = mdp.EuclideanMetric(rng.random((30, 2)).round(2))
    tree = mdp.build_hst(metric, seed)
    levels = tuple(range(1, min(tree.n_levels, 6)))
    # real numbers: no ties
    counts = {i: rng.normal(1, 3, len(tree.nodes_at(i))) / 2.0 ** (i / 2) for i in levels}
    receipt = Receipt.of([], "add-remove", "record")
    release = released(tree, levels, list(counts.values()), receipt, seed)
    rank = np.random.default_rng([seed, tree.seed]).permutation(30)
    for k in range(1, len(tree.nodes_at(levels[-1])) + 1):
        at = chosen(release, Question(metric, k, power, None, np.empty(0, np.int64), 0, None))
        assert len(set(at.tolist())) == k
        assert sorted(at.tolist()) == literal(tree, levels, counts, k, power, rank)


def test_levels_and_shares_are_the_papers_and_add_up_to_epsilon():
    metric = grid_metric(12, 12)
    demand = mdp.PrivateDemand(metric, list(metric.ids)[:40] * 3)
    tree = mdp.build_hst(metric, 0)
    for relation, factor in (("add-remove", 1), ("replace-one", 2)):
        ledger = mdp.Ledger(1, "1e-6", neighboring=relation)
        method = PrintedHST(tree=tree, levels=3)
        paid = {"epsilon": 1, "delta": "1e-6", "ledger": ledger}
        result = mdp.k_median(metric, demand, 4, method=method, **paid)
        expected = [Fraction(4, 7), Fraction(2, 7), Fraction(1, 7)]
        assert [m.epsilon for m in result.receipt.mechanisms] == expected
        found = [m.scale for m in result.receipt.mechanisms]
        assert found == pytest.approx([factor * 7 / 4, factor * 7 / 2, factor * 7])
        assert (ledger.spent, ledger.spent_delta) == (1, 0)
        assert result.release.levels == (1, 2, 3)
    deep = mdp.k_median(metric, demand, 4, epsilon=1, method=PrintedHST(tree=tree))
    assert deep.release.levels == tuple(range(1, min(8, tree.n_levels - 1) + 1))
