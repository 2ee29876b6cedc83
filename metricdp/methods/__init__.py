"""Methods, one file each, loaded on first use."""

from typing import TYPE_CHECKING

from metricdp.lazy import on_first_use

if TYPE_CHECKING:
    from metricdp.methods.finite.regional import Regional as Regional  # no defaults to be named by
    from metricdp.methods.registry import BY_NAME as BY_NAME
    from metricdp.methods.registry import DPHST as DPHST
    from metricdp.methods.registry import METHODS as METHODS
    from metricdp.methods.registry import Coreset as Coreset
    from metricdp.methods.registry import Lloyd as Lloyd
    from metricdp.methods.registry import LocalSearch as LocalSearch
    from metricdp.methods.registry import LSHCoreset as LSHCoreset
    from metricdp.methods.registry import MaxCoverage as MaxCoverage
    from metricdp.methods.registry import Method as Method
    from metricdp.methods.registry import Partition as Partition
    from metricdp.methods.registry import Quadtree as Quadtree
    from metricdp.methods.registry import Uniform as Uniform
    from metricdp.methods.registry import method_of as method_of

__getattr__, __dir__, __all__ = on_first_use(__name__)
