"""What index policies remember: how often each arm was pulled, and the losses it had."""

from typing import NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxonline.game.protocols import Specs
from jaxonline.learners.experts.over_advice import n_experts


class Tally(NamedTuple):
    """Pulls and losses of K arms. The sums are compensated (Kahan), so that means stay right for a million pulls.

    Attributes:
        pulls: of each arm [K].
        totals: sums of the losses of each arm [K].
        corrections: what rounding has added to the sums [K].
    """

    pulls: Int[Array, "K"]
    totals: Float[Array, "K"]
    corrections: Float[Array, "K"]

    @classmethod
    def empty(cls, specs: Specs) -> "Tally":
        """No pulls, for as many arms as the outcome has entries.

        Raises:
            ValueError: outcomes are not vectors.
        """
        n_arms = n_experts("outcomes", specs.outcome)
        zeros = jnp.zeros(n_arms, specs.outcome.dtype)
        return cls(jnp.zeros(n_arms, jnp.int32), zeros, zeros)

    def add(self, arm: Int[Array, ""], loss: Float[Array, ""]) -> "Tally":
        """One more pull, of `arm`."""
        pulled = arm_indicator(arm, len(self.pulls))
        term = loss - self.corrections
        totals = self.totals + term
        return Tally(
            self.pulls + pulled.astype(jnp.int32),
            jnp.where(pulled, totals, self.totals),
            jnp.where(pulled, (totals - self.totals) - term, self.corrections),
        )

    @property
    def rounds(self) -> Float[Array, ""]:
        """The number of rounds played."""
        return jnp.sum(self.pulls, dtype=jnp.int32).astype(self.totals.dtype)

    @property
    def counts(self) -> Float[Array, "K"]:
        """The pulls as numbers to divide by: 1 for an arm never pulled."""
        return jnp.maximum(self.pulls, 1).astype(self.totals.dtype)

    @property
    def sums(self) -> Float[Array, "K"]:
        """The sums of the losses of each arm."""
        return self.totals - self.corrections

    @property
    def means(self) -> Float[Array, "K"]:
        """The mean losses, 0 for an arm never pulled."""
        return self.sums / self.counts

    def smallest(self, index: Float[Array, "K"]) -> Int[Array, ""]:
        """The first arm that was never pulled; where all were, the first arm of the smallest index."""
        return first_argmin(jnp.where(self.pulls == 0, -jnp.inf, index))


def arm_indicator(arm: Int[Array, ""], n_arms: int) -> Array:
    """Which of the arms it is [K]."""
    return jnp.arange(n_arms, dtype=arm.dtype) == arm


def first_argmin(values: Float[Array, "K"]) -> Int[Array, ""]:
    """The arm with the smallest value, the first one of several."""
    return jnp.argmin(values).astype(jnp.int32)
