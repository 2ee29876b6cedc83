"""Hierarchies and partitions of finite universes."""
