"""Several holders, one release: nobody sees all records, and nobody sees one holder's counts.

::

    Coordinator.invite ─► invitation, the same for all ─► Holder.answer, at each ─► answer under a
    mask ─► Coordinator.collect: their sum ─► the next round's invitation, or the release

What goes to and fro is bytes, so files, mail and HTTP will do. An invitation holds public values
alone: the method, its options, the price, who takes part and the noisy sums of the rounds so far.
From these every holder works out by itself what the method asks in this round, checks that all
others were asked the same, and answers that. Nobody can ask for anything else.

**Privacy.** The release is epsilon-DP, or with a delta rho-zCDP and so (epsilon, delta)-DP, for
everybody with limited computing power, the coordinator and up to `colluding` holders together
included; these follow the protocol, whatever else they compute (proof P17, THREATS.md).

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

from __future__ import annotations

from typing import TYPE_CHECKING

from metricdp.lazy import on_first_use

if TYPE_CHECKING:
    from metricdp.federated.coordinator import Coordinator, run
    from metricdp.federated.holder import Holder

__getattr__, __dir__, __all__ = on_first_use(__name__)
