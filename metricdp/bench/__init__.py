"""Suites that measure metricdp: one module each, run as ``metricdp bench SUITE``.

A suite is a module with a function ``register(suites)``, listed in `SUITES`. It adds a parser to
``suites``, sets ``measure=`` (a function of the parsed arguments that returns a
`metricdp.bench.report.Report`) and returns the parser. The options common to all suites and the
printing are the command line's.
"""

SUITES = (
    "metricdp.bench.pmed",
    "metricdp.bench.tsplib",
    "metricdp.bench.paper1",
    "metricdp.bench.paper2",
    "metricdp.bench.paper3",
    "metricdp.bench.paper4",
    "metricdp.bench.paper5",
    "metricdp.bench.peers",
    "metricdp.bench.everything",
)
"""Modules of the suites, in the order in which ``metricdp bench --help`` lists them."""
