"""Findings of an audit, and its report as text and as JSON."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from metricdp.columns import aligned
from metricdp.provenance import package_facts

REFUTED = 1 + 1e-9
"""A finding above this multiple of the claim refutes it."""


@dataclass(frozen=True)
class Finding:
    """The finding of one check about one mechanism.

    Attributes
    ----------
    mechanism : str
    claim : str
        What the ledger was charged, or what the distribution should be.
    found : str
        The lower bound or the worst exact ratio that was found.
    check : str
        How it was found.
    passed : bool
    seconds : float
    excess : float
        The finding as a multiple of the claim; infinite for what no claim allows. For
        choosing the strongest evidence.
    skipped : bool
        It could not run: `found` says what it needs.

    Examples
    --------
    >>> from metricdp.audit.report import Finding
    >>> Finding("Laplace", "epsilon 1", "epsilon >= 0.97", "exact distribution", True).passed
    True
    """

    mechanism: str
    claim: str
    found: str
    check: str
    passed: bool
    seconds: float = 0.0
    excess: float = 0.0
    skipped: bool = False


def weighed(
    name: str, claim: str, found: str, check: str, share: float, blind: bool = False
) -> Finding:
    """A finding that passes if it uses at most a `share` of 1 of its claim and is not `blind`."""
    finding = f"{found}, too blind" if blind else found
    return Finding(name, claim, finding, check, share <= REFUTED and not blind, excess=share)


def refuted(name: str, claim: str, found: str, check: str, wrong: bool) -> Finding:
    """A finding that passes unless something `wrong` was found, which no claim allows."""
    return weighed(name, claim, found, check, math.inf if wrong else 0.0)


@dataclass(frozen=True)
class Check:
    """A check: its name, whether it is `essential` (part of the short form), how to run it (True:
    in the short form), and how to run it on a mutant, until that is refuted.

    Examples
    --------
    >>> from metricdp.audit.report import Check, Finding
    >>> found = Finding("noise", "epsilon 1", "epsilon >= 0.97", "exact distribution", True)
    >>> Check("exact distribution", True, lambda quick: found).run(True).passed
    True
    """

    name: str
    essential: bool
    run: Callable[[bool], Finding]
    refute: Callable[[], Finding] | None = None

    @classmethod
    def of(cls, name: str, essential: bool, run: Callable[..., Finding], *given: Any) -> Check:
        """A check that calls ``run(name, *given, quick)``."""
        return cls(name, essential, partial(run, name, *given))

    @classmethod
    def until(cls, name: str, essential: bool, run: Callable[..., Finding], *given: Any) -> Check:
        """A check whose `run` also has an argument ``enough=``, the excess at which it may stop."""
        refute = partial(run, name, *given, True, enough=REFUTED)
        return cls(name, essential, partial(run, name, *given), refute)


@dataclass(frozen=True)
class Catch:
    """A mutant, and the strongest finding against it: None if it was not caught, or was `skipped`
    as the checks that should catch it could not run (`note` may tell why).

    Examples
    --------
    >>> from metricdp.audit.report import Catch, Finding
    >>> found = Finding("Laplace", "epsilon 1", "epsilon >= 2", "exact distribution", False)
    >>> Catch("half the noise", ("exact distribution",), found, seconds=0.1).evidence.found
    'epsilon >= 2'
    """

    bug: str
    by: tuple[str, ...]
    evidence: Finding | None
    seconds: float
    note: str = ""
    skipped: bool = False


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Aligned text columns below an underlined header."""
    first, *others = aligned([head, *rows], range(len(head)))
    return "\n".join([first, "-" * max(map(len, [first, *others])), *others])


def as_text(findings: Sequence[Finding], catches: Sequence[Catch], seconds: float) -> str:
    """The report as text: mechanisms, planted bugs, a list of failures, totals."""
    parts = []
    if findings:
        rows = ([f.mechanism, f.claim, f.found, f.check, *_verdict(f)] for f in findings)
        parts.append(table(["mechanism", "claim", "found", "check", "verdict", "time"], rows))
    if catches:
        head = ["planted bug", "caught by", "strongest evidence", "time"]
        parts.append(table(head, map(_catch_row, catches)))
    wrong = [f"{f.mechanism}: {f.found} (claim {f.claim})" for f in findings if not f.passed]
    missed = [f"{c.bug}: not caught; {c.note}" for c in catches if not (c.evidence or c.skipped)]
    if wrong or missed:
        parts.append("\n".join([*wrong, *missed]))
    return "\n\n".join([*parts, summary(findings, catches, seconds)])


def _verdict(finding: Finding) -> tuple[str, str]:
    judged = "skipped" if finding.skipped else "pass" if finding.passed else "FAIL"
    return judged, f"{finding.seconds:.1f} s"


def _catch_row(catch: Catch) -> list[str]:
    if catch.skipped or catch.evidence is None:
        found = "skipped" if catch.skipped else "NOT CAUGHT"
        return [catch.bug, found, catch.note, f"{catch.seconds:.1f} s"]
    evidence = f"{catch.evidence.mechanism}: {catch.evidence.found} (claim {catch.evidence.claim})"
    return [catch.bug, ", ".join(catch.by), evidence, f"{catch.seconds:.1f} s"]


def summary(findings: Sequence[Finding], catches: Sequence[Catch], seconds: float) -> str:
    """The last line: numbers of passed checks and of caught bugs."""
    passed = sum(f.passed and not f.skipped for f in findings)
    caught = sum(c.evidence is not None for c in catches)
    missing = [sum(f.skipped for f in findings), sum(c.skipped for c in catches)]
    skipped = f"{sum(missing)} skipped (optional packages are missing), " if any(missing) else ""
    return (
        f"{passed} of {len(findings) - missing[0]} checks passed, {caught} of "
        f"{len(catches) - missing[1]} planted bugs caught, {skipped}{seconds:.0f} s"
    )


def clean(findings: Sequence[Finding], catches: Sequence[Catch]) -> bool:
    """Whether every check that could run passed, and every planted bug was caught or skipped."""
    return all(f.passed for f in findings) and all(c.evidence or c.skipped for c in catches)


def as_json(
    findings: Sequence[Finding], catches: Sequence[Catch], seconds: float, scope: str = "whole"
) -> str:
    """The report as JSON; `scope`: a text that states which part of the audit was run."""
    report = {
        "passed": clean(findings, catches),
        "package": package_facts(),
        "scope": scope,
        "checks": [_row(f) for f in findings],
        "planted": [
            asdict(c) | {"caught": bool(c.evidence), "evidence": c.evidence and _row(c.evidence)}
            for c in catches
        ],
        "seconds": seconds,
    }
    return json.dumps(report, indent=2, ensure_ascii=False)


def _row(finding: Finding) -> dict[str, object]:
    row = asdict(finding)
    row["excess"] = None if row["excess"] == float("inf") else row["excess"]
    return row
