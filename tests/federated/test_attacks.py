"""Those who do not follow the protocol: each is refused before it costs, and nothing leaves."""

import json
from dataclasses import replace

import networkx as nx
import numpy as np
import pytest

import metricdp as mdp
from metricdp.federated.course import Course
from metricdp.federated.messages import Answer, Keys, Past
from tests import cases, each, refuses
from tests.federated.test_rounds import METRIC, a_round, coordinator_of, kept, parties, rewritten


def refused(holder, message, words=".", paid=0):
    """Nothing is paid, and nothing is reported."""
    ran = dict(holder._runs)
    refuses(words, holder.answer, message)
    assert holder._ledger.spent == paid and holder._runs == ran


def test_old_answers_are_of_no_use():
    holders, coordinator = parties()
    asked = coordinator.invite()
    lost = [one.answer(asked) for one in holders]
    asked = coordinator.again()
    refuses("another round, attempt or study", coordinator.collect, lost)
    now = [one.answer(asked) for one in holders]
    refuses("another round, attempt or study", lambda: coordinator.collect([lost[0], *now[1:]]))
    assert coordinator.collect(now) is None
    other = coordinator_of(holders)
    other.invite()
    refuses("another round, attempt or study", other.collect, now)


def test_old_invitations_are_answered_by_nothing():
    holders, coordinator = parties()
    asked, answers = a_round(holders, coordinator)
    holders[0].answer(coordinator.invite())
    refused(holders[0], asked, "not continue", 4)
    assert holders[1].answer(asked) == answers[1]  # nothing came since: the same bytes
    assert holders[1]._ledger.spent == 4


def test_another_universe_of_the_same_name_is_refused():
    holders, _ = parties()
    graph = nx.grid_2d_graph(12, 12)
    graph.remove_edge((0, 0), (0, 1))
    other = mdp.GraphMetric(graph, weight=None)
    assert other.name == METRIC.name and len(other) == len(METRIC)
    coordinator = mdp.federated.Coordinator(other, [one.card for one in holders], epsilon=4)
    refused(holders[0], coordinator.invite(), "another universe")


def test_two_coordinators_of_one_study_are_distinguished():
    holders, one = parties()
    _, other = parties()
    known = {"study": one._asked.study, "holders": one._asked.holders}
    other._asked = replace(other._asked, **known, present=(0, 1, 2))
    assert holders[0].answer(one.invite())
    refused(holders[0], other.invite(), "not continue", 4)


def test_terms_that_changed_behind_a_lost_key_are_paid_for(tmp_path):
    """A study's name stays, its price rises, and the holder's file is an old one: the ledger, which
    knows terms and not names alone, does not hold it.
    """
    holder, *others = kept(tmp_path)
    coordinator = coordinator_of([holder, *others], delta=0)
    assert holder.answer(coordinator.invite())
    holder._file.write(holder._keys, {})
    dear = coordinator_of([holder, *others], epsilon=400, delta=0)
    past = (Past(np.array([3000]), 3, 1),)
    question = Course.of(METRIC, dear._agreement).at(past).fingerprint
    dear._keys = coordinator._keys
    mine = coordinator._asked
    known = {"study": mine.study, "coordinator": mine.coordinator}
    dear._asked = replace(dear._asked, **known, past=past, question=question)
    refuses("", lambda: holder.answer(dear.invite()), error=mdp.BudgetError)
    assert mdp.Ledger.open(tmp_path / "a.key.ledger").spent == 4


def test_a_holder_in_the_list_twice():
    """Under a key that is there already; under two keys of its own `peers` tell."""
    holders, coordinator = parties()
    mine = coordinator._asked.holders
    stranger = Keys("h1").card
    for twin in (mine[0]._replace(sign=stranger.sign), mine[0]._replace(seal=stranger.seal)):
        refused(holders[0], rewritten(coordinator, holders=(mine[0], twin, mine[2])), "damaged")
    holders[0]._peers = set(mine[1:])
    refused(holders[0], rewritten(coordinator, holders=(mine[0], stranger, mine[2])), "peers")


def test_a_list_of_holders_that_changes_between_rounds():
    holders, coordinator = parties()
    a_round(holders, coordinator)
    mine = coordinator._asked.holders
    for changed in ((mine[0], mine[2], mine[1]), (*mine[:2], Keys("h2").card)):
        refused(holders[0], rewritten(coordinator, holders=changed), "not continue", 4)
    refused(holders[0], rewritten(coordinator, holders=mine[:2], present=(0, 1)), ".", 4)
    refused(holders[0], rewritten(coordinator, present=(0,)), ".", 4)


LINE = b"metricdp federated, 1\n"


def reported(coordinator, changes):
    """A signed message whose line says anything."""
    line = json.loads(coordinator.invite().split(b"\n")[1])
    text = LINE + json.dumps(line | changes, sort_keys=True, separators=(",", ":")).encode() + b"\n"
    return text + coordinator._keys.signature(text)


@cases(
    "wrong",
    *each(
        bytes=[1 << 40, -8],
        past=[[[-1, 3, 1], [1, 3, 1]], [[0, 3, 1]], 7],
        attempt=[0, 1e308, "9" * 5000],
        present=[[0, 1, 2, 2], [0, 1, 99], [-1, 0, 1], []],
        holders=[[], [{"name": "a", "sign": "00", "seal": "00"}] * 3],
        coordinator=[None],
        agreement=[[]],
        study=[["a"]],
    ),
    {"past": [[1 << 62, 3, 1]], "bytes": 0},
)
def test_what_a_line_may_say(wrong):
    holders, coordinator = parties()
    refused(holders[0], reported(coordinator, wrong))


@pytest.mark.parametrize(
    "wrong",
    each(
        epsilon=["1e999999999", "-1", "0", None, "nan"],
        delta=["1", "1e-999999999"],
        holders=[10**9],
        colluding=[-1, 1.0],
        max_contributions=[10**30],
        seed=[-1, "0"],
        options=[
            {"records_hint": float("nan"), "tree": None, "expected": None},
            {"records_hint": -1, "tree": None, "expected": None},
            {"tree": "x", "records_hint": None, "expected": None},
            {"work": 1},
        ],
        method=["__class__", ["partition"]],
    ),
)
def test_what_an_agreement_may_say(wrong):
    holders, coordinator = parties()
    agreement = {**coordinator._asked.agreement, **wrong}
    refused(holders[0], reported(coordinator, {"agreement": agreement}))


@pytest.mark.parametrize("size", [1 << 20, 1 << 23])
def test_enormous_and_deep_messages(size):
    holders, coordinator = parties()
    asked = coordinator.invite()
    for text in (
        LINE + b"9" * size,
        LINE + b"[" * size + b"\n",
        LINE + b'{"kind":"invitation","a":' + b"[" * 50_000 + b"]" * 50_000 + b"}\n" + bytes(64),
        LINE + b'{"bytes":%d,"kind":"invitation"}\n' % size + bytes(size) + bytes(64),
        asked[:-64] + bytes(size) + asked[-64:],
        asked + asked,
    ):
        refused(holders[0], text)
    for cut in range(0, len(asked), 97):
        refused(holders[0], asked[:cut])


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 2**61])
def test_absurd_sums_of_the_past_cost_no_more_than_the_study(value):
    """Rounds may be chosen in any way; what is paid stays what was agreed."""
    holders, coordinator = parties()
    past = (Past(np.array([value]), 3, 1),)
    try:
        question = Course.of(METRIC, coordinator._agreement).at(past).fingerprint
    except Exception:
        question = "0" * 64
    try:
        holders[0].answer(rewritten(coordinator, past=past, question=question))
    except mdp.InputError:
        assert holders[0]._ledger.spent == 0
    assert holders[0]._ledger.spent in (0, 4)


def test_counts_that_do_not_fit():
    holders, coordinator = parties()
    asked = coordinator.invite()
    answers = [one.answer(asked) for one in holders]
    digest = coordinator._asked.digest.hex()
    for values in (np.zeros(2, np.uint64), np.zeros(0, np.uint64)):
        wrong = Answer(digest, 0, values).signed(holders[0]._keys)
        refuses("another number of counts", coordinator.collect, [wrong, *answers[1:]])
    stolen = Answer(digest, 0, np.zeros(1, np.uint64)).signed(holders[1]._keys)
    refuses("not signed", lambda: coordinator.collect([stolen, *answers[1:]]))
    past = (Past(np.zeros(7, np.int64), 3, 1),)
    refused(holders[1], rewritten(coordinator, past=past), "do not fit", 4)
    assert coordinator.collect(answers) is None
