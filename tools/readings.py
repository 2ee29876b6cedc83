"""Functions and paragraphs drawn at random, to be read aloud: whatever is not plain is mended.

    python tools/readings.py                 # twelve functions, ten paragraphs, of today's seed
    python tools/readings.py --seed 7

The drawing depends on the seed and on the files alone, so a second reader sees the same.
"""

from __future__ import annotations

import argparse
import ast
import random
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("*.md", "docs/**/*.md")
NOT_WRITTEN = ("CHANGELOG.md", "docs/what-to-read.md")
"""A record, and a page that is made by a program."""
FEWEST_LINES, FEWEST_WORDS = 8, 30


def functions() -> Iterator[tuple[str, str]]:
    """Where each function of the package stands, and its source; short ones left out."""
    for path in sorted((ROOT / "metricdp").rglob("*.py")):
        text = path.read_text("utf-8")
        lines = text.splitlines()
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and node.end_lineno is not None:
                source = lines[node.lineno - 1 : node.end_lineno]
                if len(source) >= FEWEST_LINES:
                    yield f"{path.relative_to(ROOT)}:{node.lineno}", "\n".join(source)


def paragraphs() -> Iterator[tuple[str, str]]:
    """Where each paragraph of a page stands, and its text; tables, code and headings left out."""
    for path in sorted({path for pattern in PAGES for path in ROOT.glob(pattern)}):
        name = str(path.relative_to(ROOT))
        if name in NOT_WRITTEN:
            continue
        text = re.sub(r"^```.*?^```", "", path.read_text("utf-8"), flags=re.M | re.S)
        for number, block in enumerate(text.split("\n\n")):
            block = block.strip()
            if block and block[0] not in "|#!<" and len(block.split()) >= FEWEST_WORDS:
                yield f"{name}, block {number}", block


def main() -> None:
    """Print the drawing."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seed", type=int, default=date.today().toordinal())
    parser.add_argument("--functions", type=int, default=12)
    parser.add_argument("--paragraphs", type=int, default=10)
    args = parser.parse_args()
    coins = random.Random(args.seed)
    print(f"seed {args.seed}")
    for found, wanted in ((functions(), args.functions), (paragraphs(), args.paragraphs)):
        for place, text in coins.sample(list(found), wanted):
            print(f"\n=== {place}\n{text}")


if __name__ == "__main__":
    main()
