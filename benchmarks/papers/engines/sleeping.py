"""Sleeping arms and experts: the instance x [K] says which arms are available, and other arms have the loss NaN.

The file has an environment, two learners, a comparator and bounds, and the package needs nothing for it. Sources:
Freund, Schapire, Singer and Warmuth, Using and combining predictors that specialize (STOC 1997); Kleinberg,
Niculescu-Mizil and Sharma, Regret bounds for sleeping experts and bandits (Machine Learning 80, 2010).
"""

from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Key

from jaxonline import random
from jaxonline.game.roles import Draw, EnvironmentWrapper, Learner, Specs
from jaxonline.learners.bandits.index_policies import Tally, TallyPolicy
from jaxonline.learners.experts.weights import add_losses, excess, softmax_weights, vector_length, zero_sums
from jaxonline.numerics.elementwise import Compensated
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Component, Convert, CountFrom2, Ge, NonNegative, Positive, PositiveFloat, PyTree


def _as_table(values: Any, name: str) -> Array:
    table = np.asarray(values)
    if table.ndim != 2 or not np.isin(table, (0, 1)).all() or not table.any(axis=1).all():
        problem = f"must be a table of booleans [T, K] with an available arm in each row (got {check.quote(values)})"
        raise ArgumentError(name, problem)
    return jnp.asarray(table, bool)


@struct
class Sleeping(EnvironmentWrapper):
    """Arms or experts that are not available in every round.

    Args:
        environment: an environment without contexts, whose outcomes are the losses of K arms.
        available: a table of booleans, or 0 and 1 [T, K], that is repeated after T rounds.

    Example:
        >>> import jax, jaxonline as jo
        >>> from benchmarks.papers.engines.sleeping import Sleeping, SleepingUCB
        >>> arms = Sleeping(jo.environments.BernoulliArms([0.0, 0.5]), [[1, 1], [0, 1]])
        >>> game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> jo.play(game, SleepingUCB(), jax.random.key(0), n_rounds=8)[1].y_hat.tolist()
        [0, 1, 0, 1, 0, 1, 0, 1]
    """

    environment: Annotated[Any, Component("environment")]
    available: Annotated[Any, Convert(_as_table)]

    def __post_init__(self) -> None:
        n_arms = vector_length("outcomes of the environment", self.environment.outcome_spec)
        if self.available.shape[1] != n_arms:
            raise ArgumentError("available", f"must have {n_arms} columns (got {self.available.shape[1]})")

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """A vector of booleans."""
        return jax.ShapeDtypeStruct(self.available.shape[1:], jnp.bool_)

    def instance(self, key: Key[Array, ""], state: PyTree, t: Int[Array, ""]) -> tuple[Bool[Array, "K"], PyTree]:
        """Return the row of round t."""
        _, state = self.environment.instance(key, state, t)
        return self.available[(t - 1) % len(self.available)], state

    def outcome(
        self, key: Key[Array, ""], state: PyTree, t: Int[Array, ""], x: Bool[Array, "K"], y_hat: PyTree
    ) -> tuple[Float[Array, "K"], PyTree]:
        """Return the losses of the available arms, and NaN for the other arms."""
        losses, state = self.environment.outcome(key, state, t, (), y_hat)
        return jnp.where(x, losses, jnp.nan), state

    def mean_outcome(self, state: PyTree, t: Int[Array, ""], x: Bool[Array, "K"], y: PyTree) -> Float[Array, "K"]:
        """Return the mean losses of the available arms, and NaN for the other arms."""
        return jnp.where(x, self.environment.mean_outcome(state, t, (), y), jnp.nan)


@struct
class SleepingUCB(TallyPolicy):
    """UCB1 among the available arms, like AUER of Kleinberg, Niculescu-Mizil and Sharma (2010).

    Args:
        exploration: factor of ln t / n under the root, as in `UCB1`; `sleeping_ucb` assumes 2, and losses in [0, 1].
    """

    exploration: NonNegative = 2.0
    loss_range = (0.0, 1.0)

    def predict(self, key: Key[Array, ""] | None, state: Tally, x: Bool[Array, "K"]) -> Int[Array, ""]:
        """Return the available arm with the smallest lower confidence bound."""
        growth = jnp.asarray(self.exploration, state.totals.dtype) * jnp.log(jnp.maximum(state.rounds, 1.0))
        index = jnp.where(state.pulls == 0, -jnp.inf, state.means - jnp.sqrt(growth / state.positive_pulls))
        return state.argmin(jnp.where(x, index, jnp.inf))


@struct
class SleepingHedge(Learner):
    """Exponential weights that draw one of the available experts; the loss of each available expert is observed.

    An expert that sleeps gets the mix loss of the others, so the others keep their share of the total weight: Freund,
    Schapire, Singer and Warmuth (1997).

    Args:
        eta: the rate of the weights; `sleeping_hedge` is the bound for losses in [0, 1].
    """

    eta: Positive
    loss_range = (0.0, 1.0)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Compensated:
        """Return zeros, one for each expert."""
        return zero_sums(vector_length("outcomes", specs.outcome), specs.outcome.dtype)

    def predict(self, key: Key[Array, ""], state: Compensated, x: Bool[Array, "K"]) -> Draw:
        """Draw an available expert."""
        weights = softmax_weights(self._log_weights(state, x))
        return Draw(random.weighted_index(key, weights), weights)

    def update(self, key: Key[Array, ""] | None, state: Compensated, oracle: Any) -> tuple[Compensated, tuple[()]]:
        """Add the losses of the available experts, and the mix loss for the experts that sleep."""
        x, y, eta = oracle.x, oracle.y, jnp.asarray(self.eta, oracle.y.dtype)
        log_weights = jax.nn.log_softmax(self._log_weights(state, x))
        mix_loss = -jax.nn.logsumexp(jnp.where(x, log_weights - eta * y, -jnp.inf)) / eta
        return add_losses(state, jnp.where(x, y, mix_loss)), ()

    def _log_weights(self, state: Compensated, x: Bool[Array, "K"]) -> Float[Array, "K"]:
        return jnp.where(x, -jnp.asarray(self.eta, state.total.dtype) * excess(state), -jnp.inf)


@struct
class BestAvailable:
    """The best available arm of each round; for mean losses (`game.PseudoRegret`) that is the best ordering of arms."""

    label: ClassVar[str] = "the best available arm"

    def statistic(self, x: Bool[Array, "K"], y: Float[Array, "K"]) -> Float[Array, ""]:
        """Smallest loss of an available arm."""
        return jnp.min(jnp.where(x, y, jnp.inf))

    def best_loss(self, sums: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Sum over the rounds."""
        return np.asarray(sums)


@validate_arguments
def sleeping_hedge(
    n_experts: CountFrom2, eta: PositiveFloat, awake_rounds: Annotated[Float[ArrayLike, "..."], Ge(0)]
) -> Float[np.ndarray, "..."]:
    """Bound of `SleepingHedge` on the expected regret to an expert over its n awake rounds: ln(K) / eta + eta n / 8."""
    return np.log(n_experts) / eta + eta * np.asarray(awake_rounds, float) / 8


@validate_arguments
def sleeping_ucb(gaps: Annotated[Float[ArrayLike, "K"], Ge(0)], n_rounds: CountFrom2) -> float:
    """Pseudo-regret bound of `SleepingUCB` to `BestAvailable`, for availability that does not depend on the losses.

    Let D(i, j) be the difference of the means of arms i < j, in the order of their means. The bound is 8 ln T sum (D(i,
    j) - D(i+1, j)) / D(i, j)^2 + (1 + pi^2/3) sum D(1, j), over the pairs with D(i, j) > 0: arm j is pulled at most
    8 ln T / D(i, j)^2 times while arm i or a better arm is available (Auer et al. 2002, Theorem 1), up to a probability
    whose sum over the rounds is at most pi^2/3.
    """
    gaps = np.sort(np.asarray(gaps, float))
    differences = np.maximum(gaps[None, :] - gaps[:, None], 0.0)
    decreases, differences = differences[:-1] - differences[1:], differences[:-1]
    factor = np.sum(decreases[differences > 0] / differences[differences > 0] ** 2)
    return float(8 * np.log(n_rounds) * factor + (1 + np.pi**2 / 3) * gaps.sum())
