"""``python -m benchmarks`` in this process."""

from benchmarks.__main__ import main
from tests.cli_world import Ran, run


def measure(capsys, *argv: str) -> Ran:
    """The outcome of ``python -m benchmarks`` with these arguments."""
    return run(capsys, *argv, main=lambda arguments: main(arguments))
