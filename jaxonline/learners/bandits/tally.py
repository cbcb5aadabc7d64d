"""The state of index policies: the number of pulls and the losses of each arm."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.masks import where_available
from jaxonline.game.protocols import Specs
from jaxonline.learners.experts.vectors import vector_length
from jaxonline.linalg.argmin import first_argmin
from jaxonline.linalg.compensated import Compensated


class Tally(NamedTuple):
    """Pulls and losses of K arms. The sums are compensated (Kahan), so that means stay accurate over a million pulls.

    Attributes:
        pulls: numbers of pulls [K].
        totals: sums of the losses [K].
        corrections: the rounding errors in the sums [K].
    """

    pulls: Int[Array, "K"]
    totals: Float[Array, "K"]
    corrections: Float[Array, "K"]

    @classmethod
    def empty(cls, specs: Specs) -> "Tally":
        """Return the tally before the first pull; raise a ValueError if outcomes are not vectors."""
        n_arms = vector_length("outcomes", specs.outcome)
        zeros = jnp.zeros(n_arms, specs.outcome.dtype)
        return cls(jnp.zeros(n_arms, jnp.int32), zeros, zeros)

    def add(self, arm: Int[Array, ""], loss: Float[Array, ""]) -> "Tally":
        """Return the tally after one more pull of `arm`."""
        place = arm.astype(jnp.uint32)  # a negative arm is no arm
        sums = Compensated(self.totals[place], self.corrections[place]).add(loss)
        return Tally(
            self.pulls.at[place].add(1, mode="drop"),
            self.totals.at[place].set(sums.total, mode="drop"),
            self.corrections.at[place].set(sums.correction, mode="drop"),
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

    def unpulled_or_argmin(self, index: Float[Array, "K"], mask: Bool[Array, "K"] | None = None) -> Int[Array, ""]:
        """Return the first available arm that was never pulled, or else the arm with the smallest value in `index`."""
        return first_argmin(where_available(mask, jnp.where(self.pulls == 0, -jnp.inf, index), jnp.inf))

    def fewest_pulls(self, among: Bool[Array, "K"]) -> Int[Array, ""]:
        """Return the arm with the fewest pulls among the given arms; ties go to the first arm."""
        return first_argmin(jnp.where(among, self.pulls, jnp.iinfo(jnp.int32).max))


class TallyPolicy(LearnerDefaults):
    """Base class of policies with a `Tally` as state; a subclass implements `predict`."""

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Tally:
        """Return the state before the first pull; raise a ValueError if outcomes are not vectors."""
        del key
        return Tally.empty(specs)

    def update(self, key: Key[Array, ""] | None, state: Tally, oracle: Any) -> tuple[Tally, tuple[()]]:
        """Add the pull and its loss to the tally."""
        del key
        return state.add(oracle.move, oracle.loss()), ()


def arm_indicator(arm: Int[Array, ""], n_arms: int) -> Array:
    """Return a boolean vector [K] that is True only at the given arm."""
    return jnp.arange(n_arms, dtype=arm.dtype) == arm
