"""Random Fourier features, and dictionaries of several kernels."""

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Key

from jaxonline import random
from jaxonline.kernels import Gaussian, Laplacian, ShiftInvariantKernel
from jaxonline.kernels.shift_invariant import require_shift_invariant
from jaxonline.numerics.elementwise import sincos
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import stack, struct
from jaxonline.parameters.types import Component, Count, NonNegative, Seed, Shape, Takes, as_floating

# ---------------------------------------------------------------------------------------------------------------------
# Random Fourier features: finite feature vectors phi(x) with E <phi(x), phi(x')> = k(x, x').
#
# The frequencies omega are drawn from the spectral distribution of a shift-invariant kernel. There are two layouts:
#     "cosine"  sqrt(2) cos(<omega, x> + b), b uniform on [0, 2 pi): one feature per frequency,
#     "pair"    (cos <omega, x>, sin <omega, x>): two features per frequency.
# With equal numbers of frequencies, "pair" has the smaller variance, by exactly k(x, x)^2 / 2 per frequency. With equal
# numbers of features, "pair" is better where 2 k(x, x')^2 > k(x, x) k(2x, 2x'): everywhere for the Gaussian and the
# Laplacian kernel, but not for distant x and x' with the `Cauchy` kernel.
#
# Sources: Rahimi and Recht (2007); Rokhlin and Gurtovaya (2025), section 2. (Rokhlin and Gurtovaya claim that features
# lie in [-1, 1], but features of the layout "cosine" reach sqrt(2).)


Layout = Literal["cosine", "pair"]


@cites("rahimi2007random", "rokhlin2025random")
@struct
class FourierFeatures:
    """Random Fourier features of a kernel; draw them with `FourierFeatures.draw`.

    Args:
        frequencies: the frequencies omega [m, d].
        phases: the phases b [m] for the layout "cosine" (ValueError for another length), None for the layout "pair".
        at_zero: k(x, x).

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> jo.estimators.FourierFeatures(jnp.zeros((1, 2)))(jnp.ones(2)).tolist()
        [1.0, 0.0]
    """

    frequencies: Annotated[Any, Shape("m", "d")]
    phases: Annotated[Any, Shape("m")] | None = None
    at_zero: NonNegative = 1.0

    def __post_init__(self) -> None:
        shape = np.shape(self.frequencies)
        if len(shape) != 2:
            raise ArgumentError("frequencies", f"must have 2 dimensions (features, coordinates) (got shape {shape})")
        if self.phases is not None and np.shape(self.phases) != shape[:1]:
            raise ArgumentError(
                "phases", f"must have shape {shape[:1]}, one per frequency (got {np.shape(self.phases)})"
            )

    @classmethod
    @validate_arguments
    def draw(
        cls,
        key: Key[Array, ""],
        kernel: ShiftInvariantKernel,
        dimension: Count,
        n_frequencies: Count,
        layout: Layout = "pair",
    ) -> "FourierFeatures":
        """Draw the features of a shift-invariant kernel.

        Args:
            key: random key, not to be used again.
            kernel: kernel with a spectral distribution (`Gaussian`, `Laplacian`, a radial kernel, sums and multiples).
            dimension: dimension of the instances.
            n_frequencies: number m of frequencies; the layout "pair" makes 2m features.
            layout: "pair" for a sine and a cosine of each frequency, "cosine" for a cosine with a random phase.

        Example:
            >>> import jax, jax.numpy as jnp, jaxonline as jo
            >>> features = jo.estimators.FourierFeatures.draw(jax.random.key(0), jo.kernels.Gaussian(2.0), 3, 500)
            >>> features.size, bool(abs(features(jnp.zeros(3)) @ features(jnp.ones(3)) - jnp.exp(-0.75)) < 0.1)
            (1000, True)
        """
        check.key("key", key)
        frequency_key, phase_key = jax.random.split(key)
        frequencies = kernel.frequencies(frequency_key, dimension, n_frequencies)
        phases = None
        if layout == "cosine":
            phases = random.uniform(phase_key, (n_frequencies,), frequencies.dtype, 0.0, 2.0 * math.pi)
        return cls(frequencies, phases, kernel.at_zero())

    @property
    def dimension(self) -> int:
        """Dimension of the instances."""
        return np.shape(self.frequencies)[1]

    @property
    def size(self) -> int:
        """Number of features: m for the layout "cosine", 2m for the layout "pair"."""
        return np.shape(self.frequencies)[0] * (1 if self.phases is not None else 2)

    def __call__(self, x: Float[ArrayLike, "d"]) -> Float[Array, "size"]:
        """Return phi(x); for the layout "pair" all cosines, then all sines."""
        x = as_floating(x)
        frequencies = jnp.asarray(self.frequencies, x.dtype)
        scale = jnp.sqrt(jnp.asarray(self.at_zero, x.dtype) / frequencies.shape[0])
        angles = frequencies @ x
        if self.phases is not None:
            return scale * math.sqrt(2.0) * jnp.cos(angles + jnp.asarray(self.phases, x.dtype))
        return scale * jnp.concatenate([jnp.cos(angles), jnp.sin(angles)])


AnyFeatures = Annotated[
    Callable,
    Takes("an instance"),
    Component(
        "`FourierFeatures`", "`Dictionary`", "`PolynomialFeatures`", "`DebiasedFourierFeatures`",
        "`DebiasedPolynomialFeatures`",
    ),
]  # fmt: skip
"""A function of an instance that is a pytree."""


# ---------------------------------------------------------------------------------------------------------------------
# Dictionaries of N kernels: Fourier features [N, features] of x (Rokhlin and Gurtovaya 2025, sections 2 and 4).


GAUSSIAN_VARIANCES = tuple(10 ** (4 * (i / 50) - 2) for i in range(51))
LAPLACIAN_SCALES = tuple(10 ** (i / 6 - 2) for i in range(25))


@struct
class Dictionary:
    """Random features of N kernels with k(0) = 1: [sin, cos] / sqrt(m), or sqrt(2) cos(. + phase) / sqrt(m).

    Args:
        frequencies: the frequencies [N, m, d] of the kernels; `draw` and `published` draw them.
        phases: the phases [N, m] of the layout "cosine" (ValueError for another shape), or None for the layout "pair",
            which has 2m features for each kernel.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> features = jo.estimators.Dictionary(jnp.zeros((3, 1, 2)))
        >>> features.n_kernels, features(jnp.ones(2)).tolist()
        (3, [[0.0, 1.0], [0.0, 1.0], [0.0, 1.0]])
    """

    frequencies: Annotated[Any, Shape("N", "m", "d")]
    phases: Annotated[Any, Shape("N", "m")] | None = None

    def __post_init__(self) -> None:
        shape = np.shape(self.frequencies)[:2]
        if self.phases is not None and np.shape(self.phases) != shape:
            raise ArgumentError("phases", f"must have shape {shape} (got {np.shape(self.phases)})")

    @classmethod
    @validate_arguments
    def draw(
        cls,
        key: Key[Array, ""],
        kernels: Sequence[ShiftInvariantKernel],
        dimension: Count,
        n_frequencies: Count,
        layout: Layout = "pair",
    ) -> "Dictionary":
        """Draw features of shift-invariant kernels with k(0) = 1, independently for each kernel.

        Args:
            key: random key, not to be used again; kernel i uses `fold_in(key, i)`.
            kernels: at least one kernel; each must be shift-invariant (otherwise a TypeError) with k(0) = 1 (otherwise
                a ValueError).
            dimension: dimension of the instances.
            n_frequencies: number m of frequencies of each kernel.
            layout: "pair" for a sine and a cosine of each frequency, "cosine" for a cosine with a random phase.

        Example:
            >>> import jax, jaxonline as jo
            >>> kernels = [jo.kernels.Gaussian(1.0), jo.kernels.Laplacian(2.0)]
            >>> jo.estimators.Dictionary.draw(jax.random.key(0), kernels, 3, 10).frequencies.shape
            (2, 10, 3)
        """
        m = n_frequencies
        check.key("key", key)
        check.sequence("kernels", kernels, "kernel")
        for kernel in kernels:
            at_zero = check.concrete_array(require_shift_invariant("kernels", kernel).at_zero())
            if at_zero is not None and not np.allclose(at_zero, 1.0):
                raise ArgumentError("kernels", f"must have k(0) = 1 (got {float(at_zero):g} for {kernel!r})")
        keys = jax.vmap(lambda i: jax.random.fold_in(key, i))(jnp.arange(len(kernels)))
        blocks, start = [], 0
        for _, same_structure in itertools.groupby(kernels, jax.tree.structure):
            group = stack(list(same_structure))
            n_kernels = len(jax.tree.leaves(group)[0]) if jax.tree.leaves(group) else 1
            draw = jax.vmap(lambda kernel, key: kernel.frequencies(jax.random.fold_in(key, 0), dimension, m))
            blocks.append(draw(group, keys[start : start + n_kernels]))
            start += n_kernels
        phases = None
        if layout == "cosine":
            dtype = blocks[0].dtype
            phases = jax.vmap(lambda k: random.uniform(jax.random.fold_in(k, 1), (m,), dtype, 0.0, math.tau))(keys)
        return cls(jnp.concatenate(blocks), phases)

    @classmethod
    @validate_arguments
    def published(cls, seed: Seed, dimension: Count, n_frequencies: Count = 50) -> "Dictionary":
        """Draw the published dictionary of 76 kernels (see `published_kernels`) with NumPy's legacy generator.

        Args:
            seed: seed of `numpy.random.RandomState`.
            dimension: dimension of the instances.
            n_frequencies: number m of frequencies of each kernel.

        Example:
            >>> from jaxonline.estimators.fourier import Dictionary
            >>> Dictionary.published(0, dimension=5).frequencies.shape
            (76, 50, 5)
        """
        shape = dimension, n_frequencies
        generator = np.random.RandomState(seed)
        gaussian = [generator.randn(*shape) * np.sqrt(1 / variance) for variance in GAUSSIAN_VARIANCES]
        laplacian = [generator.standard_cauchy(shape) / scale for scale in LAPLACIAN_SCALES]
        return cls(np.swapaxes(np.stack(gaussian + laplacian), 1, 2))

    @property
    def n_kernels(self) -> int:
        """Number N of kernels."""
        return np.shape(self.frequencies)[0]

    @property
    def n_features(self) -> int:
        """Number of features of each kernel: 2m for the layout "pair", m for "cosine"."""
        return np.shape(self.frequencies)[1] * (2 if self.phases is None else 1)

    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "N features"]:
        """Return the features of an instance, one row for each kernel."""
        # Also works for one kernel, a slice of the leaves: frequencies [m, d] and features [features].
        return self._features(jnp.matmul(jnp.asarray(self.frequencies, x.dtype), x, precision="highest"))

    def map_rows(self, X: Float[Array, "n d"]) -> Float[Array, "n N features"]:
        """Return the features of many instances; this order of the product gives rows, as later products need."""
        frequencies = jnp.asarray(self.frequencies, X.dtype)
        return jax.vmap(self._features)(jnp.tensordot(X, frequencies, axes=(1, -1), precision="highest"))

    def _features(self, angles: Float[Array, "... m"]) -> Float[Array, "... features"]:
        scale = 1.0 / math.sqrt(angles.shape[-1])
        if self.phases is not None:
            return sincos(angles + jnp.asarray(self.phases, angles.dtype))[1] * (math.sqrt(2.0) * scale)
        return jnp.concatenate(sincos(angles), axis=-1) * scale


def published_kernels() -> list[ShiftInvariantKernel]:
    """The 76 published kernels: 51 Gaussian of variance 10^(4i/50 - 2), then 25 Laplacian of scale 10^(i/6 - 2).

    Example:
        >>> from jaxonline.estimators.fourier import published_kernels
        >>> published_kernels()[51]
        Laplacian(scale=0.01)
    """
    gaussian = [Gaussian.from_standard_deviation(math.sqrt(variance)) for variance in GAUSSIAN_VARIANCES]
    return [*gaussian, *map(Laplacian, LAPLACIAN_SCALES)]


AnyDictionary = Annotated[Callable[..., Any], Takes("an instance"), Component("`Dictionary`")]
"""A function of an instance (a pytree) that returns a row of features for each kernel."""
