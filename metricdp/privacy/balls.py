"""Balls of many records, found round after round: the records nearest the balls found before are
taken away first.

What is private in a round is the counts of the cells that are left, a function of the demand and of
released cells and numbers; `metricdp.records.sums.peeling` computes it, its scores, and proves what
one record more does to both.
"""

from __future__ import annotations

from typing import Any

from metricdp.errors import InputError
from metricdp.privacy.queries import HistogramQuery, answered
from metricdp.privacy.scores import SelectionQuery
from metricdp.records.sums.peeling import BallScores, Peeled, RadiusScores
from metricdp.releases import Neighboring


class PeeledQuery(SelectionQuery):
    """A radius or a ball of a grid, by the records that removals left.

    **Privacy.** Which cells and how many records at each is public or released before. One record
    more among the demand is none or one more among what is left (`metricdp.records.sums.peeling`),
    and moves every score by at most ``scores.change``: so a unit of up to m records by m times
    that. Ball counts only rise: they are monotone (*add-remove*: range m; *replace-one*: 2m);
    radii's scores move both ways (2m times the change under both). The number of records to remove
    must not be taken from the data; under *add-remove* their total is private. *Composition*: one
    charge a selection. What is left is kept between the selections of one grant; a fresh query
    computes the same.

    Parameters
    ----------
    peeled : Peeled
        A grid of the demand's box, and the removals.
    scores : BallScores or RadiusScores
        For the grid's shape.
    """

    universe: Any

    def __init__(self, peeled: Peeled, scores: Any) -> None:
        if (
            type(peeled) is not Peeled
            or type(scores) not in (BallScores, RadiusScores)
            or scores.shape != peeled.grid.shape
        ):
            raise InputError(
                "a PeeledQuery needs Peeled records on a grid, and BallScores or RadiusScores of "
                "its shape"
            )
        self.universe, self.monotone, self._counts = (
            peeled.grid.universe,
            scores.monotone,
            HistogramQuery(peeled.grid),
        )
        self._peeled = peeled
        self._scores = scores

    def sensitivity(self, neighboring: Neighboring, max_contributions: int) -> int:
        """Return m times the change of one record."""
        return max_contributions * int(self._scores.change)

    def blocks(self, records: Any) -> Any:
        """The scores of what is left: one block."""
        return self.resumed(records, {})

    def resumed(self, records: Any, memory: Any) -> Any:
        """The same, from what the query before left."""
        yield self._scores(self._peeled.left(lambda: answered(self._counts, records), memory))

    def __str__(self) -> str:
        return str(self._scores)
