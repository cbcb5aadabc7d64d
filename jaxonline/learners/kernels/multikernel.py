"""Two-level multi-kernel learning: Rokhlin and Gurtovaya (2025), Theorems 2 and 3."""

from typing import Any, NamedTuple

import jax
from jaxtyping import Array, Float, Key

from jaxonline.estimators.dictionary import AnyDictionary
from jaxonline.feedback import FullOracle
from jaxonline.game.roles import LearnerWrapper, Specs
from jaxonline.learners.experts.advice import LearnerOverAdvice
from jaxonline.learners.linear.vaw import VAW, VAWState
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import PyTree


class MultiKernelState(NamedTuple):
    """State of `MultiKernel`: `experts`, with a leading axis of kernels, and `combiner`."""

    experts: VAWState
    combiner: PyTree


@cites("rokhlin2025random")
@struct
class MultiKernel(LearnerWrapper):
    """Multi-kernel learner: a forecaster for each kernel, and a combiner of their predictions.

    Args:
        dictionary: a pytree that maps an instance to features [N, p] (a `Dictionary`).
        combiner: a learner over the vectors of predictions, such as `VAW()` (Theorem 2, "VAW2") or
            `Truncated(EWA(0.5))` (Theorem 3), or a combiner, which then uses the squared loss.
        expert: the forecaster of each kernel, without features of its own.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> from jaxonline.estimators.dictionary import Dictionary
        >>> from jaxonline.learners import VAW, MultiKernel
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

    def __post_init__(self) -> None:
        if self.expert.features is not None:
            raise ArgumentError(
                "expert", f"must not have features (got {self.expert.features!r}); the dictionary makes them"
            )

    @property
    def learner(self) -> Any:  # type: ignore[override]
        """Return the combiner, a learner over the forecasters' predictions."""
        return self.combiner

    def init(self, key: Key[Array, ""], specs: Specs) -> MultiKernelState:
        """Return the initial states of the forecasters and the combiner."""
        z = jax.eval_shape(self.dictionary, specs.instance)
        features = specs._replace(instance=jax.ShapeDtypeStruct(z.shape[1:], z.dtype))
        experts = jax.vmap(lambda _: self.expert.init(key, features), axis_size=z.shape[0])(None)
        advice = specs._replace(instance=jax.ShapeDtypeStruct(z.shape[:1], z.dtype))
        return MultiKernelState(experts, self.combiner.init(key, advice))

    def predict(self, key: Key[Array, ""], state: MultiKernelState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict by the combiner, from the forecasters' predictions."""
        return self.combiner.predict(key, state.combiner, self._advice(key, state, self.dictionary(x)))

    def update(self, key: Key[Array, ""], state: MultiKernelState, oracle: Any) -> tuple[MultiKernelState, PyTree]:
        """Update the combiner with the forecasters' predictions, and the forecasters with their features."""
        z = self.dictionary(oracle.x)
        combiner, info = self.combiner.update(key, state.combiner, FullOracle(self._advice(key, state, z), oracle.y))
        learn = jax.vmap(lambda expert, row: self.expert.update(key, expert, FullOracle(row, oracle.y))[0])
        return MultiKernelState(learn(state.experts, z), combiner), info

    def weights(self, state: MultiKernelState) -> Float[Array, "N"]:
        """Return the combiner's weights of the kernels."""
        return super().weights(state.combiner)

    def _advice(self, key: Any, state: MultiKernelState, z: Float[Array, "N p"]) -> Float[Array, "N"]:
        return jax.vmap(lambda expert, row: self.expert.predict(key, expert, row))(state.experts, z)
