"""Facts that learners, environments and feedbacks state about themselves, with defaults.

A class states its facts in an attribute or a property `traits`, for example `traits =
EnvironmentTraits(oblivious=True)`. A class without `traits` has the default facts. A wrapper returns the traits of the
wrapped object (`ForwardsToLearner`).
"""

import inspect
from typing import Any, NamedTuple, TypeVar

from jaxtyping import ArrayLike

from jaxonline.parameters import check
from jaxonline.parameters.types import PyTree


class LearnerTraits(NamedTuple):
    """Facts that a learner states about itself.

    Attributes:
        loss: the loss that the learner minimises; None if unknown. A game with another loss causes a warning.
        loss_range: the range (low, high) of the losses of arms in the learner's theorem; None for any losses. Losses
            known in advance are checked to lie in this range.
        label_range: the range (low, high) of the labels, which `aggregate` checks; None for any labels.
        capacity_hint: how to give the learner more storage, for warnings about runs that ran out of storage; without
            full stop.
        plays_probabilities: whether a move that is a vector, or the `probabilities` of a `Draw`, is not negative and
            has the sum 1. Then the expected loss lies between the smallest and the largest loss of the arms.

    Example:
        >>> import jaxonline as jo
        >>> jo.learners.UCB1().traits.loss_range
        (0.0, 1.0)
    """

    loss: Any = None
    loss_range: tuple[float, float] | None = None
    label_range: tuple[ArrayLike, ArrayLike] | None = None
    capacity_hint: str = "give it more capacity"
    plays_probabilities: bool = False


class EnvironmentTraits(NamedTuple):
    """Facts that an environment states about itself.

    The simulator relies on `oblivious` and `deterministic` without a check.

    Attributes:
        oblivious: whether instances and outcomes do not depend on the learner's moves. If true, the best predictor in
            hindsight is computed once for all learners.
        deterministic: whether instances and outcomes are also identical in every run.
        outcomes: all outcomes (of arms: all losses) that can occur, or the smallest and the largest of them, checked
            against the assumptions of losses and learners; None if unknown.
        n_rows: the number of rows of a data set, which is also that of measured copies; None if there are no rows.
        instances: all instances that can occur as rows [n, ...], or instances with the same smallest and largest
            entries and the same largest norms; None if unknown.
        rewards: whether an outcome is 1 minus the rewards of the arms, so that results show rewards.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> jo.environments.DataStream(np.eye(3), np.ones(3)).traits.deterministic
        True
    """

    oblivious: bool = False
    deterministic: bool = False
    outcomes: PyTree = None
    n_rows: int | None = None
    instances: PyTree = None
    rewards: bool = False


class FeedbackTraits(NamedTuple):
    """Facts that a feedback states about itself.

    Attributes:
        makes_copies: whether its oracles have `copy(j)`, as noisy notions of regret (`game.regret`) require.
        direct_products: whether the oracle draws products with copies without drawing the copies, so that the learner
            has not used copy 0.
        noise: the distribution of the instances' noise; None without noise, or without a single distribution.
        label_noise: the distribution of the labels' noise; None for clean labels.
        reads_entries: whether `open` accepts a lazy outcome (`losses.lazy.LazyOutcome`) and reads single entries.
        max_delay: the largest delay of an answer, in rounds.
        max_rounds: the number of rounds that a measured feedback can answer, in an environment that is the same in
            every run; None for any number of rounds.
        max_copies: the number of measured copies of an instance; None for any number. A round that is charged more has
            the loss NaN, so that the run is a failed run.

    Example:
        >>> import jaxonline as jo
        >>> jo.NoisyCopies(jo.noise.gaussian(0.1)).traits.makes_copies
        True
    """

    makes_copies: bool = False
    direct_products: bool = False
    noise: Any = None
    label_noise: Any = None
    reads_entries: bool = False
    max_delay: int = 0
    max_rounds: int | None = None
    max_copies: int | None = None


Traits = TypeVar("Traits", LearnerTraits, EnvironmentTraits, FeedbackTraits)


def traits_of(item: Any, kind: type[Traits]) -> Traits:
    """Return the traits of a learner, an environment or a feedback, or the defaults of the class `kind`."""
    if inspect.getattr_static(item, "traits", None) is None:
        return kind()
    article = "an" if kind is EnvironmentTraits else "a"
    return check.instance(f"{type(item).__name__}.traits", item.traits, kind, f"{article} {kind.__name__}")
