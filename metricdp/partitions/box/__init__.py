"""Grids, trees and hashes of boxes of R^d."""
