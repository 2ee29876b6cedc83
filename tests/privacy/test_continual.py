"""Sums of days: what they cost, who may be counted, and that every node is the sum of its days."""

from fractions import Fraction

import numpy as np
import pytest

import metricdp as mdp
from metricdp.accounting.continual import l1, squared
from metricdp.kernels.scores import CAP
from metricdp.partitions.finite.labels import LabelParts
from metricdp.privacy import CountQuery, HistogramQuery, continual, gate
from metricdp.privacy.continual import Counting, fresh, observe, restored, stored, whole_cost
from metricdp.running.days import LeastNoise as Schedule
from tests import cases, path_metric, refuses

PATH = path_metric(3)
QUERY = HistogramQuery(LabelParts.of(PATH))
ONE = whole_cost(1, 0)
USERS = {"user": [1, 2], "max_contributions": 3}


def counting(schedule=None, cost=ONE, neighboring="add-remove", unit="event", m=1):
    return Counting(QUERY, schedule or Schedule(9), cost, neighboring, unit, m)


def demand(*places, **more):
    return mdp.PrivateDemand(PATH, list(places), **more)


def test_the_price_of_a_stream():
    assert (ONE.epsilon, ONE.delta, ONE.in_rho) == (1, 0, False)
    paid = whole_cost("1/2", "1e-6")
    assert (paid.delta, paid.in_rho) == (Fraction(1, 10**6), True)
    assert 0.49 < paid.epsilon <= Fraction(1, 2)
    for wrong in (0, -1):
        refuses("epsilon must be positive", whole_cost, wrong, 0)


def test_what_cannot_be_counted_is_refused_at_once():
    refuses("need a HistogramQuery", lambda: Counting(CountQuery(), Schedule(9), ONE, "add-remove"))
    refuses("give horizon=", lambda: counting(Schedule(), unit="user"))
    for schedule, cost in ((Schedule(9, gaussian=True), ONE), (Schedule(9), whole_cost(1, "1e-6"))):
        refuses("Gaussian noise if there is a delta", counting, schedule, cost)
    refuses("large enough for noise", lambda: counting(cost=whole_cost("1e-18", 0)))


@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
@pytest.mark.parametrize(("unit", "m"), [("event", 1), ("user", 3)])
def test_noise_follows_the_sensitivity_of_all_days(relation, unit, m):
    schedule = Schedule(9)
    block = schedule.block(0)
    known = counting(schedule, whole_cost("1/2", 0), relation, unit, m)
    noise, day = known.noise(block), QUERY.sensitivity(relation, m)
    assert noise.name == "discrete Laplace"
    whole = l1(schedule, block, unit, day)
    assert noise.scale == pytest.approx(2 * whole, rel=1e-9)
    assert known.variance(block) == 2 * noise.scale**2
    (reported,) = known.receipt(0).mechanisms
    expected = (whole, noise.scale, Fraction(1, 2))
    assert (reported.sensitivity, reported.scale, reported.epsilon) == expected
    assert (reported.delta, reported.rho) == (0, None)
    schedule = Schedule(9, gaussian=True)
    block = schedule.block(0)
    price = whole_cost(1, "1e-6")
    known = counting(schedule, price, relation, unit, m)
    noise = known.noise(block)
    square = squared(schedule, block, unit, QUERY.squared_sensitivity(relation, m))
    assert noise.name == "discrete Gaussian"
    assert noise.scale**2 == pytest.approx(square / (2 * float(price.rho)), rel=1e-9)
    assert known.variance(block) == noise.scale**2
    (reported,) = known.receipt(3).mechanisms
    assert (reported.delta, reported.rho) == (price.delta, price.rho)


def test_the_receipt_says_whom_and_how_long():
    records, users = counting(), counting(unit="user", m=3)
    assert records.protects == demand(0).protects
    assert users.protects == demand(0, 1, **USERS).protects
    reported = records.receipt(0)
    assert reported.unit == "record" and "over 9 days, event level: each record" in reported.bound
    assert reported.epsilon == 1 and set(reported.mechanisms[0].proofs) >= {continual.DAYS}
    assert continual.USERS not in reported.mechanisms[0].proofs
    reported = users.receipt(0)
    assert reported.unit == "user" and "up to 3 records a day" in reported.bound
    assert continual.USERS in reported.mechanisms[0].proofs
    long = counting(Schedule(365, gaussian=True), whole_cost(1, "1e-6")).receipt(0)
    assert "runs of up to 64 days (4 run lengths)" in long.mechanisms[0].query
    endless = counting(Schedule())
    assert "any number of days" in endless.receipt(-1).bound
    assert "runs of up to" not in counting(Schedule(half_life=3.0)).receipt(0).mechanisms[0].query
    for day, number in ((-1, 0), (15, 0), (16, 1), (80, 2)):
        block = endless.schedule.block(number)
        longest = block.base ** (block.levels - 1)
        (one,) = endless.receipt(day).mechanisms
        assert one.scale == endless.noise(block).scale
        assert (f"up to {longest} days ({block.levels} run lengths)" in one.query) == (longest > 1)


def begin(counting, budget):
    """A counter before the first day, paid for as a whole from a budget slice."""
    budget.check(counting.protects)
    budget.draw(counting.cost)
    budget.bind(counting.protects)
    counter = fresh(counting)
    counter.pay = lambda: budget.check(counting.protects)
    return counter


def test_no_day_is_read_before_it_is_paid_for(monkeypatch):
    monkeypatch.setattr("metricdp.accounting.ledger.today", lambda: "2030-01-01")
    counter = begin(counting(), mdp.Ledger(1, expires="2030-01-01").charge(1))
    counter, _ = observe(counter, demand(0))
    monkeypatch.setattr("metricdp.accounting.ledger.today", lambda: "2030-01-02")
    refuses("expired", lambda: observe(counter, demand(0)))
    refuses("nothing was paid", lambda: observe(fresh(counting()), demand(0)))


def test_who_may_be_counted():
    counter = begin(counting(Schedule(1)), mdp.Ledger(1).charge(1))
    part, _ = gate.split(demand(0), LabelParts.of(PATH), 1, mdp.Ledger(1))[0]
    for wrong, said in (
        ([0], "must be a PrivateDemand"),
        (mdp.PrivateDemand(path_metric(3), [0]), "universe"),
        (part, "part of a split demand"),
        (demand(0, 1, **USERS), "unit='event' protects each record"),
    ):
        refuses(said, observe, counter, wrong)
    refuses("must be a PrivateDemand", lambda: observe(demand(0), demand(0)))
    of_users = begin(counting(unit="user", m=3), mdp.Ledger(1).charge(1))
    refuses("unit='user' protects", lambda: observe(of_users, demand(0)))
    after, _ = observe(counter, demand(0))
    refuses("horizon of 1 days is over", lambda: observe(after, demand(0)))


@cases("schedule", Schedule(12), Schedule(20, 6), Schedule(), Schedule(half_life=2.0))
def test_a_node_is_the_sum_of_its_days(monkeypatch, schedule):
    monkeypatch.setattr(continual, "_opening", lambda c, node: np.array([node.level, 0, 100]))
    known = counting(schedule)
    counter, days, reported = fresh(known), [], {}
    for day in range(schedule.horizon or 20):
        places = [day % 3] * day + [1]
        counter = restored(known, counter.days, counter.nodes, stored(counter))  # as from a file
        counter.pay = lambda: None
        counter, ended = observe(counter, demand(*places))
        days.append(np.bincount(places, minlength=3))
        assert counter.days == day + 1
        assert {*counter.nodes, *ended} == {*schedule.nodes(day)}
        assert all(schedule.days(node)[1] == day for node in ended)
        reported |= ended
    assert reported
    for node, sums in reported.items():
        first, last = schedule.days(node)
        whole = sum(days[first : last + 1]) + np.array([node.level, 0, 100])
        assert sums.tolist() == whole.tolist()


def test_a_node_begins_with_the_noise_of_its_block(monkeypatch):
    known = counting(Schedule())
    monkeypatch.setattr(Counting, "noise", lambda self, block: lambda zeros: zeros + block.start)
    for number, start in ((0, 0), (1, 16), (2, 80)):
        node = known.schedule.nodes(start)[0]
        assert node.block == number
        assert continual._opening(known, node).tolist() == [start] * 3


def test_sums_of_days_do_not_wrap(monkeypatch):
    monkeypatch.setattr(continual, "_opening", lambda c, node: np.array([CAP, CAP - 1, -CAP]))
    _, ended = observe(begin(counting(), mdp.Ledger(1).charge(1)), demand(0, 1, 1, 2))
    assert all(sums.tolist() == [CAP, CAP, 1 - CAP] for sums in ended.values())


def test_sums_of_another_shape_are_no_counter():
    known = counting()
    node = known.schedule.nodes(0)[-1]
    restored(known, 1, (node,), np.zeros((1, 3), np.int64))
    for wrong in (np.zeros((1, 3)), np.zeros((2, 3), np.int64), np.zeros((1, 2), np.int64)):
        refuses("another shape", restored, known, 1, (node,), wrong)
