"""Run the replay verifier in full, and write what it found as a table, one mechanism a row.

python tools/replay_table.py docs/audit-replays.csv
"""

from __future__ import annotations

import csv
import sys
from collections import defaultdict
from pathlib import Path

from metricdp.audit.replay import named, verified
from metricdp.audit.replay.subjects import subjects
from metricdp.audit.replay.verifying import Subject
from metricdp.progress import progress

HEAD = (
    "mechanism",
    "units, in both relations",
    "pairs",
    "worst loss / claim",
    "answers recomputed",
    "answers",
)


def write_table(path: Path) -> None:
    """Run everything in full and write the rows."""
    by_name = defaultdict(list)
    for subject in subjects():
        by_name[subject.name].append(subject)
    rows = [_row(*one) for one in progress(list(by_name.items()), label="replays", unit="row")]
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([HEAD, *rows])


def _row(name: str, group: list[Subject]) -> tuple[object, ...]:
    """What was verified in all units, or the package that it needs."""
    kinds = {subject.unit.name: subject.relations for subject in group}
    shown = "; ".join(u + (f" ({r[0]} alone)" if len(r) == 1 else "") for u, r in kinds.items())
    done = []
    for subject, relation in ((s, relation) for s in group for relation in s.relations):
        try:
            done.append(verified(subject, relation, quick=False))
        except ImportError as missing:
            return name, shown, f"skipped, needs {missing.name}", "", "", ""
        if done[-1].fault:
            raise AssertionError(f"{named(subject, relation)}: {done[-1].fault}")
    pairs, worst = sum(v.pairs for v in done), max(v.worst for v in done)
    recomputed, drawn = sum(v.recomputed for v in done), sum(v.drawn for v in done)
    return name, shown, pairs, f"{worst:.3f}", recomputed, drawn


if __name__ == "__main__":
    write_table(Path(sys.argv[1]))
