"""Random Fourier features: finite feature vectors phi(x) with E <phi(x), phi(x')> = k(x, x').

The frequencies omega are drawn from the spectral distribution of a shift-invariant kernel. There are two layouts:
    "cosine"  sqrt(2) cos(<omega, x> + b), b uniform on [0, 2 pi): one feature per frequency,
    "pair"    (cos <omega, x>, sin <omega, x>): two features per frequency.
With equal numbers of frequencies, "pair" has the smaller variance, by exactly k(x, x)^2 / 2 per frequency. With equal
numbers of features, "pair" is better where 2 k(x, x')^2 > k(x, x) k(2x, 2x'): everywhere for the Gaussian and the
Laplacian kernel, but not for distant x and x' with the `Cauchy` kernel.

Sources: Rahimi and Recht (2007); Rokhlin and Gurtovaya (2025), section 2. (Rokhlin and Gurtovaya claim that features
lie in [-1, 1], but features of the layout "cosine" reach sqrt(2).)
"""

import math
from collections.abc import Callable
from typing import Annotated, Any, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Key

from jaxonline import random
from jaxonline.kernels.shift_invariant import ShiftInvariantKernel
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Component, Count, NonNegative, Shape, Takes, as_floating

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
        "`FourierFeatures`", "`Dictionary`", "`ThresholdAdvice`", "`PolynomialFeatures`", "`DebiasedFourierFeatures`",
        "`DebiasedPolynomialFeatures`",
    ),
]  # fmt: skip
"""A function of an instance that is a pytree."""
