"""Estimates of the server after one round: noisy counts or sums, and centers by post-processing."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from hashlib import sha256
from math import sqrt
from typing import Any

import numpy as np

from metricdp.arguments import Floats
from metricdp.errors import InputError
from metricdp.local.items import BallItems
from metricdp.local.oracles import FrequencyOracle, Sketch, oracle_of
from metricdp.local.parameters import TRUST, PublicParameters, Report
from metricdp.local.shuffle import shuffled_epsilon
from metricdp.methods.demand_release import Release
from metricdp.methods.question import Result
from metricdp.metrics.base import Metric
from metricdp.partitions.finite.ward import PartitionTree, upwards
from metricdp.protocols import finite
from metricdp.provenance import Provenance
from metricdp.releases import Mechanism, Receipt
from metricdp.running.attesting import attested, circumstances
from metricdp.solvers.estimate.tree_posterior import Counts, joint_posterior

LOCAL = 16
"""Number of the proof for local reports."""
_NAMES = {
    "k-rr": "k-ary randomized response",
    "local-hashing": "local hashing",
    "subset": "subset selection",
    "top-vectors": "top of random vectors",
}


LocalRelease = Release
"""Older name of the same class."""


class LocalEstimate:
    """Estimates from the messages of one collection; all that is computed from it is
    post-processing, at no further cost.

    Attributes
    ----------
    parameters : PublicParameters
    n_messages, rejected : int
        Numbers of valid and of rejected messages.

    Examples
    --------
    >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
    >>> pub = mdp.local.public_parameters(metric, epsilon=4, users=4000, k=2)
    >>> estimate = mdp.local.Decoder(pub).fit(mdp.local.simulated_messages(pub, [1, 7] * 2000))
    >>> len(estimate.counts) > 1, str(estimate.receipt.neighboring)
    (True, 'replace-one')
    """

    def __init__(self, parameters: PublicParameters, items: Any, sketch: Sketch) -> None:
        self.parameters = parameters
        self.items = items
        self.sketch = sketch
        self.n_messages, self.rejected = sketch.n_messages, sketch.rejected

    def __repr__(self) -> str:
        return (
            f"LocalEstimate({self.n_messages:,} messages, {self.rejected:,} rejected, epsilon "
            f"{float(self.receipt.epsilon):.6g})"
        )

    @cached_property
    def receipt(self) -> Receipt:
        """The guarantee of each user, who sends one message: replace-one neighbors."""
        mechanisms = [
            _mechanism(report) for role in self.parameters.roles for report in role.reports
        ]
        local = Receipt.of(mechanisms, "replace-one", "user").paid(
            self.parameters.epsilon, Fraction(0), "one message a user"
        )
        local = attested(local, self._provenance())
        if self.parameters.trust == TRUST[0]:
            return local
        roles = self.parameters.roles
        epsilon, delta = self.parameters.epsilon, self.parameters.delta
        alone = len(roles) == len(roles[0].reports) == 1
        single = roles[0].reports[0].randomizer if alone else epsilon
        bound = f"{self.n_messages:,} messages shuffled, numerical clone bound"
        return local.paid(shuffled_epsilon(single, self.n_messages, delta), delta, bound)

    def _provenance(self) -> Provenance:
        """The public circumstances of the collection."""
        text = self.parameters.to_json()
        name = str(self.parameters.items.get("kind", "items"))
        universe = {"kind": "public parameters of a collection", "name": name}
        universe["sha256"] = sha256(text.encode()).hexdigest()
        asked = {"epsilon": self.parameters.epsilon, "delta": self.parameters.delta}
        facts = circumstances(
            {**asked, "users": self.parameters.users, "roles": len(self.parameters.roles)},
            call="Decoder.fit",
            method=self.parameters.trust,
            model="local" if self.parameters.trust == TRUST[0] else "shuffle",
            max_contributions=1,
            universe=universe,
            chooses=(
                "Parts, randomizers and roles follow from the universe, epsilon and a public "
                "guess of the number of users; a device draws its role with its own coins."
            ),
            afterwards=(
                "Unbiased estimates of counts or sums from the messages, their posterior mean, "
                "and centers by a public solver."
            ),
            messages=self.n_messages,
        )
        return Provenance(facts)

    @cached_property
    def counts(self) -> Floats:
        """Finite universes: unbiased number of users in each part (n_parts,), perhaps negative."""
        return self._level(len(self.parameters.roles) - 1)[0]

    @property
    def deviation(self) -> float:
        """Finite universes: standard deviation of the count of a part with few users."""
        return self._level(len(self.parameters.roles) - 1)[1]

    @property
    def share(self) -> float:
        """Finite universes: most by which one message can change any count."""
        scale = self.n_messages / max(self.sketch.users[-1], 1)
        return self._finite().share * max(scale, 1.0)

    def release(self, metric: Metric, *, signed: bool = False) -> Release:
        """Weights on the public universe, for any number of questions.

        Parameters
        ----------
        metric : Metric
            The universe that the parameters were made for: the same ids in the same order.
        signed : bool
            Unbiased counts, which may be negative, instead of their posterior mean
            (`metricdp.solvers.estimate.tree_posterior`) on the Ward tree of the parts, whose total
            is the public number of messages.
        """
        self._finite()
        ids = self.items.ids
        if len(finite(metric, "metric")) != len(ids) or any(
            a != b for a, b in zip(metric.ids, ids)
        ):
            raise InputError(
                "metric must be the universe that the public parameters were made for: the same "
                "ids in the same order"
            )
        children = np.array(self.items.children, np.int64).reshape(-1, 2)
        labels = np.array(self.items.labels, np.int32)
        sizes = upwards(np.bincount(labels, minlength=self.items.n_parts), children)
        tree = PartitionTree(metric, labels, children, sizes)
        estimate = self.counts
        if not signed and self.n_messages:
            root = np.array([2 * tree.n_parts - 2])
            rounds = [Counts(root, np.array([float(self.n_messages)]), 0.5)]
            rounds += [
                self._counts_of(number, tree) for number in range(len(self.parameters.roles))
            ]
            estimate = joint_posterior(tree, rounds, any_share=bool(self.items.levels)).mean
        weights = tree.spread(estimate)
        return Release(metric, weights, self.receipt, method=self.parameters.trust)

    def k_median(self, k: int, *, metric: Metric | None = None, **asked: Any) -> Result:
        """k centers of low sum of distances.

        Parameters
        ----------
        k : int
        metric : Metric
            Finite universes: the one that the parameters were made for.
        asked
            `candidates`, `opened`, `seed`, `time_limit` as `Release.k_median`; in a box only
            `seed`. Its centers lie in the public ball, perhaps outside the box: `space.clip` moves
            them into it, nearer to all of its points.
        """
        return self._asked(k, 1, metric, asked)

    def k_means(self, k: int, *, metric: Metric | None = None, **asked: Any) -> Result:
        """k centers of low sum of squared distances; parameters as `k_median`."""
        return self._asked(k, 2, metric, asked)

    def _asked(self, k: int, power: int, metric: Metric | None, asked: dict[str, Any]) -> Result:
        if isinstance(self.items, BallItems):
            from metricdp.local.ball import ball_centers

            if metric is not None:
                raise InputError("in a box there is no metric to pass: centers are any points")
            return ball_centers(self, k, power, **asked)
        if metric is None:
            raise InputError("pass metric=, the universe that the public parameters were made for")
        release = self.release(metric)
        return (release.k_median if power == 1 else release.k_means)(k, **asked)

    def _finite(self) -> FrequencyOracle:
        if isinstance(self.items, BallItems):
            raise InputError("items are points of a box here: ask k_means or k_median for centers")
        return oracle_of(self.parameters.roles[-1].reports[0].randomizer)

    def _level(self, number: int) -> tuple[Floats, float]:
        """Counts of a role's view, scaled up to all users, and the standard deviation of a part
        with few users.
        """
        self._finite()
        oracle: Any = oracle_of(self.parameters.roles[number].reports[0].randomizer)
        users = self.sketch.users[number]
        n_parts = self.items.domains[number]
        scale = self.n_messages / max(users, 1)
        found = oracle.counts(self.sketch.arrays[number][0], users)[:n_parts]
        return found * scale, sqrt(users * oracle.variance) * scale

    def _counts_of(self, number: int, tree: PartitionTree) -> Counts:
        """One role's counts with their noise scale. If only m of n users report to the role, the
        sampling variance n p (1 - p) (n / m - 1) of a part with a share p of the users is added.
        """
        values, deviation = self._level(number)
        last = number == len(self.parameters.roles) - 1
        nodes = np.arange(tree.n_parts) if last else np.array(self.items.levels[number], np.int64)
        users = self.sketch.users[number]
        n = self.n_messages
        if users == 0:
            return Counts(nodes, n * tree.sizes[nodes] / tree.sizes[-1], float(n), True)
        share = np.clip(values / n, 0.0, 1.0)
        sampling = n * share * (1 - share) * (n / users - 1)
        scale = np.sqrt((np.maximum(deviation, 0.5) ** 2 + sampling) / 2)
        return Counts(nodes, values, scale, True)


def _mechanism(report: Report) -> Mechanism:
    """A report for the receipt; its scale is the standard deviation that one user adds."""
    oracle = oracle_of(report.randomizer)
    what = "vector" if report.randomizer.kind == "top-vectors" else "part"
    query = f"{what} of one item, view {report.view}"
    scale, epsilon = sqrt(oracle.variance), report.randomizer.epsilon
    return Mechanism(_NAMES[report.randomizer.kind], query, 1, scale, epsilon, proofs=(LOCAL,))
