"""Run the replay verifier in full, and write its table into a page.

python tools/replay_table.py docs/audit.md
"""

from __future__ import annotations

import sys
from pathlib import Path

from metricdp.audit.replay import named, verified
from metricdp.audit.replay.subjects import subjects
from metricdp.audit.replay.verifying import Subject
from metricdp.progress import progress
from metricdp.releases import Neighboring

HEAD = (
    "| mechanism | unit | relation | pairs | worst loss / claim | answers recomputed |",
    "| --- | --- | --- | ---: | ---: | ---: |",
)
BEGIN, END = "<!-- replay table -->", "<!-- end of replay table -->"


def write_table(page: Path) -> None:
    """Run everything in full and put the table between its marks on a page."""
    each = [(subject, relation) for subject in subjects() for relation in subject.relations]
    rows = [_row(*one) for one in progress(each, label="replays", unit="row")]
    text = page.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    body = "\n".join([*HEAD, *rows])
    page.write_text(f"{before}{BEGIN}\n{body}\n{END}{rest.split(END)[1]}", encoding="utf-8")


def _row(subject: Subject, relation: Neighboring) -> str:
    """One line of the table: what was verified, or the package that it needs."""
    named_by = f"| {subject.name} | {subject.unit.name} | {relation} |"
    try:
        v = verified(subject, relation, quick=False)
    except ImportError as missing:
        return f"{named_by} skipped, needs {missing.name} | | |"
    if v.fault:
        raise AssertionError(f"{named(subject, relation)}: {v.fault}")
    return f"{named_by} {v.pairs:,} | {v.worst:.3f} | {v.recomputed:,} of {v.drawn:,} |"


if __name__ == "__main__":
    write_table(Path(sys.argv[1]))
