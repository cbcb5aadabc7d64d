"""Facts that learners, environments and feedbacks state about themselves: one record each, with defaults.

A class states its facts in an attribute or a property `traits`, for example
`traits = EnvironmentTraits(oblivious=True)`. A class without `traits` has the defaults. A wrapper returns the traits
of the object that it wraps (`game.defaults.ForwardsToLearner`).
"""

import inspect
from typing import Any, NamedTuple, TypeVar

from jaxtyping import ArrayLike, PyTree

from jaxonline.parameters import check


class LearnerTraits(NamedTuple):
    """Facts about a learner.

    Attributes:
        loss: the loss that the learner descends on. A game with another loss warns, since regret is in the game's loss.
            None: unknown.
        loss_range: the range (low, high) of the losses of arms for which the learner's theorem holds. Losses that are
            known before the game are checked against it. None: any losses.
        label_range: the range (low, high) of the labels, which `aggregate` checks before it starts. None: any labels.
        long_rounds: whether a round takes so long that preparing its program for speed pays.
        capacity_hint: how a user gives the learner more storage, as a sentence without a full stop; it ends the
            warnings about runs that ran out of storage.
        uses_masks: whether the learner chooses only from the arms or experts that are available (`game.Available`).

    Example:
        >>> import jaxonline as jo
        >>> jo.learners.UCB1().traits.loss_range
        (0.0, 1.0)
    """

    loss: Any = None
    loss_range: tuple[float, float] | None = None
    label_range: tuple[ArrayLike, ArrayLike] | None = None
    long_rounds: bool = False
    capacity_hint: str = "give it more capacity"
    uses_masks: bool = False


class EnvironmentTraits(NamedTuple):
    """Facts about an environment. The simulator relies on them, and does not check `oblivious` and `deterministic`.

    Attributes:
        oblivious: whether neither instances nor outcomes depend on the learner's moves. The best predictor in hindsight
            of an oblivious environment is computed once for all learners.
        deterministic: whether every run also has the same instances and outcomes.
        outcomes: an array of all outcomes that can occur, checked against what losses and learners require. None:
            unknown.

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> jo.environments.DataStream(np.eye(3), np.ones(3)).traits.deterministic
        True
    """

    oblivious: bool = False
    deterministic: bool = False
    outcomes: PyTree = None


class FeedbackTraits(NamedTuple):
    """Facts about a feedback.

    Attributes:
        makes_copies: whether its oracles have `copy(j)`, so that noisy notions of regret (`game.regret`) can use it.
        direct_products: whether products with copies are drawn without the copies, so that copy 0 is not a copy that
            the learner has used.
        noise: the law of the noise of the instances. None: no noise, or no single law.
        label_noise: the law of the noise of the labels. None: clean labels.
        reads_entries: whether the oracle reads single entries of the outcome, so that `open` may get a lazy outcome
            (`losses.lazy.LazyOutcome`).
        max_delay: the largest number of rounds after which an answer arrives.

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


Traits = TypeVar("Traits", LearnerTraits, EnvironmentTraits, FeedbackTraits)


def traits_of(item: Any, kind: type[Traits]) -> Traits:
    """The traits of a learner, an environment or a feedback: its own, or the defaults of `kind`.

    Raises:
        TypeError: `traits` is not an object of the class `kind`.
    """
    if inspect.getattr_static(item, "traits", None) is None:
        return kind()
    article = "an" if kind is EnvironmentTraits else "a"
    return check.instance(f"{type(item).__name__}.traits", item.traits, kind, f"{article} {kind.__name__}")
