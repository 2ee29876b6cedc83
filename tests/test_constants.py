"""Numbers that were chosen say what for: a comment or a docstring stands with each constant."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parents[1] / "metricdp"
MODULES = sorted(p for p in PACKAGE.rglob("*.py") if "audit" not in p.relative_to(PACKAGE).parts)
"""The audit's constants are the sizes of its test cases."""


def is_number(node):
    """Numbers, fractions and what is made of them: tuples, mappings, arithmetic."""
    match node:
        case ast.Constant(value=bool()):
            return False
        case ast.Constant(value=int() | float()):
            return True
        case ast.UnaryOp(operand=one):
            return is_number(one)
        case ast.BinOp(left=one, right=other):
            return is_number(one) and is_number(other)
        case ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            return bool(parts) and all(map(is_number, parts))
        case ast.Call(func=ast.Name(id="Fraction"), args=parts):
            return bool(parts) and all(map(is_number, parts))
    return False


def silent(source):
    """Constants at the top of a module without a word: no comment on their lines or the one above,
    and no docstring below them, or below the block of lines that they stand in.
    """
    lines, body, found = source.splitlines(), ast.parse(source).body, []
    for place, node in enumerate(body):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        if not is_number(node.value):
            continue
        last = node
        for after in body[place + 1 :]:
            docstring = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
            if docstring or after.lineno > last.end_lineno + 1:
                break
            last = after
        else:
            docstring = False
        here = "\n".join(lines[max(node.lineno - 2, 0) : node.end_lineno])
        if not docstring and "#" not in here:
            found.append(f"line {node.lineno}: {lines[node.lineno - 1]}")
    return found


@pytest.mark.parametrize("module", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_constants_say_what_they_are_for(module):
    assert not silent(module.read_text("utf-8"))


def test_silence_is_heard():
    assert silent("_STEPS = 30\n\nx = 1\n'''A docstring.'''\n") == ["line 1: _STEPS = 30"]
    assert not silent("A = 1\nB = (2, 3)\n'''Both.'''\nC = 4  # four\n# five\nD = Fraction(5, 2)\n")
    assert silent("A = -1\nx = f()\n") == ["line 1: A = -1"]
