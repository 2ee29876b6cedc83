"""Suites that measure metricdp on published instances: one module each, ``metricdp bench SUITE``.

A suite is a module with a function ``register(suites)``, listed in `SUITES`. It adds a parser to
``suites``, sets ``measure=`` (a function of the parsed arguments that returns a
`metricdp.bench.report.Report`) and returns the parser. The options common to all suites and the
printing are the command line's. Reproductions of papers are such modules too, in the repository's
folder ``benchmarks``.
"""

SUITES = (
    "metricdp.bench.pmed",
    "metricdp.bench.tsplib",
)
"""Modules of the suites, in the order in which ``metricdp bench --help`` lists them."""
