"""Arms or experts that are not available in every round."""

from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from jaxonline import random
from jaxonline.game.defaults import ForwardsToEnvironment
from jaxonline.game.masks import Available
from jaxonline.game.protocols import Environment
from jaxonline.game.traits import EnvironmentTraits
from jaxonline.losses.lazy import LazyOutcome
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.numbers import jax_array
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Component, Convert, PyTree, Shape

MASK = 2**31  # folded into the key of an instance; the environment uses smaller numbers with that key


def _as_availability(values: Any, name: str) -> Array:
    """Return `values` as a table of booleans [T, K] or as probabilities [K]."""
    check.nesting(name, values)
    try:
        table = np.asarray(values)
    except ValueError:  # rows of different lengths
        raise ArgumentError(name, f"must have rows of equal lengths (got {check.quote(values)})") from None
    if table.ndim != 2:
        return jax_array(name, values, ge=0.0, le=1.0)
    if not np.isin(table, (0, 1)).all():
        raise ArgumentError(name, "must contain booleans if it is a table of rounds and arms")
    table = table.astype(bool)
    if not table.any(axis=1).all():
        raise ArgumentError(name, f"must have an available arm in each round (got none in round {_first_empty(table)})")
    return jnp.asarray(table)


def _first_empty(table: Bool[np.ndarray, "T K"]) -> int:
    return int(table.any(axis=1).argmin()) + 1


@cites("freund1997specialize", "kleinberg2010sleeping")
@struct
class Sleeping(ForwardsToEnvironment):
    """Arms or experts that are not available in every round (sleeping bandits, sleeping experts).

    The instance is `game.Available(mask, context)`, where the context is the instance of `environment`. The loss of a
    move that is not available is NaN. The losses of arms that are not available are 0 in the outcome, so that no
    learner observes them. The learners `UCB1`, `EXP3`, and `Hedge` with `EWA` support masks.

    Args:
        environment: an environment whose outcomes are the losses of K arms.
        availability: a table of booleans (or 0 and 1) [T, K] that is repeated after T rounds, or the probabilities [K]
            with which arms are available, independently of each other and of the losses. If a random mask has no
            available arm, the run fails: its loss is NaN.

    Raises:
        ValueError: a round of the table has no available arm, `availability` does not have one entry for each arm, or
            outcomes are not vectors.

    Example:
        >>> import jax, jaxonline as jo
        >>> arms = jo.environments.Sleeping(jo.environments.BernoulliArms([0.0, 0.5]), [[True, True], [False, True]])
        >>> game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> jo.play(game, jo.learners.UCB1(), jax.random.key(0), n_rounds=8)[1].y_hat.tolist()
        [0, 1, 0, 1, 0, 1, 0, 1]
    """

    environment: Annotated[Any, Component("environment")]
    availability: Annotated[Any, Shape(), Convert(_as_availability)]

    def __post_init__(self) -> None:
        check.instance("environment", self.environment, Environment, "an environment")
        shape = getattr(self.environment.outcome_spec, "shape", None)
        if shape is None or len(shape) != 1:
            raise ArgumentError("environment", f"must have vectors of losses as outcomes (got {shape})")
        if self.availability.shape[-1:] != shape:
            got = self.availability.shape[-1:]
            raise ArgumentError("availability", f"must have an entry for each of {shape[0]} arms (got {got})")

    @property
    def traits(self) -> EnvironmentTraits:
        """Traits of `environment`; the masks of a table are equal in all runs, random masks are not."""
        traits = super().traits
        same = traits.deterministic and self.availability.ndim == 2
        return traits._replace(deterministic=same, instances=None)

    @property
    def instance_spec(self) -> Available:
        """Shapes and dtypes of an instance: the mask [K], and the instance of `environment`."""
        mask: Any = jax.ShapeDtypeStruct(self.availability.shape[-1:], jnp.bool_)
        return Available(mask, self.environment.instance_spec)

    def instance(self, key: Key[Array, ""], state: PyTree, t: Int[Array, ""]) -> tuple[Available, PyTree]:
        """Return the mask of round t and the instance of `environment`."""
        context, state = self.environment.instance(key, state, t)
        if self.availability.ndim == 2:
            mask = self.availability[(t - 1) % len(self.availability)]
        else:
            mask = random.bernoulli(jax.random.fold_in(key, MASK), self.availability)
        return Available(mask, context), state

    def answer(
        self, key: Key[Array, ""], state: PyTree, t: Int[Array, ""], x: Available, y_hat: PyTree
    ) -> tuple[Float[Array, "K"] | LazyOutcome, PyTree]:
        """Return the losses of the available arms, and 0 for the unavailable arms."""
        losses, state = self.environment.answer(key, state, t, x.context, y_hat)
        if isinstance(losses, LazyOutcome):
            return LazyOutcome(_available_entry, _available_vector, (losses, x.mask), losses.length), state
        return jnp.where(x.mask, losses, 0.0), state

    def expected_outcome(self, state: PyTree, t: Int[Array, ""], x: Available, y: PyTree) -> Float[Array, "K"]:
        """Return the mean losses of all arms, also of those that are not available."""
        return self.environment.expected_outcome(state, t, x.context, y)


def _available_entry(k: Int[Array, "*n"], losses: LazyOutcome, mask: Bool[Array, "K"]) -> Float[Array, "*n"]:
    return jnp.where(mask[k], losses.entry_function(k, *losses.arguments), 0.0)


def _available_vector(losses: LazyOutcome, mask: Bool[Array, "K"]) -> Float[Array, "K"]:
    return jnp.where(mask, losses.vector(), 0.0)
