"""Runs all checks, on the unchanged package and with each mutant."""

import time
import traceback
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from functools import cache, partial
from itertools import product
from multiprocessing import get_context
from typing import Any

from metricdp.audit import planted
from metricdp.audit.blackbox import box_checks
from metricdp.audit.canaries import canary_checks
from metricdp.audit.counting import counting_cases
from metricdp.audit.devices import device_checks
from metricdp.audit.exact import Case, examine
from metricdp.audit.fresh import fresh_checks
from metricdp.audit.holders import holder_checks
from metricdp.audit.loaders import loader_checks
from metricdp.audit.report import REFUTED, Catch, Check, Finding
from metricdp.audit.samplers import sampler_checks
from metricdp.audit.selecting import covering_checks, saturation_checks, selecting_cases
from metricdp.errors import MissingExtraError
from metricdp.progress import progress

_WORTH_A_PROCESS = 20
"""Least number of checks for each process, as starting one takes some seconds."""
SCRIPTS = 40
"""Most scripts, in the short form, of cases that need not reach a share of their claim."""


def cases() -> Iterator[Case]:
    """All cases."""
    yield from counting_cases()
    yield from selecting_cases()


def checks() -> Iterator[Check]:
    """All checks, in the order of the report."""
    from metricdp.audit.replay import replay_checks

    yield from replay_checks()
    for case in cases():
        short = case if case.reach else replace(case, limit=min(case.limit, SCRIPTS))
        until = partial(examine, short, REFUTED)
        yield Check(str(case), case.essential, partial(_examined, case, short), until)
    own = (covering_checks, device_checks, holder_checks, saturation_checks)
    more = (sampler_checks, box_checks, fresh_checks, loader_checks, canary_checks)
    for make in own + more:
        yield from make()


def _examined(case: Case, short: Case, quick: bool) -> Finding:
    return examine(short if quick else case)


def perform(check: Check, quick: bool, refute: bool = False) -> Finding:
    """Run one check: it fails if it raises, and is skipped if it lacks a package."""
    start = time.perf_counter()
    try:
        finding = check.refute() if refute and check.refute else check.run(quick)
    except ImportError as error:
        finding = Finding(check.name, "", needs(error), "skipped", passed=True, skipped=True)
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        broken = f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})"
        finding = Finding(check.name, "", broken, "broken", passed=False)
    return replace(finding, seconds=time.perf_counter() - start)


def needs(error: ImportError) -> str:
    """A text that names the missing package or extra."""
    if isinstance(error, MissingExtraError):
        return f"skipped, needs the extra {error.extra}"
    return f"skipped, needs {(error.name or str(error)).split('.')[0]}"


def catch(bug: planted.Bug, known: Sequence[Check], quick: bool) -> Catch:
    """Plant one mutant and run the checks that should catch it in the short form: if `quick`, until
    one refutes it, and then in the full form if none has. A check that raises, or finds too little,
    has not caught it; the note tells what it found.
    """
    start = time.perf_counter()
    by_name = {check.name: check for check in known}
    found: list[Finding] = []
    note = ""
    skipped = False
    forms = (True, False) if quick else (False,)
    for refute, name in product(forms, bug.caught_by):
        if found and quick:
            break
        try:
            with bug.plant():
                finding = perform(by_name[name], quick=True, refute=refute)
        except ImportError as error:
            skipped, note = True, needs(error)
            continue
        except (LookupError, AttributeError) as error:
            note = f"{type(error).__name__}: {error}"
            break
        if finding.skipped:
            skipped, note = True, finding.found
        if not finding.passed and finding.excess > REFUTED:
            found.append(finding)
        elif not finding.skipped:
            note = f"{finding.mechanism}: {finding.found}"
    kinds = tuple(dict.fromkeys(f.check for f in found))
    best = max(found, key=lambda f: f.excess, default=None)
    seconds = time.perf_counter() - start
    return Catch(bug.name, kinds, best, seconds, note, skipped and not found)


@cache
def _here() -> tuple[list[Check], list[planted.Bug]]:
    """All checks and all mutants, in the same order in every process."""
    return list(checks()), list(planted.bugs())


def _perform_number(i: int, quick: bool) -> Finding:
    return perform(_here()[0][i], quick)


def _catch_number(i: int, quick: bool) -> Catch:
    known, bugs = _here()
    return catch(bugs[i], known, quick)


def audit(
    quick: bool = False, only: str = "", processes: int = 1
) -> tuple[list[Finding], list[Catch]]:
    """Run the audit.

    Parameters
    ----------
    quick : bool
        The short form: only essential checks, with fewer samples.
    only : str
        Run only checks and mutants with this text in their names.
    processes : int
        Most processes to use. The order of findings does not depend on it.

    Returns
    -------
    findings : list of Finding
    catches : list of Catch

    Examples
    --------
    >>> findings, catches = audit(quick=True, only="CountQuery, two points, add-remove")
    >>> [f.passed for f in findings][:1], catches
    ([True], [])
    """
    _here.cache_clear()
    known, bugs = _here()
    part = only.lower()
    chosen = [i for i, c in enumerate(known) if part in c.name.lower()]
    work: list[Any] = [
        partial(_perform_number, i, quick) for i in chosen if known[i].essential or not quick
    ]
    n = len(work)
    mutants = (i for i, b in enumerate(bugs) if part in b.name.lower())
    work += [partial(_catch_number, i, quick) for i in mutants]
    results = list(_done(work, min(processes, len(work) // _WORTH_A_PROCESS)))
    return results[:n], results[n:]


def _done(work: list[Any], processes: int) -> Iterator[Any]:
    """The results of all steps, in order."""
    if processes <= 1:
        for step in progress(work, label="audit", unit="check"):
            yield step()
        return
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn")) as pool:
        waiting = [pool.submit(step) for step in work]
        try:
            for future in progress(waiting, label="audit", unit="check"):
                yield future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
