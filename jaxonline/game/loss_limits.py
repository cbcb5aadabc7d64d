"""The smallest and the largest loss of a round, from the loss, the environment and the learners."""

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from jaxonline.game.defaults import LearnerDefaults, method_of
from jaxonline.game.protocols import Learner
from jaxonline.game.traits import EnvironmentTraits, LearnerTraits, traits_of
from jaxonline.losses.arms import ArmLoss, ExpectedLoss, PairLoss, SumOfArms
from jaxonline.losses.base import OpaqueLoss, ScalarLoss
from jaxonline.parameters import check

Range = tuple[float, float]


def loss_range(game: Any, learners: Sequence[Any] | None = None) -> Range | None:
    """Return the limits (low, high) of the loss of a round in a `Game`; None if they are unknown.

    Each loss of `learners` lies between the limits, up to rounding. The limits follow from one of these facts:

    * The loss declares its attribute `limits`.
    * The environment has the trait `outcomes`, and the loss is that of an arm, a set of arms, or a pair of arms.
    * The environment has the trait `outcomes`, the loss is `ExpectedLoss`, and all learners play probabilities.
    * The environment has the traits `outcomes` and `instances`, as data have, the loss is convex (`ScalarLoss.convex`),
      and the learners know the limits of their predictions, for example from the radius of a projection. These limits
      are often much wider than the losses that occur.

    Args:
        game: the game.
        learners: list of the learners of the study; None for limits that hold for every learner.

    Raises:
        TypeError, ValueError: `learners` is no list of learners.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.game import loss_range
        >>> arms, noisy = jo.environments.BernoulliArms([0.2, 0.8]), jo.environments.GaussianArms([0.2, 0.8])
        >>> [loss_range(jo.Game(one, jo.Bandit(), loss=jo.losses.ArmLoss())) for one in (arms, noisy)]
        [(0.0, 1.0), None]
        >>> game = jo.Game(jo.environments.DataStream([[3.0, 4.0]], [1.0]), jo.FullInformation())
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.1, radius=2.0)
        >>> loss_range(game), loss_range(game, [learner])  # predictions from -10 to 10
        (None, (0.0, 121.0))
    """
    for one in () if learners is None else check.sequence("learners", learners, "learner"):
        check.instance("learners", one, Learner, "a list of learners")
    return range_for(game, learners or ())


def range_for(game: Any, learners: Sequence[Any]) -> Range | None:
    """Return `loss_range`; the learners may also be functions that build learners, whose predictions have no limits."""
    loss = _plain_loss(game)
    if depends_on_predictions(game):
        ranges = [prediction_range(game, learner) for learner in learners]
        known = [limits for limits in ranges if limits is not None]
        if not known or len(known) < len(ranges):
            return None
        return _scalar_range(game, (min(low for low, _ in known), max(high for _, high in known)))
    weighted = isinstance(loss, ExpectedLoss)
    if weighted and not (learners and all(traits_of(one, LearnerTraits).plays_probabilities for one in learners)):
        return None
    return _move_range(game)


def comparator_range(game: Any, comparator: Any) -> Range | None:
    """Return the limits (low, high) of the mean loss of a round of a comparator; None if they are unknown.

    For losses of predictions the comparator declares `contains_zero` or `follows_advice` (`game.Comparator`).
    """
    if not depends_on_predictions(game):
        return _move_range(game)
    if getattr(comparator, "contains_zero", False):
        return _scalar_range(game, (0.0, 0.0))
    instances = None if game.regret.comparator_on_copies else _instances(game)
    if getattr(comparator, "follows_advice", False) and instances is not None:
        return _scalar_range(game, (float(instances.min()), float(instances.max())))
    return None


def depends_on_predictions(game: Any) -> bool:
    """Return whether the limits of losses follow only from limits of predictions."""
    loss = _plain_loss(game)
    return isinstance(loss, ScalarLoss) and not hasattr(loss, "limits")


def prediction_range(game: Any, learner: Any) -> Range | None:
    """Return the limits of a learner's predictions; None if they are unknown."""
    instances = None if game.regret.learner_on_copies else _instances(game)
    return method_of(learner, LearnerDefaults.prediction_range)(instances)


def _plain_loss(game: Any) -> Any:
    return game.loss.loss if isinstance(game.loss, OpaqueLoss) else game.loss


def _instances(game: Any) -> np.ndarray | None:
    """Return the instances of an environment as rows, if they are known and are vectors."""
    instances = traits_of(game.environment, EnvironmentTraits).instances
    if instances is None or check.is_abstract(instances) or np.ndim(instances) != 2 or np.size(instances) == 0:
        return None
    return np.asarray(instances)


def _outcome_range(game: Any) -> Range | None:
    outcomes = traits_of(game.environment, EnvironmentTraits).outcomes
    leaves = jax.tree.leaves(outcomes)
    if not leaves or check.is_abstract(leaves):
        return None
    arrays = [np.asarray(leaf) for leaf in leaves]
    return float(min(array.min() for array in arrays)), float(max(array.max() for array in arrays))


def _move_range(game: Any) -> Range | None:
    """Return the limits that the loss declares, or those of the losses of moves among arms."""
    loss, outcomes = _plain_loss(game), _outcome_range(game)
    declared = getattr(loss, "limits", None)
    if declared is not None or outcomes is None:
        return declared
    low, high = outcomes
    if isinstance(loss, PairLoss):
        return low - 0.5, high - 0.5
    if isinstance(loss, SumOfArms):
        n_arms = jax.tree.leaves(game.specs.outcome)[0].shape[0]
        return min(low, n_arms * low), max(high, n_arms * high)
    return outcomes if isinstance(loss, ArmLoss | ExpectedLoss) else None


def _scalar_range(game: Any, predictions: Range) -> Range | None:
    """Return the limits of a convex loss l >= 0: its largest value is at an end of the range of its argument."""
    loss, outcomes = _plain_loss(game), _outcome_range(game)
    if outcomes is None or not loss.convex:
        return None
    corners = [(y_hat, y) for y_hat in predictions for y in outcomes]
    ends = np.array([y_hat - y if loss.kind == "regression" else y_hat * y for y_hat, y in corners])
    high = float(np.max(loss.value(ends)))
    return (0.0, high) if np.isfinite(high) else None
