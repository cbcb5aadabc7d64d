"""Distributions of noise on instances, rare large errors, and flipped labels."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Key

from jaxonline import random
from jaxonline.numerics.elementwise import compute_once
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import set_field, static, struct
from jaxonline.parameters.types import (
    Component,
    Convert,
    Ge,
    Gt,
    Lt,
    Number,
    Numbers,
    Positive,
    Probability,
    PyTree,
    Takes,
)
from jaxonline.random.threefry import word_pairs

# ---------------------------------------------------------------------------------------------------------------------
# Distributions of zero-mean noise that oracles add to instances and labels.
#
# A distribution has `sample(key, t, x)` and `covariance_at(t, x)` (`NoiseLaw`); it may depend on the round `t` and the
# instance `x`. `Noise` is a linear map of independent, symmetric, unit-variance coordinates. A `NoiseAdversary` chooses
# the distribution of each copy from the learner's earlier rounds.


@runtime_checkable
class NoiseLaw(Protocol):
    """A distribution of zero-mean noise. Write your own as a class with the methods `sample` and `covariance_at`.

    Example:
        >>> from jaxonline.feedback.noise import NoiseLaw, gaussian
        >>> isinstance(gaussian(0.1), NoiseLaw)
        True
    """

    def sample(self, key: Key[Array, ""], t: Int[Array, ""], x: Float[Array, "..."]) -> Float[Array, "..."]:
        """Return one draw of the noise of round `t` around `x`, with mean zero and the shape and dtype of `x`."""
        ...

    def covariance_at(self, t: Int[Array, ""], x: Float[Array, "..."]) -> Float[Array, "d d"]:
        """Return the covariance of the noise of round `t`; it is used only if a feedback reveals it."""
        ...


def sample_together(
    law: NoiseLaw, keys: Sequence[Key[Array, ""]], t: Int[Array, ""], x: Float[Array, "..."]
) -> Float[Array, "n ..."]:
    """Draw the noise of a distribution with each of n keys, and stack the draws."""
    if (together := getattr(law, "sample_together", None)) is not None:  # faster than one by one
        return together(keys, t, x)
    return jnp.stack([compute_once(law.sample, key, t, x) for key in keys])  # fused, jax 0.12 may not compile them


@runtime_checkable
class NoiseAdversary(Protocol):
    """An adversary that chooses the distribution of each copy's noise from earlier rounds, for `AdversarialCopies`.

    Example:
        >>> from jaxonline.environments.adversaries import ChasingNoise
        >>> from jaxonline.feedback.noise import NoiseAdversary
        >>> isinstance(ChasingNoise(1.0), NoiseAdversary)
        True
    """

    def init(self, key: Key[Array, ""], instance: jax.ShapeDtypeStruct) -> PyTree:
        """Return the state before round 1, for instances of the given shape and dtype."""
        ...

    def sample(
        self, key: Key[Array, ""], state: PyTree, t: Int[Array, ""], index: Int[Array, ""], x: Float[Array, "..."]
    ) -> Float[Array, "..."]:
        """Return one draw of the noise of copy `index` = 0, 1, ... of round `t`, with the shape and dtype of `x`.

        Given all arguments but `key`, the mean of the draw must be zero. The distribution may depend on the index.
        """
        ...

    def observe(self, state: PyTree, t: Int[Array, ""], x: Array, y: Array, y_hat: Array) -> PyTree:
        """Return the next state, from the instance, target and prediction of a finished round."""
        ...


def _noise_requirement(value: Any) -> str:
    """Return the text of the requirement on a noise argument, with an example if the argument is a number."""
    example = f", e.g. jo.noise.gaussian({value!r})" if isinstance(value, int | float) else ""
    return f"a distribution of noise with sample and covariance_at{example}"


AnyNoise = Annotated[
    Any,
    Component("noise"),
    Convert(lambda law, name: check.instance(name, law, NoiseLaw, _noise_requirement(law))),
]
"""A noise distribution as an argument."""


def _as_covariance(covariance: Any, name: str) -> Any:
    return check.covariance(name, check.list_to_array(name, covariance))


Covariance = Annotated[Numbers | list[Any], Convert(_as_covariance)]  # a variance, variances, or a covariance matrix


def _standard_laplace(key, shape, dtype):
    return random.laplace(key, shape, dtype) * np.sqrt(0.5).astype(dtype)


def _standard_uniform(key, shape, dtype):
    half_width = np.sqrt(3.0).astype(dtype)
    return random.uniform(key, shape, dtype, -half_width, half_width)


Degrees = Annotated[Number, Gt(2)]


@struct
class StudentCoordinates:
    """Student-t coordinates of variance 1; `degrees` is the degrees of freedom (infinite variance for 2 or fewer).

    Example:
        >>> import jax
        >>> from jaxonline.feedback.noise import StudentCoordinates
        >>> StudentCoordinates(5.0)(jax.random.key(0), (3,), "float32").shape
        (3,)
    """

    degrees: Degrees

    def __call__(self, key: Key[Array, ""], shape: tuple[int, ...], dtype: Any) -> Float[Array, "..."]:
        """Draw coordinates of the given shape and dtype."""
        degrees = jnp.asarray(self.degrees, dtype)
        return random.t(key, degrees, shape, dtype) * jnp.sqrt((degrees - 2) / degrees)

    @property
    def kurtosis(self) -> float:
        """E z^4 of a coordinate z, which is infinite for `degrees` <= 4."""
        degrees = float(np.asarray(self.degrees))
        return 3 + 6 / (degrees - 4) if degrees > 4 else np.inf


_COORDINATES = {"gaussian": random.fast_normal, "laplace": _standard_laplace, "uniform": _standard_uniform}
_KURTOSIS = {"gaussian": 3.0, "laplace": 6.0, "uniform": 1.8}


@struct
class Noise:
    """Noise F z, with independent, symmetric, unit-variance coordinates z and F F' = covariance.

    Use the constructors `gaussian`, `laplace`, `uniform` and `student_t`.

    Args:
        covariance: a variance (number), the variances of the coordinates [d], or a covariance matrix [d, d].
        law: the distribution of the coordinates, or None if `student` is given.
        student: the Student-t coordinates, or None.

    Raises:
        ValueError: a variance is negative, or a matrix is not symmetric and positive semi-definite.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.feedback.noise import laplace
        >>> laplace([0.1, 0.4]).sample(jax.random.key(0), jnp.int32(1), jnp.zeros(2)).shape
        (2,)
    """

    covariance: Covariance
    law: Literal["gaussian", "laplace", "uniform"] | None = static(default="gaussian")
    student: StudentCoordinates | None = None
    factor: Float[ArrayLike, "..."] = dataclasses.field(init=False, default=None)  # type: ignore[assignment]

    def __post_init__(self) -> None:
        if (self.law is None) == (self.student is None):
            raise ArgumentError("student", f"must be given if law is None, and only then (got law={self.law!r})")
        covariance = self.covariance
        xp, floats = (jnp, covariance) if check.is_abstract(covariance) else (np, np.asarray(covariance, float))
        if np.ndim(covariance) == 2:
            values, vectors = xp.linalg.eigh(floats)
            set_field(self, "factor", vectors * xp.sqrt(xp.maximum(values, 0.0)))
        else:
            set_field(self, "factor", xp.sqrt(covariance))

    def sample(self, key: Key[Array, ""], t: Int[Array, ""], x: Float[Array, "..."]) -> Float[Array, "..."]:
        """Return one draw of the noise, with the shape and dtype of `x`."""
        if self.law is not None:
            z = random.stack_draws(_COORDINATES[self.law], [key], x.shape, x.dtype)[0]
        else:
            z = self.student(key, x.shape, x.dtype)  # type: ignore[misc]
        return self._image(z, x)

    def sample_together(
        self, keys: Sequence[Key[Array, ""]], t: Int[Array, ""], x: Float[Array, "..."]
    ) -> Float[Array, "n ..."]:
        """Return one draw of the noise with each of n keys, stacked."""
        if self.law is None:
            return jnp.stack([self.sample(key, t, x) for key in keys])
        z = random.stack_draws(_COORDINATES[self.law], keys, x.shape, x.dtype)
        return jax.vmap(self._image, (0, None))(z, x)

    def _image(self, z: Float[Array, "..."], x: Float[Array, "..."]) -> Float[Array, "..."]:
        """Return the noise F z for the instance or label `x`."""
        factor = jnp.asarray(self.factor, x.dtype)
        if factor.ndim and (factor.shape[-1:] != x.shape or x.ndim != 1):
            raise ArgumentError("covariance", f"must fit the instance or label of shape {x.shape} (got {factor.shape})")
        return factor @ z if factor.ndim == 2 else factor * z

    def covariance_at(self, t: Int[Array, ""], x: Float[Array, "d"]) -> Float[Array, "d d"]:
        """Return the covariance matrix [d, d] of the noise, which is the same in every round."""
        covariance = jnp.asarray(self.covariance, x.dtype)
        if covariance.ndim == 2:
            return covariance
        return jnp.diag(jnp.broadcast_to(covariance, x.shape))

    @property
    def kurtosis(self) -> float:
        """E z^4 of the unit-variance coordinates: 3 for Gaussian noise, infinite for heavy Student-t tails."""
        return _KURTOSIS[self.law] if self.law is not None else self.student.kurtosis  # type: ignore[union-attr]

    def factor_matrix(self, d: int) -> np.ndarray:
        """The factor F of the covariance F F' as a float64 matrix [d, d]."""
        factor = np.asarray(self.factor, float)
        return factor if factor.ndim == 2 else np.diag(np.broadcast_to(factor, (d,)))


def gaussian(covariance: Covariance) -> Noise:
    """Gaussian noise with a variance, a vector of variances or a covariance matrix.

    Example:
        >>> from jaxonline.feedback.noise import gaussian
        >>> gaussian([[1.0, 0.5], [0.5, 1.0]]).kurtosis
        3.0
    """
    return Noise(covariance, law="gaussian")


def laplace(covariance: Covariance) -> Noise:
    """Noise with Laplace coordinates, with a variance, a vector of variances or a covariance matrix.

    Example:
        >>> from jaxonline.feedback.noise import laplace
        >>> laplace(0.2).kurtosis
        6.0
    """
    return Noise(covariance, law="laplace")


def uniform(covariance: Covariance) -> Noise:
    """Noise with uniform coordinates, with a variance, a vector of variances or a covariance matrix.

    Example:
        >>> from jaxonline.feedback.noise import uniform
        >>> uniform(1 / 3).covariance  # uniform on [-1, 1]
        0.3333333333333333
    """
    return Noise(covariance, law="uniform")


def student_t(covariance: Covariance, degrees: Degrees) -> Noise:
    """Noise with Student-t coordinates, with a variance, a vector of variances or a covariance matrix.

    Example:
        >>> from jaxonline.feedback.noise import student_t
        >>> student_t(0.2, degrees=10.0).kurtosis
        4.0
    """
    return Noise(covariance, law=None, student=StudentCoordinates(degrees))


@struct
class TwoPoints:
    """Noise that is v or -v, each with probability 1/2; its covariance is v v'.

    Args:
        vector: the vector v, with the shape of the instance or label.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.feedback.noise import TwoPoints
        >>> abs(TwoPoints([2.0, 0.0]).sample(jax.random.key(0), jnp.int32(1), jnp.zeros(2))).tolist()
        [2.0, 0.0]
    """

    vector: Numbers | list[Any]

    def sample(self, key: Key[Array, ""], t: Int[Array, ""], x: Float[Array, "..."]) -> Float[Array, "..."]:
        """Return one draw of the noise, with the shape and dtype of `x`."""
        vector = jnp.asarray(self.vector, x.dtype)
        if vector.shape != x.shape:
            raise ArgumentError(
                "vector", f"must have the shape of the instance or label, {x.shape} (got {vector.shape})"
            )
        return random.rademacher(key, (), x.dtype) * vector

    def covariance_at(self, t: Int[Array, ""], x: Float[Array, "d"]) -> Float[Array, "d d"]:
        """Return the covariance v v' [d, d] of the noise, which is the same in every round."""
        vector = jnp.asarray(self.vector, x.dtype)
        return jnp.outer(vector, vector)


@struct
class CustomNoise:
    """Noise from a function: any zero-mean distribution, which may depend on the round and the instance.

    Args:
        draw: `draw(key, t, x)` returns noise of the shape of `x` with mean zero.
        covariance: `covariance(t, x)` returns the covariance of the noise [d, d], for feedbacks that reveal it.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.feedback.noise import CustomNoise
        >>> growing = CustomNoise(lambda key, t, x: 0.5 * t * jax.random.rademacher(key, x.shape, x.dtype))
        >>> abs(growing.sample(jax.random.key(0), jnp.float32(10.0), jnp.zeros(2))).tolist()
        [5.0, 5.0]
    """

    draw: Annotated[Callable[..., Any], Takes("(key, t, x)")] = static()
    covariance: Annotated[Callable[..., Any], Takes("(t, x)")] | None = static(default=None)

    def sample(self, key: Key[Array, ""], t: Array, x: Float[Array, "..."]) -> Float[Array, "..."]:
        """Return one draw of the function `draw`, checked to have the shape of `x`."""
        noise = jnp.asarray(self.draw(key, t, x))
        if noise.shape != x.shape:
            raise ArgumentError("draw", f"must return the shape of the instance {x.shape} (got {noise.shape})")
        return noise.astype(x.dtype)

    def covariance_at(self, t: Array, x: Float[Array, "d"]) -> Float[Array, "d d"]:
        """Return the value of the function `covariance` for this round."""
        if self.covariance is None:
            problem = "must be given if a feedback reveals it (got None); write CustomNoise(draw, covariance)"
            raise ArgumentError("covariance", problem)
        return jnp.asarray(self.covariance(t, x), x.dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Noise that is large and rare, such as wrong entries in a table.


@struct
class RareErrors:
    """Noise with independent coordinates that are `size` or -`size`, each with probability `rate` / 2, otherwise 0.

    Args:
        size: absolute value of an error.
        rate: probability of an error in one coordinate of one copy. The variance is rate size^2.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> noise = jo.noise.RareErrors(size=5.0, rate=0.5)
        >>> keys = jax.random.split(jax.random.key(0), 20)
        >>> sorted({noise.sample(key, jnp.int32(1), jnp.float32(1.0)).item() for key in keys})
        [-5.0, 0.0, 5.0]
    """

    size: Positive
    rate: Probability

    def sample(self, key: Key[Array, ""], t: Int[Array, ""], x: Float[Array, "..."]) -> Float[Array, "..."]:
        """Return one draw of the noise, with the shape and dtype of `x`."""
        u = word_pairs(key, x.shape, x.dtype)
        half, size = jnp.asarray(self.rate, x.dtype) / 2, jnp.asarray(self.size, x.dtype)
        return size * (u.below(half).astype(x.dtype) - u.mirrored().below(half).astype(x.dtype))

    def covariance_at(self, t: Int[Array, ""], x: Float[Array, "d"]) -> Float[Array, "d d"]:
        """Return the covariance rate size^2 I [d, d] of the noise, which is the same in every round."""
        variance = jnp.asarray(self.rate, x.dtype) * jnp.asarray(self.size, x.dtype) ** 2
        return variance * jnp.eye(x.shape[0], dtype=x.dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Noise of labels whose sign is flipped at a known rate.


FlipRate = Annotated[Number, Ge(0), Lt(0.5)]


@struct
class FlippedLabels:
    """Noise of labels with sign flips at a known rate q: y~ = y / (1 - 2q) with probability 1 - q, else -y / (1 - 2q).

    A label that is flipped with probability q has the mean (1 - 2q) y. So y~ has the mean y, and E y~^2 = y^2 / (1 -
    2q)^2.

    Args:
        rate: q, below 1/2; 0 for clean labels.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> feedback = jo.NoisyCopies(jo.noise.gaussian(0.1), label_noise=jo.noise.FlippedLabels(0.25))
        >>> oracle = feedback.open(jax.random.key(0), jnp.int32(1), jnp.zeros(2), jnp.float32(1.0), 0.0)
        >>> sorted({oracle.label(j).item() for j in range(20)})
        [-2.0, 2.0]
    """

    rate: FlipRate

    def sample(self, key: Key[Array, ""], t: Int[Array, ""], x: Float[Array, "..."]) -> Float[Array, "..."]:
        """Return one draw of y~ - y, with one flip for all entries of the label `x`."""
        rate = jnp.asarray(self.rate, x.dtype)
        sign = 1 - 2 * random.bernoulli(key, rate).astype(x.dtype)
        return (sign / (1 - 2 * rate) - 1) * x

    def covariance_at(self, t: Int[Array, ""], x: Float[Array, "d"]) -> Float[Array, "d d"]:
        """Return the covariance (1 / (1 - 2q)^2 - 1) x x' of y~ for the label `x` [d]."""
        rate = jnp.asarray(self.rate, x.dtype)
        return (1 / (1 - 2 * rate) ** 2 - 1) * jnp.outer(x, x)
