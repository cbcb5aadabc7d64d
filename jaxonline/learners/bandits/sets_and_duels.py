"""Bandits that pull sets of arms (CUCB) or pairs of arms (RUCB)."""

from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from jaxonline.game.roles import Learner, Specs
from jaxonline.learners.bandits.exponential import draw_arm
from jaxonline.learners.bandits.index_policies import ArmLearner, Tally, arm_indicator
from jaxonline.losses.arms import Select, SmallestArms, set_size
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Gt, NonNegative, Number

# ---------------------------------------------------------------------------------------------------------------------
# CUCB: Chen, Wang and Yuan (2013), Algorithm 1, with losses in place of rewards.


class CUCBState(NamedTuple):
    """State of `CUCB`.

    Attributes:
        t: number of rounds so far.
        tally: pulls and losses of the arms.
    """

    t: Int[Array, ""]
    tally: Tally


@cites("chen2013combinatorial")
@struct
class CUCB(ArmLearner):
    """Combinatorial upper confidence bound policy (CUCB): plays the set with the smallest sum of optimistic losses.

    The optimistic loss of an arm is mean - sqrt(3 ln t / (2 n)), where n is the number of pulls of the arm. As long as
    an arm has no pull, the learner plays a set with as many arms without a pull as possible; every arm must be in some
    set. The game needs the feedback `SemiBandit` and the loss `losses.SumOfArms`. The theorem (`bounds.cucb`) assumes
    losses of arms in [0, 1]; losses known before the game must lie in [0, 1] (otherwise a ValueError).

    Args:
        select: a function that maps numbers [K] to the set of arms [m] with the smallest sum, such as
            `losses.SmallestArms(m)`, the only one for which `ties` decides.
        exploration: factor of ln t / n under the root; 3/2 in the theorem.

    Example:
        >>> import jax, jaxonline as jo
        >>> arms = jo.environments.BernoulliArms([1.0, 0.0, 0.0])
        >>> game = jo.Game(arms, jo.SemiBandit(), loss=jo.losses.SumOfArms())
        >>> learner = jo.learners.CUCB(jo.losses.SmallestArms(2))
        >>> jo.play(game, learner, jax.random.key(0), n_rounds=4)[1].y_hat.tolist()
        [[1, 2], [0, 1], [1, 2], [1, 2]]
    """

    select: Select
    exploration: NonNegative = 1.5

    loss_range = (0.0, 1.0)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> CUCBState:
        """Return the state before round 1; raise a ValueError for outcomes other than vectors, or a wrong `select`."""
        tally = Tally.empty(specs, self.ties, key)
        set_size(self.select, len(tally.pulls), tally.totals.dtype)
        return CUCBState(jnp.int32(0), tally)

    def predict(self, key: Key[Array, ""] | None, state: CUCBState, x: Any) -> Int[Array, "m"]:
        """Return the set with the smallest sum of optimistic losses."""
        tally, t = state.tally, (state.t + 1).astype(state.tally.totals.dtype)
        unpulled = tally.pulls == 0
        radius = jnp.sqrt(jnp.asarray(self.exploration, t.dtype) * jnp.log(t) / tally.positive_pulls)
        values = jnp.where(jnp.any(unpulled), -unpulled.astype(t.dtype), tally.means - radius)
        if tally.order is None or not isinstance(self.select, SmallestArms):
            return self.select(values)
        arms = tally.order.things
        return jnp.sort(arms[self.select(values[arms])])

    def update(self, key: Key[Array, ""] | None, state: CUCBState, oracle: Any) -> tuple[CUCBState, tuple[()]]:
        """Add the losses of the arms in the set."""
        return CUCBState(state.t + 1, state.tally.add_set(oracle.move, oracle.losses())), ()


# ---------------------------------------------------------------------------------------------------------------------
# RUCB: Zoghi, Whiteson, Munos and de Rijke (2014), Algorithm 1.


class RUCBState(NamedTuple):
    """State of `RUCB`.

    Attributes:
        t: number of rounds so far.
        wins: W, the number of times that arm i beat arm j [K, K].
        favourite: B, the hypothesised best arm, as an indicator [K]; all False if there is none.
    """

    t: Int[Array, ""]
    wins: Float[Array, "K K"]
    favourite: Bool[Array, "K"]


@cites("zoghi2014relative")
@struct
class RUCB(Learner):
    """Relative upper confidence bound policy (RUCB) for duelling bandits: compares two arms in each round.

    An upper bound on the probability that an arm beats another arm is u = wins / n + sqrt(alpha ln t / n), where n is
    the number of duels of the two arms. The first arm of the pair is drawn from the candidates, the arms that may still
    beat all others (u >= 1/2). The favourite, a candidate that was once the only candidate, is drawn with probability
    1/2. The second arm has the largest u against the first arm. The game needs the feedback `Duel` and the loss
    `losses.PairLoss`. The theorem (`bounds.rucb`) assumes a Condorcet winner.

    Args:
        alpha: the factor of ln t under the root.

    Example:
        >>> import jax, jaxonline as jo
        >>> arms = jo.environments.PreferenceArms([[0.5, 1.0], [0.0, 0.5]])
        >>> game = jo.Game(arms, jo.Duel(), loss=jo.losses.PairLoss(winner=0))
        >>> jo.play(game, jo.learners.RUCB(), jax.random.key(0), n_rounds=30)[1].y_hat[-1].tolist()
        [0, 0]
    """

    alpha: Annotated[Number, Gt(0.5)] = 0.51

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> RUCBState:
        """Return the state before round 1; raise a ValueError if outcomes are not square matrices."""
        shape = getattr(specs.outcome, "shape", ())
        if len(shape) != 2 or shape[0] != shape[1]:
            raise ArgumentError("outcomes", f"must be square matrices of duels (got {specs.outcome})")
        return RUCBState(jnp.int32(0), jnp.zeros(shape, specs.outcome.dtype), jnp.zeros(shape[0], bool))

    def predict(self, key: Key[Array, ""], state: RUCBState, x: Any) -> Int[Array, "2"]:
        """Return a drawn candidate, and the arm with the largest upper bound u against the candidate."""
        upper, candidates = self._bounds(state)
        first_key, second_key = jax.random.split(key)
        first = draw_arm(first_key, _weights_of_first(candidates, state.favourite, upper.dtype)).arm
        second = draw_arm(second_key, _strongest_rivals(upper, first).astype(upper.dtype)).arm
        return jnp.stack([first, second])

    def update(self, key: Key[Array, ""] | None, state: RUCBState, oracle: Any) -> tuple[RUCBState, tuple[()]]:
        """Count the win; a single candidate becomes the favourite, and a favourite that is no candidate is dropped."""
        _, candidates = self._bounds(state)
        is_single = jnp.sum(candidates, dtype=jnp.int32) == 1
        favourite = candidates & (is_single | state.favourite)
        first, second = (arm_indicator(arm, len(candidates)) for arm in oracle.move)
        duel, first_wins = first[:, None] & second[None, :], oracle.first_wins()
        wins = state.wins + jnp.where(duel, first_wins, 0.0) + jnp.where(duel.T, 1.0 - first_wins, 0.0)
        return RUCBState(state.t + 1, wins, favourite), ()

    def _bounds(self, state: RUCBState) -> tuple[Float[Array, "K K"], Bool[Array, "K"]]:
        """Return the upper bounds u, where x / 0 is 1, and the candidates."""
        dtype, duels = state.wins.dtype, state.wins + state.wins.T
        n, growth = jnp.maximum(duels, 1.0), jnp.asarray(self.alpha, dtype) * jnp.log((state.t + 1).astype(dtype))
        upper = jnp.where(duels > 0, state.wins / n + jnp.sqrt(growth / n), 2.0)
        upper = jnp.where(jnp.eye(len(upper), dtype=bool), 0.5, upper)
        return upper, jnp.all(upper >= 0.5, axis=1)


def _weights_of_first(candidates: Bool[Array, "K"], favourite: Bool[Array, "K"], dtype: Any) -> Float[Array, "K"]:
    """Return weights of the first arm: 1/2 for a favourite among candidates, and equal weights for the others."""
    favourite = candidates & favourite
    others = candidates & ~favourite
    share = jnp.where(jnp.any(favourite), 0.5, 1.0).astype(dtype) / jnp.maximum(jnp.sum(others, dtype=dtype), 1.0)
    weights = jnp.where(favourite, 0.5, jnp.where(others, share, 0.0))
    return jnp.where(jnp.any(candidates), weights, 1.0)


def _strongest_rivals(upper: Float[Array, "K K"], first: Int[Array, ""]) -> Bool[Array, "K"]:
    """Return the arms with the largest bound against the first arm; if there are several, leave out the first arm."""
    bounds = jnp.sum(jnp.where(arm_indicator(first, len(upper))[None, :], upper, 0.0), axis=1)
    largest = bounds == jnp.max(bounds)
    is_tie = jnp.sum(largest, dtype=jnp.int32) > 1
    return largest & ~(is_tie & arm_indicator(first, len(upper)))
