"""Drawing estimates in batches."""

import dataclasses
import functools
import math
from collections.abc import Callable, Iterator
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Ge
from jax.sharding import Mesh

from jaxonline._xla.compile_options import fast_compile_options, has_host_callbacks
from jaxonline.numerics.elementwise import exact_products
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.optional_packages import check_not_forked
from jaxonline.parameters.signatures import check_fields
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Count, NonNegativeInt, OpenUnitFloat, PositiveFloat
from jaxonline.simulation.blocks import check_mesh, default_mesh, item_keys, map_blocks, pipeline, thread_count, waves

# ---------------------------------------------------------------------------------------------------------------------
# Test of a stated second moment by betting.
#
# If E theta^2 <= s, a gambler who bets the share l of the wealth in every sample on theta^2 > s has the wealth prod (1
# + l (theta_i^2 / s - 1)), a non-negative supermartingale. The mean wealth of several gamblers ever exceeds 1/level
# with probability at most `level`, for all tails (Ville's inequality). The gamblers bet on a second moment 25 % above
# the stated one, because biased estimators have a smaller excess, which hardly changes the intervals.


_SHARES = 2.0 ** -np.array([1.0, 4.0, 7.0, 10.0])
_MARGIN = 1.25


@dataclasses.dataclass(frozen=True)
class Bets:
    """The logarithm of each gambler's wealth by coordinate [gamblers, size]."""

    stated: np.ndarray
    wealth: np.ndarray

    @classmethod
    def start(cls, stated: np.ndarray) -> "Bets":
        """Return the wealth before the first sample, for second moments [size]."""
        return cls(stated, np.zeros((len(_SHARES), len(stated))))

    def update(self, values: np.ndarray) -> "Bets":
        """Return the wealth after samples [n, size]."""
        limit = np.maximum(self.stated * _MARGIN, np.finfo(float).tiny)
        with np.errstate(over="ignore"):
            excess = values**2 / limit - 1
            # log is ten times as fast as log1p and precise enough to compare wealth with 1 / level
            gains = np.stack([np.log(1 + share * excess).sum(axis=0) for share in _SHARES])
        return Bets(self.stated, self.wealth + gains)

    def contradicted(self, level: float) -> np.ndarray:
        """Return the coordinates whose stated second moment is too small; each is wrong with probability <= `level`."""
        return np.logaddexp.reduce(self.wealth, axis=0) - np.log(len(_SHARES)) > np.log(1 / level)


# ---------------------------------------------------------------------------------------------------------------------
# Conversion of estimates, pytrees of real or complex arrays, to one vector of real numbers.


@dataclasses.dataclass(frozen=True)
class Layout:
    """The leaves of an estimate in the order of the vector; real parts of a complex leaf come first."""

    structure: Any
    leaves: tuple[jax.ShapeDtypeStruct, ...]

    @classmethod
    def from_estimate(cls, estimate: Any) -> "Layout":
        """Return the layout of an estimate with known shapes and dtypes."""
        leaves = tuple(jax.tree.leaves(estimate))
        if not leaves or not all(jnp.issubdtype(leaf.dtype, jnp.number) or leaf.dtype == bool for leaf in leaves):
            raise ArgumentTypeError("estimator", f"must return numbers (got {estimate})")
        return cls(jax.tree.structure(estimate), leaves)

    @property
    def is_complex(self) -> bool:
        """Whether a leaf is complex."""
        return any(jnp.issubdtype(leaf.dtype, jnp.complexfloating) for leaf in self.leaves)

    @property
    def is_array(self) -> bool:
        """Whether the estimate is a single real array."""
        return jax.tree.structure(0) == self.structure and not self.is_complex

    def vector(self, name: str, value: Any) -> np.ndarray:
        """Convert a value of the estimate's structure and shapes to a vector in float64."""
        if jax.tree.structure(0) == self.structure:
            return self._to_reals(name, value, self.leaves[0])
        try:
            leaves = self.structure.flatten_up_to(value)
        except (ValueError, TypeError):
            structure = jax.tree.structure(value)
            message = f"must have the structure of an estimate {self.structure} (got {structure})"
            raise ArgumentError(name, message) from None
        return np.concatenate([self._to_reals(name, *pair) for pair in zip(leaves, self.leaves, strict=True)])

    @staticmethod
    def _to_reals(name: str, value: Any, leaf: jax.ShapeDtypeStruct) -> np.ndarray:
        is_complex = jnp.issubdtype(leaf.dtype, jnp.complexfloating)
        if is_complex and np.iscomplexobj(value):
            parts = [check.finite_array(name, part) for part in (np.real(value), np.imag(value))]
        else:
            parts = [check.finite_array(name, value)]
            parts += [np.zeros_like(parts[0])] * is_complex
        if parts[0].shape != leaf.shape:
            raise ArgumentError(name, f"must have the shape of an estimate {leaf.shape} (got {parts[0].shape})")
        return np.concatenate([part.astype(float).ravel() for part in parts])


@struct
class AsVector:
    """An estimator whose estimate is converted to one vector."""

    estimator: Any

    def __call__(self, key: jax.Array) -> Any:
        out = self.estimator(key)
        leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(estimate_of(out))]
        parts = [part for leaf in leaves for part in _real_parts(leaf)]
        widest = max((part.dtype for part in parts), key=lambda dtype: jnp.dtype(dtype).itemsize)
        return with_estimate(out, jnp.concatenate([part.ravel().astype(widest) for part in parts]))


def square_of_estimate(value: Any) -> jax.Array:
    """Return |theta|^2, the sum of the squares of all numbers of an estimate."""
    parts = [part for leaf in jax.tree.leaves(value) for part in _real_parts(jnp.asarray(leaf))]
    total = jnp.sum(parts[0] ** 2)
    for part in parts[1:]:
        total = total + jnp.sum(part**2).astype(total.dtype)
    return total


def _real_parts(leaf: jax.Array) -> list[jax.Array]:
    if jnp.issubdtype(leaf.dtype, jnp.complexfloating):
        return [jnp.real(leaf), jnp.imag(leaf)]
    return [leaf if leaf.dtype == jnp.float64 else leaf.astype(jnp.float32)]


# ---------------------------------------------------------------------------------------------------------------------
# Independent samples of an estimator, streamed to the host in fixed blocks, and their moments in float64.
#
# Sample `i` has the key `fold_in(key, i)` for any number of devices and samples, so that verdicts are reproducible and
# a single sample can be drawn again.


@struct
class Capped:
    """Return value of an estimator that caps a random number: the estimate and whether the cap was exceeded.

    Args:
        value: the estimate, any shape.
        exceeded: whether the cap was exceeded, or how often; the verification reports its sum over all samples.

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
    """Number, mean and central power sums of samples, entry by entry, in float64."""

    n: int
    mean: np.ndarray
    m2: np.ndarray
    m3: np.ndarray
    m4: np.ndarray

    @classmethod
    def from_samples(cls, values: np.ndarray) -> "Moments":
        """Compute the moments of samples along the first axis."""
        columns = np.moveaxis(np.asarray(values, np.float64), 0, -1)
        *shape, n = columns.shape
        # One coordinate at a time, to stay in the cache.
        sums = [_central_sums(column) for column in np.ascontiguousarray(columns).reshape(math.prod(shape), n)]
        return cls(n, *np.array(sums).reshape(-1, 4).T.reshape(4, *shape))

    def merge(self, other: "Moments") -> "Moments":
        """Return the moments of both sets together (Chan, Golub and LeVeque 1979; higher moments: Pebay 2008)."""
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
        """The mean of the squares of the samples."""
        return self.m2 / max(self.n, 1) + self.mean**2

    @property
    def kurtosis(self) -> np.ndarray:
        """Sample kurtosis E (X - EX)^4 / Var^2; it is 1, its minimum, for constant samples."""
        spread = self.m2 > 0
        return np.where(spread, self.n * self.m4 / np.where(spread, self.m2, 1.0) ** 2, 1.0)


def _central_sums(x: np.ndarray) -> tuple[float, ...]:
    mean = x.mean()
    d = x - mean
    d2 = d * d
    return mean, d2.sum(), (d2 * d).sum(), (d2 * d2).sum()


@dataclasses.dataclass(frozen=True)
class Summary:
    """Statistics of a stream of samples; `bets` test a stated second moment and are None without one.

    `start` is the number of the first sample, and `first_not_finite` that of the first sample with a NaN or infinity.
    """

    samples: int
    moments: Moments
    low: np.ndarray
    high: np.ndarray
    not_finite: int = 0
    exceeded: int = 0
    bets: Bets | None = None
    start: int = 0
    first_not_finite: int | None = None

    @classmethod
    def empty(cls, size: int, stated: np.ndarray | None, start: int = 0) -> "Summary":
        """Return the summary before the first sample, which has the number `start`."""
        bets, ends = None if stated is None else Bets.start(stated), np.full(size, np.inf)
        return cls(0, Moments(0, *[np.zeros(size)] * 4), ends, -ends, bets=bets, start=start)

    def update(self, values: np.ndarray, exceeded: int) -> "Summary":
        """Return the summary after more samples [n, size]."""
        values = np.asarray(values, np.float64, order="F")  # coordinates are summed one at a time
        finite = np.isfinite(values)
        good, first_not_finite = values, self.first_not_finite
        if not finite.all():
            rows = finite.all(axis=1)
            good = np.asfortranarray(values[rows])
            if first_not_finite is None:
                first_not_finite = self.start + self.samples + int(np.argmin(rows))
        summary = dataclasses.replace(
            self,
            samples=self.samples + len(values),
            not_finite=self.not_finite + len(values) - len(good),
            exceeded=self.exceeded + exceeded,
            first_not_finite=first_not_finite,
        )
        if len(good) == 0:
            return summary
        return dataclasses.replace(
            summary,
            moments=self.moments.merge(Moments.from_samples(good)),
            low=np.minimum(self.low, good.min(axis=0)),
            high=np.maximum(self.high, good.max(axis=0)),
            bets=None if self.bets is None else self.bets.update(good),
        )

    @property
    def constant(self) -> np.ndarray:
        """Return the coordinates in which all samples are identical."""
        return (self.low == self.high) & (self.moments.n > 1)


def estimate_of(out: Any) -> Any:
    """Return the estimate without the count of its caps."""
    return out.value if isinstance(out, Capped) else out


def with_estimate(out: Any, value: Any) -> Any:
    """Replace the estimate and keep the count of its caps."""
    return Capped(value, out.exceeded) if isinstance(out, Capped) else value


@exact_products()
def _blocks(estimator, key, blocks, width, mesh):
    def one_block(estimator, key, block):
        out = jax.vmap(lambda k: estimator(k))(item_keys(key, block, width))
        return estimate_of(out), jnp.asarray(out.exceeded if isinstance(out, Capped) else 0, jnp.int32)

    return map_blocks(one_block, mesh, 2, 1)(estimator, key, blocks)


@functools.cache
def _sampling_program(platform: str, optimised: bool) -> Callable[..., Any]:
    return jax.jit(
        _blocks, static_argnames=("width", "mesh"), compiler_options=fast_compile_options(platform, optimised)
    )


def as_pytree(estimator: Callable[..., Any]) -> Any:
    """Convert an estimator to an argument of a compiled program; a plain function becomes structure."""
    check.function("estimator", estimator, "a key")
    opaque = any(callable(leaf) for leaf in jax.tree.leaves(estimator))
    return jax.tree_util.Partial(estimator) if opaque else estimator


@dataclasses.dataclass(frozen=True)
class Sampler:
    """Sampler of one estimator: the compiled program of a block of samples, and the key of the sample stream.

    Attributes:
        estimator: a pytree that is called with a key.
        key: key of the whole stream.
        width: samples in a block.
        mesh: the devices.
        few: compile without optimisation, which suits a few blocks.
        seed: the seed of the key.
    """

    estimator: Any
    key: jax.Array
    width: int
    mesh: Mesh
    few: bool = False
    seed: int = 0

    @classmethod
    def create(
        cls, estimator: Callable[..., Any], seed: int, width: int, mesh: Mesh | None, few: bool = False
    ) -> "Sampler":
        """Create a sampler with the key of an integer seed."""
        check_not_forked()
        mesh = default_mesh() if mesh is None else check_mesh(mesh)
        return cls(as_pytree(estimator), jax.random.key(seed), width, mesh, few, seed)

    def describe_not_finite(self, *summaries: Summary) -> str | None:
        """Return how many samples are NaN or infinite, and the key of the first one; None if all are finite."""
        n = sum(summary.not_finite for summary in summaries)
        if n == 0:
            return None
        number = next(s.first_not_finite for s in summaries if s.first_not_finite is not None)
        key = f"jax.random.fold_in(jax.random.key({self.seed}), {number})"
        total = sum(summary.samples for summary in summaries)
        return f"{n:,} of {total:,} samples are NaN or infinite; the first one is sample {number}, with the key {key}"

    def blocks(self, n: int, first: int = 0) -> Iterator[tuple[np.ndarray, int]]:
        """Yield `n` samples in blocks, from block `first` on: pairs (values [samples, ...], number above a cap).

        The next group of blocks is computed while the host processes the last one.
        """
        left, n_blocks = n, -(-n // self.width)
        n_threads, statics = thread_count(self.mesh, n_blocks), {"width": self.width, "mesh": self.mesh}
        groups, draw = waves(range(first, first + n_blocks), self.mesh), functools.partial(self._draw, **statics)
        if n_threads > 1:  # compiled here, since the configuration of JAX may differ in the threads
            wave, _ = next(waves([first], self.mesh))
            traced = self._draw.trace(self.estimator, self.key, wave, **statics)
            draw = traced.lower().compile()
            n_threads = 1 if has_host_callbacks(traced.jaxpr) else n_threads

        def launch(wave):
            indices, real = wave
            return draw(self.estimator, self.key, indices), real

        for (values, exceeded), real in pipeline(launch, groups, n_threads):
            values, exceeded = np.asarray(values), np.asarray(exceeded)
            for i in range(real):
                take = min(left, self.width)
                left -= take
                yield values[i, :take], int(exceeded[i, :take].sum()) if exceeded.ndim > 1 else 0

    @functools.cached_property
    def estimate(self) -> Any:
        """Shape and dtype of an estimate, traced from the sampling program."""
        wave, _ = next(waves([0], self.mesh))
        values, _ = self._draw.eval_shape(self.estimator, self.key, wave, width=self.width, mesh=self.mesh)
        return jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[2:], leaf.dtype), values)

    @property
    def _draw(self) -> Any:
        return _sampling_program(self.mesh.devices.flat[0].platform, not self.few)

    @property
    def epsilon(self) -> float:
        """Machine epsilon of the dtype of an estimate."""
        dtype = self.estimate.dtype
        return float(jnp.finfo(dtype).eps) if jnp.issubdtype(dtype, jnp.floating) else float(np.finfo(float).eps)

    def summary(self, n: int, first: int = 0, stated: np.ndarray | None = None) -> Summary:
        """Return the summary of `n` samples from block `first` on; see `running`."""
        return list(self.running(n, first, stated))[-1]

    def running(self, n: int, first: int = 0, stated: np.ndarray | None = None) -> Iterator[Summary]:
        """Yield the summary after each block, with bets against the stated second moments `stated`."""
        size = math.prod(self.estimate.shape)
        summary = Summary.empty(size, stated, first * self.width)
        for values, exceeded in self.blocks(n, first):
            summary = summary.update(values.reshape(len(values), size), exceeded)
            yield summary


# ---------------------------------------------------------------------------------------------------------------------
# Settings shared by all methods of verification.


Progress = Callable[[int, int], None]
_ASSUMED_KURTOSIS = 1000.0


@dataclasses.dataclass(frozen=True)
class Settings:
    """Error rates and sampling options, named as in `unbiased`."""

    detect: PositiveFloat
    level: OpenUnitFloat
    power: OpenUnitFloat
    kurtosis: Annotated[float, Ge(1)] | None
    samples: Count | None
    max_samples: Count
    seed: NonNegativeInt
    width: Annotated[int, Ge(2)]
    mesh: Mesh | None
    progress: Progress | None
    per_coordinate: bool = False
    few: bool = False

    def __post_init__(self) -> None:
        check_fields(self)
        if self.mesh is not None:
            check_mesh(self.mesh)
        if self.progress is not None:
            check.function("progress", self.progress, "(done, total)")

    def sampler(self, estimator: Callable[..., Any]) -> Sampler:
        """Create a sampler of the estimator; see `Sampler.create`."""
        return Sampler.create(estimator, self.seed, self.width, self.mesh, self.few)

    @property
    def kurtosis_of_intervals(self) -> float:
        """The kurtosis that intervals assume; without a stated one they only advise the caller."""
        return _ASSUMED_KURTOSIS if self.kurtosis is None else self.kurtosis
