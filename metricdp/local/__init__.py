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

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from metricdp.local.choosing import largest_local_epsilon
    from metricdp.local.decoder import Decoder
    from metricdp.local.encoder import Encoder
    from metricdp.local.estimate import LocalEstimate, LocalRelease
    from metricdp.local.oracles import Sketch
    from metricdp.local.parameters import PublicParameters
    from metricdp.local.setup import public_parameters
    from metricdp.local.shuffle import shuffled_delta, shuffled_epsilon
    from metricdp.local.simulate import simulated_messages

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
_MODULE_OF = {name: module for module, names in _HOME.items() for name in names}

__all__ = [
    "Decoder",
    "Encoder",
    "LocalEstimate",
    "LocalRelease",
    "PublicParameters",
    "Sketch",
    "largest_local_epsilon",
    "public_parameters",
    "shuffled_delta",
    "shuffled_epsilon",
    "simulated_messages",
]


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF:
        raise AttributeError(f"module 'metricdp.local' has no attribute {name!r}")
    value = getattr(import_module(f"metricdp.local.{_MODULE_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__
