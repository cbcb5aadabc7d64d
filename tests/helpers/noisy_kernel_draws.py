"""What a noisy kernel learner drew in a run, reproduced from the keys of the game for the NumPy reference; and learners
of one program, whose kernels are padded coefficients and whose laws are padded probabilities."""

import dataclasses
import functools
from typing import Any

import jax
import jax.numpy as jnp
import noisy_kernel_reference as reference
import numpy as np

from jaxonline.estimators.counts import FiniteDistribution, Geometric
from jaxonline.estimators.feature_maps import DotProductFeatureMap
from jaxonline.estimators.noisy_features import PairedFeatureMap
from jaxonline.game import stream_keys
from jaxonline.kernels import PowerSeries

TERMS = 40  # of padded kernels and laws
_TABLE = 200
_COPIES = 64  # the number of copies that are reproduced is a multiple of it


@dataclasses.dataclass(frozen=True)
class Drawn:
    """The draws of a run with r pairs (g~, Psi~) in a round: the number of fresh estimates [T], or [T, r] if r > 1; of
    every estimate N or (N1, N2), and the queries [T, r (1 + most)], the first of each pair is Psi~_t; the copies."""

    n: np.ndarray
    counts: Any
    queries: np.ndarray
    copies: np.ndarray

    def psi(self, t: int, j: int = 0, pair: int = 0) -> reference.Psi:
        """The j-th estimate of a pair of a round, all counted from 0."""
        j += pair * self.queries.shape[1] // self.n[0].size
        first = int(self.queries[t, :j].sum())
        counts = jax.tree.map(lambda count: int(count[t, j]), self.counts)
        return counts, self.copies[t, first : first + int(self.queries[t, j])]


def drawn(learner: Any, feedback: Any, X: np.ndarray, run_key: jax.Array) -> Drawn:
    """The draws of the run with this key on the instances `X`, in their precision."""
    keys, rounds = stream_keys(run_key), jnp.arange(1, len(X) + 1, dtype=jnp.int32)
    laws = learner.gradient_length.series.law, learner.feature_map
    n, counts = jax.tree.map(np.asarray, _numbers(laws, keys, rounds, learner.storage.most_fresh, learner.repetitions))
    queried = (np.arange(1 + learner.storage.most_fresh) <= n[..., None]).reshape(len(X), -1)
    pairs, levels = counts if isinstance(learner.feature_map, PairedFeatureMap) else (0 * counts, counts)
    queries = np.where(queried, 2 * pairs + levels, 0)
    most = _COPIES * -(-int(queries.sum(axis=1).max()) // _COPIES)
    return Drawn(n, counts, queries, np.asarray(_copies(feedback, keys, rounds, jnp.asarray(X), most), np.float64))


@functools.partial(jax.jit, static_argnames=("most_fresh", "repetitions"))
def _numbers(laws, keys, rounds, most_fresh, repetitions):
    """n, and the counts of all estimates that there may be, in every round."""
    law, feature_map = laws

    def one(t):
        key = jax.random.fold_in(jax.random.fold_in(keys.learner, t), 1)
        if repetitions == 1:
            return pair(key)
        n, counts = jax.vmap(pair)(jax.random.split(key, repetitions))
        return n, jax.tree.map(jnp.ravel, counts)

    def pair(key):
        n_key, counts_key = jax.random.split(key)
        each = jnp.arange(1 + most_fresh, dtype=jnp.int32)
        return law.sample(n_key), jax.vmap(lambda j: feature_map.sample_counts(jax.random.fold_in(counts_key, j)))(each)

    return jax.vmap(one)(rounds)


@functools.partial(jax.jit, static_argnames="most")
def _copies(feedback, keys, rounds, X, most):

    def one(t, x):
        oracle = feedback.open(jax.random.fold_in(keys.oracle, t), t, x, x[0], x[0])
        return jax.vmap(oracle.reserve(jnp.int32(1)))(jnp.arange(most, dtype=jnp.int32))

    return jax.vmap(one)(rounds, X)


def labels(feedback: Any, y: np.ndarray, run_key: jax.Array, most: int) -> np.ndarray:
    """The first noisy labels of every round [T, most], in float64 (their values are those of the run)."""
    rounds = jnp.arange(1, len(y) + 1, dtype=jnp.int32)
    return np.asarray(_labels(feedback, stream_keys(run_key), rounds, jnp.asarray(y), most), np.float64)


@functools.partial(jax.jit, static_argnames="most")
def _labels(feedback, keys, rounds, y, most):
    def one(t, y):
        oracle = feedback.open(jax.random.fold_in(keys.oracle, t), t, y[None], y, y)
        return jnp.stack([oracle.label(j) for j in range(most)])

    return jax.vmap(one)(rounds, y)


def padded(law: Any) -> FiniteDistribution:
    """A law as a table of TERMS probabilities; a geometric one without what lies beyond."""
    table = np.exp(law.log_table(TERMS))
    return FiniteDistribution(table / table.sum())


def power_series(kernel: Any, law: Any) -> DotProductFeatureMap:
    """The feature map of a dot-product kernel, all numbers of which are data; the paper's law stays what it is."""
    betas = PowerSeries(kernel.coefficients(TERMS))
    return DotProductFeatureMap(betas, law if isinstance(law, Geometric) else padded(law))


def reference_kernel(feature_map: Any) -> reference.Kernel:
    """The kernel and the laws of a feature map for the reference."""
    law, kernel = reference.table(np.exp(feature_map.law.log_table(_TABLE))), feature_map.kernel
    if not isinstance(feature_map, PairedFeatureMap):
        return reference.DotProduct(reference.table(kernel.coefficients(_TABLE)), law)
    pairs = reference.table(np.exp(feature_map.pair_distribution().log_table(_TABLE)))
    return reference.Gaussian(float(np.asarray(kernel.width)), pairs, law)
