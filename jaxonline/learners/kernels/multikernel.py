"""Two levels: one forecaster for each kernel of a dictionary, and a combiner over their predictions.

Rokhlin and Gurtovaya (2025), Theorems 2 (the combiner is VAW: "VAW2") and 3 (EWA over truncated experts).
"""

from typing import Any, NamedTuple

import jax
from jaxtyping import Array, Float, Key, PyTree

from jaxonline.estimators.dictionary import AnyDictionary
from jaxonline.feedback import FullOracle
from jaxonline.game.defaults import ForwardsToLearner
from jaxonline.game.protocols import Specs
from jaxonline.learners.experts.over_advice import LearnerOverAdvice
from jaxonline.learners.linear.vaw import VAW, VAWState
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import struct


class MultiKernelState(NamedTuple):
    """State of `MultiKernel`.

    Attributes:
        experts: of the forecasters, with a leading axis of kernels.
        combiner: of the combiner.
    """

    experts: VAWState
    combiner: PyTree


@cites("rokhlin2025random")
@struct
class MultiKernel(ForwardsToLearner):
    """A forecaster for each kernel, and a combiner whose instances are the vectors of their predictions.

    Args:
        dictionary: a pytree that maps an instance to features [N, p] (a `Dictionary`).
        combiner: `VAW()`, `Truncated(EWA(0.5))`, any learner over advice, or a combiner (of the squared loss).
        expert: the forecaster of each kernel, without features of its own.

    Raises:
        ValueError: `expert` has features of its own.

    Example:
        >>> import jax, numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.estimators.dictionary import Dictionary
        >>> from jaxonline.learners.kernels.multikernel import MultiKernel
        >>> from jaxonline.learners.linear.vaw import VAW
        >>> with jax.enable_x64(True):
        ...     learner = MultiKernel(Dictionary(np.zeros((2, 1, 1))), combiner=VAW())
        ...     game = jo.Game(jo.environments.DataStream(np.ones((3, 1)), np.ones(3)), jo.FullInformation())
        ...     state, history = jo.play(game, learner, jax.random.key(0), 3)
        >>> history.y_hat.shape, state.experts.w.shape
        ((3,), (2, 2))
    """

    dictionary: AnyDictionary
    combiner: LearnerOverAdvice
    expert: VAW = VAW()

    def __post_init__(self):
        if self.expert.features is not None:
            raise ArgumentError(
                "expert", f"must have no features of its own (got {self.expert.features!r}); the dictionary makes them"
            )

    @property
    def learner(self) -> Any:  # type: ignore[override]
        """The combiner, a learner over the forecasters' predictions."""
        return self.combiner

    def init(self, key: Key[Array, ""], specs: Specs) -> MultiKernelState:
        """The forecasters' and the combiner's first states."""
        z = jax.eval_shape(self.dictionary, specs.instance)
        one = specs._replace(instance=jax.ShapeDtypeStruct(z.shape[1:], z.dtype))
        experts = jax.vmap(lambda _: self.expert.init(key, one), axis_size=z.shape[0])(None)
        advice = specs._replace(instance=jax.ShapeDtypeStruct(z.shape[:1], z.dtype))
        return MultiKernelState(experts, self.combiner.init(key, advice))

    def predict(self, key: Key[Array, ""], state: MultiKernelState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """The combiner's prediction from the forecasters'."""
        return self.combiner.predict(key, state.combiner, self._advice(key, state, self.dictionary(x)))

    def update(self, key: Key[Array, ""], state: MultiKernelState, oracle: Any) -> tuple[MultiKernelState, PyTree]:
        """The combiner learns from what the forecasters said, and they from their features."""
        z = self.dictionary(oracle.x)
        combiner, info = self.combiner.update(key, state.combiner, FullOracle(self._advice(key, state, z), oracle.y))
        learn = jax.vmap(lambda one, row: self.expert.update(key, one, FullOracle(row, oracle.y))[0])
        return MultiKernelState(learn(state.experts, z), combiner), info

    def weights(self, state: MultiKernelState) -> Float[Array, "N"]:
        """The combiner's weights of the kernels."""
        return super().weights(state.combiner)

    def _advice(self, key: Any, state: MultiKernelState, z: Float[Array, "N p"]) -> Float[Array, "N"]:
        return jax.vmap(lambda one, row: self.expert.predict(key, one, row))(state.experts, z)
