"""Base classes of learners whose outcomes are vectors with one entry for each expert or arm."""

from typing import Any, ClassVar

from jaxtyping import Array, Bool, Float, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import LearnerTraits, traits_of
from jaxonline.learners.experts.cumulative_losses import zero_sums
from jaxonline.linalg.compensated import Compensated
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import PyTree


def vector_length(name: str, spec: PyTree) -> int:
    """Return the number of entries; raise a ValueError if the `name` (instances or outcomes) are not vectors."""
    shape = getattr(spec, "shape", None)
    if shape is None or len(shape) != 1:
        raise ArgumentError(name, f"must be vectors with an entry for each expert or arm (got shape {shape})")
    return shape[0]


def check_prescribed_number(name: str, prescribed: int | None, number: int) -> None:
    """Check that the game has the number of experts or arms for which a rate was chosen; None for any number."""
    if prescribed not in (None, number):
        raise ArgumentError(name, f"must be {number}, the number of experts or arms in this game (got {prescribed})")


class SumsLearner(LearnerDefaults):
    """Base class of learners with compensated sums [K] as state; a subclass implements `predict` and `update`."""

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Compensated:
        """Return zeros, one for each entry of the outcome; raise a ValueError if outcomes are not vectors."""
        del key
        return zero_sums(vector_length("outcomes", specs.outcome), specs.outcome.dtype)


class CombinerLearner(LearnerDefaults):
    """Base of a learner that passes losses or estimates to a combiner; a subclass implements `predict` and `update`."""

    combiner: Any
    uses_masks: ClassVar[bool] = False  # a subclass that uses masks needs a combiner that uses masks

    @property
    def traits(self) -> LearnerTraits:
        """The traits of the combiner, with the range of losses that the combiner's theorem needs; moves are weights."""
        traits = traits_of(self.combiner, LearnerTraits)
        return traits._replace(uses_masks=self.uses_masks and traits.uses_masks, plays_probabilities=True)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> PyTree:
        """Return the combiner's state for vectors of losses; raise a ValueError if outcomes are not vectors."""
        del key
        return self.combiner.init(vector_length("outcomes", specs.outcome), specs.outcome.dtype)

    def weights(self, state: PyTree, mask: Bool[Array, "K"] | None = None) -> Float[Array, "K"]:
        """Return the combiner's weights of the next round, for the available experts if there is a mask."""
        return self.combiner.weights(state) if mask is None else self.combiner.weights(state, mask)

    def update_combiner(
        self, state: PyTree, losses: Float[Array, "K"], own_loss: Float[Array, ""], mask: Bool[Array, "K"] | None
    ) -> PyTree:
        """Return the combiner's next state, from the losses of the available experts if there is a mask."""
        masks = () if mask is None else (mask,)
        return self.combiner.update(state, losses, own_loss, *masks)
