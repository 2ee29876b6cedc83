"""What is measured on: public universes and points, made up or of ``METRICDP_DATA``."""
