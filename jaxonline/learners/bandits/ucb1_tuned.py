"""UCB1-tuned: Auer, Cesa-Bianchi and Fischer (2002), section 4, with losses in place of rewards."""

from typing import Any, ClassVar, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.bandits.tally import Tally
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct


class TunedState(NamedTuple):
    """Tallies of the losses and of the squared losses of K arms."""

    losses: Tally
    squares: Tally


@cites("auer2002finite")
@struct
class UCB1Tuned(LearnerDefaults):
    """UCB1-tuned policy: pulls the arm with the smallest mean loss - sqrt(min(1/4, V) ln t / n).

    V is the empirical variance of the arm's losses plus sqrt(2 ln t / n), n is the number of pulls of the arm, and t is
    the number of all pulls. The learner first pulls each of the K arms once; ties go to the first arm. The paper proves
    no regret bound. Losses known before the game must lie in [0, 1] (otherwise a ValueError).

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> jo.play(game, jo.learners.UCB1Tuned(), jax.random.key(0), n_rounds=12)[1].y_hat.tolist()
        [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]
    """

    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0))

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> TunedState:
        """Return the state before the first pull; raise a ValueError if outcomes are not vectors."""
        del key
        return TunedState(Tally.empty(specs), Tally.empty(specs))

    def predict(self, key: Key[Array, ""] | None, state: TunedState, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest lower confidence bound."""
        del key, x
        tally, means = state.losses, state.losses.means
        rate = jnp.log(jnp.maximum(tally.rounds, 1.0)) / tally.positive_pulls
        variances = jnp.maximum(state.squares.means - means**2, 0.0) + jnp.sqrt(2.0 * rate)
        return tally.unpulled_or_argmin(means - jnp.sqrt(rate * jnp.minimum(0.25, variances)))

    def update(self, key: Key[Array, ""] | None, state: TunedState, oracle: Any) -> tuple[TunedState, tuple]:
        """Add the pull, its loss and its squared loss to the tallies."""
        del key
        loss = oracle.loss()
        return TunedState(state.losses.add(oracle.move, loss), state.squares.add(oracle.move, loss**2)), ()
