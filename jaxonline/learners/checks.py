"""Checks and small functions that several families of learners use."""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxonline.feedback.noise import Noise, TwoPoints
from jaxonline.game.roles import Feedback
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError

# ---------------------------------------------------------------------------------------------------------------------
# The check that instances or outcomes are vectors.


def zeros_like_vector(learner: Any, spec: jax.ShapeDtypeStruct, argument: str = "instance") -> Float[Array, "d"]:
    """Return zeros of the shape and dtype `spec`, or raise a ValueError if the shape is no vector's shape."""
    if len(spec.shape) != 1:
        raise ArgumentError(argument, f"must be a vector for {type(learner).__name__} (got shape {spec.shape})")
    return jnp.zeros(spec.shape, spec.dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Check of the noise of a feedback for learners that are unbiased under one known distribution only.


_MAX_RELATIVE_DIFFERENCE = 1e-5  # of equal covariances in float32, relative to the largest entry


def check_known_noise(feedback: Feedback, learner: Any, part: str, law: str, covariance: Any, dimension: int) -> None:
    """Raise a ValueError for noise that biases a learner, and warn of noise with an unknown distribution.

    Args:
        feedback: the feedback.
        learner: the learner.
        part: name of the learner's field that is made for one distribution of noise.
        law: this distribution, as in `Noise`.
        covariance: the covariance of this noise.
        dimension: dimension of the instances.
    """
    if not feedback.makes_copies and feedback.noise is None:
        return
    noise, name = feedback.noise, type(learner).__name__
    is_other = isinstance(noise, TwoPoints) or (isinstance(noise, Noise) and noise.law != law)
    if noise is None or is_other:
        needed = f"must be {law.capitalize()} for {name} with {type(getattr(learner, part)).__name__}"
        if noise is None and feedback.max_copies is not None:
            advice = f"if their distribution is known, use Replicates(noise=jaxonline.noise.{law}(covariance))"
            raise ArgumentError("noise", f"{needed} (got measured copies without a distribution); {advice}")
        shown = "noise without a single distribution" if noise is None else repr(noise)
        raise ArgumentError("noise", f"{needed} (got {shown})")
    if not isinstance(noise, Noise):
        warnings.warn(
            f"noise: {name} cannot check {noise!r}; it is biased unless the noise is {law.capitalize()} "
            f"with the covariance of its {part}",
            RuntimeWarning,
            stacklevel=3,
        )
        return
    expected, actual = check.concrete_array(covariance), check.concrete_array(noise.covariance)
    if expected is None or actual is None:
        return
    expected, actual = (_as_matrix(a, dimension) for a in (expected, actual))
    limit = _MAX_RELATIVE_DIFFERENCE * np.abs(expected).max()
    if expected.shape != actual.shape or np.abs(expected - actual).max() > limit:
        problem = f"must have the covariance {expected.tolist()} of the learner's {part} (got {actual.tolist()})"
        raise ArgumentError("noise", problem)


def _as_matrix(covariance: np.ndarray, dimension: int) -> np.ndarray:
    """Return the matrix of a covariance given as a variance, variances or a matrix."""
    if covariance.ndim == 0:
        return float(covariance) * np.eye(dimension)
    return np.diag(covariance) if covariance.ndim == 1 else covariance
