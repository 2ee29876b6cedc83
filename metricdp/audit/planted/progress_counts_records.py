"""A progress bar over the records, on stderr for all to see: its total is the number of records."""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = ("HistogramQuery, two points, add-remove", "canaries in progress bars, logs and output")


def plant() -> AbstractContextManager[None]:
    """Show a bar for the noise that tells how much it hides."""
    from metricdp.privacy import gate

    bar = (
        "import metricdp.progress\n    metricdp.progress.progress(total=int(answer.sum()), "
        "label='adding noise').update()"
    )
    return rewritten(gate, "_noisy", "return noise(answer)", f"{bar}\n    return noise(answer)")
