"""What all ways to answer a question about private demand have in common."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

from metricdp.accounting import Cost, Grant
from metricdp.arguments import positive
from metricdp.errors import InputError
from metricdp.methods.result import Result
from metricdp.metrics.space import EuclideanSpace
from metricdp.privacy import PrivateDemand
from metricdp.releases import Neighboring


@dataclass(frozen=True, kw_only=True)
class Method(ABC):
    """A recipe: a public structure, queries of the gate, an estimator and a solver. Its fields are
    its public options.

    One object may answer any number of questions: it keeps nothing of them.

    Parameters
    ----------
    records_hint : float, optional
        A public guess of the number of records, for methods that would else pay for a noisy count.

    Attributes
    ----------
    name : str
        Its name for `method=`: the class with its defaults.
    in_finite, in_space : bool
        Whether it answers in finite universes, and in a box of R^d.
    free : bool
        Whether it reads no demand, and costs nothing.
    one_way : bool
        Whether it answers where costs depend on the direction (`Metric.directed`).
    releases : bool
        Whether `Result.release` holds a release that answers further questions.
    chooses, afterwards : str
        For who signs: how what the method needs besides its options is chosen (from public facts,
        or from released values), and what is computed from the noisy answers.

    Notes
    -----
    The front door calls `with_hint`, `price` and `check` before anything is charged, then `answer`
    or `release` with what was charged. A question is a `metricdp.methods.question.Question`, or a
    `BoxQuestion` in a box.

    Examples
    --------
    >>> import metricdp as mdp
    >>> method = mdp.methods.Partition()
    >>> isinstance(method, mdp.methods.Method), method.name, method.in_finite, method.free
    (True, 'partition', True, False)
    """

    name: ClassVar[str]
    in_finite: ClassVar[bool] = True
    in_space: ClassVar[bool] = False
    free: ClassVar[bool] = False
    one_way: ClassVar[bool] = False
    releases: ClassVar[bool] = False
    chooses: ClassVar[str] = ""
    afterwards: ClassVar[str] = ""

    records_hint: float | None = None

    def __post_init__(self) -> None:
        if self.records_hint is not None:
            positive(self.records_hint, "records_hint")

    def with_hint(self, records_hint: float | None) -> Self:
        """The same method with a guess of the number of records, if one is given."""
        return self if records_hint is None else replace(self, records_hint=records_hint)

    def within(self, space: EuclideanSpace) -> Method:
        """The method that answers for this one in a box: itself, mostly."""
        return self

    def price(self, epsilon: Any, delta: Any) -> Cost:
        """What is charged for a call that may spend (epsilon, delta), not more: epsilon alone
        unless a delta is of use.

        Raises
        ------
        InputError
            They are no such numbers.
        """
        return Cost.of(Cost.of(epsilon, delta).epsilon)

    def price_of(self, demand: PrivateDemand, epsilon: Any, delta: Any) -> Cost:
        """`price` of a call about this demand: for methods to which a delta is of use where users
        are capped.
        """
        return self.price(epsilon, delta)

    def check(  # noqa: B027
        self, demand: PrivateDemand, question: Any, price: Cost, neighboring: Neighboring
    ) -> None:
        """Refuse, from public facts and before anything is charged, whatever `answer` would refuse.

        Raises
        ------
        InputError
            The method cannot answer this question at this price.
        """

    @abstractmethod
    def answer(self, demand: PrivateDemand, grant: Grant, question: Any) -> Result:
        """Centers, paid from `grant`: all of it may be spent. Public coins come from
        ``question.seed``.
        """

    def release(self, demand: PrivateDemand, grant: Grant, seed: int) -> Any:
        """A release that answers any question, paid from `grant`: for methods whose release does
        not depend on the first one.

        Raises
        ------
        InputError
            This method has none.
        """
        raise InputError(f"the method {self.name} makes no release before a question is asked")
