"""``python -m metricdp``."""

from metricdp.cli import program

if __name__ == "__main__":
    raise SystemExit(program())
