"""Exact sums over records: swap costs, coverage, balls of a grid, rows of distances."""
