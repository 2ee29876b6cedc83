"""``python -m metricdp``."""

from metricdp.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
