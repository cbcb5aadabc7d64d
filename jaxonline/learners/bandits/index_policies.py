"""Index policies for bandits: in each round the arm with the smallest lower confidence bound is pulled.

`TallyPolicy` keeps the number of pulls and the losses of each arm. `IndexPolicy` also selects the arm: the bound is
mean - sqrt(growth / n) after n pulls, and a policy is its `growth`. All policies have losses in place of rewards.
"""

import abc
from typing import Annotated, Any, Literal, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from jaxonline.game.roles import Learner, Specs
from jaxonline.learners.experts.weights import vector_length
from jaxonline.numerics.elementwise import Compensated, Order, first_argmin, kl_lower_bound
from jaxonline.parameters.citations import cites
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Ge, Horizon, Interval, NonNegative, Number, PositiveFloat, Rounds, Scale
from jaxonline.random import permutation

# ---------------------------------------------------------------------------------------------------------------------
# Ties: a random order of the arms, drawn once for each run, so that the order of the arms in the game does not matter.


@struct
class ArmLearner(Learner):
    """Base class of learners that compare arms by numbers, some of which may be equal.

    Args:
        ties: the arm among arms with equal numbers: "random" for the first one in a random order of the arms, which is
            drawn for each run, or "first" for the first one.
    """

    ties: Literal["random", "first"] = static(default="random", kw_only=True)


def draw_order(ties: str, key: Key[Array, ""] | None, n_arms: int, dtype: Any) -> Order | None:
    """Return a random order of the arms, or None if ties go to the first arm."""
    if ties == "first":
        return None
    arms = permutation(key, n_arms)  # type: ignore[arg-type]
    return Order(jnp.zeros(n_arms, dtype).at[arms].set(jnp.arange(n_arms, dtype=dtype)), arms)


# ---------------------------------------------------------------------------------------------------------------------
# The state of index policies: the number of pulls and the losses of each arm.


class Tally(NamedTuple):
    """Pulls and losses of K arms. The sums are compensated (Kahan), so that means stay accurate over a million pulls.

    Attributes:
        pulls: numbers of pulls [K].
        totals: sums of the losses [K].
        corrections: the rounding errors in the sums [K].
        order: the order of arms that are equal; None for that of the game.
    """

    pulls: Int[Array, "K"]
    totals: Float[Array, "K"]
    corrections: Float[Array, "K"]
    order: Order | None = None

    @classmethod
    def empty(cls, specs: Specs, ties: str = "first", key: Key[Array, ""] | None = None) -> "Tally":
        """Return the tally before the first pull; raise a ValueError if outcomes are not vectors."""
        n_arms, dtype = vector_length("outcomes", specs.outcome), specs.outcome.dtype
        zeros = jnp.zeros(n_arms, dtype)
        return cls(jnp.zeros(n_arms, jnp.int32), zeros, zeros, draw_order(ties, key, n_arms, dtype))

    def add(self, arm: Int[Array, ""], loss: Float[Array, ""]) -> "Tally":
        """Return the tally after one more pull of `arm`."""
        place = arm.astype(jnp.uint32)  # a negative arm is no arm
        sums = Compensated(self.totals[place], self.corrections[place]).add(loss)
        return Tally(
            self.pulls.at[place].add(1, mode="drop"),
            self.totals.at[place].set(sums.total, mode="drop"),
            self.corrections.at[place].set(sums.correction, mode="drop"),
            self.order,
        )

    def add_set(self, arms: Int[Array, "m"], losses: Float[Array, "m"]) -> "Tally":
        """Return the tally after one more pull of each arm of a set."""
        indicators = arms[:, None] == jnp.arange(len(self.pulls), dtype=arms.dtype)[None, :]
        losses_of_arms = jnp.sum(jnp.where(indicators, losses[:, None], 0.0), axis=0)
        pulled = jnp.any(indicators, axis=0)
        sums = Compensated(self.totals, self.corrections).add(losses_of_arms)
        return Tally(
            self.pulls + pulled.astype(jnp.int32),
            jnp.where(pulled, sums.total, self.totals),
            jnp.where(pulled, sums.correction, self.corrections),
            self.order,
        )

    @property
    def rounds(self) -> Float[Array, ""]:
        """The number of rounds so far."""
        return jnp.sum(self.pulls, dtype=jnp.int32).astype(self.totals.dtype)

    @property
    def positive_pulls(self) -> Float[Array, "K"]:
        """The numbers of pulls as divisors: 1 for an arm that was never pulled."""
        return jnp.maximum(self.pulls, 1).astype(self.totals.dtype)

    @property
    def sums(self) -> Float[Array, "K"]:
        """The corrected sums of the losses."""
        return self.totals - self.corrections

    @property
    def means(self) -> Float[Array, "K"]:
        """The mean losses; 0 for an arm that was never pulled."""
        return self.sums / self.positive_pulls

    def unpulled_or_argmin(self, index: Float[Array, "K"]) -> Int[Array, ""]:
        """Return an arm that was never pulled, or else the arm with the smallest value in `index`."""
        return self.argmin(jnp.where(self.pulls == 0, -jnp.inf, index))

    def argmin(self, values: Float[Array, "K"] | Int[Array, "K"]) -> Int[Array, ""]:
        """Return the arm with the smallest value."""
        return first_argmin(values, self.order)

    def fewest_pulls(self, among: Bool[Array, "K"]) -> Int[Array, ""]:
        """Return the arm with the fewest pulls among the given arms."""
        return self.argmin(jnp.where(among, self.pulls, jnp.iinfo(jnp.int32).max))


class TallyPolicy(ArmLearner):
    """Base class of policies with a `Tally` as state; a subclass implements `predict`."""

    off_policy = "loss"

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Tally:
        """Return the state before the first pull; raise a ValueError if outcomes are not vectors."""
        return Tally.empty(specs, self.ties, key)

    def update(self, key: Key[Array, ""] | None, state: Tally, oracle: Any) -> tuple[Tally, tuple[()]]:
        """Add the pull and its loss to the tally."""
        return state.add(oracle.move, oracle.loss()), ()


class IndexPolicy(TallyPolicy):
    """Base class of policies that pull the arm with the smallest lower confidence bound, mean - sqrt(growth / n).

    A subclass implements `growth`. An arm that was never pulled comes first.

    Example:
        >>> import jax, jaxonline as jo
        >>> class Greedy(jo.learners.IndexPolicy):
        ...     def growth(self, state):
        ...         return 0.0
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> jo.play(game, jo.struct(Greedy)(), jax.random.key(0), n_rounds=4)[1].y_hat.tolist()
        [1, 0, 1, 1]
    """

    restricts_arms = True

    @abc.abstractmethod
    def growth(self, state: Tally) -> Float[Array, "..."]:
        """Return the number under the root, times the number of pulls: one number, or one for each arm [K]."""

    def predict(self, key: Key[Array, ""] | None, state: Tally, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest lower confidence bound."""
        return state.unpulled_or_argmin(state.means - jnp.sqrt(self.growth(state) / state.positive_pulls))


def arm_indicator(arm: Int[Array, ""], n_arms: int) -> Array:
    """Return a boolean vector [K] that is True only at the given arm."""
    return jnp.arange(n_arms, dtype=arm.dtype) == arm


# ---------------------------------------------------------------------------------------------------------------------
# UCB1: Auer, Cesa-Bianchi and Fischer (2002), Figure 1, with losses in place of rewards.


@cites("auer2002finite")
@struct
class UCB1(IndexPolicy):
    """Upper confidence bound policy (UCB1): pulls the arm with the smallest mean loss - sqrt(2 ln t / n).

    n is the number of pulls of the arm, and t is the number of all pulls. The learner first pulls each of the K arms
    once. Theorem 1 (`bounds.ucb1`) assumes losses in [0, 1]; losses known before the game must lie in [0, 1] (otherwise
    a ValueError).

    Args:
        exploration: factor of ln t / n under the root; 2 in Theorem 1. For Gaussian losses of variance s^2 the
            equivalent factor is 8 s^2.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> jo.play(game, jo.learners.UCB1(), jax.random.key(0), n_rounds=12)[1].y_hat.tolist()
        [1, 0, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1]
    """

    exploration: NonNegative = 2.0

    loss_range = (0.0, 1.0)

    def growth(self, state: Tally) -> Float[Array, ""]:
        """Return exploration ln t."""
        return jnp.asarray(self.exploration, state.totals.dtype) * jnp.log(jnp.maximum(state.rounds, 1.0))


# ---------------------------------------------------------------------------------------------------------------------
# UCB1-tuned: Auer, Cesa-Bianchi and Fischer (2002), section 4, with losses in place of rewards.


class TunedState(NamedTuple):
    """Tallies of the losses and of the squared losses of K arms."""

    losses: Tally
    squares: Tally


@cites("auer2002finite")
@struct
class UCB1Tuned(ArmLearner):
    """UCB1-tuned policy: pulls the arm with the smallest mean loss - sqrt(min(1/4, V) ln t / n).

    V is the empirical variance of the arm's losses plus sqrt(2 ln t / n), n is the number of pulls of the arm, and t is
    the number of all pulls. The learner first pulls each of the K arms once. The paper proves no regret bound. Losses
    known before the game must lie in [0, 1] (otherwise a ValueError).

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> jo.play(game, jo.learners.UCB1Tuned(), jax.random.key(0), n_rounds=12)[1].y_hat.tolist()
        [1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    """

    loss_range = (0.0, 1.0)
    off_policy, restricts_arms = "loss", True

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> TunedState:
        """Return the state before the first pull; raise a ValueError if outcomes are not vectors."""
        return TunedState(Tally.empty(specs, self.ties, key), Tally.empty(specs))

    def predict(self, key: Key[Array, ""] | None, state: TunedState, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest lower confidence bound."""
        tally, means = state.losses, state.losses.means
        rate = jnp.log(jnp.maximum(tally.rounds, 1.0)) / tally.positive_pulls
        variances = jnp.maximum(state.squares.means - means**2, 0.0) + jnp.sqrt(2.0 * rate)
        return tally.unpulled_or_argmin(means - jnp.sqrt(rate * jnp.minimum(0.25, variances)))

    def update(self, key: Key[Array, ""] | None, state: TunedState, oracle: Any) -> tuple[TunedState, tuple]:
        """Add the pull, its loss and its squared loss to the tallies."""
        loss = oracle.loss()
        return TunedState(state.losses.add(oracle.move, loss), state.squares.add(oracle.move, loss**2)), ()


# ---------------------------------------------------------------------------------------------------------------------
# UCB2: Auer, Cesa-Bianchi and Fischer (2002), Figure 2, with losses in place of rewards.


class UCB2State(NamedTuple):
    """State of `UCB2`.

    Attributes:
        tally: pulls and losses of the arms. Between two epochs an arm has tau(r) pulls after r epochs.
        arm: the arm of the current epoch.
        end: the number of pulls of this arm at the end of the epoch.
    """

    tally: Tally
    arm: Int[Array, ""]
    end: Int[Array, ""]


@cites("auer2002finite")
@struct
class UCB2(ArmLearner):
    """UCB2 policy: pulls an arm in epochs that grow by the factor 1 + alpha.

    After r epochs an arm was pulled tau(r) = ceil((1 + alpha)^r) times. An epoch begins with the arm that has the
    smallest mean loss - sqrt((1 + alpha) ln(e t / tau) / (2 tau)), where tau is its number of pulls and t is the number
    of all pulls, and ends when the arm has tau(r + 1) pulls. An epoch without a pull, tau(r + 1) = tau(r), is passed
    over. The learner first pulls each of the K arms once. The theorem assumes losses in [0, 1]; losses known before the
    game must lie in [0, 1] (otherwise a ValueError).

    In float32 an end of an epoch can differ by a pull from tau(r + 1), since (1 + alpha)^r is rounded.

    Args:
        alpha: growth of the epochs. The experiments of the paper have alpha = 0.001.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> jo.play(game, jo.learners.UCB2(alpha=1.0), jax.random.key(0), n_rounds=12)[1].y_hat.tolist()
        [1, 0, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1]
    """

    alpha: Annotated[Number, Interval(gt=0, le=1)] = 0.001

    loss_range = (0.0, 1.0)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> UCB2State:
        """Return the state before the first pull; raise a ValueError if outcomes are not vectors."""
        return UCB2State(Tally.empty(specs, self.ties, key), jnp.int32(0), jnp.int32(0))

    def predict(self, key: Key[Array, ""] | None, state: UCB2State, x: Any) -> Int[Array, ""]:
        """Return the arm of the current epoch; after its end, return the arm with the smallest index."""
        tally, tau = state.tally, state.tally.positive_pulls
        alpha = jnp.asarray(self.alpha, tau.dtype)
        share = 1.0 + jnp.log(jnp.maximum(tally.rounds, 1.0) / tau)  # ln(e t / tau)
        next_arm = tally.unpulled_or_argmin(tally.means - jnp.sqrt((1.0 + alpha) * share / (2.0 * tau)))
        return jnp.where(tally.pulls[state.arm] < state.end, state.arm, next_arm)

    def update(self, key: Key[Array, ""] | None, state: UCB2State, oracle: Any) -> tuple[UCB2State, tuple]:
        """Add the pull to the tally; at the beginning of an epoch, also set its end."""
        arm, pulls = oracle.move, state.tally.pulls
        end = jnp.where(pulls[state.arm] < state.end, state.end, self._epoch_end(pulls[arm], state.tally.totals.dtype))
        return UCB2State(state.tally.add(arm, oracle.loss()), arm, end), ()

    def _epoch_end(self, pulls: Int[Array, ""], dtype: Any) -> Int[Array, ""]:
        """Return the smallest tau(r) above `pulls`."""
        alpha, tau = jnp.asarray(self.alpha, dtype), jnp.maximum(pulls, 1).astype(dtype)
        r = jnp.floor(jnp.log(tau) / jnp.log1p(alpha)) + jnp.arange(3, dtype=dtype)
        powers = jnp.exp(r * jnp.log1p(alpha))
        ends = jnp.ceil(powers * (1.0 - 16.0 * jnp.finfo(dtype).eps))  # a power that is an integer may be rounded up
        end = jnp.min(jnp.where(ends > tau, ends, jnp.inf))
        return jnp.where(pulls == 0, 1, end.astype(jnp.int32))


# ---------------------------------------------------------------------------------------------------------------------
# Asymptotically optimal UCB for sub-Gaussian losses: Lattimore and Szepesvari (2020), Algorithm 6.


@cites("lattimore2020bandit")
@struct
class AsymptoticUCB(IndexPolicy):
    """Asymptotically optimal UCB policy: pulls the arm with the smallest mean loss - std sqrt(2 ln f(t) / n).

    Here f(t) = 1 + t (ln t)^2, n is the number of pulls of the arm, and t is the round. The learner first pulls each of
    the K arms once. By Theorem 8.1 of the book the regret divided by ln T tends to at most the sum of 2 std^2 / gap
    over the worse arms, which is optimal for Gaussian losses. It needs no horizon.

    Args:
        std: sub-Gaussian parameter of the losses about their means.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.GaussianArms([2.0, 0.0], std=0.0), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> jo.play(game, jo.learners.AsymptoticUCB(), jax.random.key(0), n_rounds=12)[1].y_hat.tolist()
        [1, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]
    """

    std: Scale = 1.0

    def growth(self, state: Tally) -> Float[Array, ""]:
        """Return 2 std^2 ln f(t)."""
        t = state.rounds + 1.0
        return 2.0 * jnp.asarray(self.std, t.dtype) ** 2 * jnp.log1p(t * jnp.log(t) ** 2)


# ---------------------------------------------------------------------------------------------------------------------
# UCB with a fixed confidence level for sub-Gaussian losses: Lattimore and Szepesvari (2020), Algorithm 3.


@cites("lattimore2020bandit")
@struct
class FixedConfidenceUCB(IndexPolicy):
    """UCB(delta) policy: pulls the arm with the smallest mean loss - std sqrt(2 ln(1 / delta) / n) after n pulls.

    The learner first pulls each of the K arms once. Theorem 7.1 of the book assumes sub-Gaussian losses and delta = 1 /
    T^2 (`over_horizon`).

    Args:
        delta: probability with which a confidence bound may fail.
        std: sub-Gaussian parameter of the losses about their means.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.GaussianArms([2.0, 0.0], std=0.0), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.FixedConfidenceUCB.over_horizon(n_rounds=12)
        >>> jo.play(game, learner, jax.random.key(0), n_rounds=12)[1].y_hat.tolist()
        [1, 0, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1]
    """

    delta: Annotated[Number, Interval(gt=0, lt=1)]
    std: Scale = 1.0

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_rounds: Rounds, std: PositiveFloat = 1.0) -> "FixedConfidenceUCB":
        """Set delta = 1 / T^2, as in Theorem 7.1; the horizon must be at least 2 (otherwise a ValueError)."""
        return cls(float(n_rounds) ** -2, std)

    def growth(self, state: Tally) -> Float[Array, ""]:
        """Return 2 std^2 ln(1 / delta)."""
        delta, std = (jnp.asarray(number, state.totals.dtype) for number in (self.delta, self.std))
        return -2.0 * std**2 * jnp.log(delta)


# ---------------------------------------------------------------------------------------------------------------------
# MOSS (minimax optimal strategy in the stochastic case): Audibert and Bubeck (2009), with losses.


@cites("audibert2009minimax", "lattimore2020bandit")
@struct
class MOSS(IndexPolicy):
    """MOSS policy: pulls the arm with the smallest mean loss - sqrt(exploration max(0, ln(T / (K n))) / n).

    n is the number of pulls of the arm. The learner first pulls each of the K arms once. The theorem (`bounds.moss`)
    assumes losses in [0, 1]; losses known before the game must lie in [0, 1] (otherwise a ValueError).

    Args:
        n_rounds: the horizon T.
        exploration: factor under the root; 1 in the theorem. For Gaussian losses of variance s^2 it is 4 s^2
            (Lattimore and Szepesvari 2020, Algorithm 7).

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> jo.play(game, jo.learners.MOSS(n_rounds=8), jax.random.key(0), n_rounds=8)[1].y_hat.tolist()
        [1, 0, 1, 1, 1, 0, 1, 1]
    """

    n_rounds: Annotated[Number, Ge(1), Horizon()]
    exploration: NonNegative = 1.0

    loss_range = (0.0, 1.0)

    def growth(self, state: Tally) -> Float[Array, "K"]:
        """Return exploration max(0, ln(T / (K n)))."""
        dtype = state.totals.dtype
        share = jnp.asarray(self.n_rounds).astype(dtype) / len(state.pulls)
        return jnp.asarray(self.exploration, dtype) * jnp.maximum(jnp.log(share / state.positive_pulls), 0.0)


# ---------------------------------------------------------------------------------------------------------------------
# KL-UCB for losses in [0, 1]: Garivier and Cappe (2011), Algorithm 1.


@cites("garivier2011kl")
@struct
class KLUCB(TallyPolicy):
    """KL-UCB policy: pulls the arm with the smallest q <= mean such that n kl(mean, q) <= ln t + c ln ln t.

    kl is the divergence of Bernoulli distributions, n is the number of pulls of the arm, and t is the number of all
    pulls. The learner first pulls each of the K arms once. The regret divided by ln T tends to the constant of Lai and
    Robbins (`bounds.lai_robbins`). Losses known before the game must lie in [0, 1] (otherwise a ValueError).

    Args:
        c: the factor of ln ln t. The theorem has c = 3; the authors recommend c = 0.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> jo.play(game, jo.learners.KLUCB(), jax.random.key(0), n_rounds=7)[1].y_hat.tolist()
        [1, 0, 1, 1, 1, 1, 1]
    """

    c: NonNegative = 0.0

    loss_range = (0.0, 1.0)
    restricts_arms = True

    def predict(self, key: Key[Array, ""] | None, state: Tally, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest lower confidence bound q."""
        log_t = jnp.log(jnp.maximum(state.rounds, 1.0))
        budget = log_t + jnp.asarray(self.c, log_t.dtype) * jnp.log(jnp.maximum(log_t, 1.0))
        return state.unpulled_or_argmin(kl_lower_bound(jnp.clip(state.means, 0.0, 1.0), budget / state.positive_pulls))
