"""Benchmark suites on published instances: ``metricdp bench SUITE``.

A suite is a module with a function ``register(suites)``, which adds a parser and sets
``measure=``, a function that returns a `metricdp.bench.p_median.Report`.
"""
