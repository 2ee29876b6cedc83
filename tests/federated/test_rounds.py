"""Rounds of several holders: what is asked, answered, added up, refused and paid."""

import copy
import json
import shutil
import signal
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chi2

import metricdp as mdp
from metricdp.audit.patch import patched
from metricdp.federated import course as courses
from metricdp.federated import holder as holders_module
from metricdp.federated.messages import Answer, Invitation, Keys, opened_card
from metricdp.privacy import contribute
from metricdp.privacy.noise import GaussianShares
from tests import cases, grid_metric, raising, refuses

METRIC = grid_metric(12, 12)
HOMES = [[(1, 1)] * 900 + [(10, 2)] * 500, [(10, 2)] * 400, [(5, 9)] * 1100 + [(1, 1)] * 100]
DELTA = Fraction(1, 10**6)
ALARM = 1e-8


def demands():
    return [mdp.PrivateDemand(METRIC, homes) for homes in HOMES]


def parties(**more):
    """Holders whose ledgers hold more than the study costs."""
    kept = [(demand, mdp.Ledger(50, 50 * DELTA)) for demand in demands()]
    holders = [
        mdp.federated.Holder(demand, name=f"h{i}", ledger=ledger)
        for i, (demand, ledger) in enumerate(kept)
    ]
    return holders, coordinator_of(holders, **more)


def coordinator_of(holders, **more):
    asked = {"epsilon": 4, "delta": DELTA, **more}
    return mdp.federated.Coordinator(METRIC, [one.card for one in holders], **asked)


def a_round(holders, coordinator):
    asked = coordinator.invite()
    answers = [one.answer(asked) for one in holders]
    coordinator.collect(answers)
    return asked, answers


def to_the_end(holders, coordinator):
    while coordinator.release is None:
        a_round(holders, coordinator)
    return coordinator.release


def test_three_holders_make_the_release_of_all_their_records():
    ledgers = [mdp.Ledger(5, DELTA) for _ in HOMES]
    holders = [mdp.federated.Holder(d, ledger=one) for d, one in zip(demands(), ledgers)]
    release = mdp.federated.run(METRIC, holders, epsilon=4, delta=DELTA, colluding=1)
    assert sorted(release.k_median(k=3).centers) == [(1, 1), (5, 9), (10, 2)]
    assert abs(release.weights.sum() - 3000) < 300
    assert [one.spent for one in ledgers] == [4] * 3 and ledgers[0].spent_delta == DELTA
    receipt = release.receipt
    assert (receipt.epsilon, receipt.delta, receipt.unit) == (4, DELTA, "record")
    assert "honest-but-curious coordinator together with up to 1 of 3 holders" in str(receipt)
    evidence = mdp.evidence(release)
    assert not evidence.missing and "Federated" in evidence.html()
    assert "Every holder has its own" in str(evidence.registry())
    reported = receipt.to_dict()
    assert reported["made"]["model"] == "federated" and "P17" in reported["proofs"]
    assert sum(m.rho for m in receipt.mechanisms) == mdp.privacy.Cost.zcdp(4, DELTA).rho
    assert len(receipt.mechanisms) == 3  # a count and two rounds


CUBE = mdp.EuclideanSpace([0.0] * 4, [1.0] * 4)
SQUARE = mdp.EuclideanSpace([0, 0], [1, 1])


@cases(
    ("universe", "places", "method", "delta"),
    (METRIC, [(1, 1), (10, 2)], "partition", 0),
    (METRIC, [(1, 1), (10, 2)], "partition", DELTA),
    (METRIC, [(1, 1), (10, 2)], "hst", 0),
    pytest.param(SQUARE, [[0.2, 0.2], [0.8, 0.7]], "partition", 0, marks=pytest.mark.extended),
    (SQUARE, [[0.2, 0.2], [0.8, 0.7]], "partition", DELTA),
)
def test_whatever_asks_for_counts_is_answered_by_the_one_runner(universe, places, method, delta):
    """Each price is paid in full, by all, and what a receipt says of noise adds up to it."""
    ledgers = [mdp.Ledger(5, DELTA) for _ in range(3)]
    kept = zip([*places, places[0]], ledgers)
    records = [(mdp.PrivateDemand(universe, [place] * 2000), ledger) for place, ledger in kept]
    holders = [mdp.federated.Holder(demand, ledger=ledger) for demand, ledger in records]
    release = mdp.federated.run(universe, holders, epsilon=4, delta=delta, method=method)
    found = sorted(map(tuple, np.round(release.k_means(k=2).centers, 2).tolist()))
    assert found == sorted(map(tuple, places))
    assert [one.spent for one in ledgers] == [4] * 3
    receipt = release.receipt
    assert (receipt.epsilon, receipt.delta) == (4, delta)
    spent = sum(one.rho if delta else one.epsilon for one in receipt.mechanisms)
    assert spent == (mdp.privacy.Cost.zcdp(4, DELTA).rho if delta else 4)
    distribution = "discrete Gaussian in shares" if delta else "discrete Laplace in shares"
    assert {one.name for one in receipt.mechanisms} == {distribution}
    assert not mdp.evidence(release).missing


@pytest.mark.parametrize(
    ("universe", "method"),
    [(CUBE, "partition"), (SQUARE, "quadtree"), (SQUARE, "lloyd"), (SQUARE, "coreset")],
)
def test_other_questions_about_boxes_are_refused_before_anything_is_paid(universe, method):
    ledger = mdp.Ledger(9, 9 * DELTA)
    demand = mdp.PrivateDemand(universe, [universe.lower.tolist()] * 50)
    holders = [mdp.federated.Holder(demand, ledger=ledger) for _ in range(2)]
    refuses("counts of all records", mdp.federated.run, universe, holders, epsilon=1, method=method)
    assert not ledger.entries


def asks_of(method, universe, delta):
    """Every request of a method, answered as if nobody were there, or many."""
    from metricdp.methods.asking import Account, Ask, Statement
    from metricdp.releases import Release

    agreement = courses.Agreement(method, Fraction(4), Fraction(delta), 3, 1)
    course = courses.Course.of(universe, agreement)
    for many in (0, 40):
        work, left, receipts = method.work(agreement.terms, agreement.question(universe)), 1, []
        answer = None
        while True:
            try:
                asked = work.send(answer)
            except StopIteration:
                break
            yield asked
            if isinstance(asked, Ask):
                query, left = asked.query, left - asked.share
                noise = course.shares(asked, 3)
                reported = noise.mechanism_of(query, query.sensitivity("add-remove", 1))
                receipts.append(mdp.Receipt.of([reported], "add-remove", "record"))
                answer = Release(np.full(query.n_values, many), query, receipts[-1])
            else:
                assert isinstance(asked, Account)
                whole = mdp.Receipt.combined(receipts) if receipts else agreement.terms.nothing()
                answer = Statement(left, tuple(receipts), whole)


@pytest.mark.parametrize("delta", [0, DELTA])
def test_methods_that_say_that_they_add_up_ask_for_counts_alone(delta):
    """And are all that say so."""
    from metricdp.methods.asking import Ask
    from metricdp.methods.registry import answering

    adding = set()
    for universe in (METRIC, SQUARE, CUBE):
        for name, kind in mdp.methods.BY_NAME.items():
            if not (kind.in_finite if universe is METRIC else kind.in_space):
                continue
            method = answering(name, universe)
            if method.adds_up:
                adding.add((name, type(method).__name__))
                asked = list(asks_of(method, universe, delta))
                assert sum(isinstance(one, Ask) for one in asked) >= 2
                assert all(courses.fingerprint(one) for one in asked if isinstance(one, Ask))
    assert adding == {("partition", "Partition"), ("hst", "DPHST"), ("partition", "Halved")}


def test_the_sum_is_that_of_exact_counts_and_all_noise(monkeypatch):
    """Replayed: with recorded noise, the released counts are those of a central release."""
    drawn = []
    draw = GaussianShares.__call__

    def recorded(self, values):
        drawn.append((self.bits, draw(self, values)))
        return drawn[-1][1]

    monkeypatch.setattr(GaussianShares, "__call__", recorded)
    holders, coordinator = parties()
    release = to_the_end(holders, coordinator)
    positions = METRIC.positions([home for homes in HOMES for home in homes])
    found = [one for one in release.histograms if len(one.values) > 1]
    assert len(found) == 2
    for i, one in enumerate(found, 1):
        exact = np.bincount(one.query.labels[positions], minlength=len(one.values))
        noise = drawn[3 * i : 3 * i + 3]
        whole = exact + sum(each for _, each in noise) / (2 ** noise[0][0])
        assert one.values.tolist() == np.rint(whole).astype(int).tolist()


def test_all_parties_work_out_the_same_questions_from_public_values():
    """Each for itself, as in processes of their own."""
    holders, coordinator = parties(epsilon="1/10")
    while coordinator.release is None:
        asked = coordinator.invite()
        answers = []
        for one in holders:
            courses._KEPT.of(METRIC).clear()
            answers.append(one.answer(asked))
        courses._KEPT.of(METRIC).clear()
        coordinator.collect(answers)
    assert coordinator.round == 3


def test_nothing_that_is_sent_holds_a_question_or_a_count():
    holders, coordinator = parties()
    asked = coordinator.invite()
    assert set(json.loads(asked.split(b"\n")[1])["agreement"]) == {
        *("version", "universe", "method", "options", "epsilon", "delta", "holders"),
        *("colluding", "unit", "max_contributions", "seed"),
    }
    answer = holders[0].answer(asked)
    assert set(json.loads(answer.split(b"\n")[1])) == {"bytes", "holder", "invitation", "kind"}


def bytes_of(answers):
    return np.frombuffer(b"".join(answers), np.uint8)


def uniform_p_value(found):
    seen = np.bincount(found, minlength=256)
    return chi2.sf(((seen - len(found) / 256) ** 2).sum() / (len(found) / 256), 255)


def masked_values(query_size, demand_size, keys, digest):
    """What one of two holders sends, without noise: the worst case."""
    one, other = keys
    return np.full(query_size, demand_size, np.uint64) + one.mask(digest, [other.card], query_size)


def test_a_distinguisher_of_single_messages_is_at_chance():
    """Bytes under masks are uniform whatever the counts are. False alarms: 1e-8 each."""
    keys = Keys("a"), Keys("b")
    for size in (0, 1, 10**6):
        digests = (bytes([number]) * 32 for number in range(20))
        some = [masked_values(2000, size, keys, digest).tobytes() for digest in digests]
        assert uniform_p_value(bytes_of(some)) > ALARM
    used_twice = masked_values(2000, 5, keys, bytes(32)) - masked_values(2000, 3, keys, bytes(32))
    assert uniform_p_value(bytes_of([used_twice.tobytes()])) < ALARM  # planted


def test_masks_cancel_and_differ_in_every_attempt(monkeypatch):
    keys = [Keys(str(i)) for i in range(5)]
    for digest in (b"1" * 32, b"2" * 32):
        masks = [one.mask(digest, [k.card for k in keys if k is not one], 100) for one in keys]
        assert not sum(masks).any()
        assert all(uniform_p_value(bytes_of([mask.tobytes()])) > ALARM for mask in masks)

    def difference():
        """Of what one holder sends for one round at two attempts, in records."""
        holders, coordinator = parties(records_hint=3000)
        sent = []
        for asked in (coordinator.invite(), coordinator.again()):
            parsed = Invitation.parsed(asked)
            sent.append(Answer.parsed(holders[0].answer(asked), parsed).values)
        return np.abs((sent[1] - sent[0]).view(np.int64)).min()

    assert difference() > 10**9
    mask = Keys.mask
    monkeypatch.setattr(Keys, "mask", lambda self, digest, *rest: mask(self, bytes(32), *rest))
    assert difference() < 10**6  # planted: a mask used twice shows the noise of both


def test_a_round_is_answered_once_and_reported_again_for_nothing():
    holders, coordinator = parties()
    asked = coordinator.invite()
    one = holders[0]
    first = one.answer(asked)
    assert one.answer(asked) == first and one._ledger.spent == 4
    one._runs.clear()  # planted: its answer is lost
    refuses("never answered twice", one.answer, asked)
    assert one._ledger.spent == 4


def test_a_holder_is_counted_once():
    holders, coordinator = parties()
    asked = coordinator.invite()
    answers = [one.answer(asked) for one in holders]
    refuses("same holder", lambda: coordinator.collect([*answers, answers[0]]))
    refuses("no answer yet by h2", lambda: coordinator.collect(answers[:2]))
    refuses("two or more, each", coordinator_of, [holders[0]] * 2)
    assert coordinator.collect(answers) is None and coordinator.round == 2


def rewritten(coordinator, **changes):
    """An invitation by a coordinator that does not follow the protocol."""
    return replace(coordinator._asked, **changes).signed(coordinator._keys)


def test_a_coordinator_that_asks_for_anything_else_is_refused():
    holders, coordinator = parties()
    one, agreed = holders[0], coordinator._asked.agreement
    stranger, mine = Keys("stranger").card, coordinator._asked.holders
    for wrong, words in (
        ({"question": "0" * 64}, "asks something else"),
        ({"agreement": {**agreed, "version": "9.9"}}, "same version"),
        ({"agreement": {**agreed, "method": "hst"}}, "damaged|counts"),
        ({"agreement": {**agreed, "colluding": 3}}, "colluding"),
        ({"agreement": {**agreed, "unit": "user"}}, "users"),
        ({"agreement": {**agreed, "method": "uniform"}}, "damaged|counts"),
        ({"agreement": {**agreed, "more": 1}}, "damaged"),
        ({"holders": (stranger, *mine[1:])}, "not among"),
        ({"holders": mine[:2], "present": (0, 1)}, "list its holders"),
        ({"present": (1, 2)}, "list its holders"),
    ):
        refuses(words, one.answer, rewritten(coordinator, **wrong))
    assert not one._ledger.entries


def test_what_comes_later_goes_on_from_what_was_answered():
    holders, coordinator = parties()
    a_round(holders, coordinator)
    past = coordinator._asked.past
    other = past[0]._replace(values=past[0].values + 1)
    assert holders[0].answer(coordinator.invite())
    coordinator._asked = coordinator._asked.again(coordinator._asked.present)
    wrong = {**coordinator._asked.agreement, "seed": 1}
    refuses("not continue", lambda: holders[0].answer(rewritten(coordinator, agreement=wrong)))
    holders[1].answer(coordinator.invite())
    coordinator._asked = coordinator._asked.again(coordinator._asked.present)
    refuses("not continue", lambda: holders[1].answer(rewritten(coordinator, past=(other,))))


def test_peers_are_those_whose_cards_came_from_themselves():
    holders, _ = parties()
    cards = [one.card for one in holders]
    careful = [mdp.federated.Holder(d, peers=cards) for d in demands()[:2]]
    everyone = [careful[0].card, *cards[1:]]
    coordinator = coordinator_of([careful[0], *holders[1:]])
    refuses("peers", lambda: careful[0].answer(coordinator.invite()))
    careful[0]._peers = {opened_card(card) for card in everyone}
    assert careful[0].answer(coordinator.invite())


@pytest.mark.parametrize("kind", ["card", "invitation", "answer"])
def test_a_changed_message_is_refused(kind):
    holders, coordinator = parties()
    asked = coordinator.invite()
    answers = [one.answer(asked) for one in holders]
    message = {"card": holders[0].card, "invitation": asked, "answer": answers[0]}[kind]

    def read(text):
        if kind == "card":
            return opened_card(text)
        if kind == "invitation":
            return holders[1].answer(text)
        return coordinator.collect([text, *answers[1:]])

    for at in sorted({*range(0, len(message), 37), len(message) - 1, len(message) - 70}):
        changed = bytearray(message)
        changed[at] ^= 1
        refuses("", read, bytes(changed))
    for text in (b"", message[:-1], message + b"\0", message[:50], "text", None):
        refuses("", read, text)


@cases(
    ("universe", "place"),
    (METRIC, (1, 1)),
    pytest.param(SQUARE, [0.2, 0.2], marks=pytest.mark.extended),
)
def test_a_release_without_noise_that_shows_is_kept_and_has_intervals(
    universe, place, tmp_path, recwarn
):
    """The largest epsilon: what a receipt said of its noise was 0, or too small to be read."""
    holders = [mdp.federated.Holder(mdp.PrivateDemand(universe, [place] * 30)) for _ in range(3)]
    release = mdp.federated.run(universe, holders, epsilon=1000)
    release.save(tmp_path / "a.release")
    again = mdp.Release.load(tmp_path / "a.release", universe)
    assert (again.weights == release.weights).all() and round(release.weights.sum()) == 90
    told = again.interval(again.k_median(k=1).centers)
    assert 0 <= told.low <= told.estimate <= told.high < np.inf and not recwarn.list
    assert release.receipt.mechanisms[-1].scale >= release.receipt.mechanisms[-1].sensitivity / 1000


def test_holders_are_distinguished_by_their_names():
    assert len({mdp.federated.Holder(one).name for one in demands()}) == 3
    same = [mdp.federated.Holder(d, name="h") for d in demands()]
    refuses("names of their own; 'h' is repeated", coordinator_of, same)


def test_a_holder_who_is_gone_stays_out_and_the_round_costs_once_more():
    holders, coordinator = parties()
    ledgers = [one._ledger for one in holders]
    asked = coordinator.invite()
    lost = [one.answer(asked) for one in holders[:2]]  # the third is gone
    for names, words in ((["h9"], "must name holders"), (["h1", "h2"], "too few")):
        refuses(words, coordinator.again, without=names)
    asked = coordinator.again(without=["h2"])
    refuses("", coordinator.collect, lost)
    refuses("", lambda: holders[2].answer(asked))
    release = to_the_end(holders[:2], coordinator)
    assert abs(release.weights.sum() - 1900) < 300
    paid = [one.spent for one in ledgers]
    assert paid[0] == paid[1] > 4 > 0 == paid[2] and ledgers[0].spent_delta == 2 * DELTA
    assert (release.receipt.epsilon, release.receipt.delta) == (paid[0], 2 * DELTA)
    holders, coordinator = parties()
    a_round(holders, coordinator)
    refuses("first round only", coordinator.again, without=["h1"])


def test_a_ledger_that_does_not_hold_it_refuses():
    ledger = mdp.Ledger(1, DELTA)
    holders, coordinator = parties()
    holders[0]._ledger = ledger
    refuses("", lambda: holders[0].answer(coordinator.invite()), error=mdp.BudgetError)
    assert not ledger.entries
    holders[0]._ledger = mdp.Ledger(9, DELTA, neighboring="replace-one")
    refuses("add-remove", lambda: holders[0].answer(coordinator.invite()))


def test_users_are_those_of_one_holder():
    pairs = zip(HOMES, [[f"u{i % 300}" for i in range(len(homes))] for homes in HOMES])
    kept = [mdp.PrivateDemand(METRIC, at, user=who, max_contributions=2) for at, who in pairs]
    holders = [mdp.federated.Holder(one) for one in kept]
    receipt = mdp.federated.run(METRIC, holders, epsilon=4, delta=DELTA).receipt
    assert receipt.unit == "user" and {m.sensitivity for m in receipt.mechanisms} == {2}
    assert "disjoint" in receipt.to_dict()["made"]["trust"]
    mixed = [mdp.federated.Holder(one) for one in (kept[0], demands()[1])]
    with pytest.raises(mdp.InputError, match="the invitation is about users"):
        mdp.federated.run(METRIC, mixed, epsilon=4, delta=DELTA)


@cases(
    ("wrong", "words"),
    ({"epsilon": "1/300", "delta": 0}, "give a delta"),
    ({"epsilon": -1}, "epsilon"),
    ({"colluding": 3}, "colluding"),
    ({"colluding": -1}, "colluding"),
    ({"method": "uniform"}, "count"),
    ({"method": "max-coverage"}, "count"),
    ({"method": "local-search"}, "count"),
    ({"method": mdp.methods.DPHST(tree=mdp.build_hst(METRIC))}, "plain values"),
    ({"method": "nothing"}, "method"),
    ({"seed": -1}, "seed"),
)
def test_what_cannot_be_asked_is_refused_before_anything_is_paid(wrong, words):
    ledger = mdp.Ledger(9, 9 * DELTA)
    holders = [mdp.federated.Holder(d, ledger=ledger) for d in demands()]
    refuses(words, mdp.federated.run, METRIC, holders, **{"epsilon": 4, "delta": DELTA, **wrong})
    assert not ledger.entries


def test_holders_are_what_can_be_added_up():
    capped = mdp.PrivateDemand(METRIC, HOMES[1], user=["u"] * 400, caps=mdp.Caps(parts=2))
    for wrong in (capped, "homes"):
        refuses("", mdp.federated.Holder, wrong)
    refuses("", mdp.federated.run, METRIC, [], epsilon=1, delta=DELTA)
    holder = mdp.federated.Holder(demands()[0])
    refuses("cannot be copied", copy.copy, holder, error=TypeError)


# On disk


def kept(tmp_path, names="abc"):
    keys = [(d, tmp_path / f"{name}.key", name) for name, d in zip(names, demands())]
    return [mdp.federated.Holder(d, key, name=name) for d, key, name in keys]


def test_every_round_in_a_process_of_its_own(tmp_path):
    coordinator_of(kept(tmp_path)).save(tmp_path / "study")
    rounds = 0
    while True:
        coordinator = mdp.federated.Coordinator.open(tmp_path / "study", METRIC)
        asked = coordinator.invite()
        answers = [one.answer(asked) for one in kept(tmp_path)]
        assert answers == [one.answer(asked) for one in kept(tmp_path)]
        rounds += 1
        release = coordinator.collect(answers)
        coordinator.save(tmp_path / "study")
        if release is not None:
            break
    again = mdp.federated.Coordinator.open(tmp_path / "study", METRIC).release
    assert rounds == 3 and np.array_equal(again.weights, release.weights)
    assert mdp.Ledger.open(tmp_path / "a.key.ledger").spent == 4
    assert (tmp_path / "a.key").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "study").stat().st_mode & 0o777 == 0o600
    refuses("over", mdp.federated.Coordinator.open(tmp_path / "study", METRIC).collect, answers)


def test_a_crash_after_payment_is_said_and_asked_again(tmp_path, monkeypatch):
    holders = kept(tmp_path)
    ledger = mdp.Ledger(50, 50 * DELTA, journal=tmp_path / "more.ledger")
    holders[0]._ledger = ledger
    coordinator = coordinator_of(holders)
    with monkeypatch.context() as patch:
        patch.setattr(holders_module, "contribute", raising(KeyboardInterrupt))
        refuses("", lambda: holders[0].answer(coordinator.invite()), error=KeyboardInterrupt)
    refuses("let it be asked again", lambda: holders[0].answer(coordinator.invite()))
    assert ledger.spent == 4
    assert holders[0].answer(coordinator.again())
    assert ledger.spent > 4


def test_a_copy_of_a_holder_answers_no_round_twice(tmp_path):
    one, *others = kept(tmp_path)
    coordinator = coordinator_of([one, *others])
    shutil.copy(tmp_path / "a.key", tmp_path / "old.key")
    assert one.answer(coordinator.invite())
    ledger = mdp.Ledger.open(tmp_path / "a.key.ledger")
    copy = mdp.federated.Holder(demands()[0], tmp_path / "old.key", ledger=ledger)
    refuses("never answered twice", lambda: copy.answer(coordinator.invite()))


def test_files_of_others_and_damaged_ones_are_refused(tmp_path):
    kept(tmp_path)
    refuses("another holder", mdp.federated.Holder, demands()[0], tmp_path / "a.key", name="b")
    for text in (b"", b"{}", b"[1]", b"\xff"):
        (tmp_path / "a.key").write_bytes(text)
        refuses("damaged", lambda: mdp.federated.Holder(demands()[0], tmp_path / "a.key"))
        (tmp_path / "study").write_bytes(text)
        refuses("damaged", mdp.federated.Coordinator.open, tmp_path / "study", METRIC)


@cases(
    "damage",
    lambda key, run: key.update(name=5),
    lambda key, run: key.update(name="\ud800"),
    lambda key, run: key.update(sign=None),
    lambda key, run: key.update(sign=key["sign"][:-1]),
    lambda key, run: key.update(seal=key["seal"][:-2]),
    lambda key, run: key.update(seal="é" * 64),
    lambda key, run: key.update(runs=[1]),
    lambda key, run: key["runs"].update(another=None),
    lambda key, run: run.pop("terms"),
    lambda key, run: run.update(invitation=1.5),
    lambda key, run: run.update(numbers="many"),
    lambda key, run: run.update(numbers="x y"),
    lambda key, run: run.update(answer=run["answer"][:-1]),
    lambda key, run: run.update(answer="é"),
)
def test_a_damaged_part_of_a_key_is_refused_before_it_is_used(tmp_path, damage):
    holders = kept(tmp_path)
    holders[0].answer(coordinator_of(holders).invite())
    key = json.loads((tmp_path / "a.key").read_text())
    check = key.pop("check")
    for old in (False, True):  # the first format had no checksum
        changed = json.loads(json.dumps(key)) | ({"format": "metricdp holder, 1"} if old else {})
        damage(changed, *changed["runs"].values())
        (tmp_path / "a.key").write_text(json.dumps(changed | ({} if old else {"check": check})))
        refuses("damaged", lambda: mdp.federated.Holder(demands()[0], tmp_path / "a.key"))


@pytest.mark.usefixtures("ctrl_c_is_heeded")
def test_an_interrupted_answer_is_saved_once_it_is_paid_for(tmp_path):
    one, *others = kept(tmp_path)
    asked = coordinator_of([one, *others]).invite()

    def interrupted(*args, **options):
        signal.raise_signal(signal.SIGINT)
        return contribute(*args, **options)

    with patched(holders_module, "contribute", interrupted), pytest.raises(KeyboardInterrupt):
        one.answer(asked)
    assert one._ledger.spent == 4 and len(one.answer(asked)) > 100
    assert one._ledger.spent == 4


def test_no_changed_bit_and_no_cut_makes_a_holder_forget_its_answer(tmp_path):
    one, *others = kept(tmp_path)
    asked = coordinator_of([one, *others]).invite()
    answer, file = one.answer(asked), tmp_path / "a.key"
    whole = file.read_bytes()
    damaged = [whole[:size] for size in range(0, len(whole), 37)]
    for bit in range(0, 8 * len(whole), 13):
        damaged.append((int.from_bytes(whole, "big") ^ 1 << bit).to_bytes(len(whole), "big"))
    for content in damaged:
        file.write_bytes(content)
        refuses("damaged", lambda: one.answer(asked))
    old = json.loads(whole) | {"format": "metricdp holder, 1"}
    del old["check"]
    for content in (whole, json.dumps(old).encode()):
        file.write_bytes(content)
        assert one.answer(asked) == answer


def test_without_the_library_the_extra_is_named(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "cryptography", None)
    refuses("federated", lambda: mdp.federated.Holder(demands()[0]), error=ImportError)
