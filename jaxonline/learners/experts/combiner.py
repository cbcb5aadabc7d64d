"""What a combiner of experts is: it weighs K experts by their losses, whatever they predict and under any loss.

Learners are made of a combiner: `OverAdvice` (the experts predict, and a loss judges them), `Hedge` (their losses are
seen as they are), `EXP3` (only the loss of the arm played is seen).
"""

from typing import Annotated, Any, Protocol, runtime_checkable

from jaxtyping import Array, Float, PyTree

from jaxonline.game.protocols import Learner
from jaxonline.parameters import check
from jaxonline.parameters.types import Component, Convert


@runtime_checkable
class Combiner(Protocol):
    """Weights of experts as three pure functions.

    A combiner whose theorem needs losses in a range states it as learners do: `traits = LearnerTraits(loss_range=...)`.
    """

    def init(self, n_experts: int, dtype: Any) -> PyTree:
        """The state before round 1."""
        ...

    def weights(self, state: PyTree) -> Float[Array, "K"]:
        """The weights of the next round: not negative, and their sum is 1."""
        ...

    def update(self, state: PyTree, losses: Float[Array, "K"], own_loss: Float[Array, ""]) -> PyTree:
        """The next state, from the losses of the experts and that of the move made of them."""
        ...


def require_combiner(combiner: Any, name: str, wanted: str = "a combiner (init, weights, update)") -> Any:
    """The combiner, or a TypeError for anything else, such as a learner made of one."""
    return check.instance(name, combiner, isinstance(combiner, Combiner) and not isinstance(combiner, Learner), wanted)


AnyCombiner = Annotated[Any, Component("combiner"), Convert(require_combiner)]
