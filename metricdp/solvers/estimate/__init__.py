"""Estimates of demand from noisy releases: post-processing."""
