"""Best-arm identification with a fixed confidence: LUCB, lil'UCB, Track-and-Stop, top-two Thompson sampling."""

from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from jaxonline import random
from jaxonline.game.roles import Specs
from jaxonline.learners.bandits.best_arm import Recommendation
from jaxonline.learners.bandits.index_policies import ArmLearner, IndexPolicy, Tally, arm_indicator
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import check_fields
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Ge, Interval, NonNegativeInt, Number, Scale

Share = Annotated[Number, Interval(gt=0, lt=1)]

# ---------------------------------------------------------------------------------------------------------------------
# LUCB1: Kalyanakrishnan, Tewari, Auer and Stone (2012), with losses in place of rewards.


class PairedPulls(NamedTuple):
    """State of `LUCB`.

    Attributes:
        tally: pulls and losses of the arms.
        leader: the arm with the smallest mean loss.
        rival: the other arm with the smallest lower confidence bound.
        is_second: whether the next pull is that of the rival.
    """

    tally: Tally
    leader: Int[Array, ""]
    rival: Int[Array, ""]
    is_second: Bool[Array, ""]


@cites("kalyanakrishnan2012pac")
@struct
class LUCB(ArmLearner):
    """Identifies the best arm with probability at least 1 - delta, and stops (LUCB1).

    The learner pulls each of the K arms once, and then two arms in turn: the arm with the smallest mean loss, and the
    other arm with the smallest lower confidence bound. After both pulls it stops if the upper bound of the first arm is
    below the lower bounds of all others. The bounds are mean ± sqrt(ln(5 K t^4 / (4 delta)) / (2 n)) after n pulls of
    the arm and t pulls in all. By Hoeffding's inequality all of them, on both sides and for every n <= t, hold with
    probability at least 1 - delta from t = 2 on, because the sum of 8 / (5 t^3) over t >= 2 is less than 1. The losses
    must be in [0, 1].

    Args:
        delta: the largest probability of a wrong recommendation.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> info = jo.play(game, jo.learners.LUCB(0.1), jax.random.key(0), n_rounds=100)[1].info
        >>> int(info.stopped.argmax()), int(info.recommendation[-1])
        (83, 1)
    """

    delta: Share

    loss_range = (0.0, 1.0)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> PairedPulls:
        """Return the state before the first pull."""
        return PairedPulls(Tally.empty(specs, self.ties, key), jnp.int32(0), jnp.int32(0), jnp.bool_(False))

    def predict(self, key: Key[Array, ""] | None, state: PairedPulls, x: Any) -> Int[Array, ""]:
        """Return the leader or the rival, or an arm that was never pulled."""
        arm = jnp.where(state.is_second, state.rival, state.leader)
        return jnp.where(jnp.all(state.tally.pulls > 0), arm, state.tally.argmin(state.tally.pulls))

    def update(self, key: Key[Array, ""] | None, state: PairedPulls, oracle: Any) -> tuple[PairedPulls, Recommendation]:
        """Add the pull; after both pulls, select the next two arms."""
        tally = state.tally.add(oracle.move, oracle.loss())
        means, t, n_arms = tally.means, tally.rounds, len(tally.pulls)
        delta = jnp.asarray(self.delta, t.dtype)
        radius = jnp.sqrt((jnp.log(1.25 * n_arms / delta) + 4.0 * jnp.log(t)) / (2.0 * tally.positive_pulls))
        leader = tally.argmin(jnp.where(tally.pulls > 0, means, jnp.inf))
        lower = jnp.where(arm_indicator(leader, n_arms), jnp.inf, means - radius)
        rival = tally.argmin(lower)
        is_over = state.is_second | jnp.any(state.tally.pulls == 0)
        separated = (means + radius)[leader] < jnp.min(lower)
        stopped = is_over & separated & jnp.all(tally.pulls > 0)
        pair = jnp.where(is_over, leader, state.leader), jnp.where(is_over, rival, state.rival)
        return PairedPulls(tally, *pair, ~is_over), Recommendation(stopped, leader)


# ---------------------------------------------------------------------------------------------------------------------
# lil'UCB: Jamieson, Malloy, Nowak and Bubeck (2014), with losses in place of rewards.


@cites("jamieson2014lil")
@struct
class LilUCB(IndexPolicy):
    """Identifies the best arm, and stops when one arm has most of the pulls (lil'UCB).

    The learner pulls each arm once, and then the arm with the smallest mean loss - (1 + beta) (1 + sqrt(epsilon))
    sqrt(2 std^2 (1 + epsilon) ln(ln((1 + epsilon) n) / delta) / n) after n pulls. It stops when an arm has at least 1 +
    ratio times the pulls of all other arms together, and recommends this arm.

    `delta` is a level of the bounds, not the probability of a wrong recommendation, for which the theorem of the paper
    (not checked here) needs a far smaller level. With a level of 0.003 the learner often stops after one pull of the
    best arm of two, if its loss was large.

    Args:
        delta: level of the bounds, below ln(1 + epsilon) / e.
        std: sub-Gaussian parameter of the losses about their means; 1/2 for losses in [0, 1].
        epsilon: growth of the bounds.
        beta: additional width of the bounds.
        ratio: number of pulls of the recommended arm for each pull of another arm; ((2 + beta) / beta)^2 by default.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> info = jo.play(game, jo.learners.LilUCB(0.003), jax.random.key(0), n_rounds=300)[1].info
        >>> int(info.stopped.argmax()), int(info.recommendation[-1])
        (10, 1)
    """

    delta: Share
    std: Scale = 0.5
    epsilon: Annotated[Number, Interval(gt=0, lt=1)] = 0.01
    beta: Annotated[Number, Interval(gt=0, le=3)] = 1.0
    ratio: Annotated[Number, Ge(1)] | None = None

    off_policy, restricts_arms = None, False

    def __post_init__(self) -> None:
        check_fields(self)
        if check.is_abstract((self.delta, self.epsilon)):
            return
        if np.any(np.e * np.asarray(self.delta) >= np.log1p(np.asarray(self.epsilon))):
            raise ArgumentError("delta", f"must be below ln(1 + epsilon) / e (got {check.quote(self.delta)})")

    def growth(self, state: Tally) -> Float[Array, "K"]:
        """Return the number under the root, times the number of pulls."""
        n = state.positive_pulls
        delta, std, epsilon, beta = (jnp.asarray(v, n.dtype) for v in (self.delta, self.std, self.epsilon, self.beta))
        scale = (1.0 + beta) * (1.0 + jnp.sqrt(epsilon)) * std
        return 2.0 * scale**2 * (1.0 + epsilon) * jnp.log((jnp.log1p(epsilon) + jnp.log(n)) / delta)

    def update(self, key: Key[Array, ""] | None, state: Tally, oracle: Any) -> tuple[Tally, Recommendation]:
        """Add the pull to the tally."""
        tally = state.add(oracle.move, oracle.loss())
        most, beta = jnp.max(tally.pulls).astype(tally.totals.dtype), jnp.asarray(self.beta, tally.totals.dtype)
        ratio = (2.0 / beta + 1.0) ** 2 if self.ratio is None else jnp.asarray(self.ratio, most.dtype)
        stopped = (most >= 1.0 + ratio * (tally.rounds - most)) & jnp.all(tally.pulls > 0)
        return tally, Recommendation(stopped, tally.argmin(-tally.pulls))


# ---------------------------------------------------------------------------------------------------------------------
# The stopping rule of generalised likelihood ratios (GLR): Garivier and Kaufmann (2016), section 3.2.


@struct
class GLRLearner(ArmLearner):
    """Base class of learners that stop when every other arm is significantly worse than the best one.

    Let N and m be the pulls and the mean loss of an arm, and d the divergence: that of Bernoulli distributions if `std`
    is None, or else (p - q)^2 / (2 std^2). For the best arm b and an arm a, Z_a is the smallest N_b d(m_b, q) + N_a
    d(m_a, q) over q. The learner stops when all Z_a are at least their thresholds, and recommends b.

    The threshold "mixture" is ln((K - 1) / delta) + c(N_a) + c(N_b), with c(N) = ln(2 sqrt(N)). For Gaussian losses
    c(N) = ln(1 + N) / 2, and in Z_a each N is replaced by N^2 / (1 + N). The probability of a wrong recommendation is
    then at most delta, however the arms are pulled. Proof: the likelihood ratios of other means against the mean of an
    arm have a mixture M over the law Beta(1/2, 1/2), or over the normal law of the variance std^2 around the mean. M is
    a martingale that starts at 1, and N d(m, mean) <= ln M + c(N) with the replaced N. A product of the martingales of
    two arms is a martingale. By Ville's inequality it exceeds (K - 1) / delta with probability at most delta / (K - 1).
    If the learner recommends a worse arm b, then Z_a of the best arm a is at most the sum of both N d(m, mean). For
    losses in [0, 1] that are not 0 or 1, M is a supermartingale.

    The threshold "heuristic", ln((1 + ln t) / delta), has no proof.
    """

    delta: Share
    std: Scale | None = None
    threshold: Literal["mixture", "heuristic"] = static(default="mixture", kw_only=True)

    @property
    def loss_range(self) -> tuple[float, float] | None:  # type: ignore[override]
        """The range [0, 1] for Bernoulli divergences; None for Gaussian ones."""
        return (0.0, 1.0) if self.std is None else None

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Any:
        """Return the state before the first pull."""
        return Tally.empty(specs, self.ties, key)

    def update(self, key: Key[Array, ""] | None, state: Any, oracle: Any) -> tuple[Any, Recommendation]:
        """Add the pull to the tally."""
        tally = state.add(oracle.move, oracle.loss())
        return tally, self.recommend(tally)

    def recommend(self, tally: Tally) -> Recommendation:
        """Return the best arm, and whether all others are significantly worse."""
        n, t = tally.positive_pulls, tally.rounds
        best = tally.argmin(jnp.where(tally.pulls > 0, tally.means, jnp.inf))
        delta = jnp.asarray(self.delta, n.dtype)
        if self.threshold == "heuristic":
            limit = jnp.log((1.0 + jnp.log(t)) / delta)
        else:
            price = 0.5 * jnp.log(4.0 * n if self.std is None else 1.0 + n)
            limit = jnp.log(max(len(n) - 1, 1) / delta) + price + price[best]
            n = n if self.std is None else n * (n / (1.0 + n))
        significant = jnp.all(self.costs(tally.means, n, best) >= limit)
        return Recommendation(significant & jnp.all(tally.pulls > 0), best)

    def costs(self, means: Float[Array, "K"], n: Float[Array, "K"], arm: Int[Array, ""]) -> Float[Array, "K"]:
        """Return Z of each arm against a given arm [K]: 0 for arms that are better, and infinity for the arm itself."""
        means = means if self.std is not None else jnp.clip(means, 0.0, 1.0)
        mean, q = means[arm], (n[arm] * means[arm] + n * means) / (n[arm] + n)
        costs = n[arm] * self.divergence(mean, q) + n * self.divergence(means, q)
        return jnp.where(arm_indicator(arm, len(n)), jnp.inf, jnp.where(means > mean, costs, 0.0))

    def divergence(self, p: Float[Array, "..."], q: Float[Array, "..."]) -> Float[Array, "..."]:
        """Return d(p, q), without the cancellation of nearly equal logarithms."""
        gap = p - q
        if self.std is not None:
            return 0.5 * (gap / jnp.asarray(self.std, gap.dtype)) ** 2
        info = jnp.finfo(gap.dtype)
        one = p * jnp.log1p(jnp.maximum(gap / jnp.maximum(q, info.tiny), info.eps - 1.0))
        zero = (1.0 - p) * jnp.log1p(jnp.maximum(-gap / jnp.maximum(1.0 - q, info.tiny), info.eps - 1.0))
        return one + zero


# ---------------------------------------------------------------------------------------------------------------------
# Track-and-Stop: Garivier and Kaufmann (2016), with losses in place of rewards.


class Tracking(NamedTuple):
    """Pulls and losses of the arms, and the numbers of pulls that each arm should have [K]."""

    tally: Tally
    targets: Float[Array, "K"]


@cites("garivier2016optimal")
@struct
class TrackAndStop(GLRLearner):
    """Identifies the best arm with probability at least 1 - delta, and stops (Track-and-Stop).

    The optimal proportions of pulls, w(means), maximise the evidence that a round gives against each other arm
    (`bounds.optimal_proportions`). After pulling each arm once, D-tracking pulls the arm with the fewest pulls if it
    has less than sqrt(t) - K/2, and else the arm with the smallest pulls - t w(mean losses so far). C-tracking pulls
    the arm with the smallest pulls minus the sum of w over the rounds, where w is mixed with the uniform proportions so
    that no proportion is less than e = 1 / (2 sqrt(K^2 + t)) (the paper projects on these proportions). The learner
    stops with the rule of `GLRLearner`. The mean number of pulls divided by ln(1 / delta) should approach
    `bounds.characteristic_time` for small delta.

    The proportions are computed in each round with 4 secant steps, and 15 evaluations of the divergences in all. Their
    error was below 0.001 in tests. For this computation, means closer than 0.001 (times `std`) to the best mean, or to
    0 or 1, are moved to this distance. The stopping rule uses the exact means.

    Args:
        delta: the largest probability of a wrong recommendation.
        std: standard deviation of Gaussian losses; None for losses in [0, 1] and Bernoulli divergences.
        tracking: "D" or "C".
        threshold: "mixture", for which the probability of an error is proved, or "heuristic".

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> info = jo.play(game, jo.learners.TrackAndStop(0.1), jax.random.key(0), n_rounds=50)[1].info
        >>> int(info.stopped.argmax()), int(info.recommendation[-1])
        (7, 1)
    """

    tracking: Literal["D", "C"] = static(default="D", kw_only=True)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Tracking:
        """Return the state before the first pull."""
        tally = super().init(key, specs)
        return Tracking(tally, jnp.zeros_like(tally.totals))

    def predict(self, key: Key[Array, ""] | None, state: Tracking, x: Any) -> Int[Array, ""]:
        """Return the arm that lags the most behind its target, or with D-tracking an arm with too few pulls."""
        tally, pulls = state.tally, state.tally.pulls.astype(state.targets.dtype)
        lag = pulls - state.targets
        if self.tracking == "D":
            least = jnp.sqrt(tally.rounds) - 0.5 * len(pulls)
            lag = jnp.where(jnp.any(pulls < least), pulls, lag)
        return tally.unpulled_or_argmin(lag)

    def update(self, key: Key[Array, ""] | None, state: Tracking, oracle: Any) -> tuple[Tracking, Recommendation]:
        """Add the pull to the tally, and compute the next targets."""
        tally = state.tally.add(oracle.move, oracle.loss())
        info, t, n_arms = self.recommend(tally), tally.rounds, len(tally.pulls)
        proportions = self.proportions(tally.means, info.recommendation)
        if self.tracking == "D":
            return Tracking(tally, t * proportions), info
        least = 0.5 / jnp.sqrt(n_arms**2 + t)
        proportions = (1.0 - n_arms * least) * proportions + least
        some = jnp.where(jnp.all(tally.pulls > 0), proportions, 1.0 / n_arms)
        return Tracking(tally, state.targets + some), info

    def proportions(self, means: Float[Array, "K"], best: Int[Array, ""]) -> Float[Array, "K"]:
        """Return the optimal proportions of pulls of the arms [K].

        For x = w_a / w_b, the evidence per pull of b is g(x) = d(m_b, q) + x d(m_a, q), with q = (m_b + x m_a) / (1 +
        x). All g(x) are equal, to y, and the sum F of d(m_b, q) / d(m_a, q) is 1 (Theorem 5). g(x) is nearly far u,
        with u = x / (x + far / near), so that two Newton steps in u give x. 1 / sqrt(F) is nearly linear in v =
        (largest y) / y - 1, exactly so for two Gaussian arms, so that a few secant steps in v solve F = 1.
        """
        step = jnp.asarray(1e-3 if self.std is None else 1e-3 * jnp.asarray(self.std), means.dtype)
        means = means if self.std is not None else jnp.clip(means, step, 1.0 - 2.0 * step)
        is_best, low = arm_indicator(best, len(means)), means[best]
        others = jnp.maximum(means, low + step)
        far, near = self.divergence(low, others), self.divergence(others, low)
        scale, most = far / near, jnp.min(jnp.where(is_best, jnp.inf, far))

        def solve(v: Float[Array, ""]) -> tuple[Float[Array, "K"], Float[Array, ""]]:
            y = most / (1.0 + v)
            u = jnp.minimum(y / far, 1.0 - 1e-6)
            for _ in range(2):
                x, of_best, of_other = evaluate(u)
                error = of_best + x * of_other - y
                u = jnp.clip(u - error * (1.0 - u) ** 2 / (scale * of_other), 0.0, 1.0 - 1e-6)
            x, of_best, of_other = evaluate(u)
            return x, 1.0 / jnp.sqrt(jnp.sum(jnp.where(is_best, 0.0, of_best / of_other)))

        def evaluate(u: Float[Array, "K"]) -> tuple[Float[Array, "K"], Float[Array, "K"], Float[Array, "K"]]:
            x = scale * u / (1.0 - u)
            q = (low + x * others) / (1.0 + x)
            tiny = jnp.finfo(q.dtype).tiny
            return x, self.divergence(low, q), jnp.maximum(self.divergence(others, q), tiny)

        def secant_step(_: int, points: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
            before, f_before, v = points
            f = solve(v)[1]
            is_new, chord = jnp.abs(v - before) > 1e-3 * v, f / v  # f is 0 at v = 0
            slope = jnp.where(is_new, (f - f_before) / jnp.where(is_new, v - before, 1.0), chord)
            after = v + (1.0 - f) / jnp.clip(slope, 0.1 * chord, 10.0 * chord)
            return v, f, jnp.clip(after, 0.25 * v, 4.0 * v)

        zero = jnp.zeros_like(most)
        start = zero, zero, zero + max(len(means) - 1, 1) ** 0.5
        x = jnp.where(is_best, 1.0, solve(jax.lax.fori_loop(0, 4, secant_step, start)[2])[0])
        return x / jnp.sum(x)


# ---------------------------------------------------------------------------------------------------------------------
# Top-two Thompson sampling: Russo (2016), with the stopping rule of likelihood ratios.


@cites("russo2016simple", "shang2020fixed")
@struct
class TopTwoThompson(GLRLearner):
    """Identifies the best arm with probability at least 1 - delta, and stops (top-two Thompson sampling).

    The learner draws a mean loss for each arm from its posterior; the leader is the arm with the smallest draw. With
    probability `share` it pulls the leader. Otherwise it draws again until another arm has the smallest draw, and pulls
    that arm. After `redraws` draws in vain it pulls the arm with the smallest Z against the leader (Shang et al. 2020),
    because a draw may need ever more rounds. The posterior is Beta(1 + s, 1 + n - s) after n pulls with the sum s of
    losses, or N(mean, std^2 / n) for Gaussian losses. The learner stops with the rule of `GLRLearner`.

    Args:
        delta: the largest probability of a wrong recommendation.
        std: standard deviation of Gaussian losses; None for losses in [0, 1] and Bernoulli divergences.
        share: probability of the leader.
        redraws: largest number of draws for the second arm; 0 for the arm with the smallest Z always.
        threshold: "mixture", for which the probability of an error is proved, or "heuristic".

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> info = jo.play(game, jo.learners.TopTwoThompson(0.1), jax.random.key(0), n_rounds=50)[1].info
        >>> int(info.stopped.argmax()), int(info.recommendation[-1])
        (7, 1)
    """

    share: Share = 0.5
    redraws: NonNegativeInt = static(default=2, kw_only=True)

    def predict(self, key: Key[Array, ""], state: Tally, x: Any) -> Int[Array, ""]:
        """Return the leader or another arm, or an arm that was never pulled."""
        draw_key, coin_key = jax.random.split(key)
        leader, *others = jax.vmap(state.argmin)(self._draw(draw_key, state))
        arm = state.argmin(self.costs(state.means, state.positive_pulls, leader))
        for other in reversed(others):
            arm = jnp.where(other == leader, arm, other)
        arm = jnp.where(random.bernoulli(coin_key, jnp.asarray(self.share, state.totals.dtype)), leader, arm)
        return jnp.where(jnp.all(state.pulls > 0), arm, state.argmin(state.pulls))

    def _draw(self, key: Key[Array, ""], state: Tally) -> Float[Array, "n K"]:
        n, shape = state.pulls.astype(state.totals.dtype), (1 + self.redraws, len(state.pulls))
        if self.std is not None:
            scale = jnp.asarray(self.std, n.dtype) / jnp.sqrt(state.positive_pulls)
            return state.means[None] + scale[None] * random.normal(key, shape, n.dtype)
        ones, zeros = (jnp.tile(1.0 + number, shape[0]) for number in (state.sums, n - state.sums))
        return random.fast_beta(key, ones, zeros).reshape(shape)
