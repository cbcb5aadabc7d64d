"""A learner under delayed feedback: one update for each answer that arrives."""

from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline.game.defaults import ForwardsToLearner, LearnerDefaults, method_of
from jaxonline.game.protocols import Learner, Specs
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Component, Convert, PyTree

AnyLearner = Annotated[
    Any,
    Component("learner"),
    Convert(lambda value, name: check.instance(name, value, isinstance(value, Learner), "a learner")),
]


@cites("joulani2013delayed")
@struct
class UpdateOnArrival(ForwardsToLearner):
    """Plays with a learner made for immediate feedback, and updates the learner once for each answer that arrives.

    Each update gets the oracle of the round to which the answer belongs, with the move of that round, so importance
    weights use the probabilities of that round. Delay adds a constant to the regret of UCB1 (`bounds.delayed_ucb1`) and
    a term of order sqrt(d T ln K) to the regret of EXP3 (`bounds.delayed_exp3`).

    Args:
        learner: the base learner.

    Example:
        >>> import jaxonline as jo
        >>> arms = jo.environments.BernoulliArms([0.2, 0.8])
        >>> game = jo.Game(arms, jo.Delayed(jo.Bandit(), delay=5), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.UpdateOnArrival(jo.learners.EXP3(0.1))
        >>> jo.simulate(game, learner, n_runs=2, n_rounds=20, key=0).queries[0, :, -1].tolist()
        [15.0, 15.0]
    """

    learner: AnyLearner

    def prediction_range(self, instances: Float[np.ndarray, "n d"] | None) -> tuple[float, float] | None:
        """Return the limits of the predictions of the base learner."""
        return method_of(self.learner, LearnerDefaults.prediction_range)(instances)

    def init(self, key: Key[Array, ""], specs: Specs) -> PyTree:
        """Return the state of the base learner."""
        return self.learner.init(key, specs)

    def predict(self, key: Key[Array, ""], state: PyTree, x: PyTree) -> PyTree:
        """Return the move of the base learner."""
        return self.learner.predict(key, state, x)

    def update(self, key: Key[Array, ""], state: PyTree, oracle: Any) -> tuple[PyTree, PyTree]:
        """Return the state of the base learner after all answers of this round, and the info of the last update."""

        def step(carry, arrival):
            state, before = carry
            state, info = self.learner.update(arrival_key(key, arrival.age), state, arrival.oracle)
            return state, with_overflow(info, before)

        return oracle.for_each(step, (state, empty_info(self.learner, key, state, oracle)))


def arrival_key(key: Key[Array, ""], age: Int[Array, ""]) -> Key[Array, ""]:
    """Return the random key of an update: the round's key for the round's answer, another key for an older answer."""
    return jnp.where(age == 0, key, jax.random.fold_in(key, age))


def empty_info(learner: Any, key: Key[Array, ""], state: PyTree, oracle: Any) -> PyTree:
    """Return the info of a round in which no answer arrives: zeros."""
    info = jax.eval_shape(lambda state: learner.update(key, state, oracle.first().oracle)[1], state)
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), info)


def with_overflow(info: PyTree, before: PyTree) -> PyTree:
    """Return the info, with an overflow if there was an overflow earlier in this round."""
    return info._replace(overflow=info.overflow | before.overflow) if hasattr(info, "overflow") else info
