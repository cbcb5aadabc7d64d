"""Prediction with expert advice: Cesa-Bianchi and Lugosi (2006), chapter 2."""

from typing import Annotated, Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Learner, Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.experts.combiner import AnyCombiner, require_combiner
from jaxonline.learners.experts.late_start import include_zero, initial_flag, next_flag, zero_before_start
from jaxonline.learners.experts.vectors import vector_length
from jaxonline.learners.vectors import entry_range
from jaxonline.losses import Squared
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Convert, PyTree


class OverAdviceState(NamedTuple):
    """State of `OverAdvice`: the combiner's state, and whether round 1 is over (None without a late start)."""

    combiner: PyTree
    started: Bool[Array, ""] | None


def _require_loss(loss: Any, name: str) -> Any:
    good = callable(loss) and not any(callable(leaf) for leaf in jax.tree.leaves(loss))
    return check.instance(name, loss, good, "a loss (jaxonline.losses) or a jax.tree_util.Partial")


AnyLoss = Annotated[Any, Component("loss"), Convert(_require_loss)]
"""A loss of predictions: a function that is a pytree of numbers."""


@cites("cesabianchi2006prediction")
@struct
class OverAdvice(LearnerDefaults):
    """Prediction with expert advice: predicts the weighted mean of the experts' predictions, which are the instance.

    Args:
        combiner: `EWA`, `BOA`, `MLPoly`, `MLProd`, or another `Combiner`.
        loss: the loss `loss(prediction, y)` of the experts and of their weighted mean. The bounds of the combiners hold
            for losses that are convex in the prediction.
        late_start: whether to predict 0 in round 1 and ignore the losses of that round, as in the experiments of
            Rokhlin and Gurtovaya (2025).

    Example:
        >>> import jax, jaxonline as jo, numpy as np
        >>> rows = jo.environments.DataStream(np.tile([0.0, 1.0], (3, 1)), np.ones(3))
        >>> game, learner = jo.Game(rows, jo.FullInformation()), jo.learners.OverAdvice(jo.learners.EWA(0.5))
        >>> state, history = jo.play(game, learner, jax.random.key(0), n_rounds=3)
        >>> [f"{mean:.3f}" for mean in history.y_hat]  # 1 / (1 + e^(-(t-1)/2))
        ['0.500', '0.622', '0.731']
    """

    combiner: AnyCombiner
    loss: AnyLoss = Squared()
    late_start: bool = static(default=False)

    @property
    def traits(self) -> LearnerTraits:
        """Declare the loss of the experts."""
        return LearnerTraits(loss=self.loss)

    def prediction_range(self, instances: Float[np.ndarray, "n d"] | None) -> tuple[float, float] | None:
        """Return the smallest and the largest advice, with a late start also 0."""
        return include_zero(entry_range(instances), self.late_start)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> OverAdviceState:
        """Return the combiner's state for all entries of an instance; raise a ValueError if it is no vector."""
        del key
        state = self.combiner.init(vector_length("instances", specs.instance), specs.instance.dtype)
        return OverAdviceState(state, initial_flag(self.late_start))

    def predict(self, key: Key[Array, ""] | None, state: OverAdviceState, x: Float[Array, "K"]) -> Float[Array, ""]:
        """Return the weighted mean of the experts."""
        del key
        return zero_before_start(state.started, self.weights(state) @ x)

    def update(
        self, key: Key[Array, ""] | None, state: OverAdviceState, oracle: Any
    ) -> tuple[OverAdviceState, tuple[()]]:
        """Pass the losses of the experts and of their mean to the combiner."""
        losses = expert_losses(self.loss, oracle.x, oracle.y)
        own_loss = self.loss(self.predict(key, state, oracle.x), oracle.y)
        losses, own_loss = (zero_before_start(state.started, loss) for loss in (losses, own_loss))
        combiner_state = self.combiner.update(state.combiner, losses, own_loss)
        return OverAdviceState(combiner_state, next_flag(state.started)), ()

    def weights(self, state: OverAdviceState) -> Float[Array, "K"]:
        """Return the weights of the next round."""
        return self.combiner.weights(state.combiner)


def as_learner(combiner_or_learner: Any, loss: Any = None, name: str = "combiner") -> Any:
    """Return a learner as it is (ValueError if `loss` is given), a combiner as `OverAdvice`; else raise TypeError."""
    if isinstance(combiner_or_learner, Learner):
        if loss is not None:
            kind = type(combiner_or_learner).__name__
            raise ArgumentError(
                "loss", f"must be left out for a learner with its own, {kind} (got {check.quote(loss)})"
            )
        return combiner_or_learner
    require_combiner(combiner_or_learner, name, "a combiner (init, weights, update), or a learner over advice")
    return OverAdvice(combiner_or_learner, Squared() if loss is None else loss)


LearnerOverAdvice = Annotated[
    Any, Component("learner", "combiner"), Convert(lambda value, name: as_learner(value, name=name))
]
"""A learner over advice, or a combiner, which becomes `OverAdvice` with the squared loss."""


def expert_losses(loss: Any, x: Float[Array, "K"], y: Any) -> Float[Array, "K"]:
    """Return the loss of each expert."""
    return jax.vmap(lambda prediction: loss(prediction, y))(x)
