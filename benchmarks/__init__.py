"""Measurements of metricdp: ``python -m benchmarks NAME``, each one file, its page beside it."""

PAPERS = ("paper1", "paper2", "paper3", "paper4", "paper5", "peers")
SUITES = ("pmed", "tsplib", *PAPERS)
"""Those of ``metricdp bench``, and modules here of one form: ``measure(args)`` makes a report of
rows, ``register(suites)`` declares options. The other files are scripts with options of their own.
"""
