"""The audit: what every mechanism claims, held against exact laws, samples, black boxes and planted
bugs. Run ``python -m metricdp.audit``.

Five kinds of check, each in a file of its own, none sharing a formula with what it checks:

- `exact`: the real code on a tape that replaces chance, on all neighbors of tiny universes: exact
  output laws, and noninterference.
- `samplers`: chi-square tests of the samplers, which must accept the right law and reject one that
  is 30 % off.
- `blackbox`: lower bounds on epsilon from runs of the real thing, looking at outputs only.
- `fresh`: noise that no seed makes repeat, no data read before it is paid for.
- `canaries`: names, ids and numbers of records must not turn up anywhere.

`planted` holds tables of bugs, each of which at least one check must catch for ever. Nothing in the
package imports this one.
"""

from metricdp.audit.report import Catch, Finding
from metricdp.audit.runner import Check, audit

__all__ = ["Catch", "Check", "Finding", "audit"]
