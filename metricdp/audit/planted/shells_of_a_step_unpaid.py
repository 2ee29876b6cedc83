"""A private Lloyd step counts records in shells with the whole epsilon of the call, beside the sums
that are paid for.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = ("private_mean, a box, add-remove", "private_median, a box, add-remove")


def plant() -> AbstractContextManager[None]:
    """Give the histogram a grant of its own."""
    from metricdp.methods.box import private_lloyd

    honest = "seen = purse.ask(HistogramQuery(zones), share * SHELL_SHARE)"
    grant = (
        "grant = type(purse.grant)(Cost.of(purse.grant.epsilon), purse.grant.neighboring, "
        "purse.grant.scope)"
    )
    own = (
        f"{grant}; seen = Purse(purse.demand, grant, Fraction(1)).ask(HistogramQuery(zones), "
        f"Fraction(1))"
    )
    return rewritten(private_lloyd, "moved", honest, own)
