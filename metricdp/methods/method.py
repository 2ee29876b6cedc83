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
        """The same method with a guess of the number of records, if one is given.

        Examples
        --------
        >>> import metricdp as mdp
        >>> mdp.methods.Partition().with_hint(5000).records_hint
        5000
        """
        return self if records_hint is None else replace(self, records_hint=records_hint)

    def within(self, space: EuclideanSpace) -> Method:
        """The method that answers for this one in a box: itself, mostly.

        Examples
        --------
        >>> import metricdp as mdp
        >>> method = mdp.methods.Quadtree()
        >>> method.within(mdp.EuclideanSpace([0, 0], [1, 1])) is method
        True
        """
        return self

    def price(self, epsilon: Any, delta: Any) -> Cost:
        """What is charged for a call that may spend (epsilon, delta), not more: epsilon alone
        unless a delta is of use.

        Raises
        ------
        InputError
            They are no such numbers.

        Examples
        --------
        >>> import metricdp as mdp
        >>> mdp.methods.Partition().price("1/2", "1e-6").delta
        Fraction(0, 1)
        >>> mdp.methods.Coreset().price("1/2", "1e-6").bound
        'zCDP'
        """
        return Cost.of(Cost.of(epsilon, delta).epsilon)

    def price_of(self, demand: PrivateDemand, epsilon: Any, delta: Any) -> Cost:
        """`price` of a call about this demand: for methods to which a delta is of use where users
        are capped.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
        >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
        >>> mdp.methods.Partition().price_of(demand, "1/2", "1e-6").delta
        Fraction(0, 1)
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

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
        >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
        >>> from metricdp.methods.question import Question
        >>> method, asked = mdp.methods.Partition(), Question.checked(metric, 2, 1)
        >>> method.check(demand, asked, method.price("1/2", 0), "add-remove")  # nothing to refuse
        """

    @abstractmethod
    def answer(self, demand: PrivateDemand, grant: Grant, question: Any) -> Result:
        """Centers, paid from `grant`: all of it may be spent. Public coins come from
        ``question.seed``.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
        >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
        >>> from metricdp.methods.question import Question
        >>> ledger = mdp.Ledger(4)
        >>> asked = Question.checked(metric, 2, 1)
        >>> result = mdp.methods.Partition().answer(demand, ledger.charge(4), asked)
        >>> sorted(result.centers), ledger.left
        ([1, 7], Fraction(0, 1))
        """

    def release(self, demand: PrivateDemand, grant: Grant, seed: int) -> Any:
        """A release that answers any question, paid from `grant`: for methods whose release does
        not depend on the first one.

        Raises
        ------
        InputError
            This method has none.

        Examples
        --------
        >>> import networkx as nx, metricdp as mdp
        >>> metric = mdp.GraphMetric(nx.path_graph(9), weight=None)
        >>> demand = mdp.PrivateDemand(metric, [1] * 5000 + [7] * 5000)
        >>> release = mdp.methods.Partition().release(demand, mdp.Ledger(4).charge(4), seed=0)
        >>> sorted(release.k_median(k=2).centers)
        [1, 7]
        """
        raise InputError(f"the method {self.name} makes no release before a question is asked")
