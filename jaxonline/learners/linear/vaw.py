"""Vovk-Azoury-Warmuth forecaster (VAW) and online ridge regression, in one implementation.

The forecaster of Vovk (2001) and Azoury and Warmuth (2001), in the form of Rokhlin and Gurtovaya (2025), Eqs. 9 and 10,
has the weights w_t = S_t^-1 sum_(i<t) y_i z_i, S_t = lambda I + sum_(i<=t) z_i z_i'. S_t includes the instance z_t of
the current prediction; online ridge regression uses S_(t-1). By the matrix inversion lemma the two predictions differ
by a factor, the leverage: vaw_t = ridge_t / (1 + z_t' S_(t-1)^-1 z_t).

`absorb` processes a block of b rounds. Let P = S^-1 and w = P sum y z before the block, Z the instances as columns, and
W = L^-1 with L L' = I + Z' P Z. In round t of the block online ridge regression predicts <w, z_t> - sum_(i<t) W_ti (y_i
- <w, z_i>) / W_tt, and the leverage is 1 / W_tt^2. With V = P Z W' the block changes P to P - V V', and w to w + V W (y
- Z' w). So b rank-one updates are matrix products: 4 m^2 + 4 b m flops a round, and 16 m^2 / b bytes of memory traffic
instead of 16 m^2. The learner uses blocks of one round; the engine for sequences known in advance uses larger blocks.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int, Key

from jaxonline.estimators.fourier import AnyFeatures
from jaxonline.game.roles import Learner, Specs
from jaxonline.numerics.triangular import cholesky_and_inverse, product
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Positive, require_float64


class VAWState(NamedTuple):
    """State of `VAW`: `inverse` is P = (lambda I + sum z z')^-1 over the past rounds [m, m], `w` is P sum y z [m]."""

    inverse: Float[Array, "m m"]
    w: Float[Array, "m"]


class VAWInfo(NamedTuple):
    """Diagnostics of one update: `leverage` is 1 + z' P z, the ratio of the predictions of online ridge and VAW."""

    leverage: Float[Array, ""]


@cites("vovk2001competitive", "azoury2001relative", "rokhlin2025random")
@struct
class VAW(Learner):
    """Vovk-Azoury-Warmuth forecaster (VAW) or online ridge regression, for full information and the squared loss.

    The prediction is <w_t, z_t> with z = features(x).

    Args:
        regularizer: lambda.
        forward: True for VAW (S_t includes the current instance), False for online ridge.
        features: a function of an instance that is a pytree (`FourierFeatures`, a `Dictionary`), or None for the
            instance itself. An array of any shape is flattened: a dictionary of N kernels gives the concatenated
            forecaster of Theorem 1.
        allow_float32: accept instances of float32, in which long runs drift; otherwise float32 raises a ValueError.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> from jaxonline.learners import VAW
        >>> with jax.enable_x64(True):
        ...     game = jo.Game(jo.environments.DataStream(np.ones((3, 1)), np.ones(3)), jo.FullInformation())
        ...     ridge = jo.play(game, VAW(forward=False), jax.random.key(0), 3)[1].y_hat
        ...     vaw = jo.play(game, VAW(), jax.random.key(0), 3)[1].y_hat
        >>> ridge.round(3).tolist(), vaw.round(3).tolist()  # 0, 1/2, 2/3 and 0, 1/3, 2/4
        ([0.0, 0.5, 0.667], [0.0, 0.333, 0.5])
    """

    regularizer: Positive = 1.0
    forward: bool = static(default=True)
    features: AnyFeatures | None = None
    allow_float32: bool = static(default=False)

    def init(self, key: Key[Array, ""], specs: Specs) -> VAWState:
        """Return P = I / lambda, w = 0."""
        require_float64("VAW", specs.instance.dtype, self.allow_float32)
        z = jax.eval_shape(self._features, specs.instance)
        return initial_state(z.shape[0], self.regularizer, specs.instance.dtype)

    def predict(self, key: Key[Array, ""], state: VAWState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict <w, z>, divided by the leverage of z if `forward`."""
        z = self._features(x)
        ridge = state.w @ z
        return ridge / (1.0 + z @ (state.inverse @ z)) if self.forward else ridge

    def update(self, key: Key[Array, ""], state: VAWState, oracle: Any) -> tuple[VAWState, VAWInfo]:
        """Absorb one round."""
        state, _, leverages = absorb(state, self._features(oracle.x)[:, None], oracle.y[None])
        return state, VAWInfo(leverages[0])

    def update_often(self, state: VAWState, oracle: Any, count: Int[Array, ""]) -> VAWState:
        """Absorb `count` equal rounds, which are one round with sqrt(count) times the features and the target."""
        factor, z = jnp.sqrt(count.astype(oracle.y.dtype)), self._features(oracle.x)
        return absorb(state, (factor * z)[:, None], (factor * oracle.y)[None])[0]

    def weights(self, state: VAWState) -> Float[Array, "m"]:
        """Return the weights w of the coordinates of the features."""
        return state.w

    def _features(self, x: Float[Array, "d"]) -> Float[Array, "m"]:
        return jnp.ravel(x if self.features is None else self.features(x))


def initial_state(n_features: int, regularizer: ArrayLike, dtype: Any) -> VAWState:
    """Return the state before round 1."""
    return VAWState(jnp.eye(n_features, dtype=dtype) / jnp.asarray(regularizer, dtype), jnp.zeros(n_features, dtype))


def absorb(
    state: VAWState, Z: Float[Array, "m b"], y: Float[Array, "b"], n_rounds: Int[Array, ""] | None = None
) -> tuple[VAWState, Float[Array, "b"], Float[Array, "b"]]:
    """Absorb a block of rounds into the state: instances `Z` as columns, targets `y`.

    Only the first `n_rounds` rounds count, all by default; further instances must be finite. Returns the next state,
    the predictions of online ridge (each from the rounds before), and the leverages.
    """
    PZ = product(state.inverse, Z)
    _, W = cholesky_and_inverse(product(Z.T, PZ) + jnp.eye(len(y), dtype=Z.dtype))
    # rounding changes P by eps * leverage of itself: a large leverage would leave wrong digits only, in silence
    W = jnp.where(jnp.diagonal(W)[:, None] ** 2 > 10 * jnp.finfo(W.dtype).eps, W, jnp.nan)
    roots = W
    if n_rounds is not None:  # column i of V is the change of P in round i, whatever follows
        is_absorbed = jnp.arange(len(y)) < n_rounds
        roots, y = jnp.where(is_absorbed[:, None], roots, 0.0), jnp.where(is_absorbed, y, 0.0)
    V = product(PZ, roots.T)
    prior = product(state.w, Z)
    residuals, diagonal = y - prior, jnp.diagonal(W)
    predictions = prior - product(jnp.tril(W, -1), residuals) / diagonal
    state = VAWState(state.inverse - product(V, V.T), state.w + product(V, product(W, residuals)))
    return state, predictions, 1.0 / diagonal**2
