"""Suites that measure metricdp against published optima and tables."""
