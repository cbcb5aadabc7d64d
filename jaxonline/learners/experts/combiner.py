"""Combiners: weights of K experts from their losses, for learners such as `OverAdvice`, `Hedge` and `EXP3`."""

from typing import Annotated, Any, Protocol, runtime_checkable

from jaxtyping import Array, ArrayLike, Float

from jaxonline.game.protocols import Learner
from jaxonline.learners.experts.cumulative_losses import add_losses, zero_sums
from jaxonline.linalg.compensated import Compensated
from jaxonline.parameters import check
from jaxonline.parameters.types import Component, Convert, PyTree


@runtime_checkable
class Combiner(Protocol):
    """Protocol of combiners: three functions give weights of experts; `traits` declares the range of the losses.

    With `LearnerTraits(uses_masks=True)` the last argument of `weights` and `update` is the mask of the awake experts.
    """

    def init(self, n_experts: int, dtype: Any) -> PyTree:
        """Return the state before round 1."""
        ...

    def weights(self, state: PyTree) -> Float[Array, "K"]:
        """Return the weights of the next round, which are not negative and have the sum 1."""
        ...

    def update(self, state: PyTree, losses: Float[Array, "K"], own_loss: Float[Array, ""]) -> PyTree:
        """Return the next state, from the losses of the experts and the loss of the move."""
        ...


class SumsCombiner:
    """Base class of combiners with compensated sums of the losses [K] as state; a subclass implements `weights`."""

    def init(self, n_experts: int, dtype: Any) -> Compensated:
        """Return zeros."""
        return zero_sums(n_experts, dtype)

    def update(self, state: Compensated, losses: Float[Array, "K"], own_loss: ArrayLike) -> Compensated:
        """Add the losses to the state."""
        del own_loss
        return add_losses(state, losses)


def require_combiner(combiner: Any, name: str, wanted: str = "a combiner (init, weights, update)") -> Any:
    """Return the combiner; raise a TypeError for any other object, also for a learner that is built on a combiner."""
    return check.instance(name, combiner, isinstance(combiner, Combiner) and not isinstance(combiner, Learner), wanted)


AnyCombiner = Annotated[Any, Component("combiner"), Convert(require_combiner)]
