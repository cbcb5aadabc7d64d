"""Explore-then-commit: Robbins (1952); Lattimore and Szepesvari (2020), Algorithm 1."""

from typing import Annotated, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline.learners.bandits.tally import Tally, TallyPolicy
from jaxonline.linalg.argmin import first_argmin
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Ge, Number


@cites("robbins1952some", "lattimore2020bandit")
@struct
class ExploreThenCommit(TallyPolicy):
    """Explore-then-commit policy: pulls each arm m times in turn, then always the arm with the smallest mean loss.

    Ties go to the first arm. `bounds.explore_then_commit` bounds the regret for every m.

    Args:
        pulls_each: m, the number of pulls of each arm.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.ExploreThenCommit(pulls_each=2)
        >>> jo.play(game, learner, jax.random.key(0), n_rounds=7)[1].y_hat.tolist()
        [0, 1, 0, 1, 1, 1, 1]
    """

    pulls_each: Annotated[Number, Ge(1)]

    def predict(self, key: Key[Array, ""] | None, state: Tally, x: Any) -> Int[Array, ""]:
        """Return the next arm in turn; after the exploration, return the arm with the smallest mean."""
        del key, x
        turn = jnp.sum(state.pulls, dtype=jnp.int32) % len(state.pulls)
        return jnp.where(self._explores(state), turn, first_argmin(state.means))

    def update(self, key: Key[Array, ""] | None, state: Tally, oracle: Any) -> tuple[Tally, tuple[()]]:
        """Add the pull to the tally during the exploration; keep the tally afterwards."""
        del key
        after, explores = state.add(oracle.move, oracle.loss()), self._explores(state)
        return jax.tree.map(lambda new, old: jnp.where(explores, new, old), after, state), ()

    def _explores(self, state: Tally) -> Array:
        m: Float[Array, ""] = jnp.asarray(self.pulls_each).astype(state.totals.dtype)
        return state.rounds < m * len(state.pulls)
