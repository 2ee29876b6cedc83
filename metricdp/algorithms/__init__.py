"""Recipes: a public structure, a query of the gate, an estimator and a solver, one file each."""
