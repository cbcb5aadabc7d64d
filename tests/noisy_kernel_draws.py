"""What a `NoisyKernel` drew in a run, reproduced from the keys that the game gives it, for the NumPy reference."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import noisy_kernel_reference as reference
import numpy as np

from jaxonline.estimators.feature_maps import GaussianFeatureMap
from jaxonline.game import stream_keys

_TABLE = 200


@dataclasses.dataclass(frozen=True)
class Drawn:
    """The draws of a run.

    Attributes:
        n: the number of fresh estimates [T].
        counts: of every estimate, N or (N1, N2), [T, 1 + most] each; the first is Psi~_t.
        queries: of every estimate, 0 beyond the n-th [T, 1 + most].
        copies: of every round [T, most copies, d], in float64 (their values are those of the run).
    """

    n: np.ndarray
    counts: Any
    queries: np.ndarray
    copies: np.ndarray

    def psi(self, t: int, j: int = 0) -> reference.Psi:
        """The j-th estimate of a round, both counted from 0."""
        first = int(self.queries[t, :j].sum())
        counts = jax.tree.map(lambda count: int(count[t, j]), self.counts)
        return counts, self.copies[t, first : first + int(self.queries[t, j])]


def drawn(learner: Any, feedback: Any, X: np.ndarray, run_key: jax.Array) -> Drawn:
    """The draws of the run with this key on the instances `X`, in their precision."""
    keys, rounds = stream_keys(run_key), jnp.arange(1, len(X) + 1, dtype=jnp.int32)

    @jax.jit
    def numbers(t):
        key = jax.random.fold_in(jax.random.fold_in(keys.learner, t), 1)
        n_key, counts_key = jax.random.split(key)
        each = jnp.arange(1 + learner.storage.most_fresh, dtype=jnp.int32)
        counts = jax.vmap(lambda j: learner.feature_map.sample_counts(jax.random.fold_in(counts_key, j)))(each)
        return learner.gradient_length.series.law.sample(n_key), counts

    n, counts = jax.tree.map(np.asarray, jax.vmap(numbers)(rounds))
    pairs, levels = counts if isinstance(learner.feature_map, GaussianFeatureMap) else (0 * counts, counts)
    queries = np.where(np.arange(levels.shape[1]) <= n[:, None], 2 * pairs + levels, 0)
    indices = jnp.arange(max(1, int(queries.sum(axis=1).max())), dtype=jnp.int32)

    @jax.jit
    def copies(t, x):
        oracle = feedback.open(jax.random.fold_in(keys.oracle, t), t, x, x[0], x[0])
        return jax.vmap(oracle.reserve(jnp.int32(1)))(indices)

    return Drawn(n, counts, queries, np.asarray(jax.vmap(copies)(rounds, jnp.asarray(X)), np.float64))


def reference_kernel(feature_map: Any) -> reference.Kernel:
    """The kernel and the laws of a feature map for the reference."""
    law = reference.table(np.exp(feature_map.law.log_table(_TABLE)))
    if isinstance(feature_map, GaussianFeatureMap):
        pair_law = feature_map.law if feature_map.pair_law is None else feature_map.pair_law
        pairs = reference.table(np.exp(pair_law.log_table(_TABLE)))
        return reference.Gaussian(float(np.asarray(feature_map.kernel.width)), pairs, law)
    return reference.DotProduct(reference.table(feature_map.kernel.coefficients(_TABLE)), law)
