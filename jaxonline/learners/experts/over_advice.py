"""Prediction with expert advice: Cesa-Bianchi and Lugosi (2006), chapter 2."""

from typing import Annotated, Any, NamedTuple

import jax
from jaxtyping import Array, Bool, Float, Key, PyTree

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Learner, Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.experts.combiner import AnyCombiner, require_combiner
from jaxonline.learners.experts.late_start import after_a_round, before_round_1, unless_first
from jaxonline.losses import Squared
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Convert


class OverAdviceState(NamedTuple):
    """State of `OverAdvice`.

    Attributes:
        combiner: of the combiner.
        started: whether a round has been played, for a late start; else None.
    """

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
    """Predicts the weighted mean of the experts. An instance is the vector of their predictions.

    Args:
        combiner: `EWA`, `BOA`, `MLPoly`, `MLProd`, or another `Combiner`.
        loss: `loss(prediction, y)` judges the experts and their mean; the squared loss by default. The bounds of the
            combiners hold where it is convex in the prediction.
        late_start: as in the published experiments: predict 0 in round 1, and leave its losses out.

    Example:
        >>> import jax, numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.learners import EWA, OverAdvice
        >>> advice = np.tile([0.0, 1.0], (3, 1))
        >>> game = jo.Game(jo.environments.DataStream(advice, np.ones(3)), jo.FullInformation())
        >>> state, history = jo.play(game, OverAdvice(EWA(0.5)), jax.random.key(0), n_rounds=3)
        >>> [f"{mean:.3f}" for mean in history.y_hat]  # 1 / (1 + e^(-(t-1)/2))
        ['0.500', '0.622', '0.731']
    """

    combiner: AnyCombiner
    loss: AnyLoss = Squared()
    late_start: bool = static(default=False)

    @property
    def traits(self) -> LearnerTraits:
        """The loss that judges the experts."""
        return LearnerTraits(loss=self.loss)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> OverAdviceState:
        """The combiner's state, for as many experts as the instance has entries.

        Raises:
            ValueError: instances are not vectors.
        """
        del key
        state = self.combiner.init(n_experts("instances", specs.instance), specs.instance.dtype)
        return OverAdviceState(state, before_round_1(self.late_start))

    def predict(self, key: Key[Array, ""] | None, state: OverAdviceState, x: Float[Array, "K"]) -> Float[Array, ""]:
        """The weighted mean of the experts."""
        del key
        return unless_first(state.started, self.weights(state) @ x)

    def update(self, key: Key[Array, ""] | None, state: OverAdviceState, oracle: Any) -> tuple[OverAdviceState, tuple]:
        """The combiner sees the experts' losses and that of their mean."""
        losses = losses_of(self.loss, oracle.x, oracle.y)
        own_loss = self.loss(self.predict(key, state, oracle.x), oracle.y)
        losses, own_loss = (unless_first(state.started, each) for each in (losses, own_loss))
        after = self.combiner.update(state.combiner, losses, own_loss)
        return OverAdviceState(after, after_a_round(state.started)), ()

    def weights(self, state: OverAdviceState) -> Float[Array, "K"]:
        """The weights of the next round."""
        return self.combiner.weights(state.combiner)


def as_learner(combiner_or_learner: Any, loss: Any = None, name: str = "combiner") -> Any:
    """A learner over advice: a combiner becomes `OverAdvice` with `loss` (None: the squared one), a learner stays.

    Raises:
        TypeError: it is neither.
        ValueError: a `loss` for a learner, which has its own.
    """
    if isinstance(combiner_or_learner, Learner):
        if loss is not None:
            what = type(combiner_or_learner).__name__
            raise ArgumentError(
                "loss", f"must be left out for a learner with its own, {what} (got {check.quote(loss)})"
            )
        return combiner_or_learner
    require_combiner(combiner_or_learner, name, "a combiner (init, weights, update), or a learner over advice")
    return OverAdvice(combiner_or_learner, Squared() if loss is None else loss)


LearnerOverAdvice = Annotated[
    Any, Component("learner", "combiner"), Convert(lambda value, name: as_learner(value, name=name))
]
"""A learner over advice, or a combiner (of the squared loss), which becomes `OverAdvice`."""


def losses_of(loss: Any, x: Float[Array, "K"], y: Any) -> Float[Array, "K"]:
    """The loss of each expert."""
    return jax.vmap(lambda prediction: loss(prediction, y))(x)


def n_experts(name: str, spec: PyTree) -> int:
    """The length of a vector with one entry for each expert."""
    shape = getattr(spec, "shape", None)
    if shape is None or len(shape) != 1:
        raise ArgumentError(name, f"must be vectors with an entry for each expert or arm (got shape {shape})")
    return shape[0]
