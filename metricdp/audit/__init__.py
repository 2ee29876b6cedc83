"""Audit: tests each mechanism's privacy claim from outside. Run ``python -m metricdp.audit``.

- `exact`: the real code with recorded randomness, on all neighbors of tiny universes.
- `samplers`: chi-square tests that accept the right distribution and reject scales 30 % off.
- `blackbox`: lower bounds on epsilon from outputs alone.
- `fresh`: no seed repeats noise, and no data are read before the charge.
- `canaries`: names, ids and numbers of records must not appear anywhere.

`planted` holds tables of mutants, each of which some check must catch. No other package imports
this one.
"""

from metricdp.audit.report import Catch, Check, Finding
from metricdp.audit.runner import audit

__all__ = ["Catch", "Check", "Finding", "audit"]
