"""Adversarial bandits: exponential weights on estimated losses (EXP3 and its variants), and Tsallis-INF."""

from typing import Any, Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Key

from jaxonline import random
from jaxonline.game.roles import Draw, Learner, Specs
from jaxonline.learners.bandits.index_policies import arm_indicator
from jaxonline.learners.experts.combiners import EWA, RateOrCombiner
from jaxonline.learners.experts.weights import (
    CombinerLearner,
    add_losses,
    check_prescribed_number,
    excess,
    vector_length,
    zero_sums,
)
from jaxonline.numerics.elementwise import Compensated
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import (
    Count,
    CountFrom2,
    NonNegative,
    Positive,
    PositiveProbability,
    Probability,
    PyTree,
    Rounds,
)

# ---------------------------------------------------------------------------------------------------------------------
# Random arms: distributions over arms, and draws from them.


def mix_uniform(p: Float[Array, "K"], gamma: ArrayLike) -> Float[Array, "K"]:
    """Return the distribution (1 - gamma) p + gamma / K."""
    gamma = jnp.asarray(gamma, p.dtype)
    return (1.0 - gamma) * p + gamma / len(p)


def draw_arm(key: Key[Array, ""], p: Float[Array, "K"]) -> Draw:
    """Draw an arm from p, also an unlikely arm with its probability; an arm of probability 0 is never drawn."""
    return Draw(random.weighted_index(key, p), p)


# ---------------------------------------------------------------------------------------------------------------------
# EXP3: Auer, Cesa-Bianchi, Freund and Schapire (2002); with losses, Bubeck and Cesa-Bianchi (2012), Theorem 3.1.


class _EstimatedLosses(CombinerLearner):
    """Base class of learners that draw an arm and pass estimated losses to a combiner, importance-weighted by default.

    A learner is its combiner, its exploration (gamma in p = (1 - gamma) weights + gamma / K) and its `estimates`.
    """

    exploration: Any = 0.0
    off_policy = "probability"

    def predict(self, key: Key[Array, ""], state: PyTree, x: Any) -> Draw:
        """Draw an arm from (1 - gamma) weights + gamma / K."""
        return draw_arm(key, mix_uniform(self.weights(state), self.exploration))

    def update(self, key: Key[Array, ""] | None, state: PyTree, oracle: Any) -> tuple[PyTree, tuple[()]]:
        """Pass to the combiner the estimated losses, and the loss of the drawn arm."""
        loss = oracle.loss()
        return self.combiner.update(state, self.estimates(oracle.move, loss), loss), ()

    def estimates(self, move: Draw, loss: Float[Array, ""]) -> Float[Array, "K"]:
        """Return the estimated losses [K]: loss / p for the drawn arm, 0 for the other arms."""
        return jnp.where(arm_indicator(move.arm, len(move.probabilities)), loss / move.probabilities[move.arm], 0.0)


@cites("auer2002nonstochastic", "bubeck2012regret")
@struct
class EXP3(_EstimatedLosses):
    """EXP3: exponential weights for adversarial bandits, on importance-weighted estimates of the losses of K arms.

    The estimated loss is loss / p_k for the drawn arm k, where p_k is its probability, and 0 for the other arms. The
    mean of the estimate is the vector of losses. A combiner of experts updates from these estimates in place of the
    losses. Instances are ignored. If the combiner's theorem assumes losses in [0, 1], losses known before the game must
    lie in [0, 1] (otherwise a ValueError).

    Args:
        combiner: the rate eta of exponential weights (EXP3 itself), or another `Combiner`.
        exploration: gamma in p = (1 - gamma) weights + gamma / K.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> exp3 = jo.learners.EXP3.over_horizon(3, n_rounds=1000)
        >>> state = exp3.init(None, jo.game.Specs((), jnp.zeros(3)))
        >>> draw = exp3.predict(jax.random.key(0), state, ())
        >>> int(draw.arm) in range(3), [round(float(p), 3) for p in draw.probabilities]
        (True, [0.333, 0.333, 0.333])
    """

    combiner: RateOrCombiner
    exploration: Probability = 0.0

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_arms: CountFrom2, n_rounds: Rounds) -> "EXP3":
        """Set eta = sqrt(2 ln K / (T K)): for losses in [0, 1] the pseudo-regret is at most sqrt(2 T K ln K)."""
        return cls(EWA(float(np.sqrt(2.0 * np.log(n_arms) / (n_rounds * n_arms))), n_arms))


# ---------------------------------------------------------------------------------------------------------------------
# EXP3-IX (implicit exploration): Neu (2015), Algorithm 1.


@cites("neu2015explore")
@struct
class EXP3IX(_EstimatedLosses):
    """EXP3-IX: exponential weights with implicit exploration and a high-probability bound for adversarial bandits.

    The estimated loss is loss / (p_k + gamma) for the drawn arm k, where p_k is its probability, and 0 for the other
    arms. The mean of this estimate is too small by the fraction gamma / (p_k + gamma). The estimates are at most 1 /
    gamma, which bounds the regret with high probability (`bounds.exp3_ix`). The state is the
    compensated sums of the estimates [K]. Losses known before the game must lie in [0, 1] (otherwise a ValueError).

    Args:
        eta: rate of the weights.
        gamma: number added to the probability in the estimates; 0 gives EXP3.
        n_arms: the number of arms for which the numbers above were chosen; another number of arms is a ValueError. None
            for any number.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> learner = jo.learners.EXP3IX.over_horizon(3, n_rounds=1000)
        >>> draw = learner.predict(jax.random.key(0), learner.init(None, jo.game.Specs((), jnp.zeros(3))), ())
        >>> [round(p, 3) for p in draw.probabilities.tolist()], round(learner.eta / learner.gamma, 6)
        ([0.333, 0.333, 0.333], 2.0)
    """

    eta: Positive
    gamma: NonNegative
    n_arms: Count | None = static(default=None)

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_arms: CountFrom2, n_rounds: Rounds) -> "EXP3IX":
        """Set eta = sqrt(2 ln K / (K T)) and gamma = eta / 2, as in Theorem 1."""
        eta = float(np.sqrt(2.0 * np.log(n_arms) / (n_arms * n_rounds)))
        return cls(eta, eta / 2, n_arms)

    @property
    def combiner(self) -> EWA:  # type: ignore[override]
        """Exponential weights with the rate eta."""
        return EWA(self.eta, self.n_arms)

    def estimates(self, move: Draw, loss: Float[Array, ""]) -> Float[Array, "K"]:
        """Return the estimated losses [K]: loss / (p + gamma) for the drawn arm, 0 for the other arms."""
        p = move.probabilities
        return jnp.where(arm_indicator(move.arm, len(p)), loss / (p + jnp.asarray(self.gamma, p.dtype)), 0.0)


# ---------------------------------------------------------------------------------------------------------------------
# EXP3.P: Auer, Cesa-Bianchi, Freund and Schapire (2002), in the form of Bubeck and Cesa-Bianchi (2012), Figure 3.1.


@cites("auer2002nonstochastic", "bubeck2012regret")
@struct
class EXP3P(_EstimatedLosses):
    """EXP3.P: exponential weights with uniform exploration and a high-probability bound for adversarial bandits.

    The gain of an arm is 1 - loss. The estimated gain is (gain + beta) / p for the drawn arm, and beta / p for the
    other arms, where p is the probability of the arm. The mean of the estimate is too large by beta / p, so the sum of
    estimates is an upper confidence bound of the cumulative gain. This confidence bound is the reason for the regret
    bound with high probability (`bounds.exp3_p`). The state is the compensated sums of minus the estimated gains [K].
    Losses known before the game must lie in [0, 1] (otherwise a ValueError).

    Args:
        eta: rate of the weights.
        beta: number added to the gain in the estimates.
        exploration: gamma in p = (1 - gamma) weights + gamma / K.
        n_arms: the number of arms for which the numbers above were chosen; another number of arms is a ValueError. None
            for any number.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> draw = jo.game.Draw(jnp.int32(1), jnp.full(2, 0.5))
        >>> estimates = jo.learners.EXP3P(eta=0.1, beta=0.1, exploration=0.2).estimates(draw, jnp.float32(0.0))
        >>> [round(estimate, 3) for estimate in estimates.tolist()]  # minus the estimated gains
        [-0.2, -2.2]
    """

    eta: Positive
    beta: Probability
    exploration: Probability
    n_arms: Count | None = static(default=None)

    off_policy = "probabilities"

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_arms: CountFrom2, n_rounds: Rounds, delta: PositiveProbability = 1.0) -> "EXP3P":
        """Set eta, beta, gamma of Theorem 3.3: 0.95 sqrt(ln K/(T K)), sqrt(ln(K/delta) / (T K)), 1.05 sqrt(K ln K / T).

        Args:
            n_arms: K.
            n_rounds: T.
            delta: probability with which the bound may fail; 1 for the bound that holds for all deltas at once.
        """
        K, T = n_arms, n_rounds
        eta, beta = 0.95 * np.sqrt(np.log(K) / (T * K)), np.sqrt(np.log(K / delta) / (T * K))
        exploration = min(1.0, 1.05 * np.sqrt(K * np.log(K) / T))
        return cls(float(eta), float(min(1.0, beta)), float(exploration), n_arms)

    @property
    def combiner(self) -> EWA:  # type: ignore[override]
        """Exponential weights with the rate eta."""
        return EWA(self.eta, self.n_arms)

    def estimates(self, move: Draw, loss: Float[Array, ""]) -> Float[Array, "K"]:
        """Return minus the estimated gains [K]: -(gain + beta) / p for the drawn arm, -beta / p for the other arms."""
        p = move.probabilities
        gains = jnp.where(arm_indicator(move.arm, len(p)), 1.0 - loss, 0.0)
        return -(gains + jnp.asarray(self.beta, p.dtype)) / p


# ---------------------------------------------------------------------------------------------------------------------
# EXP4: Auer, Cesa-Bianchi, Freund and Schapire (2002); with losses, Bubeck and Cesa-Bianchi (2012), Theorem 4.2.


@cites("auer2002nonstochastic", "bubeck2012regret")
@struct
class EXP4(CombinerLearner):
    """EXP4: adversarial bandits with expert advice. An instance is the advice of N experts on K arms [N, K].

    Row j of the instance is the distribution over the arms that expert j advises. The learner draws an arm from the
    mixture of the experts' distributions. The estimated loss of an arm is loss / p for the drawn arm, which had the
    probability p, and 0 for the other arms. The estimated loss of an expert is the mean of these estimates under the
    expert's advice, and is unbiased. A combiner of the experts updates from the experts' estimated losses. Losses known
    before the game must lie in [0, 1] (otherwise a ValueError).

    Args:
        combiner: the rate eta of exponential weights (EXP4 itself), or another `Combiner`.
        exploration: gamma in p = (1 - gamma) mixture + gamma / K; 0 in Theorem 4.2.
        n_arms: the number of arms for which eta was chosen; another number of arms is a ValueError. None for any
            number.

    Example:
        >>> import jax, jaxonline as jo, numpy as np
        >>> advice = np.tile([[1.0, 0.0], [0.0, 1.0]], (50, 1, 1))  # one expert for each arm
        >>> stream = jo.environments.DataStream(advice, np.tile([0.0, 1.0], (50, 1)))
        >>> game = jo.Game(stream, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> state, history = jo.play(game, jo.learners.EXP4(0.5), jax.random.key(0), n_rounds=50)
        >>> bool(history.loss.sum() < 15)
        True
    """

    combiner: RateOrCombiner
    exploration: Probability = 0.0
    n_arms: Count | None = static(default=None)

    loss_range = (0.0, 1.0)  # type: ignore[assignment]
    off_policy = "probability"

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_experts: CountFrom2, n_arms: Count, n_rounds: Rounds) -> "EXP4":
        """Set eta = sqrt(2 ln N / (T K)): for losses in [0, 1] the pseudo-regret is at most sqrt(2 T K ln N)."""
        eta = float(np.sqrt(2.0 * np.log(n_experts) / (n_rounds * n_arms)))
        return cls(EWA(eta, n_experts), n_arms=n_arms)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> PyTree:
        """Return the combiner's state; raise a ValueError if instances are not matrices with a column for each arm."""
        shape, arms = getattr(specs.instance, "shape", ()), getattr(specs.outcome, "shape", None)
        if len(shape) != 2 or shape[1:] != arms:
            problem = f"must be advice [experts, arms] for outcomes of shape {arms} (got {specs.instance})"
            raise ArgumentError("instances", problem)
        check_prescribed_number("n_arms", self.n_arms, shape[1])
        return self.combiner.init(shape[0], specs.outcome.dtype)

    def predict(self, key: Key[Array, ""], state: PyTree, x: Float[Array, "N K"]) -> Draw:
        """Draw an arm from (1 - gamma) mixture + gamma / K."""
        return draw_arm(key, mix_uniform(self.weights(state) @ x, self.exploration))

    def update(self, key: Key[Array, ""] | None, state: PyTree, oracle: Any) -> tuple[PyTree, tuple[()]]:
        """Pass the estimated losses of the experts to the combiner."""
        loss = oracle.loss()
        return self.combiner.update(state, self.estimates(oracle.move, loss, oracle.x), loss), ()

    def estimates(self, move: Draw, loss: Float[Array, ""], x: Float[Array, "N K"]) -> Float[Array, "N"]:
        """Return the estimated losses of the experts [N]: each expert's advice for the drawn arm, times loss / p."""
        return x[:, move.arm] * (loss / move.probabilities[move.arm])


# ---------------------------------------------------------------------------------------------------------------------
# Tsallis-INF: Zimmert and Seldin (2021), Algorithm 1 with alpha = 1/2.


_NEWTON_STEPS = 8  # the function of the search is almost linear; the last steps do not change float32 numbers


class TsallisState(NamedTuple):
    """The number of rounds so far, and the sums of the estimated losses [K]."""

    rounds: Int[Array, ""]
    sums: Compensated


@cites("zimmert2021tsallis")
@struct
class TsallisINF(Learner):
    """Tsallis-INF: a bandit learner that is optimal, up to constants, for stochastic and for adversarial losses.

    The learner draws an arm from the weights w that minimise <w, L> - (4 / eta_t) sum of sqrt(w_k) on the simplex,
    where L holds the sums of the estimated losses: w_k = 4 / (eta_t (L_k - z))^2 with z such that the sum is 1. It
    needs no horizon. Losses known before the game must lie in [0, 1] (otherwise a ValueError).

    Args:
        estimator: the estimated losses. "importance_weighted" is loss / w_k for the drawn arm k, 0 for the other arms,
            and eta_t = 2 / sqrt(t). "reduced_variance" is (loss - b_k) / w_k + b_k for the drawn arm, b_k for the other
            arms, where b_k = 1/2 if w_k >= eta_t^2 and otherwise 0, and eta_t = 4 / sqrt(t).

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> learner = jo.learners.TsallisINF()
        >>> state = learner.init(None, jo.game.Specs((), jnp.zeros(4)))
        >>> learner.predict(jax.random.key(0), state, ()).probabilities.tolist()
        [0.25, 0.25, 0.25, 0.25]
    """

    estimator: Literal["reduced_variance", "importance_weighted"] = static(default="reduced_variance")

    loss_range = (0.0, 1.0)
    off_policy = "probabilities"

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> TsallisState:
        """Return the state before the first draw; raise a ValueError if outcomes are not vectors."""
        return TsallisState(jnp.int32(0), zero_sums(vector_length("outcomes", specs.outcome), specs.outcome.dtype))

    def predict(self, key: Key[Array, ""], state: TsallisState, x: Any) -> Draw:
        """Draw an arm from the weights."""
        return draw_arm(key, tsallis_weights(excess(state.sums), self._rate(state)))

    def update(self, key: Key[Array, ""] | None, state: TsallisState, oracle: Any) -> tuple[TsallisState, tuple]:
        """Add the estimated losses to the sums."""
        (arm, w), loss = oracle.move, oracle.loss()
        reduced = self.estimator == "reduced_variance"
        base = jnp.where(w >= self._rate(state) ** 2, 0.5, 0.0) if reduced else jnp.zeros_like(w)
        drawn = arm_indicator(arm, len(w))
        estimates = base + jnp.where(drawn, (loss - base) / jnp.where(drawn, w, 1.0), 0.0)
        return TsallisState(state.rounds + 1, add_losses(state.sums, estimates)), ()

    def _rate(self, state: TsallisState) -> Float[Array, ""]:
        """Return eta_t of the next round t."""
        t = (state.rounds + 1).astype(state.sums.total.dtype)
        return (4.0 if self.estimator == "reduced_variance" else 2.0) / jnp.sqrt(t)


def tsallis_weights(sums: Float[Array, "K"], rate: Float[Array, ""]) -> Float[Array, "K"]:
    """Return the weights 4 / (rate (L_k - z))^2 with sum 1, for sums L of losses with any common offset.

    With y = min L - z, the function (sum of weights)^(-1/2) is concave and increasing in y. Newton's method starts at y
    = 2 / rate, which is too small, and increases to the root.
    """
    differences = sums - jnp.min(sums)
    y = 2.0 / rate
    for _ in range(_NEWTON_STEPS):
        distances = rate * (differences + y) / 2.0
        total = jnp.sum(distances**-2.0)
        y = y + (jnp.sqrt(total) - 1.0) * total / jnp.sum(distances**-3.0) * 2.0 / rate
    weights = (rate * (differences + y) / 2.0) ** -2.0
    return weights / jnp.sum(weights)
