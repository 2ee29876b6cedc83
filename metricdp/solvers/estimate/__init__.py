"""Estimates of demand from noisy releases: post-processing, which sees releases and public
structure only.
"""
