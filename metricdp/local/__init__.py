"""Local differential privacy in one round: without a trusted curator, every user sends one
randomized message, and centers are computed from the messages alone.

::

    public_parameters ─► JSON ─┬─► Encoder, on each device: item + fresh randomness ─► message
                               └─► Decoder, at the server: messages ─► Sketch ─► estimate

Sketches can be added. Devices need only `encoder`, `parameters`, `items`, `randomizers` and
`streams`, which import only metricdp's exceptions, and NumPy for points of R^d. Names are loaded on
first use.
"""

from typing import TYPE_CHECKING

from metricdp.lazy import on_first_use

if TYPE_CHECKING:
    from metricdp.local.decoder import Decoder, LocalEstimate, LocalRelease
    from metricdp.local.encoder import Encoder
    from metricdp.local.oracles import Sketch
    from metricdp.local.parameters import PublicParameters
    from metricdp.local.setup import public_parameters, simulated_messages
    from metricdp.local.shuffle import largest_local_epsilon, shuffled_delta, shuffled_epsilon

__getattr__, __dir__, __all__ = on_first_use(__name__)
