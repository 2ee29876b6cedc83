"""Time limits, and Ctrl-C as the end of the time."""

import os
import signal
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import metricdp as mdp
from metricdp.solvers import programs
from metricdp.solvers.kmedian import solve
from metricdp.solvers.stopping import NEVER, Deadline, SearchLine
from tests import raising, refuses

pytestmark = pytest.mark.usefixtures("ctrl_c_is_heeded")


def test_a_limit_ends():
    deadline = Deadline(0.05)
    assert not deadline.over and 0 < deadline.left <= 0.05
    time.sleep(0.06)
    assert deadline.over and deadline.left <= 0
    assert not NEVER.over and NEVER.left == float("inf") and not Deadline(float("inf")).over


def test_kernels_are_compiled_outside_of_the_limit():
    from numba.core.event import end_event, start_event

    deadline = Deadline(0.1)
    end_event("numba:compile")  # of what began before the first limit, in another thread
    start_event("numba:compile")
    time.sleep(0.2)
    end_event("numba:compile")
    assert 0 < deadline.left <= 0.1 and not deadline.over
    time.sleep(0.11)
    assert deadline.over


def test_searches_tell_what_they_found_and_what_is_proven(monkeypatch):
    reported = []
    monkeypatch.setattr(SearchLine, "say", lambda self, *pair: reported.append(pair))
    rng = np.random.default_rng(3)
    metric, weights = mdp.EuclideanMetric(rng.random((60, 2))), rng.integers(1, 9, 60)
    room = 1.2 * weights.sum() / 4
    for asked in (
        mdp.objectives.MaxCoverage(4, 0.2),
        mdp.objectives.MaxCoverage(4, 0.2, capacities=room),
        mdp.objectives.PCenter(4),
        mdp.objectives.Capacitated(4, room, single_source=True),
    ):
        reported.clear()
        plan = mdp.solve(metric, asked, weights=weights)
        assert reported and plan.gap is not None
        if asked.maximized:  # with capacities what is left out is reported, at the end
            assert all(bound >= value * (1 - 1e-9) for value, bound in reported[:1])
        else:
            assert all(bound <= value * (1 + 1e-9) for value, bound in reported)
            assert reported[-1][0] >= plan.value * (1 - 1e-9)
    reported.clear()
    plan = mdp.k_median(metric, k=4, weights=weights, certificate=True)
    assert reported[-1] == pytest.approx((plan.cost, plan.bound), rel=1e-3)


def test_the_line_says_best_bound_and_gap(monkeypatch):
    line = SearchLine()
    monkeypatch.setattr(line, "_bar", SimpleNamespace(update=lambda n: None))
    line._bar.set_description_str = lambda text, refresh: setattr(line._bar, "desc", text)
    line.say(12.0, 10.0)
    assert line._bar.desc == "best 12, bound 10, gap 17 %"
    line.say(float("inf"), 3.0)
    assert line._bar.desc == "best inf, bound 3"


def test_the_first_interrupt_ends_all_times_and_the_second_interrupts():
    before = signal.getsignal(signal.SIGINT)
    with Deadline(float("inf")) as outer, Deadline(30) as inner:
        assert signal.getsignal(signal.SIGINT) != before
        os.kill(os.getpid(), signal.SIGINT)
        assert inner.over
        assert outer.over
        assert signal.getsignal(signal.SIGINT) == before
        with pytest.raises(KeyboardInterrupt):
            os.kill(os.getpid(), signal.SIGINT)
            time.sleep(1)
    assert signal.getsignal(signal.SIGINT) == before


def test_nothing_is_caught_without_a_limit_or_outside_the_main_thread():
    before = signal.getsignal(signal.SIGINT)
    with Deadline():
        assert signal.getsignal(signal.SIGINT) == before
    seen = []

    def work():
        with Deadline(1.0) as deadline:
            seen.append((signal.getsignal(signal.SIGINT), deadline.over))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(before, False)]


def test_an_interrupted_search_returns_what_it_has():
    metric, weights = mdp.EuclideanMetric(np.random.default_rng(0).random((1200, 2))), np.ones(1200)
    plain = solve(metric, weights, 40, starts=1)  # compiled, and its distances known
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    begin = time.process_time()
    found = solve(metric, weights, 40, starts=5000, time_limit=float("inf"))  # half a minute
    assert time.process_time() - begin < 15
    assert len(set(found.centers.tolist())) == 40 and found.cost <= 1.05 * plain.cost


@pytest.mark.parametrize("limit", [0.1, None])
def test_programs_of_highs_end_with_the_time_and_with_an_interrupt(limit, monkeypatch):
    ended = threading.Event()
    monkeypatch.setattr("scipy.optimize.milp", lambda *_, **__: ended.wait(60))
    monkeypatch.setattr("scipy.optimize.linprog", lambda *_, **__: ended.wait(60))
    rules = [programs.Constraint(np.ones((1, 2)), 1.0, 1.0)]
    for ask, unanswered in (
        (lambda time: programs.minimized(np.ones(2), rules, 2, time).proven, False),
        (lambda time: programs.relaxed(np.ones(2), np.ones((1, 2)), np.ones(1), time), None),
    ):
        start = time.monotonic()
        with Deadline(limit, catches=True) as deadline:
            if limit is None:
                threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            assert ask(deadline) is unanswered
        assert time.monotonic() - start < 30
    ended.set()


def test_errors_of_highs_are_raised(monkeypatch):
    monkeypatch.setattr("scipy.optimize.milp", raising(MemoryError("too large")))
    rules = [programs.Constraint(np.ones((1, 2)), 1.0, 1.0)]
    refuses("too large", programs.minimized, np.ones(2), rules, 2, NEVER, error=MemoryError)
