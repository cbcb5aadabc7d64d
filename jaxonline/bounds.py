"""Theorems as numbers: what a theorem promises, and the step size with which it promises it."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline import _check
from jaxonline.noise import Noise

FORMS = ("corrected", "printed")


class RegretBound(NamedTuple):
    """A bound on the expected regret of projected gradient descent with E|g|^2 <= G and |w| <= radius.

    Attributes:
        value: the bound at the horizon with the step size below.
        step_size: the constant step the theorem prescribes.
        G: the bound on the second moment of the gradient estimate.
        radius: of the ball, which holds learner and comparator.

    Example:
        >>> from jaxonline.bounds import two_copies
        >>> bound = two_copies(radius=1.0, x_bound=1.0, y_bound=1.0, n_rounds=400)
        >>> bound.G, bound.value, bound.step_size
        (16.0, 80.0, 0.0125)
    """

    value: float
    step_size: float
    G: float
    radius: float

    def constant_step(self, step_size: float, rounds: np.ndarray) -> np.ndarray:
        """The bound after each of `rounds` for any constant step: radius^2/(2 step) + step G t / 2.

        Zinkevich (2003), or paper B, Lemma 3. It is an expectation over the noise, at every t.
        """
        _check.positive("step_size", step_size)
        return self.radius**2 / (2 * step_size) + step_size * self.G * np.asarray(rounds, float) / 2

    def inverse_sqrt_step(self, eta: float, rounds: np.ndarray) -> np.ndarray:
        """The bound after each of `rounds` for steps eta / sqrt(t): (2 radius^2 / eta + eta G) sqrt(t).

        Zinkevich (2003), Theorem 1: D^2/(2 step_t) + G/2 sum of steps, with D = 2 radius and
        sum of 1/sqrt(s) <= 2 sqrt(t).
        """
        _check.positive("eta", eta)
        return (2 * self.radius**2 / eta + eta * self.G) * np.sqrt(np.asarray(rounds, float))


def _gradient_descent(radius: float, G: float, n_rounds: int) -> RegretBound:
    return RegretBound(float(radius * np.sqrt(G * n_rounds)), float(radius / np.sqrt(G * n_rounds)), float(G), radius)


def full_information(radius: float, x_bound: float, y_bound: float, n_rounds: int) -> RegretBound:
    """Online gradient descent on clean data: |x| <= x_bound, |y| <= y_bound (Zinkevich 2003).

    G = 4 (radius x_bound + y_bound)^2 x_bound^2.

    Raises:
        ValueError: if a radius or bound is not above 0, or the horizon is less than 1.

    Example:
        >>> from jaxonline.bounds import full_information
        >>> full_information(1.0, 1.0, 1.0, n_rounds=100).value
        40.0
    """
    return two_copies(radius, x_bound, y_bound, n_rounds)


def two_copies(radius: float, x_bound: float, y_bound: float, n_rounds: int, form: str = "corrected") -> RegretBound:
    """Paper B, Theorem 1: two noisy copies a round; regret <= radius sqrt(G T) with step radius / sqrt(G T).

    Args:
        radius: B_w, of the ball of hypotheses and comparators.
        x_bound: B with E|x~|^2 <= B^2 in every round.
        y_bound: B_y with E y~^2 <= B_y^2 in every round.
        n_rounds: the horizon T.
        form: "corrected", G = 4 (B_w B + B_y)^2 B^2; or "printed", G = 4 (B_w^2 B^2 + B_y^2) B^2, which drops the
            cross term (erratum E10).

    Raises:
        ValueError: if a radius or bound is not above 0, the horizon is less than 1, or `form` is neither.

    Example:
        >>> from jaxonline.bounds import two_copies
        >>> two_copies(1.0, 1.0, 1.0, 100).G, two_copies(1.0, 1.0, 1.0, 100, form="printed").G
        (16.0, 8.0)
    """
    B_w, B, B_y = (_check.positive(n, v) for n, v in [("radius", radius), ("x_bound", x_bound), ("y_bound", y_bound)])
    _check.count("n_rounds", n_rounds)
    _check.choice("form", form, FORMS)
    inner = (B_w * B + B_y) ** 2 if form == "corrected" else B_w**2 * B**2 + B_y**2
    return _gradient_descent(radius, 4 * inner * B**2, n_rounds)


def known_covariance(
    radius: float, x_bound: float, y_bound: float, covariance_norm: float, n_rounds: int, form: str = "corrected"
) -> RegretBound:
    """Paper B, Theorem 2: one noisy copy and its noise's covariance.

    Args:
        radius: B_w, of the ball of hypotheses and comparators.
        x_bound: B with E|x~|^4 <= B^4 in every round (so that E|x~|^2 <= B^2).
        y_bound: B_y with E y~^2 <= B_y^2 in every round.
        covariance_norm: B_Sigma, a bound on the spectral norm of the covariances, at least 0.
        n_rounds: the horizon T.
        form: "corrected", for the gradient 2 (<w, x~> - y~) x~ - 2 Sigma w (erratum E11):
            G = 8 B_w^2 B^4 + 8 B_y^2 B^2 + 8 B_w B_Sigma B (B_w B + B_y), step B_w / sqrt(G T), regret
            <= B_w sqrt(G T). "printed": G as in Lemma 2, for the step B_w / sqrt(T), (G + 1)/2 B_w sqrt(T).

    Raises:
        ValueError: if a radius or bound is not above 0, `covariance_norm` is negative, the horizon is less than 1,
            or `form` is neither.

    Example:
        >>> from jaxonline.bounds import known_covariance
        >>> known_covariance(1.0, 1.0, 1.0, 0.5, 100).G
        24.0
    """
    B_w, B, B_y = (_check.positive(n, v) for n, v in [("radius", radius), ("x_bound", x_bound), ("y_bound", y_bound)])
    B_S = _check.not_negative("covariance_norm", covariance_norm)
    _check.count("n_rounds", n_rounds)
    _check.choice("form", form, FORMS)
    G = 8 * B_w**2 * B**4 + 8 * B_y**2 * B**2
    if form == "printed":
        G += 4 * B_w**2 * B**2 * B_S + B_S**2 * B_w**2
        return RegretBound((G + 1) / 2 * B_w * np.sqrt(n_rounds), B_w / np.sqrt(n_rounds), G, B_w)
    return _gradient_descent(radius, G + 8 * B_w * B_S * B * (B_w * B + B_y), n_rounds)


class MomentBounds(NamedTuple):
    """The constants of paper B's theorems for a data set and its noise: each a bound over all rows.

    Attributes:
        x_second: B with E|x~|^2 <= B^2.
        x_fourth: B with E|x~|^4 <= B^4 (it is never below `x_second`).
        y_second: B_y with E y~^2 <= B_y^2.
        covariance_norm: spectral norm of the noise's covariance.

    Example:
        >>> import numpy as np
        >>> from jaxonline.bounds import moment_bounds
        >>> from jaxonline.noise import gaussian
        >>> moment_bounds(np.eye(2), np.ones(2), gaussian(4.0)).x_second
        3.0
    """

    x_second: float
    x_fourth: float
    y_second: float
    covariance_norm: float


def moment_bounds(
    X: Float[ArrayLike, "n d"], y: Float[ArrayLike, "n"], noise: Any = None, label_noise: Any = None
) -> MomentBounds:
    """The constants that the theorems ask for, exactly, for `Noise` F z with independent symmetric coordinates.

    E|x + n|^4 = |x|^4 + 4 x'Sx + 2 |x|^2 tr S + E|n|^4, E|n|^4 = (tr S)^2 + 2 tr S^2 + (kurtosis - 3) sum M_kk^2,
    with S = F F' and M = F' F.

    Args:
        X: instances [n, d].
        y: targets [n].
        noise: law of the instances' noise, or None for clean instances.
        label_noise: law of the labels' noise, or None for clean labels.

    Raises:
        TypeError: if a law is not a `Noise`.
        ValueError: if the fourth moment of the noise is infinite.

    Example:
        >>> import numpy as np
        >>> from jaxonline.bounds import moment_bounds
        >>> moment_bounds(np.eye(2), 2 * np.ones(2)).y_second
        2.0
    """
    for name, law in (("noise", noise), ("label_noise", label_noise)):
        if law is not None and not isinstance(law, Noise):
            raise TypeError(f"{name} must be a Noise (gaussian, laplace, uniform, student_t), got {law!r}")
    X, y = _check.finite_array("X", X, ndim=2).astype(float), _check.finite_array("y", y, ndim=1).astype(float)
    norms = (X**2).sum(axis=1)
    factor = np.zeros((X.shape[1],) * 2) if noise is None else noise.factor_matrix(X.shape[1])
    if noise is not None and not np.isfinite(noise.kurtosis):
        raise ValueError(f"noise must have a finite fourth moment, got the kurtosis {noise.kurtosis}")
    S, M = factor @ factor.T, factor.T @ factor
    excess = 0.0 if noise is None else noise.kurtosis - 3
    of_noise = np.trace(S) ** 2 + 2 * np.sum(S * S) + excess * np.sum(np.diag(M) ** 2)
    fourth = norms**2 + 4 * np.einsum("ni,ij,nj->n", X, S, X) + 2 * norms * np.trace(S) + of_noise
    label_variance = 0.0 if label_noise is None else float(label_noise.factor_matrix(1)[0, 0]) ** 2
    return MomentBounds(
        float(np.sqrt(norms.max() + np.trace(S))),
        float(fourth.max() ** 0.25),
        float(np.sqrt((y**2).max() + label_variance)),
        float(np.linalg.norm(S, 2)),
    )
