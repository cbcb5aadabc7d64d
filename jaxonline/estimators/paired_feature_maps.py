"""Estimators of feature maps whose estimates multiply N2 copies and the inner products of N1 pairs of copies."""

import abc

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key

from jaxonline.estimators.count_protocol import CountDistribution
from jaxonline.estimators.noisy_features import FeatureMap
from jaxonline.kernels import Kernel
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import Count


class PairedFeatureMap(FeatureMap):
    """Estimator with N1 pairs and N2 factors, drawn independently: counts are (N1, N2), for 2 N1 + N2 copies.

    A subclass declares the fields `kernel`, `law` (distribution of N2) and `pair_law` (of N1; `law` when None).
    """

    kernel: Kernel
    law: CountDistribution
    pair_law: CountDistribution | None

    def pair_distribution(self) -> CountDistribution:
        """Return the distribution of N1."""
        return self.law if self.pair_law is None else self.pair_law

    def sample_counts(self, key: Key[Array, ""]) -> tuple[Int[Array, ""], Int[Array, ""]]:
        pair_key, vector_key = jax.random.split(key)
        return self.pair_distribution().sample(pair_key), self.law.sample(vector_key)

    def pairs(self, counts: tuple[Int[Array, "..."], Int[Array, "..."]]) -> Int[Array, "..."]:
        return jnp.asarray(counts[0], jnp.int32)

    def level(self, counts: tuple[Int[Array, "..."], Int[Array, "..."]]) -> Int[Array, "..."]:
        return jnp.asarray(counts[1], jnp.int32)

    def expected_queries(self) -> float:
        # With the paper's distribution its learner needs 3p/(p-1)^2 in total, for 1 + E N estimates a round.
        return 2.0 * self.pair_distribution().mean() + self.law.mean()

    @abc.abstractmethod
    def second_moment(self, copy_moment: float, pair_moment: float | None = None) -> float:
        """Return E |Psi~|^2 for `copy_moment` M = E |x~|^2 and `pair_moment` = E <x~, x~'>^2 (M^2 when None)."""

    @validate_arguments
    def overflow_probability(self, capacity: Count) -> float:
        n1, pair_law = np.arange(capacity // 2 + 1), self.pair_distribution()
        inside = np.exp(pair_law.log_table(len(n1))) * np.asarray(self.law.tail(capacity - 2 * n1 + 1), float)
        return float(inside.sum() + float(pair_law.tail(len(n1))))
