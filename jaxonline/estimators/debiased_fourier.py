"""Random Fourier features of noisy copies that are unbiased under Gaussian noise of known covariance.

For noise n with the distribution N(0, Sigma), E cos(<omega, x + n> + b) = e^(-omega' Sigma omega / 2) cos(<omega, x> +
b). So a feature of a copy divided by this factor has the mean phi(x): deconvolution, as for a deconvoluting kernel
density estimate (Stefanski and Carroll 1990). Frequencies for which the factor is small have a large variance.
"""

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from jaxonline.estimators.fourier import FourierFeatures
from jaxonline.feedback.noise import Covariance
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import struct


@cites("rahimi2007random", "stefanski1990deconvoluting")
@struct
class DebiasedFourierFeatures:
    """Unbiased features of noisy copies: E phi~(x~) = phi(x) for Fourier features phi and Gaussian noise.

    `WithFeatures(learner, features, copy_features)` learns from phi~ of the copies and predicts from phi of instances.
    The estimate of a gradient needs two copies (`TwoCopies`), since the noise of phi~ has an unknown covariance.

    Args:
        features: phi.
        covariance: covariance of the noise: a variance (number), variances [d] or a matrix [d, d]; it must fit the
            frequencies (otherwise a ValueError).

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> features = jo.estimators.FourierFeatures(jnp.array([[2.0, 0.0]]))
        >>> copies = jo.estimators.DebiasedFourierFeatures(features, 0.5)
        >>> round(float(copies(jnp.zeros(2))[0]), 4)  # e^(0.5 4 / 2)
        2.7183
    """

    features: FourierFeatures
    covariance: Covariance

    def __post_init__(self) -> None:
        d, shape = self.features.dimension, np.shape(self.covariance)
        if shape not in ((), (d,), (d, d)):
            raise ArgumentError("covariance", f"must fit frequencies with {d} coordinates (got shape {shape})")

    @property
    def size(self) -> int:
        """Number of features."""
        return self.features.size

    def inflation(self) -> Float[Array, "m"]:
        """Return e^(omega' Sigma omega / 2), by which the features of each frequency are multiplied."""
        frequencies = jnp.asarray(self.features.frequencies)
        covariance = jnp.asarray(self.covariance, frequencies.dtype)
        if covariance.ndim < 2:
            covariance = jnp.diag(jnp.broadcast_to(covariance, frequencies.shape[1:]))
        image = frequencies @ covariance
        return jnp.exp(0.5 * jnp.sum(image * frequencies, axis=1))

    def __call__(self, x: Float[ArrayLike, "d"]) -> Float[Array, "size"]:
        """Return phi~ of a copy."""
        phi, factors = self.features(x), self.inflation()
        repeats = self.size // len(factors)  # a cosine, and in the layout "pair" a sine
        return phi * jnp.tile(factors, repeats).astype(phi.dtype)
