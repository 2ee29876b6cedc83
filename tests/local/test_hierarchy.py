"""Levels of a hierarchy that share the users: what the parameters say, what devices send, and that
the decoder puts it together.
"""

import json

import numpy as np
import pytest

import metricdp as mdp
from metricdp.local import simulate
from metricdp.local.items import items_of
from metricdp.local.setup import level_sizes
from metricdp.partitions.finite.ward import hierarchy
from tests import refuses
from tests.metrics.test_diameter import road_like


@pytest.fixture(scope="module")
def known():
    metric = road_like(40)
    return metric, mdp.local.public_parameters(metric, 2, users=2000, k=3)


def test_every_id_has_its_part_at_every_level(known):
    metric, parameters = known
    sizes = level_sizes(2000, parameters.epsilon)
    items = items_of(parameters.items)
    assert parameters.items["kind"] == "hierarchy" and items.domains == tuple(sizes)
    assert [role.share for role in parameters.roles] == [2, 3, 5]
    assert {role.epsilon for role in parameters.roles} == {parameters.epsilon}
    views = np.array([items.values(i)[0] for i in metric.ids])
    for level, m in enumerate(sizes):
        cut = hierarchy(metric).cut(m)
        assert len({*zip(views[:, level].tolist(), cut.labels.tolist())}) == m
    again = mdp.local.PublicParameters.of(parameters.to_json())
    assert again == parameters and items_of(again.items).domains == items.domains


def test_messages_are_decoded_to_where_users_are(known):
    metric, parameters = known
    rng = np.random.default_rng(0)
    away = metric.nearest_to(np.array([5]))[1]
    density = np.exp(-8 * away / away.max())
    users = rng.choice(len(metric), 2000, p=density / density.sum())
    encoder, decoder = mdp.local.Encoder(parameters), mdp.local.Decoder(parameters)
    own = decoder.fit(encoder.encode(metric.ids[i]) for i in users.tolist())
    made = decoder.fit(
        simulate.simulated_messages(parameters, [metric.ids[i] for i in users], seed=1)
    )
    weights = np.bincount(users, minlength=len(metric)).astype(float)
    best = mdp.k_median(metric, k=3, weights=weights).centers
    for estimate in (own, made):
        assert estimate.n_messages == 2000 and estimate.rejected == 0
        release = estimate.release(metric)
        assert abs(release.weights.sum() - 2000) < 20
        centers = estimate.k_median(metric=metric, k=3).centers
        cost = [float(weights @ metric.nearest(at)[1]) for at in (centers, best)]
        # 200 draws: 1.09 (sd .05), 1.23 at the most; 1.96 without data
        assert cost[0] < 1.6 * cost[1]
        assert estimate.counts.shape == (parameters.items["parts"],)
        assert estimate.deviation > 0 and estimate.receipt.epsilon == parameters.epsilon


def test_a_level_that_nobody_was_asked_about_does_no_harm(known):
    metric, parameters = known
    messages = simulate.simulated_messages(parameters, [metric.ids[3]] * 300, seed=2)
    decoder = mdp.local.Decoder(parameters)
    for role in range(3):
        release = decoder.fit(messages[messages[:, 3] == role]).release(metric)
        assert np.isfinite(release.weights).all() and release.weights.sum() > 0


def test_few_points_few_users_and_parts_asked_for_get_one_partition():
    metric = road_like(12)
    for options in ({"users": 10**6}, {"users": 20}, {"users": 2000, "parts": 30}):
        assert mdp.local.public_parameters(metric, 2, **options).items["levels"] == []


def broken(plain, **changes):
    return {**plain, "items": {**plain["items"], **changes}}


def test_trees_that_are_none_are_refused(known):
    plain = json.loads(known[1].to_json())
    items = plain["items"]
    children, levels = items["children"], items["levels"]
    for changes in (
        {"children": children[:-1]},
        {"children": [children[0], *children[:-1]]},
        {"children": [[0, 0], *children[1:]]},
        {"children": None},
        {"levels": []},
        {"levels": [levels[0][:-1], levels[1]]},
        {"levels": [[*levels[0], 10**9], levels[1]]},
        {"levels": [levels[0], [True, *levels[1][1:]]]},
    ):
        refuses("", mdp.local.Encoder, broken(plain, **changes))
