"""Receipts name the proofs that their mechanisms rest on, and those pages are there."""

import json
from pathlib import Path

import metricdp as mdp
from metricdp.privacy import gate
from metricdp.privacy.noise import Noise
from metricdp.releases import PROOFS, Mechanism, proof_page
from tests import cases, path_metric
from tests.test_proofs import FOLDER, PAGES, mechanisms, row

METRIC = path_metric(40)
HOMES = [1] * 300 + [30] * 200
DEMAND = mdp.PrivateDemand(METRIC, HOMES)


def numbers(receipt):
    return [set(each["proofs"]) for each in receipt.to_dict()["mechanisms"]]


def test_numbers_are_those_of_the_pages():
    assert [Path(proof_page(n)).name for n in range(1, len(PROOFS) + 1)] == [p.name for p in PAGES]
    assert all((FOLDER.parents[1] / proof_page(n)).is_file() for n in range(1, len(PROOFS) + 1))


def test_each_query_and_distribution_is_on_the_page_of_its_proof():
    reported = {one for one in mechanisms() if isinstance(getattr(one, "proof", None), int)}
    for one in reported:
        on = {name for name, _ in row(PAGES[one.proof - 1], "code")}
        home = {f"{k.__module__}.{k.__qualname__}" for k in one.__mro__}
        assert on & home, f"P{one.proof} does not name {one.__qualname__}"
    wanted = {*gate.TRUSTED, *gate.TRUSTED_SELECTIONS, gate.CoverQuery, *Noise.__subclasses__()}
    assert not wanted - reported


@cases(
    ("asked", "expected"),
    ({"method": "partition"}, {"P3", "P1"}),
    ({"method": "hst"}, {"P3", "P1"}),
    ({"method": "local-search"}, {"P7", "P8"}),
    ({"method": "max-coverage", "delta": 1e-6}, {"P10", "P8"}),
    ({"method": mdp.methods.LocalSearch(start="random")}, {"P7", "P8"}),
)
def test_every_mechanism_of_a_method_names_its_proofs(asked, expected):
    receipt = mdp.k_median(METRIC, DEMAND, 2, epsilon=4, **asked).receipt
    found = numbers(receipt)
    assert found and all(found) and expected in found
    reported = receipt.to_dict()["proofs"]
    assert set(reported) == set().union(*found) | ({"P12"} if len(found) > 1 else set())
    assert reported == {name: proof_page(int(name[1:])) for name in reported}


def test_boxes_users_and_parts():
    space = mdp.EuclideanSpace([0, 0], [1, 1])
    box = mdp.PrivateDemand(space, [[0.1, 0.2]] * 400 + [[0.8, 0.9]] * 400)
    for method in ("partition", "coreset", "lloyd", "quadtree"):
        assert all(numbers(mdp.k_means(space, box, 2, epsilon=4, method=method).receipt))
    users = mdp.PrivateDemand(METRIC, HOMES, user=[*range(250), *range(250)], max_contributions=2)
    assert all("P15" in each for each in numbers(mdp.k_median(METRIC, users, 2, epsilon=4).receipt))


def test_days_and_devices():
    stream = mdp.Stream(METRIC, epsilon=2, horizon=4)
    stream.step(mdp.PrivateDemand(METRIC, HOMES))
    assert numbers(stream.receipt) == [{"P11", "P3", "P1"}]
    public = mdp.local.public_parameters(METRIC, 2, users=500, k=2)
    messages = mdp.local.simulated_messages(public, HOMES, seed=0)
    assert all(each == {"P16"} for each in numbers(mdp.local.Decoder(public).fit(messages).receipt))


def test_what_a_saved_release_rests_on_is_read_back(tmp_path):
    release = mdp.release(METRIC, DEMAND, epsilon=1)
    release.save(tmp_path / "a.release")
    again = mdp.Release.load(tmp_path / "a.release", METRIC)
    assert again.receipt.to_dict() == json.loads(json.dumps(release.receipt.to_dict()))
    assert all(numbers(again.receipt))


def test_a_receipt_of_before_says_nothing_of_proofs():
    from fractions import Fraction

    old = Mechanism("discrete Laplace", "number of records", 1, 10.0, Fraction(1, 10))
    assert "proofs" not in old.to_dict()
    assert "proofs" not in mdp.Receipt.of([old], "add-remove", "record").to_dict()
