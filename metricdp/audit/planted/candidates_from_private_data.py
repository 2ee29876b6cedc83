"""Only points where somebody is are candidates, as k-medoids on the records would have it: what is
selected is a record.
"""

from contextlib import AbstractContextManager

from metricdp.audit.patch import rewritten

CAUGHT_BY = ("CoverageQuery, two points, add-remove", "CostQuery, two points, replace-one")


def plant() -> AbstractContextManager[None]:
    """Let only the distinct records race."""
    from metricdp.privacy import gate

    records = "at = np.unique(_vault._open(demand)) if len(_vault._open(demand)) else np.arange(1)"
    race = (
        "return int(at[choose([np.concatenate(list(query.blocks(_vault._open(demand))))[at]], "
        "eta, law)])"
    )
    honest = (
        "return choose(query.resumed(_vault._open(demand), _vault._memory(demand, grant)), eta, "
        "law)"
    )
    return rewritten(gate, "_selected", honest, f"{records}\n        {race}")
