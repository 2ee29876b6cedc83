"""Run the replay verifier in full, and write its table into a page.

python tools/replay_table.py docs/audit.md
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

from metricdp.audit.replay import named, verified
from metricdp.audit.replay.subjects import subjects
from metricdp.audit.replay.verifying import Subject
from metricdp.progress import progress

HEAD = (
    "| mechanism | units, in both relations | pairs | worst loss / claim | answers recomputed |",
    "| --- | --- | ---: | ---: | ---: |",
)
BEGIN, END = "<!-- replay table -->", "<!-- end of replay table -->"


def write_table(page: Path) -> None:
    """Run everything in full and put the table between its marks on a page."""
    by_name = defaultdict(list)
    for subject in subjects():
        by_name[subject.name].append(subject)
    rows = [_row(*one) for one in progress(list(by_name.items()), label="replays", unit="row")]
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    body = "\n".join([*HEAD, *rows])
    page.write_text(f"{before}{BEGIN}\n{body}\n{END}{rest.split(END)[1]}", encoding="utf-8")


def _row(name: str, group: list[Subject]) -> str:
    """One line of the table: what was verified in all units, or the package that it needs."""
    kinds = {subject.unit.name: subject.relations for subject in group}
    shown = "; ".join(u + (f" ({r[0]} alone)" if len(r) == 1 else "") for u, r in kinds.items())
    done = []
    for subject, relation in ((s, relation) for s in group for relation in s.relations):
        try:
            done.append(verified(subject, relation, quick=False))
        except ImportError as missing:
            return f"| {name} | {shown} | skipped, needs {missing.name} | | |"
        if done[-1].fault:
            raise AssertionError(f"{named(subject, relation)}: {done[-1].fault}")
    pairs, worst = sum(v.pairs for v in done), max(v.worst for v in done)
    again = f"{sum(v.recomputed for v in done):,} of {sum(v.drawn for v in done):,}"
    return f"| {name} | {shown} | {pairs:,} | {worst:.3f} | {again} |"


if __name__ == "__main__":
    write_table(Path(sys.argv[1]))
