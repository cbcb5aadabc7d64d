"""Bandits whose means change abruptly: UCB policies that detect a change, and then forget what they know."""

import abc
import math
from typing import Annotated, Any, NamedTuple, Self

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from jaxonline import random
from jaxonline.game.roles import Specs
from jaxonline.learners.bandits.index_policies import ArmLearner, Tally, arm_indicator
from jaxonline.learners.bandits.moving import check_fewer_changes
from jaxonline.numerics.elementwise import kl_lower_bound
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import check_fields, validate_arguments
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import (
    Count,
    CountFrom2,
    Ge,
    Interval,
    NonNegative,
    Number,
    Positive,
    Probability,
    PyTree,
    Rounds,
)

# ---------------------------------------------------------------------------------------------------------------------
# State and diagnostics of learners that detect changes.


class DetectorState(NamedTuple):
    """State of a learner that detects changes.

    Attributes:
        tally: pulls and losses of the arms since their last restart.
        starts: the number of rounds before the last restart of each arm [K].
        rounds: the number of rounds so far.
        memory: what the detector remembers; entries of an arm without a pull are not read.
    """

    tally: Tally
    starts: Int[Array, "K"]
    rounds: Int[Array, ""]
    memory: PyTree


class Detection(NamedTuple):
    """Diagnostics of a learner that detects changes: whether it detected a change in this round."""

    change: Bool[Array, ""]


class DetectingLearner(ArmLearner):
    """Base class of learners that detect changes; a subclass implements `start`, `detect` and `predict`.

    With the attribute `local`, only the arm with the change is restarted, otherwise all arms are.
    """

    local: Any

    loss_range = (0.0, 1.0)
    off_policy = "loss"

    @abc.abstractmethod
    def start(self, n_arms: int, dtype: Any) -> PyTree:
        """Return the memory of the detector before round 1."""

    @abc.abstractmethod
    def detect(self, memory: PyTree, tally: Tally, arm: Array, loss: Array) -> tuple[PyTree, Array]:
        """Return the next memory, and whether the arm changed; `tally` contains its last loss."""

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> DetectorState:
        """Return the state before the first pull; raise a ValueError if outcomes are not vectors."""
        tally = Tally.empty(specs, self.ties, key)
        n_arms = len(tally.pulls)
        return DetectorState(tally, jnp.zeros(n_arms, jnp.int32), jnp.int32(0), self.start(n_arms, specs.outcome.dtype))

    def update(self, key: Key[Array, ""] | None, state: DetectorState, oracle: Any) -> tuple[DetectorState, Detection]:
        """Add the pull and its loss; if the arm changed, restart it or all arms."""
        arm, loss, rounds = oracle.move, oracle.loss(), state.rounds + 1
        tally = state.tally.add(arm, loss)
        memory, change = self.detect(state.memory, tally, arm, loss)
        restarted = change & (arm_indicator(arm, len(tally.pulls)) if self.local else jnp.ones_like(tally.pulls, bool))
        cleared = (jnp.where(restarted, jnp.zeros_like(leaf), leaf) for leaf in tally[:3])
        starts = jnp.where(restarted, rounds, state.starts)
        return DetectorState(Tally(*cleared, order=tally.order), starts, rounds, memory), Detection(change)


def explore_in_turn(arm: Int[Array, ""], tally: Tally, turn: Int[Array, ""], share: Float[Array, ""]) -> Int[Array, ""]:
    """Return each arm once in the first K of every floor(K / share) turns, and otherwise the given arm."""
    n_arms = len(tally.pulls)
    place = turn % jnp.minimum(jnp.floor(n_arms / share), 2.0**30).astype(jnp.int32)
    explored = jnp.minimum(place, n_arms - 1)
    explored = explored if tally.order is None else tally.order.things[explored]
    return jnp.where(place < n_arms, explored, arm)


# ---------------------------------------------------------------------------------------------------------------------
# CUSUM-UCB: Liu, Lee and Shroff (2018), from memory: not checked.


class CumulativeSums(NamedTuple):
    """Mean losses of the first pulls [K], and the cumulative sums of deviations above and below them [K]."""

    baseline: Float[Array, "K"]
    above: Float[Array, "K"]
    below: Float[Array, "K"]


@cites("liu2018change")
@struct
class CUSUMUCB(DetectingLearner):
    """CUSUM-UCB for arms that change abruptly: UCB, with a two-sided cumulative-sum test of each arm.

    With probability `explore` the learner pulls a uniformly random arm. Otherwise it pulls the arm with the smallest
    mean loss - sqrt(exploration ln m / n), where the arm has n pulls since its last restart, and m is the sum of n over
    all arms; an arm without a pull comes first. The first `warmup` pulls of an arm since its restart give a mean loss
    u. Each later loss l changes two sums, above <- max(0, above + l - u - epsilon) and below <- max(0, below + u - l -
    epsilon). If one of them reaches the threshold, the arm is restarted. A round costs a few operations for each arm.
    Losses known before the game must lie in [0, 1] (otherwise a ValueError).

    Args:
        threshold: the sum at which a change is detected (h).
        explore: probability of a random arm (alpha).
        warmup: number of pulls that give the mean (M).
        epsilon: deviation from the mean that is tolerated.
        exploration: xi, the factor of ln m / n under the root.

    Example:
        >>> import jax, jaxonline as jo
        >>> arms = jo.environments.SwitchingArms([[0.0], [1.0]], starts=[21])  # one arm
        >>> learner = jo.learners.CUSUMUCB(threshold=3.0, explore=0.0, warmup=5)
        >>> game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> int(jo.play(game, learner, jax.random.key(0), n_rounds=40)[1].info.change.argmax())
        23
    """

    threshold: Positive
    explore: Probability
    warmup: Annotated[Number, Ge(1)] = 100.0
    epsilon: NonNegative = 0.1
    exploration: NonNegative = 0.5

    local = True

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_rounds: Rounds, n_changes: Count, warmup: Count = 100) -> "CUSUMUCB":
        """Set the threshold ln(T / C) and the exploration sqrt(C / T ln(T / C)), for C changes in T > C rounds.

        Their order is that of the theorem, from memory; neither order nor constants were checked against the paper.
        """
        check_fewer_changes(n_changes, n_rounds)
        share = n_changes / n_rounds
        return cls(-math.log(share), min(1.0, math.sqrt(-share * math.log(share))), float(warmup))

    def start(self, n_arms: int, dtype: Any) -> CumulativeSums:
        """Return zeros."""
        zeros = jnp.zeros(n_arms, dtype)
        return CumulativeSums(zeros, zeros, zeros)

    def predict(self, key: Key[Array, ""], state: DetectorState, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest lower confidence bound, or a random arm."""
        tally, n_arms = state.tally, len(state.tally.pulls)
        chance, which = jax.random.split(key)
        growth = jnp.asarray(self.exploration, tally.totals.dtype) * jnp.log(jnp.maximum(tally.rounds, 1.0))
        best = tally.unpulled_or_argmin(tally.means - jnp.sqrt(growth / tally.positive_pulls))
        explores = random.bernoulli(chance, jnp.asarray(self.explore, growth.dtype))
        return jnp.where(explores, random.randint(which, (), 0, n_arms, dtype=jnp.int32), best)

    def detect(self, memory: CumulativeSums, tally: Tally, arm: Array, loss: Array) -> tuple[CumulativeSums, Array]:
        """Add the deviation of the loss from the mean of the first pulls to the sums of the arm."""
        n = tally.pulls[arm].astype(loss.dtype)
        is_first, epsilon = n <= jnp.asarray(self.warmup).astype(loss.dtype), jnp.asarray(self.epsilon, loss.dtype)
        baseline = jnp.where(is_first, tally.means[arm], memory.baseline[arm])
        deviation = loss - baseline
        above = jnp.where(is_first, 0.0, jnp.maximum(memory.above[arm] + deviation - epsilon, 0.0))
        below = jnp.where(is_first, 0.0, jnp.maximum(memory.below[arm] - deviation - epsilon, 0.0))
        change = jnp.maximum(above, below) >= jnp.asarray(self.threshold, loss.dtype)
        sums = (leaf.at[arm].set(value) for leaf, value in zip(memory, (baseline, above, below), strict=True))
        return CumulativeSums(*sums), change


# ---------------------------------------------------------------------------------------------------------------------
# M-UCB (monitored UCB): Cao, Wen, Kveton and Xie (2019), from memory: not checked.


class HalfWindows(NamedTuple):
    """The last losses of each arm in a ring [K, window], and the sums of their older and newer half [K]."""

    losses: Float[Array, "K window"]
    older: Float[Array, "K"]
    newer: Float[Array, "K"]


@cites("cao2019nearly")
@struct
class MonitoredUCB(DetectingLearner):
    """Monitored UCB (M-UCB) for arms that change abruptly: UCB1, restarted if the last losses of an arm differ.

    The learner pulls the arm with the smallest mean loss - sqrt(exploration ln t / n), where t counts the rounds, and n
    the arm's pulls, since the last restart. In the first K of every floor(K / explore) of these rounds it pulls each
    arm once instead. The losses of the last `window` pulls of an arm form two halves. If the sums of the halves differ
    by more than the threshold, all arms are restarted. A round costs a few operations for each arm; the state is the
    last losses of each arm [K, window]. Losses known before the game must lie in [0, 1] (otherwise a ValueError).

    Args:
        window: the number of pulls of an arm that are compared (w), even.
        threshold: the difference above which a change is detected (b), below window / 2, which the
            sums of losses in [0, 1] cannot exceed.
        explore: share of rounds in which the arms are pulled in turn (gamma).
        exploration: the factor of ln t / n under the root; 2, as in UCB1, is not checked against the paper.

    Example:
        >>> import jax, jaxonline as jo
        >>> arms = jo.environments.SwitchingArms([[0.0], [1.0]], starts=[21])  # one arm
        >>> learner = jo.learners.MonitoredUCB(window=8, threshold=2.0, explore=0.1)
        >>> game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> int(jo.play(game, learner, jax.random.key(0), n_rounds=40)[1].info.change.argmax())
        22
    """

    window: CountFrom2 = static()
    threshold: Positive
    explore: Probability
    exploration: NonNegative = 2.0

    local = False

    def __post_init__(self) -> None:
        check_fields(self)
        if self.window % 2:
            raise ArgumentError("window", f"must be even (got {check.quote(self.window)})")
        threshold, half = check.concrete_array(self.threshold), self.window / 2
        if threshold is not None and (threshold >= half).any():
            raise ArgumentError("threshold", f"must be below window / 2, {half:g} (got {check.quote(threshold)})")

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_arms: Count, n_rounds: Rounds, n_changes: Count, window: CountFrom2 = 100) -> Self:
        """Set b = sqrt(w ln(2 K T^2) / 2) and gamma = sqrt(C K (2 b + 3 sqrt(w)) / (2 T)), for C changes in T rounds.

        C is below T. These numbers are from memory, and were not checked against the paper. A change of an arm's mean
        is detected reliably only if it is well above 2 b / w, and if the arm has about w pulls between two changes.
        Raises a ValueError if b >= w / 2.
        """
        check_fewer_changes(n_changes, n_rounds)
        least = 2 * math.floor(math.log(2.0 * n_arms * float(n_rounds) ** 2)) + 2
        if window < least:
            raise ArgumentError("window", f"must be at least {least}, or no change is detected (got {window})")
        threshold = math.sqrt(window * math.log(2.0 * n_arms * float(n_rounds) ** 2) / 2.0)
        square = n_changes * n_arms * (2.0 * threshold + 3.0 * math.sqrt(window)) / (2.0 * n_rounds)
        return cls(window, threshold, min(1.0, math.sqrt(square)))

    def start(self, n_arms: int, dtype: Any) -> HalfWindows:
        """Return zeros."""
        zeros = jnp.zeros(n_arms, dtype)
        return HalfWindows(jnp.zeros((n_arms, self.window), dtype), zeros, zeros)

    def predict(self, key: Key[Array, ""] | None, state: DetectorState, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest lower confidence bound, or the next arm in turn."""
        tally, dtype = state.tally, state.tally.totals.dtype
        growth = jnp.asarray(self.exploration, dtype) * jnp.log(jnp.maximum(tally.rounds, 1.0))
        best = tally.unpulled_or_argmin(tally.means - jnp.sqrt(growth / tally.positive_pulls))
        turn = state.rounds - state.starts[0]
        return explore_in_turn(best, tally, turn, jnp.asarray(self.explore, dtype))

    def detect(self, memory: HalfWindows, tally: Tally, arm: Array, loss: Array) -> tuple[HalfWindows, Array]:
        """Move the halves by one loss, and compare their sums."""
        n, half = tally.pulls[arm], self.window // 2
        place = (n - 1) % self.window
        oldest = jnp.where(n > self.window, memory.losses[arm, place], 0.0)
        middle = jnp.where(n > half, memory.losses[arm, (place + half) % self.window], 0.0)
        newer = jnp.where(n == 1, 0.0, memory.newer[arm]) + loss - middle
        older = jnp.where(n == 1, 0.0, memory.older[arm]) + middle - oldest
        differ = jnp.abs(newer - older) > jnp.asarray(self.threshold, loss.dtype)
        losses = memory.losses.at[arm, place].set(loss)
        sums = HalfWindows(losses, memory.older.at[arm].set(older), memory.newer.at[arm].set(newer))
        return sums, differ & (n >= self.window)


# ---------------------------------------------------------------------------------------------------------------------
# GLR-klUCB: Besson, Kaufmann, Maillard and Seznec (2022), from memory: not checked.


@cites("besson2022efficient")
@struct
class GLRKLUCB(DetectingLearner):
    """GLR-klUCB for arms that change abruptly: KL-UCB, restarted by a generalised likelihood ratio test.

    The learner pulls the arm with the smallest q <= mean such that n kl(mean, q) <= ln t, where t counts the rounds,
    and n the arm's pulls, since the arm's last restart; an arm without a pull comes first. In the first K of every
    floor(K / explore) rounds it pulls each arm once instead. After a pull, the arm's n losses are split into the first
    s and the others. If s kl(first mean, mean) + (n - s) kl(other mean, mean) reaches ln(3 n sqrt(n) / delta) for a
    split, all arms are restarted, or only this arm if `local` is true. This threshold is from memory, and was not
    checked against the paper.

    Splits are tested after every `stride` pulls, and only the last `capacity` splits. So a change is found late if
    it is small, and more than `capacity` * `stride` pulls are needed to see it. A round costs the entropies of
    `capacity` splits; the state is their sums [K, capacity]. Losses known before the game must lie in [0, 1] (otherwise
    a ValueError).

    Args:
        delta: probability of a false alarm.
        explore: share of rounds in which the arms are pulled in turn (alpha).
        capacity: number of splits of an arm.
        stride: number of pulls between two splits.
        local: whether only the arm with the change is restarted.

    Example:
        >>> import jax, jaxonline as jo
        >>> arms = jo.environments.SwitchingArms([[0.0], [1.0]], starts=[21])  # one arm
        >>> learner = jo.learners.GLRKLUCB(delta=0.1, explore=0.1)
        >>> game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> int(jo.play(game, learner, jax.random.key(0), n_rounds=40)[1].info.change.argmax())
        22
    """

    delta: Annotated[Number, Interval(gt=0, lt=1)]
    explore: Probability
    capacity: Count = static(default=100)
    stride: Count = static(default=5)
    local: bool = static(default=False)

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_rounds: Rounds, n_changes: Count = 1) -> "GLRKLUCB":
        """Set delta = 1 / sqrt(C T) and the exploration sqrt(C ln T / T), for C changes in T > C rounds.

        Their order is that of the theorem, from memory; neither order nor constants were checked against the paper.
        """
        check_fewer_changes(n_changes, n_rounds)
        explore = math.sqrt(n_changes * math.log(n_rounds) / n_rounds)
        return cls(1.0 / math.sqrt(float(n_changes) * n_rounds), min(1.0, explore))

    def start(self, n_arms: int, dtype: Any) -> Float[Array, "K capacity"]:
        """Return the sums of the losses before each split: zeros."""
        return jnp.zeros((n_arms, self.capacity), dtype)

    def predict(self, key: Key[Array, ""] | None, state: DetectorState, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest lower confidence bound, or the next arm in turn."""
        tally, dtype = state.tally, state.tally.totals.dtype
        budget = jnp.log(jnp.maximum(state.rounds - state.starts, 1).astype(dtype))
        bounds = kl_lower_bound(jnp.clip(tally.means, 0.0, 1.0), budget / tally.positive_pulls)
        best = tally.unpulled_or_argmin(bounds)
        return explore_in_turn(best, tally, state.rounds, jnp.asarray(self.explore, dtype))

    def detect(self, memory: Array, tally: Tally, arm: Array, loss: Array) -> tuple[Array, Array]:
        """Test all splits, and then add the one after this pull."""
        n, total = tally.pulls[arm], tally.sums[arm]
        n_splits = (n - 1) // self.stride  # so far
        age = jnp.arange(self.capacity, dtype=jnp.int32)  # entry i is the last split whose number is i modulo capacity
        number = n_splits - (n_splits - 1 - age) % self.capacity  # 1, 2, ...
        s, all_pulls = (number * self.stride).astype(loss.dtype), n.astype(loss.dtype)
        rest = jnp.maximum(all_pulls - s, 1.0)
        evidence = (
            _information(total, all_pulls) - _information(memory[arm], s) - _information(total - memory[arm], rest)
        )
        largest = jnp.max(jnp.where(number > 0, evidence, -jnp.inf))
        delta = jnp.asarray(self.delta, loss.dtype)
        place = (n // self.stride - 1) % self.capacity
        memory = memory.at[arm, place].set(jnp.where(n % self.stride == 0, total, memory[arm, place]))
        return memory, largest >= math.log(3.0) + 1.5 * jnp.log(all_pulls) - jnp.log(delta)


def _information(ones: Float[Array, "..."], n: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return n times the entropy of a Bernoulli distribution with the mean ones / n."""
    p = jnp.clip(ones / jnp.maximum(n, 1.0), 0.0, 1.0)
    return -n * (jax.scipy.special.xlogy(p, p) + jax.scipy.special.xlog1py(1.0 - p, -p))
