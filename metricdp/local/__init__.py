"""One round, no trusted curator: every user sends one randomized message, and the centers come from
the messages alone.

::

    public_parameters ─► JSON ─┬─► Encoder, on every device: item + fresh coins ─► message
                               └─► Decoder, at the server:   messages ─► Sketch ─► estimate

Sketches add up; an estimate gives centers. Devices need `encoder`, `parameters`, `items`,
`randomizers` and `streams` alone. These import nothing of metricdp but its exceptions, and of third
parties only NumPy, for points of R^d. Names are loaded on first use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metricdp.lazy import on_first_use

if TYPE_CHECKING:
    from metricdp.local.decoder import Decoder
    from metricdp.local.encoder import Encoder
    from metricdp.local.estimate import LocalEstimate, LocalRelease
    from metricdp.local.oracles import Sketch
    from metricdp.local.parameters import PublicParameters
    from metricdp.local.setup import public_parameters
    from metricdp.local.shuffle import largest_local_epsilon, shuffled_delta, shuffled_epsilon
    from metricdp.local.simulate import simulated_messages

__getattr__, __dir__, __all__ = on_first_use(__name__)
