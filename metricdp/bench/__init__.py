"""Suites that measure metricdp on published instances: ``metricdp bench SUITE``.

A suite is a module of `SUITES` with a function ``register(suites)``, which adds a parser and sets
``measure=``, a function that returns a `metricdp.bench.report.Report`.
"""

SUITES = (
    "metricdp.bench.pmed",
    "metricdp.bench.tsplib",
)
"""Modules of the suites, in the order in which ``metricdp bench --help`` lists them."""
