"""Estimates and intervals of demand from noisy releases: post-processing."""
