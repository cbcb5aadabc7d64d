"""LinUCB: Li, Chu, Langford and Schapire (2010), Algorithm 1 with one parameter for all arms; OFUL's law of regret.

Abbasi-Yadkori, Pal and Szepesvari (2011) give the width with which the bounds hold.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int, Key

from jaxonline._util import check
from jaxonline._util.struct import struct
from jaxonline._util.triangular import product
from jaxonline.game.protocols import Specs
from jaxonline.learners.bandits.tally import first_smallest
from jaxonline.learners.vaw import VAWState, absorb, initial_state


@struct
class LinUCB:
    """Pulls the arm with the smallest <w, x_k> - width sqrt(x_k' P x_k); an instance is the arms' features [K, d].

    P = (regularizer I + sum of x x')^-1 and w = P sum of loss x over the arms pulled, online ridge regression
    (`VAW`), by one rank-one update a round (Sherman and Morrison). In float32 that drifts: by less than 1e-3 of
    the predictions in 10^5 rounds with d = 5. Of several arms with the smallest index it is the first.

    Args:
        width: alpha, at least 0.
        regularizer: lambda, above 0.

    Raises:
        ValueError: a number out of its range; at `init`, instances that are not matrices with a row for each arm.

    Example:
        >>> import jax
        >>> import jaxonline as jo
        >>> environment = jo.environments.ContextualLinearArms([1.0, -1.0], n_arms=4, noise_std=0.1)
        >>> game = jo.Game(environment, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> state, history = jo.play(game, jo.learners.LinUCB(width=0.5), jax.random.key(0), n_rounds=200)
        >>> [round(float(w)) for w in state.w]
        [1, -1]
    """

    width: Float[ArrayLike, ""] = 1.0
    regularizer: Float[ArrayLike, ""] = 1.0

    def __post_init__(self):
        check.not_negative("width", self.width)
        check.positive("regularizer", self.regularizer)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> VAWState:
        """P = I / lambda, w = 0.

        Raises:
            ValueError: instances are not matrices with a row for each arm.
        """
        del key
        return ridge_of_arms(specs, self.regularizer)

    def predict(self, key: Key[Array, ""] | None, state: VAWState, x: Float[Array, "K d"]) -> Int[Array, ""]:
        """The arm with the smallest lower bound."""
        del key
        variances = jnp.sum(product(x, state.inverse) * x, axis=1)
        width = jnp.asarray(self.width, x.dtype)
        return first_smallest(product(x, state.w) - width * jnp.sqrt(jnp.maximum(variances, 0.0)))

    def update(self, key: Key[Array, ""] | None, state: VAWState, oracle: Any) -> tuple[VAWState, tuple]:
        """Absorb the features of the arm pulled, and its loss."""
        del key
        return pulled(state, oracle), ()


def ridge_of_arms(specs: Specs, regularizer: ArrayLike) -> VAWState:
    """Ridge regression on the arms' features, before round 1."""
    shape, arms = getattr(specs.instance, "shape", ()), getattr(specs.outcome, "shape", None)
    if len(shape) != 2 or shape[:1] != arms:
        raise ValueError(f"instances must be features [arms, d] of the arms {arms}, got {specs.instance}")
    return initial_state(shape[1], regularizer, specs.outcome.dtype)


def pulled(state: VAWState, oracle: Any) -> VAWState:
    """Ridge regression after the loss of the arm that was pulled."""
    return absorb(state, oracle.x[oracle.move][:, None], oracle.loss()[None])[0]
