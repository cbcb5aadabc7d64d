"""Combiners: weights of experts from their losses."""

from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, ArrayLike, Float, Int, Key

from jaxonline.game.roles import Learner, Specs
from jaxonline.learners.experts.weights import (
    SumsCombiner,
    add_losses,
    arm_unless_nan,
    check_prescribed_number,
    check_range,
    divide_by_sum,
    excess,
    nan_outside,
    require_combiner,
    softmax_weights,
    vector_length,
    weights_of_sums,
    zero_sums,
)
from jaxonline.numerics.elementwise import Compensated
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import (
    Component,
    Convert,
    Count,
    CountFrom2,
    FiniteFloat,
    Ge,
    Gt,
    Horizon,
    NonNegativeInt,
    Positive,
    Probability,
    Rounds,
)
from jaxonline.random.threefry import WordPairs, word_pairs

# ---------------------------------------------------------------------------------------------------------------------
# Exponential weights: Cesa-Bianchi and Lugosi (2006), Proposition 3.1; Rokhlin and Gurtovaya (2025), Eq. 29.


@cites("cesabianchi2006prediction")
@struct
class EWA(SumsCombiner):
    """Exponentially weighted average (EWA): weights proportional to exp(-eta cumulative loss).

    In Eq. 29 of Rokhlin and Gurtovaya the weights of round t contain the loss of round t instead of round t-1 (erratum
    E50).

    Args:
        eta: the rate. If the loss is eta-exp-concave, the regret of the weighted mean is at most ln(K) / eta;
            `over_range` sets eta for the squared loss, and `Hedge.over_horizon` for losses in [0, 1].
        n_experts: the number of experts for which eta was chosen; another number of experts is a ValueError. None for
            any number.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> ewa = jo.learners.EWA.over_range(0.0, 1.0)
        >>> state = ewa.update(ewa.init(2, jnp.float32), jnp.array([1.0, 0.0]), 0.25)
        >>> round(float(ewa.weights(state)[1]), 4)  # 1 / (1 + e^-1/2)
        0.6225
    """

    eta: Positive
    n_experts: Count | None = static(default=None)
    loss_range = (0.0, 1.0)

    @classmethod
    @validate_arguments
    def over_range(cls, low: FiniteFloat, high: FiniteFloat) -> "EWA":
        """Set the largest eta for the squared loss of predictions and labels in [low, high], 1 / (2 (high - low)^2)."""
        check_range(low, high)
        return cls(0.5 / (high - low) ** 2)

    def init(self, n_experts: int, dtype: Any) -> Compensated:
        """Return the state of no losses; raise a ValueError for another number of experts than `n_experts`."""
        check_prescribed_number("n_experts", self.n_experts, n_experts)
        return super().init(n_experts, dtype)

    def weights(self, state: Compensated) -> Float[Array, "K"]:
        """Return the weights of the next round."""
        return weights_of_sums(state, self.eta)


def _as_combiner(rate_or_combiner: Any, name: str) -> Any:
    if isinstance(rate_or_combiner, int | float | np.ndarray | np.generic | jax.Array):
        return EWA(check.positive(name, rate_or_combiner))
    return require_combiner(rate_or_combiner, name, "eta, or a combiner (init, weights, update)")


RateOrCombiner = Annotated[Any, Component("combiner", number=True), Gt(0), Convert(_as_combiner)]
"""A combiner, or the rate eta of exponential weights."""


# ---------------------------------------------------------------------------------------------------------------------
# Fixed share: Herbster and Warmuth (1998); Cesa-Bianchi and Lugosi (2006), section 5.2.


@cites("herbster1998tracking", "cesabianchi2006prediction")
@struct
class FixedShare:
    """Fixed share: exponential weights that track a best expert that changes.

    The update is v = w exp(-eta loss), then w = (1 - share) v + share sum(v) / K. These weights are exponential weights
    on all sequences of experts. The prior of the sequences redraws the expert of a round uniformly with probability
    `share`. The state is the logarithms of the weights [K], as compensated sums. In the paper the share of an expert
    goes only to the K - 1 other experts, so the paper's parameter equals `share` (K - 1) / K.

    Args:
        eta: rate of the weights.
        share: fraction that is redistributed after each round; 0 for exponential weights.
        n_experts: the number of experts for which eta was chosen; another number of experts is a ValueError. None for
            any number.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> rule = jo.learners.FixedShare(eta=1.0, share=0.1)
        >>> state = rule.update(rule.init(2, jnp.float32), jnp.array([1000.0, 0.0]), 0.0)
        >>> [f"{weight:.2f}" for weight in rule.weights(state)]  # the first expert keeps share / K
        ['0.05', '0.95']
    """

    eta: Positive
    share: Probability
    n_experts: Count | None = static(default=None)
    loss_range = (0.0, 1.0)

    @classmethod
    @validate_arguments
    def over_horizon(
        cls, n_experts: CountFrom2, n_rounds: Annotated[int, Ge(2), Horizon()], n_switches: NonNegativeInt
    ) -> "FixedShare":
        """Set the rate and the share of `bounds.fixed_share`, for sequences with at most m = `n_switches` < T switches.

        share = m / (T - 1) and eta = sqrt(8 ((m + 1) ln K + (T - 1) H(share)) / T), where H is the binary entropy.
        """
        if n_switches >= n_rounds:
            raise ArgumentError("n_switches", f"must be below n_rounds, {n_rounds} (got {n_switches})")
        share = n_switches / (n_rounds - 1)
        information = (n_switches + 1) * np.log(n_experts) + (n_rounds - 1) * binary_entropy(share)
        return cls(float(np.sqrt(8.0 * information / n_rounds)), share, n_experts)

    def init(self, n_experts: int, dtype: Any) -> Compensated:
        """Return equal weights; raise a ValueError for another number of experts than `n_experts`."""
        check_prescribed_number("n_experts", self.n_experts, n_experts)
        return Compensated.starting_at(jnp.full(n_experts, -jnp.log(jnp.asarray(n_experts, dtype))))

    def weights(self, state: Compensated) -> Float[Array, "K"]:
        """Return the weights of the next round."""
        return softmax_weights(state.value)

    def update(self, state: Compensated, losses: Float[Array, "K"], own_loss: ArrayLike) -> Compensated:
        """Return ln w = ln((1 - share) v + share / K) for the normalised weights v after the losses."""
        log_w = state.value
        eta, share = (jnp.asarray(number, log_w.dtype) for number in (self.eta, self.share))
        log_sum = jax.nn.logsumexp(log_w - eta * losses)
        log_v = log_w - eta * losses - log_sum
        log_kept, log_share = jnp.log1p(-share), jnp.log(share / len(losses))
        # the weight is mostly the share, or mostly v; then the state changes by a small number, which is added exactly
        is_share = log_share >= log_kept + log_v
        added = add_losses(state, jnp.logaddexp(log_kept, log_share - log_v) - eta * losses - log_sum)
        total = jnp.where(is_share, jnp.logaddexp(log_kept + log_v, log_share), added.total)
        return Compensated(total, jnp.where(is_share, 0.0, added.correction))


def binary_entropy(p: float) -> float:
    """Return -p ln p - (1 - p) ln(1 - p), computed on the host."""
    return float(-sum(q * np.log(q) for q in (p, 1.0 - p) if q > 0))


# ---------------------------------------------------------------------------------------------------------------------
# State and initial values of the combiners with second-order rates: BOA, ML-Prod and ML-Poly.


INITIAL_RATE = 2.0**-20


class SecondOrderState(NamedTuple):
    """State of `BOA` and `MLProd`, for each expert [K].

    `regrets` are the cumulative regrets, regularised (BOA) or logarithmic (ML-Prod), `rates` the learning rates,
    `squares` the sums of squared instantaneous regrets, and `largest` the largest absolute instantaneous regrets.
    """

    regrets: Float[Array, "K"]
    rates: Float[Array, "K"]
    squares: Float[Array, "K"]
    largest: Float[Array, "K"]


class SecondOrderCombiner:
    """Base of `BOA` and `MLProd`; a subclass implements `weights` and `update`."""

    initial: Positive

    def init(self, n_experts: int, dtype: Any) -> SecondOrderState:
        """Return zero regrets; rates, squares and largest regrets have the value `initial`."""
        first = jnp.full(n_experts, jnp.asarray(self.initial, dtype))
        return SecondOrderState(jnp.zeros(n_experts, dtype), first, first, first)


# ---------------------------------------------------------------------------------------------------------------------
# Bernstein online aggregation with adaptive rates: Wintenberger (2017), as in the `opera` package.


@cites("wintenberger2017optimal")
@struct
class BOA(SecondOrderCombiner):
    """Bernstein online aggregation (BOA): weights proportional to n exp(n G), with rates n and penalised regrets G.

    Args:
        initial: initial value of the rates, of the ranges B and of the sums of squares V.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> boa = jo.learners.BOA()
        >>> state = boa.update(boa.init(2, jnp.float32), jnp.array([1.0, 0.0]), 0.25)
        >>> bool(boa.weights(state)[1] > 0.5)
        True
    """

    initial: Positive = INITIAL_RATE

    def weights(self, state: SecondOrderState) -> Float[Array, "K"]:
        """Return the weights of the next round."""
        return softmax_weights(jnp.log(state.rates) + state.rates * state.regrets)

    def update(self, state: SecondOrderState, losses: Float[Array, "K"], own_loss: ArrayLike) -> SecondOrderState:
        """Update B = max(B, |r|); V += r^2; n = min(1/B2, sqrt(ln K / V)); G += (r - n r^2 + B2 [n r > 1/2]) / 2."""
        r = own_loss - losses
        largest = jnp.maximum(state.largest, jnp.abs(r))
        mantissa, exponent = jnp.frexp(largest)  # exact: B2 = 2^ceil(log2 B)
        power = jnp.ldexp(jnp.ones_like(r), exponent - (mantissa == 0.5).astype(exponent.dtype))
        squares = state.squares + r**2
        rates = jnp.minimum(1.0 / power, jnp.sqrt(jnp.log(jnp.asarray(len(r), r.dtype)) / squares))
        gain = 0.5 * (r - rates * r**2 + jnp.where(rates * r > 0.5, power, 0.0))
        return SecondOrderState(state.regrets + gain, rates, squares, largest)


# ---------------------------------------------------------------------------------------------------------------------
# ML-Poly with adaptive rates: Gaillard, Stoltz and van Erven (2014), as in the `opera` package.


class MLPolyState(NamedTuple):
    """State of `MLPoly`: cumulative regrets R [K], learning rates n [K], largest squared instantaneous regret M."""

    regrets: Float[Array, "K"]
    rates: Float[Array, "K"]
    largest_square: Float[Array, ""]


@cites("gaillard2014second")
@struct
class MLPoly:
    """ML-Poly: weights proportional to n max(R, 0) with rates n and regrets R; uniform if all max(R, 0) are 0.

    Args:
        initial: initial value of the rates; e^700 in R's `opera`.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> rule = jo.learners.MLPoly()
        >>> state = rule.update(rule.init(2, jnp.float32), jnp.array([1.0, 0.0]), 0.25)
        >>> rule.weights(state).tolist()
        [0.0, 1.0]
    """

    initial: Positive = INITIAL_RATE

    def init(self, n_experts: int, dtype: Any) -> MLPolyState:
        """Return equal rates and zero regrets."""
        zeros = jnp.zeros(n_experts, dtype)
        return MLPolyState(zeros, zeros + jnp.asarray(self.initial, dtype), jnp.zeros((), dtype))

    def weights(self, state: MLPolyState) -> Float[Array, "K"]:
        """Return the weights of the next round."""
        return divide_by_sum(state.rates * jnp.maximum(state.regrets, 0.0))

    def update(self, state: MLPolyState, losses: Float[Array, "K"], own_loss: ArrayLike) -> MLPolyState:
        """Update R += r; D = max(max_k r_k^2 - M, 0); n = 1/(1/n + r^2 + D); M += D."""
        r = own_loss - losses
        growth = jnp.maximum(jnp.max(r**2) - state.largest_square, 0.0)
        rates = 1.0 / (1.0 / state.rates + r**2 + growth)
        return MLPolyState(state.regrets + r, rates, state.largest_square + growth)


# ---------------------------------------------------------------------------------------------------------------------
# ML-Prod with adaptive rates: Gaillard, Stoltz and van Erven (2014), as in the `opera` package.


@cites("gaillard2014second")
@struct
class MLProd(SecondOrderCombiner):
    """ML-Prod: weights proportional to n exp(R), where R is the sum of ln(1 + n r), rescaled when n changes.

    Each expert has the rate n = min(1 / (2 B), sqrt(ln K / V)). Here r is the regret of a round to the expert, B is the
    largest |r| so far, and V is the sum of r^2. So losses can have any range, and none need be known.

    Args:
        initial: initial value of the rates, of the ranges B and of the sums of squares V.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> rule = jo.learners.MLProd()
        >>> state = rule.update(rule.init(2, jnp.float32), jnp.array([1.0, 0.0]), 0.25)
        >>> bool(rule.weights(state)[1] > 0.5)
        True
    """

    initial: Positive = INITIAL_RATE

    def weights(self, state: SecondOrderState) -> Float[Array, "K"]:
        """Return the weights of the next round."""
        return softmax_weights(jnp.log(state.rates) + state.regrets)

    def update(self, state: SecondOrderState, losses: Float[Array, "K"], own_loss: ArrayLike) -> SecondOrderState:
        """Update V += r^2; B = max(B, |r|); n' = min(1/(2B), sqrt(ln K / V)); R = (n'/n) R + ln(1 + n' r); n = n'."""
        r = own_loss - losses
        squares = state.squares + r**2
        largest = jnp.maximum(state.largest, jnp.abs(r))
        rates = jnp.minimum(0.5 / largest, jnp.sqrt(jnp.log(jnp.asarray(len(r), r.dtype)) / squares))
        scale = rates / jnp.where(state.rates > 0, state.rates, 1.0)  # a rate is 0 only if there is one expert
        return SecondOrderState(scale * state.regrets + jnp.log1p(rates * r), rates, squares, largest)


# ---------------------------------------------------------------------------------------------------------------------
# Follow the leader: Hannan (1957); Cesa-Bianchi and Lugosi (2006), section 3.2.


@cites("hannan1957approximation", "cesabianchi2006prediction")
@struct
class FollowTheLeader(SumsCombiner):
    """Follow the leader: all weight is on the expert with the smallest cumulative loss; ties go to the first expert.

    With losses (1/2, 0), (0, 1), (1, 0), (0, 1), ... the leader is wrong in all rounds but the first, and the regret is
    T/2. `FollowThePerturbedLeader` and `FollowTheRegularizedLeader` avoid this failure. If the leader minimises a
    strongly convex loss over all predictions, the regret is logarithmic.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> rule = jo.learners.FollowTheLeader()
        >>> state = rule.update(rule.init(2, jnp.float32), jnp.array([0.5, 0.0]), 0.0)
        >>> rule.weights(state).tolist()
        [0.0, 1.0]
    """

    def weights(self, state: Compensated) -> Float[Array, "K"]:
        """Return the weights of the next round: 1 for the leader."""
        sums = excess(state)
        leader = jax.nn.one_hot(jnp.argmin(sums), len(sums), dtype=sums.dtype)
        return jnp.where(jnp.any(jnp.isnan(sums)), jnp.nan, leader)


# ---------------------------------------------------------------------------------------------------------------------
# Follow the perturbed leader: Kalai and Vempala (2005), Hutter and Poland (2005); Hannan (1957).


PERTURBATIONS = {"exponential": WordPairs.exponential, "gumbel": WordPairs.gumbel}


@cites("kalai2005efficient", "hutter2005adaptive", "hannan1957approximation")
@struct
class FollowThePerturbedLeader(Learner):
    """Follow the perturbed leader (FPL): follows the expert that minimises L_k - Z_k / eta, with new Z in each round.

    The outcome is the vector of the losses of all experts in [0, 1]. The move is an expert; the state is the cumulative
    losses L [K]. With exponential Z the expected regret is at most (H_K - 1) / eta + eta T, H_K = 1 + 1/2 + ... + 1/K
    (`bounds.perturbed_leader`). With Gumbel Z the probabilities of the experts are exponential weights, so the bound of
    `Hedge` holds. Both bounds assume losses that do not depend on the draw of the same round. A loss outside [0, 1],
    where the theorems do not hold, makes all later numbers of the run NaN.

    Args:
        eta: rate; the perturbations are Z / eta.
        perturbation: distribution of Z: exponential with mean 1, or standard Gumbel.
        n_experts: the number of experts for which eta was chosen; another number of experts is a ValueError. None for
            any number.

    Example:
        >>> import jax, jaxonline as jo, numpy as np
        >>> losses = np.tile([1.0, 0.0], (50, 1))
        >>> game = jo.Game(jo.environments.DataStream(None, losses), jo.FullInformation(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.FollowThePerturbedLeader.over_horizon(2, n_rounds=50)
        >>> state, history = jo.play(game, learner, jax.random.key(0), n_rounds=50)
        >>> state.total.tolist(), history.y_hat[-5:].tolist()
        ([50.0, 0.0], [1, 1, 1, 1, 1])
    """

    eta: Positive
    perturbation: Literal["exponential", "gumbel"] = static(default="exponential")
    n_experts: Count | None = static(default=None)

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_experts: CountFrom2, n_rounds: Rounds) -> "FollowThePerturbedLeader":
        """Set eta = sqrt(ln K / T), for exponential Z: the expected regret is at most 2 sqrt(T ln K)."""
        return cls(float(np.sqrt(np.log(n_experts) / n_rounds)), n_experts=n_experts)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Compensated:
        """Return zeros, one for each expert; raise a ValueError for another number of experts than `n_experts`."""
        n_experts = vector_length("outcomes", specs.outcome)
        check_prescribed_number("n_experts", self.n_experts, n_experts)
        return zero_sums(n_experts, specs.outcome.dtype)

    def predict(self, key: Key[Array, ""], state: Compensated, x: Any) -> Int[Array, ""]:
        """Return the expert that minimises L_k - Z_k / eta for a new draw of Z."""
        differences = excess(state)
        shape, dtype = differences.shape, differences.dtype
        z = PERTURBATIONS[self.perturbation](word_pairs(key, shape, dtype), dtype)
        return arm_unless_nan(jnp.argmin(jnp.asarray(self.eta, dtype) * differences - z), differences)

    def update(self, key: Key[Array, ""] | None, state: Compensated, oracle: Any) -> tuple[Compensated, tuple[()]]:
        """Add the losses to L."""
        return add_losses(state, nan_outside(oracle.y, 0.0, 1.0)), ()


# ---------------------------------------------------------------------------------------------------------------------
# Follow the regularised leader on the simplex: Shalev-Shwartz (2012), section 2.3.


@cites("shalevshwartz2012online")
@struct
class FollowTheRegularizedLeader(SumsCombiner):
    """Follow the regularised leader (FTRL): weights w on the simplex that minimise eta <L, w> + R(w).

    The vector L holds the cumulative losses of the experts. With R = |w|^2 / 2 the weights are the projection of -eta L
    on the simplex, and many weights are exactly 0. With R = sum w ln w the weights are those of `EWA`. For losses in
    [0, 1] and the Euclidean regularizer the regret is at most (1 - 1/K) / (2 eta) + eta K T / 8
    (`bounds.regularized_leader`).

    Args:
        eta: rate, which multiplies the losses.
        regularizer: the function R: |w|^2 / 2 or sum w ln w.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> rule = jo.learners.FollowTheRegularizedLeader(0.25)
        >>> state = rule.update(rule.init(2, jnp.float32), jnp.array([1.0, 0.0]), 0.0)
        >>> rule.weights(state).tolist()  # the projection of (-1/4, 0)
        [0.375, 0.625]
    """

    eta: Positive
    regularizer: Literal["euclidean", "entropy"] = static(default="euclidean")
    loss_range = (0.0, 1.0)

    def weights(self, state: Compensated) -> Float[Array, "K"]:
        """Return the minimising weights w, from differences to the smallest loss, which stay exact in long runs."""
        differences = excess(state)
        scores = -jnp.asarray(self.eta, differences.dtype) * differences
        if self.regularizer == "entropy":
            return softmax_weights(scores)
        with jax.numpy_dtype_promotion("standard"):  # optax divides by integers
            return optax.projections.projection_simplex(scores)
