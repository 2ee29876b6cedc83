"""Continual release: one budget for all days, and a release of the present after each day.

1. Cut a public partition from the universe's hierarchy, once.
2. Each day, add the day's histogram to the open nodes of the binary mechanism
   (`metricdp.privacy.continual`), and release the nodes that are complete.
3. The present (all days, a window, or exponentially decaying weights) is a weighted sum of few
   released nodes. Estimate its true counts and spread them over points.
4. Solve on these weights for any k; `recourse` bounds how many centers move from day to day.

**Privacy.** Only step 2 reads records. The whole stream is epsilon-DP or (epsilon, delta)-DP for
*each record of any day* (``unit="event"``) or *each user on all days together* (``unit="user"``).
It is charged when the stream begins, and once in each later period of the ledger in which a day is
read. *Composition*: sequential with everything else on the ledger.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, time
from os import PathLike
from threading import Lock
from typing import Any, NamedTuple
from unicodedata import normalize

import numpy as np

from metricdp.accounting import Budget, Cost, Ledger
from metricdp.accounting.continual import MOST_DAYS, Level, Schedule
from metricdp.arguments import Amount, chosen, count, file_path, positive
from metricdp.errors import InputError
from metricdp.methods.demand_release import Release
from metricdp.methods.finite.rounds import number_of_parts
from metricdp.methods.question import Result
from metricdp.metrics.base import Metric
from metricdp.options import Coins, coins
from metricdp.partitions.finite.ward import hierarchy
from metricdp.privacy import HistogramQuery, PrivateDemand
from metricdp.privacy.continual import Counting, fresh, observe, whole_cost
from metricdp.protocols import finite
from metricdp.releases import Neighboring, Receipt
from metricdp.running.days import LeastNoise, needed, present
from metricdp.running.stream_file import (
    ChargedStream,
    StreamFile,
    StreamState,
    ledgers_of,
    noted_path,
    stream_contents,
)
from metricdp.solvers.estimate.tree_posterior import Counts, joint_posterior
from metricdp.unique import Unique

PARTS = 128
"""Parts of the partition without a `records_hint`: more parts add noise, fewer lose detail."""
MIN_GAIN, ALARM = 0.01, 0.05
"""Relative excess cost up to which former centers stay, and above which an alarm is raised."""


Day = int | str | date | np.datetime64


class DayCenters(NamedTuple):
    """Centers of a day.

    Attributes
    ----------
    result : Result
    moved : int
        How many of them were not centers on the last day on which they were asked for.
    alarm : bool
        Whether the demand changed so much that more centers should move than `recourse` allows.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> stream = mdp.Stream(metric, epsilon=1, horizon=30)
    >>> release = stream.step(mdp.PrivateDemand(metric, [2] * 10**5), day="2026-03-01")
    >>> asked = stream.k_median(k=1)
    >>> asked.result.centers, asked.moved, asked.alarm
    ([2], 0, False)
    """

    result: Result
    moved: int
    alarm: bool

    @property
    def centers(self) -> Any:
        """The centers."""
        return self.result.centers


class PastDay(NamedTuple):
    """The centers of a past day.

    Attributes
    ----------
    day : int
        1 is the first.
    centers : list of ids
    label : str or None
        The day's name, if all days have one.
    moved : int
    alarm : bool
        As `DayCenters`.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> stream = mdp.Stream(metric, epsilon=1, horizon=30)
    >>> release = stream.step(mdp.PrivateDemand(metric, [2] * 10**5), day="2026-03-01")
    >>> _ = stream.k_median(k=1)
    >>> first = stream.history(k=1)[0]
    >>> first.day, first.label, first.centers
    (1, '2026-03-01', [2])
    """

    day: int
    centers: list[Any]
    label: str | None
    moved: int
    alarm: bool


class Stream(Unique):
    """Private releases of the present after each day, for one budget.

    **Privacy.** See the module. *Event level* protects each record on its own: it does not hide a
    person who is present every day. *User level* hides a user on any number of days, from all
    releases together. The receipt states the level.

    Parameters
    ----------
    metric : Metric
        A finite universe.
    epsilon : int, float, str, Decimal or Fraction
        Budget of all days together, charged now.
    delta : same
        If positive, noise is Gaussian.
    horizon : int, optional
        Number of days; later ones are refused. Unknown by default, at somewhat more noise.
    unit : {"event", "user"}
        What is protected. "user" needs a horizon, and demand with ``user=``.
    window : int, optional
        The present is this number of last days; by default all days so far.
    half_life : float, optional
        The present is all days so far, with weights that halve every `half_life` days.
    max_contributions : int
        With ``unit="user"``, most records of a user on one day: the bound of every day's demand.
    recourse : int, optional
        Most centers that `k_median` moves from one day to the next; unlimited by default.
    records_hint : float, optional
        A public guess of the number of records a day, from which the number of parts follows.
    parts : int, optional
        Number of parts, instead of the hint.
    ledger : Ledger, optional
        Is charged the whole; a fresh one of that size by default. A ledger with a journal refuses
        copies and older states of the file; without one, a stream with a file gets a journal of its
        own beside it, PATH.ledger.
    neighboring : {"add-remove", "replace-one"}
        Relation of a fresh ledger.
    path : path, optional
        Private file that keeps the stream between days and processes; an existing one is
        continued. Without a path the stream lives in this process only.
    seed, rng : int; Generator, SeedSequence or int
        Public coins of the partition and the solver.

    Raises
    ------
    InputError, BudgetError
        A bad argument, a file of another stream, or the ledger does not hold epsilon: nothing was
        charged.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> stream = mdp.Stream(metric, epsilon=1, horizon=365)
    >>> for place, day in ((2, "2026-03-01"), (2, "2026-03-02"), (7, "2026-03-03")):
    ...     release = stream.step(mdp.PrivateDemand(metric, [place] * 10**5), day=day)
    ...     asked = stream.k_median(k=2)
    >>> release.day, sorted(release.k_median(k=2).centers), sorted(asked.centers)
    (3, [2, 7], [2, 7])
    >>> stream.days, stream.label, float(stream.receipt.epsilon), len(stream.history(k=2))
    (3, '2026-03-03', 1.0, 3)
    """

    _why = "a day counted in both would be released twice with the same noise"

    def __init__(
        self,
        metric: Metric,
        epsilon: Amount | None = None,
        delta: Amount = 0,
        *,
        horizon: int | None = None,
        unit: Level = "event",
        window: int | None = None,
        half_life: float | None = None,
        max_contributions: int = 1,
        recourse: int | None = None,
        records_hint: float | None = None,
        parts: int | None = None,
        ledger: Budget | None = None,
        neighboring: Neighboring = "add-remove",
        path: str | PathLike[str] | None = None,
        seed: int = 0,
        rng: Coins | None = None,
    ) -> None:
        finite(metric, "a stream").check()
        if epsilon is None:
            raise InputError("a stream needs epsilon=, the budget of all days together")
        chosen(unit, ("event", "user"), "unit")
        cost = whole_cost(epsilon, delta)
        if ledger is not None and not isinstance(ledger, Ledger):
            raise InputError(f"ledger must be a Ledger, got {type(ledger).__name__}")
        relation = neighboring if ledger is None else ledger.neighboring
        schedule = LeastNoise(
            _days_or_none(horizon, "horizon"),
            _days_or_none(window, "window"),
            None if half_life is None else min(positive(half_life, "half_life"), float(MOST_DAYS)),
            gaussian=bool(cost.delta),
        )
        if window is not None and half_life is not None:
            raise InputError("give window or half_life, not both: each defines the present")
        self._recourse = _days_or_none(recourse, "recourse")
        m = _days_or_none(max_contributions, "max_contributions") or 1
        if unit == "event" and m != 1:
            raise InputError("max_contributions bounds users: it goes with unit='user'")
        self._seed = coins(seed, rng)
        number = _n_parts(parts, records_hint, schedule, cost, unit)
        self.universe = metric
        self._settings = {
            "epsilon": str(cost.epsilon),
            "delta": str(cost.delta),
            "neighboring": relation,
            "unit": unit,
            "max_contributions": m,
            "horizon": schedule.horizon,
            "window": schedule.window,
            "half_life": schedule.half_life,
            "parts": number,
            "recourse": self._recourse,
            "seed": self._seed,
        }
        self._partition = hierarchy(metric, self._seed).cut(number)
        query = HistogramQuery(self._partition)
        self.counting = Counting(query, schedule, cost, relation, unit, m)
        self._file = None if path is None else StreamFile(file_path(path, "path"), metric)
        self._lock, self._process = Lock(), os.getpid()
        self._state = self._initial_state(ledger)

    @classmethod
    def open(
        cls, path: str | PathLike[str], metric: Metric, *, ledger: Ledger | None = None
    ) -> Stream:
        """The stream of an existing file, with its settings; the universe must be the same.

        Parameters
        ----------
        path : path
        metric : Metric
        ledger : Ledger, optional
            Its ledger, if the journal was moved.

        Raises
        ------
        InputError
            The file is missing, damaged, of another universe, a copy of a stream that was
            continued elsewhere, or an older state; its ledger is missing.

        Examples
        --------
        >>> import pathlib, tempfile
        >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "visits.stream"
        >>> stream = mdp.Stream(metric, epsilon=1, horizon=30, path=path)
        >>> mdp.Stream.open(path, metric).days
        0
        """
        source = file_path(path, "path")
        if not source.exists():
            raise InputError(f"{source}: no such stream; begin one with mdp.Stream(path=)")
        return cls(metric, path=source, ledger=ledger, **stream_contents(source)[0]["settings"])

    # Days

    def step(self, demand: PrivateDemand, day: Day | None = None) -> Release:
        """Count one day's demand, and release the present after it.

        Late records belong to the demand of the day on which they arrive. A day without records is
        stepped too, with an empty demand.

        Parameters
        ----------
        demand : PrivateDemand
            In the stream's universe.
        day : int, str or datetime.date, optional
            The day's name, stripped; a date with a time is refused. If it is the name of the last
            day, nothing is read or counted and that day's release is returned, whatever the
            demand, so that an interrupted step can be repeated. Without names every call is a new
            day.

        Raises
        ------
        InputError, BudgetError
            Another universe, unit or relation; the horizon or the ledger has ended; the ledger does
            not hold the stream's cost in its new period; the name of an earlier day; a copy, or an
            older state. Nothing was read, and the stream is unchanged.
        OSError
            The file cannot be written. The stream is unchanged, and nothing was released.
        """
        name = _day_name(day)
        with self._locked():
            state = self._state
            if name is not None and name == state.label and state.counter.days:
                return self._release(state)
            if name is not None and name in state.labels:
                raise InputError(
                    f"the day {name!r} is over: late records go into the demand of the day on "
                    f"which they come"
                )
            counter, ended = observe(state.counter, demand)
            last = counter.days - 1
            schedule = self.counting.schedule
            used = {node for node, _ in present(schedule, last)}
            known = {**state.released, **ended}
            kept = {n: v for n, v in known.items() if n in used or needed(schedule, n, last)}
            labels = state.labels if name is None else (*state.labels, name)
            mark = secrets.token_hex(8)
            after = StreamState(state.name, mark, counter, kept, name, labels, state.answers)
            self._save(after)
            return self._release(after)

    @property
    def days(self) -> int:
        """Days counted so far."""
        return self._state.counter.days

    @property
    def label(self) -> str | None:
        """Name of the last day."""
        return self._state.label

    @property
    def receipt(self) -> Receipt:
        """The receipt of the whole stream: charges at its beginning and of each later period."""
        return self.counting.receipt(self.days - 1)

    @property
    def release(self) -> Release:
        """The release after the last day, again, at no cost.

        Raises
        ------
        InputError
            No day has been counted yet.
        """
        with self._locked():
            return self._release(self._state)

    def k_median(self, k: int) -> DayCenters:
        """k centers for the current demand, at no cost. At most `recourse` of them differ from the
        centers of the last day with such a call. All calls on one day return the same.
        """
        with self._locked():
            state = self._state
            release = self._release(state)
            known = state.answers.get(str(k), [])
            today = next((answer for answer in known if answer["day"] == release.day), None)
            if today is None:
                before = known[-1]["centers"] if known else None
                found, alarm = self._limited_move(release, k, before)
                moved = 0 if before is None else len(set(found) - set(before))
                today = {"day": release.day, "centers": found, "moved": moved, "alarm": alarm}
                answers = {**state.answers, str(k): [*known, today][-MOST_DAYS:]}
                self._save(state._replace(answers=answers))
            ids = [self.universe.sites[i] for i in today["centers"]]
            result = Result(ids, k, "stream", release.receipt, release, universe=self.universe)
            return DayCenters(result, today["moved"], today["alarm"])

    def to_dict(self) -> dict[str, Any]:
        """JSON-ready form: settings, days counted and the receipt; nothing private."""
        facts = {"days": self.days, "label": self.label, "settings": dict(self._settings)}
        return {**facts, "receipt": self.receipt.to_dict()}

    def history(self, k: int) -> list[PastDay]:
        """The centers of all days on which `k_median` was called with this k; shown by
        `metricdp.report.days_page`.
        """
        state = self._state
        named = len(state.labels) == state.counter.days
        past = []
        for one in state.answers.get(str(k), []):
            centers = [self.universe.sites[i] for i in one["centers"]]
            label = state.labels[one["day"] - 1] if named else None
            past.append(PastDay(one["day"], centers, label, one["moved"], one["alarm"]))
        return past

    def __repr__(self) -> str:
        s = self._settings
        horizon = "any number of" if s["horizon"] is None else f"{s['horizon']:,}"
        epsilon = float(self.counting.cost.epsilon)
        return (
            f"Stream({self.universe.name}, {s['unit']} level, epsilon {epsilon:g} for {horizon} "
            f"days, {self.days:,} counted)"
        )

    # The present

    def _release(self, state: StreamState) -> Release:
        if not state.counter.days:
            raise InputError("no day has been counted yet: stream.step(demand) counts one")
        day = state.counter.days - 1
        counts = np.zeros(self._partition.n_parts)
        variance = 0.0
        for node, weight in present(self.counting.schedule, day):
            block = self.counting.schedule.block(node.block)
            counts += weight * state.released[node]
            variance += weight**2 * self.counting.variance(block)
        deviation = float(np.sqrt(variance))
        parts = np.arange(self._partition.n_parts)
        noise = Counts(parts, counts, max(deviation / np.sqrt(2.0), 0.5), gaussian=True)
        mean = joint_posterior(self._partition, [noise]).mean
        return Release(
            self.universe,
            self._partition.spread(mean),
            self.counting.receipt(day),
            method="stream",
            partition=self._partition,
            day=day + 1,
            label=state.label,
            counts=counts,
            deviation=deviation,
        )

    def _limited_move(
        self, release: Release, k: int, before: list[int] | None
    ) -> tuple[list[int], bool]:
        """Positions of the day's centers, of which at most `recourse` are not in `before`, and
        whether more of them should move.
        """
        metric = self.universe
        unlimited = metric.site_positions(release.k_median(k=k, seed=self._seed).centers).tolist()
        if before is None or self._recourse is None or self._recourse >= k:
            return unlimited, False

        def cost(centers: list[int]) -> float:
            distance = metric.nearest_to(np.asarray(centers, np.int64))[1]
            return float(distance @ release.weights)

        least = cost(unlimited)
        found = before
        if cost(found) > (1 + MIN_GAIN) * least:
            # give up first the centers whose removal costs least, as few as suffice
            without = [cost([c for c in before if c != removed]) for removed in before]
            order = [before[i] for i in np.argsort(without, kind="stable")]
            for moves in range(1, self._recourse + 1):
                stay = [metric.sites[c] for c in before if c not in order[:moves]]
                answer = release.k_median(k=k, opened=stay, seed=self._seed)
                found = metric.site_positions(answer.centers).tolist()
                if cost(found) <= (1 + MIN_GAIN) * least:
                    break
        return found, cost(found) > (1 + ALARM) * least

    # State, file and charges

    def _initial_state(self, given: Ledger | None) -> StreamState:
        """The state on disk, or a new one, charged exactly once."""
        cost, protects = self.counting.cost, self.counting.protects
        new = StreamState.first(secrets.token_hex(8), fresh(self.counting))
        if self._file is None:
            ledger = given or Ledger(cost.epsilon, cost.delta, self.counting.neighboring)
            self._charges = ChargedStream(new.name, (ledger,), cost, protects)
            return self._resumed(new)
        with self._file.locked():
            path, named = self._file.path, self._file.named_ledger()
            known = self._file.read(self.counting, self._settings)
            state = known or new
            ledgers, journal = ledgers_of(path, named, given, self.counting, new=known is None)
            self._charges = ChargedStream(state.name, ledgers, cost, protects)
            self._file.ledger = noted_path(journal, path)
            if known is not None:
                return self._resumed(known)
            # before the charge: after a crash in between, the file has the name of the charge
            self._file.write(new, self._settings)
            try:
                return self._resumed(new)
            except Exception:
                self._file.remove()
                if given is None or given.journal is None:
                    journal.unlink()  # created above, for this stream only
                raise

    def _resumed(self, state: StreamState) -> StreamState:
        """The state, once it is charged (before its first day) and the ledgers accept its last day:
        they refuse copies and older states.
        """
        if not state.counter.days:
            self._charges.pay()
        self._charges.follow(state.counter.days, state.mark)
        state.counter.pay = self._charges.pay
        return state

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold all locks, with the state as other processes left it."""
        if self._file is None:
            with self._lock:
                if os.getpid() != self._process:
                    raise InputError(
                        "a forked process would release days with the same noise: begin the stream "
                        "with path="
                    )
                yield
            return
        with self._lock, self._file.locked():
            known = self._file.read(self.counting, self._settings)
            if known is None or known.name != self._state.name:
                raise InputError(f"{self._file.path}: the stream's file is gone, or another one's")
            self._state = self._resumed(known)
            yield

    def _save(self, state: StreamState) -> None:
        if self._file is not None:
            self._file.write(state, self._settings)
        self._charges.follow(state.counter.days, state.mark)
        self._state = state


def _days_or_none(value: int | None, name: str) -> int | None:
    return None if value is None else count(value, name, 1, MOST_DAYS)


def _day_name(day: Day | None) -> str | None:
    """A day's name as normalized text; dates with a time are refused."""
    if day is None:
        return None
    if isinstance(day, np.generic):
        day = (day.astype("M8[us]") if isinstance(day, np.datetime64) else day).item()
    if isinstance(day, datetime):
        fine = getattr(day, "nanosecond", 0)  # of pandas
        if day != day or day.tzinfo is not None or day.time() != time.min or fine:
            raise InputError(
                "day must be a date or a name, got a moment: the same step an hour later would be "
                "another day; give its .date()"
            )
        day = day.date()
    name = normalize("NFC", str(day).strip()) if isinstance(day, int | str | date) else ""
    if not 0 < len(name) <= 100 or not name.isprintable():
        raise InputError("day must be a number, a date or a short name")
    return name


def _n_parts(
    parts: int | None, hint: float | None, schedule: Schedule, cost: Cost, unit: Level
) -> int:
    """Number of parts by public facts: records and noise scale on a typical day."""
    if parts is not None:
        return count(parts, "parts", 1, 1 << 15)
    if hint is None:
        return PARTS
    typical = (schedule.window or schedule.horizon or 4 * 90) // (1 if schedule.window else 4)
    day = max(min(typical, schedule.horizon or typical) - 1, 0)
    block = schedule.block(schedule.number_of(day))
    nodes = present(schedule, day)
    squares = sum(weight**2 for _, weight in nodes)
    weighted_days = 0.0
    for node, weight in nodes:
        first, last = schedule.days(node)
        weighted_days += weight * (last - first + 1)
    records = positive(hint, "records_hint") * weighted_days
    days_of_unit = 1 if unit == "event" else schedule.horizon or 1
    if cost.delta and cost.rho:
        scale = days_of_unit * (block.levels * squares / (4 * float(cost.rho))) ** 0.5
    else:
        scale = days_of_unit * block.levels * squares**0.5 / float(cost.epsilon)
    return number_of_parts(records, scale)
