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
    from metricdp.local.choosing import largest_local_epsilon as largest_local_epsilon
    from metricdp.local.decoder import Decoder as Decoder
    from metricdp.local.encoder import Encoder as Encoder
    from metricdp.local.estimate import LocalEstimate as LocalEstimate
    from metricdp.local.estimate import LocalRelease as LocalRelease
    from metricdp.local.oracles import Sketch as Sketch
    from metricdp.local.parameters import PublicParameters as PublicParameters
    from metricdp.local.setup import public_parameters as public_parameters
    from metricdp.local.shuffle import shuffled_delta as shuffled_delta
    from metricdp.local.shuffle import shuffled_epsilon as shuffled_epsilon
    from metricdp.local.simulate import simulated_messages as simulated_messages

_HOME = {
    "decoder": ("Decoder",),
    "encoder": ("Encoder",),
    "estimate": ("LocalEstimate", "LocalRelease"),
    "oracles": ("Sketch",),
    "parameters": ("PublicParameters",),
    "setup": ("public_parameters",),
    "choosing": ("largest_local_epsilon",),
    "shuffle": ("shuffled_delta", "shuffled_epsilon"),
    "simulate": ("simulated_messages",),
}
__getattr__, __dir__, __all__ = on_first_use(__name__, _HOME)
