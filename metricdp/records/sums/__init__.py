"""Exact sums over records that need geometry: swap costs, coverage, balls of a grid."""
