"""Exact sums over records that need geometry, and what they read: swap costs, coverage, balls of a
grid, rows of distances.
"""
