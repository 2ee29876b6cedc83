"""Exact sums: beside Python's integers at the edges of 64 bits, on every path that adds up over
records; and no other line of `records` and `privacy` does.
"""

import ast
import pickle
from pathlib import Path

import numpy as np
import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from metricdp.kernels.scores import CAP
from metricdp.records import exact
from tests import beside, cases

EDGES = [0, 1, -1, 2**25, 2**27, 2**53, 2**61, 2**61 + 1, 2**62, 2**63 - 1, -(2**63), -(2**61) - 1]
WORDS = st.sampled_from(EDGES) | st.integers(-(2**63), 2**63 - 1)
COUNTS = st.sampled_from([n for n in EDGES if n >= 0]) | st.integers(0, 2**63 - 1)
VECTORS = st.integers(1, 4).flatmap(
    lambda n: st.lists(st.lists(WORDS, min_size=n, max_size=n), min_size=1, max_size=6)
)


def clipped(value):
    return max(-CAP, min(CAP, value))


@example([[2**62], [2**62]], 0)  # a sum of exactly 2^63
@given(VECTORS, st.integers(0, 63))
def test_sums_are_those_of_integers_without_end(vectors, bits):
    each = [exact.Sums(np.array(vector)) for vector in vectors]
    expected = [sum(column) for column in zip(*vectors)]
    assume(all(-(2**127) <= n << bits < 2**127 for n in expected))  # all that a sum can be
    total = each[0]
    for more in each[1:]:
        total = total + more
    assert total.tolist() == expected and len(total) == len(expected)
    assert (total << bits).tolist() == [n << bits for n in expected]
    assert (total << bits >> bits).tolist() == expected
    assert (total >> bits).tolist() == [n >> bits for n in expected]
    assert (each[0] - total).tolist() == [n - m for n, m in zip(vectors[0], expected)]
    assert total.capped().tolist() == [clipped(n) for n in expected]
    assert (total << bits).capped().tolist() == [clipped(n << bits) for n in expected]
    assert total[::-1].tolist() == expected[::-1]
    assert total.joined(each[0]).tolist() == expected + vectors[0]
    assert pickle.loads(pickle.dumps(total << bits)).tolist() == [n << bits for n in expected]


@given(VECTORS, st.integers(0, 60))
def test_sums_travel_by_their_places_and_in_pieces_that_engines_add(vectors, bits):
    wide = [exact.Sums(np.array(vector)) << bits for vector in vectors]
    added = exact.Sums.of_pieces(sum(one.pieces() for one in wide))
    assert added.tolist() == [sum(column) << bits for column in zip(*vectors)]
    for one in wide:
        places = one.places()
        assert places.tolist() == [i for i, n in enumerate(one.tolist()) if n]
        assert one[places].spread(places, len(one)).tolist() == one.tolist()
        pieces = one.pieces()
        assert (pieces[:3] >= 0).all() and int(np.abs(pieces).max()) <= 2**32


@given(st.lists(st.tuples(COUNTS, st.integers(-(2**46), 2**46), st.integers(0, 3)), max_size=6))
def test_weights_of_any_size_count_by_their_digits(rows):
    """Two-sided amounts, of which no partial sum may saturate."""
    weights = np.array([w for w, _, _ in rows], np.int64)
    amounts = np.array([a for _, a, _ in rows], np.int64)
    at = np.array([p for _, _, p in rows], np.int64)
    total = exact.by_digits(weights, lambda which: np.array([exact.exact_sum(amounts[which])]))
    assert total.tolist() == [sum(w * a for w, a, _ in rows)]
    floating = exact.by_digits(weights, lambda which: np.array([float(which.sum())]))
    assert floating == pytest.approx([float(sum(w for w, _, _ in rows))])
    expected = [clipped(sum(w for w, _, p in rows if p == i)) for i in range(4)]
    assert exact.grouped_sum(at, weights, 4).tolist() == expected
    assert exact.exact_sum(weights) == sum(w for w, _, _ in rows)
    assert exact.exact_sum(amounts) == sum(a for _, a, _ in rows)
    before = exact.Sums.cumulative(weights).tolist()
    assert before == [sum(w for w, _, _ in rows[:i]) for i in range(len(rows) + 1)]


@example([2**62], 2)  # a product of exactly 2^63
@example([2**61, 2**61], 2)
@example([2**61 - 1] * 3, 3)  # digits that are all ones
@example([2**62 - 1] * 7, 7)
@given(st.lists(COUNTS, min_size=1, max_size=6), st.integers(1, 2**31 - 1))
def test_digits_add_up_and_none_leaves_64_bits(counts, largest):
    parts = list(exact.digits(np.array(counts), largest))
    assert all(sum(part.tolist()) * largest < 2**63 for _, part in parts)
    assert exact.combined(parts).tolist() == counts
    assert len(parts) == 1 or sum(counts) * largest >= 2**63


def test_narrow_and_wide_sums_are_joined_without_loss():
    """What is in 64 bits and what is not, in either order."""
    narrow, wide = exact.Sums(np.array([-3, 5])), exact.Sums(np.array([1, -1]), np.array([7, 2]))
    for first, then in ((narrow, wide), (wide, narrow), (narrow, narrow), (wide, wide)):
        assert first.joined(then).tolist() == first.tolist() + then.tolist()


def test_what_is_added_is_integers_or_floating_point_numbers():
    assert isinstance(exact.exactly(np.array([True, False])), exact.Sums)
    assert exact.exactly([2, 3]).tolist() == [2, 3]
    wide = exact.Sums(np.array([2**62])) << 1
    assert exact.exactly(wide) is wide and exact.to_array(wide).tolist() == [CAP]
    found = exact.to_array(exact.combined([(0, np.array([0.5])), (2, np.array([1.0]))])).tolist()
    assert found == [4.5]
    assert exact.ROWS == 2**32


# --- no other line adds up over records ---------------------------------------------------------

SUMMING = {"sum", "fsum", "cumsum", "dot", "vdot", "einsum", "matmul", "tensordot", "bincount"}
PUBLIC = {"__len__", "__str__", "bounds", "max_contributions", "n_values", "range", "sensitivity"}
PUBLIC |= {"sensitivity_of", "square", "square_of", "squared_sensitivity", "__post_init__"}
"""Methods of `privacy` that see public arguments alone, Python's integers."""
ALLOWED = beside(__file__, "sums.toml")
OPERATIONS = (ast.Add, ast.Sub, ast.Mult, ast.LShift, ast.MatMult)


def literal(node):
    if isinstance(node, ast.UnaryOp):
        return literal(node.operand)
    return isinstance(node, ast.Constant | ast.JoinedStr | ast.List)


def adds_up(node):
    """Whether this is a sum, a difference, a product or a statement of SQL with a sum."""
    if isinstance(node, ast.Call):
        name = getattr(node.func, "attr", getattr(node.func, "id", "").replace("dot", ""))
        of_numpy = getattr(getattr(node.func, "value", None), "attr", "")
        return name in SUMMING or of_numpy in ("add", "subtract", "multiply")
    if isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, OPERATIONS):
        sides = (node.left, node.right) if isinstance(node, ast.BinOp) else (node.value,)
        return not any(map(literal, sides))
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and "sum(" in node.value


def places(node, name="", public=False):
    """Names of the functions that add up."""
    for child in ast.iter_child_nodes(node):
        docstring = isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)
        if isinstance(child, ast.Slice) or docstring:
            continue
        inner = name
        if isinstance(child, ast.FunctionDef | ast.ClassDef):
            inner = f"{name}.{child.name}".lstrip(".")
            if public and child.name in PUBLIC:
                continue
        if adds_up(child):
            yield inner
        yield from places(child, inner, public)


def test_no_line_adds_up_over_records_but_by_this_type():
    root = Path(exact.__file__).parents[1]
    files = [*(root / "records").rglob("*.py"), *(root / "privacy").rglob("*.py")]
    found = set()
    for file in files:
        if file == Path(exact.__file__) or file.parent.name == "ingestion":  # reads cells
            continue
        name = file.relative_to(root).as_posix()
        tree = ast.parse(file.read_text("utf-8"))
        found |= {f"{name} {one}" for one in places(tree, public=name.startswith("privacy"))}
    allowed = {name for names in ALLOWED.values() for name in names}
    assert sorted(found - allowed) == [], "use records/exact.py, or say why it cannot wrap"
    assert sorted(allowed - found) == [], "on the list, and adds nothing up"


@cases(
    "line",
    *("a + b", "a @ b", "a.sum()", "np.add.at(a, i, b)", "sum(a)", "x = 'SELECT sum(n)'"),
    *("np.cumsum(a)", "a += b", "a << b", "a * b", "np.bincount(i, a)", "np.add.reduce(a)"),
)
def test_a_bare_sum_is_noticed(line):
    assert list(places(ast.parse(f"def f(a, b):\n    {line}"))) == ["f"]
    assert not list(places(ast.parse("def f(a, n):\n    return a[n : n + a], a + 1, Sums(a)")))
