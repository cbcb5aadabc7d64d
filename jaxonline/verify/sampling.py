"""Independent samples of an estimator, streamed to the host in fixed blocks, and their moments in float64.

Sample `i` of an estimator has the key `fold_in(key, i)`, whatever the number of devices and of samples, so that a
verdict can be reproduced and one bad sample can be drawn again alone.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from jaxonline._util import check
from jaxonline._util.struct import struct
from jaxonline.simulation.blocks import check_mesh, default_mesh, item_keys, over_blocks, pipelined, waves

Progress = Callable[[int, int], None]


@struct
class Capped:
    """What an estimator returns when it caps a random number: its value, and how often the cap cut something.

    Args:
        value: the estimate, any shape.
        exceeded: a boolean or a count; the verifier adds it up over all samples and reports the total.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.verify import Capped
        >>> def estimator(key):
        ...     n = jax.random.geometric(key, 0.5) - 1
        ...     return Capped(jnp.minimum(n, 20).astype(float), exceeded=n > 20)
        >>> bool(estimator(jax.random.key(0)).exceeded)
        False
    """

    value: Any
    exceeded: Any


@dataclasses.dataclass(frozen=True)
class Moments:
    """The number, the mean and the central power sums of samples, entry by entry, in float64."""

    n: int
    mean: np.ndarray
    m2: np.ndarray
    m3: np.ndarray
    m4: np.ndarray

    @classmethod
    def of(cls, values: np.ndarray) -> "Moments":
        """The moments of samples along the first axis."""
        values = np.asarray(values, np.float64)
        mean = values.mean(axis=0)
        d = values - mean
        d2 = d * d
        return cls(len(values), mean, d2.sum(axis=0), (d2 * d).sum(axis=0), (d2 * d2).sum(axis=0))

    def merge(self, other: "Moments") -> "Moments":
        """The moments of both sets together (Chan, Golub and LeVeque 1979; Pebay 2008 for the higher ones)."""
        if self.n == 0 or other.n == 0:
            return self if other.n == 0 else other
        a, b = float(self.n), float(other.n)
        n = a + b
        d = other.mean - self.mean
        m2 = self.m2 + other.m2 + d**2 * (a * b / n)
        m3 = self.m3 + other.m3 + d**3 * (a * b * (a - b) / n**2) + 3 * d * (a * other.m2 - b * self.m2) / n
        m4 = (
            self.m4
            + other.m4
            + d**4 * (a * b * (a * a - a * b + b * b) / n**3)
            + 6 * d**2 * (a * a * other.m2 + b * b * self.m2) / n**2
            + 4 * d * (a * other.m3 - b * self.m3) / n
        )
        return Moments(self.n + other.n, self.mean + d * (b / n), m2, m3, m4)

    @property
    def variance(self) -> np.ndarray:
        """The sample variance."""
        return self.m2 / max(self.n - 1, 1)

    @property
    def second_moment(self) -> np.ndarray:
        """The mean of the squares."""
        return self.m2 / max(self.n, 1) + self.mean**2

    @property
    def kurtosis(self) -> np.ndarray:
        """E (X - EX)^4 / Var^2 of the sample; 1, its smallest possible value, where the sample is constant."""
        spread = self.m2 > 0
        return np.where(spread, self.n * self.m4 / np.where(spread, self.m2, 1.0) ** 2, 1.0)


@dataclasses.dataclass(frozen=True)
class Summary:
    """What is kept of a stream of samples: moments, extremes, and what went wrong."""

    moments: Moments
    low: np.ndarray
    high: np.ndarray
    not_finite: int
    exceeded: int


def _value(out):
    return out.value if isinstance(out, Capped) else out


@functools.partial(jax.jit, static_argnames=("width", "mesh"))
def _draw(estimator, key, blocks, width, mesh):
    def one_block(estimator, key, block):
        out = jax.vmap(lambda k: estimator(k))(item_keys(key, block, width))
        return _value(out), jnp.asarray(out.exceeded if isinstance(out, Capped) else 0, jnp.int32)

    return over_blocks(one_block, mesh, 2, 1)(estimator, key, blocks)


def as_pytree(estimator: Callable[..., Any]) -> Any:
    """The estimator as an argument of a compiled program: a struct as it is, a plain function as structure."""
    check.function("estimator", estimator, "a key")
    opaque = any(callable(leaf) for leaf in jax.tree.leaves(estimator))
    return jax.tree_util.Partial(estimator) if opaque else estimator


@dataclasses.dataclass(frozen=True)
class Sampler:
    """Samples of one estimator: the program of a block, compiled once, and the part of the stream that is used.

    Attributes:
        estimator: a pytree that is called with a key.
        key: the key of the whole stream.
        width: samples in a block.
        mesh: the devices.
    """

    estimator: Any
    key: jax.Array
    width: int
    mesh: Mesh

    @classmethod
    def create(cls, estimator: Callable[..., Any], seed: int, width: int, mesh: Mesh | None) -> "Sampler":
        """A sampler of `estimator` with the key of an integer seed."""
        mesh = default_mesh() if mesh is None else check_mesh(mesh)
        return cls(as_pytree(estimator), jax.random.key(seed), width, mesh)

    def blocks(self, n: int, first: int = 0) -> Iterator[tuple[np.ndarray, int]]:
        """`n` samples from block `first` on, block by block: `(values [samples, ...], caps exceeded)`.

        The next group of blocks is computed while the host works on the last one.
        """
        left = n

        def launch(wave):
            indices, real = wave
            return _draw(self.estimator, self.key, indices, width=self.width, mesh=self.mesh), real

        for (values, exceeded), real in pipelined(launch, waves(range(first, first + -(-n // self.width)), self.mesh)):
            values, exceeded = np.asarray(values), np.asarray(exceeded)
            for i in range(real):
                take = min(left, self.width)
                left -= take
                yield values[i, :take], int(exceeded[i, :take].sum()) if exceeded.ndim > 1 else 0

    @functools.cached_property
    def estimate(self) -> jax.ShapeDtypeStruct:
        """The shape and dtype of an estimate."""
        return jax.eval_shape(lambda estimator, key: jnp.asarray(_value(estimator(key))), self.estimator, self.key)

    @property
    def epsilon(self) -> float:
        """The rounding error of one operation in the dtype of an estimate."""
        dtype = self.estimate.dtype
        return float(jnp.finfo(dtype).eps) if jnp.issubdtype(dtype, jnp.floating) else float(np.finfo(float).eps)

    @property
    def tiny(self) -> float:
        """The number below which an estimate may be rounded to 0."""
        dtype = self.estimate.dtype
        return float(jnp.finfo(dtype).tiny) if jnp.issubdtype(dtype, jnp.floating) else 0.0

    def check_shape(self, target: np.ndarray) -> None:
        """Check that an estimate has the shape of its target."""
        if self.estimate.shape != target.shape:
            raise ValueError(f"target must have the shape of an estimate {self.estimate.shape}, got {target.shape}")

    def summary(self, n: int, first: int = 0, progress: Progress | None = None) -> Summary:
        """The moments of `n` samples, entry by entry (flattened), from block `first` on."""
        size = math.prod(self.estimate.shape)
        empty = np.zeros(size)
        total = Moments(0, *[empty] * 4)
        low, high = np.full(size, np.inf), np.full(size, -np.inf)
        not_finite = exceeded = done = 0
        for values, over in self.blocks(n, first):
            values = values.reshape(len(values), size).astype(np.float64)
            good = np.isfinite(values).all(axis=1)
            not_finite += int((~good).sum())
            exceeded += over
            done += len(values)
            values = values[good]
            if len(values):
                total = total.merge(Moments.of(values))
                low, high = np.minimum(low, values.min(axis=0)), np.maximum(high, values.max(axis=0))
            if progress is not None:
                progress(done, n)
        return Summary(total, low, high, not_finite, exceeded)
