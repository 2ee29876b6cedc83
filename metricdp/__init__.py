"""metricdp: clustering in metric spaces under differential privacy."""
