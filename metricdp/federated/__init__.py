"""Federated release: one release of the records of several holders, by secure aggregation. Nobody
sees all records, and nobody sees the counts of one holder.

::

    Coordinator.invite ─► invitation, the same for all ─► Holder.answer, at each ─► masked answers
    ─► Coordinator.collect: their sum ─► the next round's invitation, or the release

Messages are bytes, to be sent as files, by mail or HTTP. An invitation contains only public values:
the method, its options, the price, the participants, and the noisy sums of earlier rounds. From
these each holder computes the method's query of this round, checks that all others were invited to
the same, and answers it. Nobody can ask for anything else.

**Privacy.** The release is epsilon-DP or, with a delta, rho-zCDP and so (epsilon, delta)-DP,
against computationally bounded adversaries, including the coordinator together with up to
`colluding` holders. These are honest but curious: they follow the protocol (proof P17, THREATS.md).

It needs the extra ``federated`` (cryptography). Names are loaded on first use.

Examples
--------
>>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
>>> north, south = mdp.PrivateDemand(metric, [1] * 4000), mdp.PrivateDemand(metric, [7] * 5000)
>>> holders = [mdp.federated.Holder(north), mdp.federated.Holder(south)]
>>> release = mdp.federated.run(metric, holders, epsilon=1, colluding=1)
>>> sorted(release.k_median(k=2).centers)
[1, 7]
"""

from typing import TYPE_CHECKING

from metricdp.lazy import on_first_use

if TYPE_CHECKING:
    from metricdp.federated.coordinator import Coordinator, run
    from metricdp.federated.holder import Holder

__getattr__, __dir__, __all__ = on_first_use(__name__)
