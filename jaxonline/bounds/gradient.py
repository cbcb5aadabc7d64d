"""Bounds for gradient and mirror descent: linear predictors with noise, convex losses, and steps 1/t."""

import math
from typing import Annotated

import numpy as np

from jaxonline.bounds.theorem import ANY, OBLIVIOUS, Bound, RoundNumbers, theorem
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import (
    Count,
    CountFrom2,
    Ge,
    Horizon,
    Numbers,
    PositiveFloat,
    PositiveOrInfinity,
    Rounds,
    Vector,
)  # fmt: skip

# ---------------------------------------------------------------------------------------------------------------------
# Regret bound of projected gradient descent, at the horizon and after every round.


@validate_arguments
def curve_of_descent(
    bound: Bound, rounds: RoundNumbers, step_size: PositiveFloat | None = None, eta: PositiveFloat | None = None
) -> np.ndarray:
    """Regret bound after each of `rounds`: prescribed step, constant `step_size`, or decreasing steps eta / sqrt(t).

    For constant steps it is radius^2/(2 step) + step G t/2 (Cesa-Bianchi et al. 2010b, Lemma 3). For eta / sqrt(t) it
    is (diameter^2 / (2 eta) + eta G) sqrt(t): Zinkevich (2003), Theorem 1, has the bound D^2/(2 step_t) + G/2 sum of
    steps, and the sum of 1/sqrt(s) is at most 2 sqrt(t). If the diameter is infinite, there is no bound for decreasing
    steps, and the value is inf. In an environment that reacts, `noise_cost` times sqrt(t) is added.
    """
    t, noise_cost = np.asarray(rounds, float), bound.parameters.get("noise_cost", 0.0)
    if step_size is not None and eta is not None:
        raise ArgumentError("eta", "must not be given with step_size")
    if math.isinf(bound.G if eta is None else bound.diameter):
        return np.full(t.shape, math.inf)
    if eta is not None:
        return (bound.diameter**2 / (2 * eta) + eta * bound.G + noise_cost) * np.sqrt(t)
    step = bound.step_size if step_size is None else step_size
    return bound.radius**2 / (2 * step) + step * bound.G * t / 2 + noise_cost * np.sqrt(t)


def descent_in_hindsight(bound: Bound) -> Bound:
    """Return the bound of gradient descent in an environment that reacts (`Bound.in_any_environment` has the proof)."""
    return bound.replace(value=2 * bound.value, noise_cost=bound.radius * math.sqrt(bound.G))


@theorem(OBLIVIOUS, "zinkevich2003online", "cesabianchi2010online", "cesabianchi2010learning", prescribed_rate=True)
def gradient_descent(
    radius: PositiveFloat, G: PositiveOrInfinity, n_rounds: Rounds, diameter: PositiveOrInfinity | None = None
) -> Bound:
    """Regret bound of projected gradient descent with E|g|^2 <= G: radius sqrt(G T), with step size radius / sqrt(G T).

    The bound holds for convex losses and any comparator in the ball: Zinkevich (2003); Cesa-Bianchi et al. (2010a),
    Theorem 4; Cesa-Bianchi et al. (2010b), Lemma 3. Its parameters are the step size, G, the radius and the diameter.

    Args:
        radius: radius of the ball of hypotheses and comparators, whose centre is the first hypothesis; for another set,
            the largest distance of a comparator from the first hypothesis.
        G: bound on the second moment of the estimates; if it is infinite, the bound is infinite and the step size 0.
        n_rounds: horizon T.
        diameter: largest distance between two hypotheses, twice the radius of a ball by default; if it is infinite,
            there is no bound for decreasing steps.

    Example:
        >>> from jaxonline.bounds import gradient_descent, two_copies
        >>> gradient_descent(radius=2.0, G=4.0, n_rounds=100)
        Bound(40.0, step_size=0.1, G=4.0, radius=2.0, diameter=4.0)
        >>> two_copies(radius=1.0, x_bound=1.0, y_bound=1.0, n_rounds=400).in_any_environment().value
        160.0
    """
    root = np.sqrt(G * n_rounds)
    return Bound(
        radius * root, curve_of_descent, descent_in_hindsight, step_size=float(radius / root), G=float(G),
        radius=radius, diameter=2 * radius if diameter is None else diameter,
    )  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# Regret bounds of gradient descent for linear predictors and the squared loss, on clean or noisy data.
#
# `two_copies` and `known_covariance` are the corrected Theorems 1 and 2 of Cesa-Bianchi et al. (2010b). They assume an
# oblivious environment; `in_any_environment` is the bound for other environments (erratum E37).


@theorem(ANY, "zinkevich2003online", prescribed_rate=True)
def full_information(radius: PositiveFloat, x_bound: PositiveFloat, y_bound: PositiveFloat, n_rounds: Rounds) -> Bound:
    """Regret bound of online gradient descent on clean data, |x| <= x_bound and |y| <= y_bound (Zinkevich 2003).

    The bound is radius sqrt(G T) with G = 4 (radius x_bound + y_bound)^2 x_bound^2.

    Example:
        >>> from jaxonline.bounds import full_information
        >>> full_information(1.0, 1.0, 1.0, n_rounds=100).value
        40.0
    """
    return two_copies(radius, x_bound, y_bound, n_rounds)


@theorem(OBLIVIOUS, "cesabianchi2010learning", prescribed_rate=True)
def two_copies(radius: PositiveFloat, x_bound: PositiveFloat, y_bound: PositiveFloat, n_rounds: Rounds) -> Bound:
    """Regret bound of gradient descent on two noisy copies per round: B_w sqrt(G T), with step size B_w / sqrt(G T).

    The bound is Theorem 1 of Cesa-Bianchi et al. (2010b), corrected, with G = 4 (B_w B + B_y)^2 B^2 (erratum E10).

    Args:
        radius: B_w, radius of the ball of hypotheses and comparators.
        x_bound: B with E|x~|^2 <= B^2 in every round.
        y_bound: B_y with E y~^2 <= B_y^2 in every round.
        n_rounds: horizon T.

    Example:
        >>> from jaxonline.bounds import two_copies
        >>> two_copies(1.0, 1.0, 1.0, 100).G
        16.0
    """
    return gradient_descent(radius, 4 * (radius * x_bound + y_bound) ** 2 * x_bound**2, n_rounds)


@theorem(OBLIVIOUS, "cesabianchi2010learning", prescribed_rate=True)
def known_covariance(radius: PositiveFloat, x_bound: PositiveFloat, y_bound: PositiveFloat, n_rounds: Rounds) -> Bound:
    """Regret bound for one noisy copy and the covariance of its noise: B_w sqrt(G T), with step size B_w / sqrt(G T).

    The bound corrects Theorem 2 of Cesa-Bianchi et al. (2010b), for the gradient 2 (<w, x~> - y~) x~ - 2 Sigma w
    (erratum E11). It has the constant G = 4 (B_w B + B_y)^2 B^2 of `two_copies`, but with the fourth moment of the
    copies, and it holds for every covariance Sigma. The paper's G is larger. `claims.noise` has the proof.

    Args:
        radius: B_w, radius of the ball of hypotheses and comparators.
        x_bound: B with E|x~|^4 <= B^4 in every round (so that E|x~|^2 <= B^2).
        y_bound: B_y with E y~^2 <= B_y^2 in every round.
        n_rounds: horizon T.

    Example:
        >>> from jaxonline.bounds import known_covariance
        >>> known_covariance(1.0, 1.0, 1.0, 100).G
        16.0
    """
    return two_copies(radius, x_bound, y_bound, n_rounds)


# ---------------------------------------------------------------------------------------------------------------------
# Regret bounds of online convex optimisation, for every sequence of convex losses.
#
# For gradient descent from the centre of a ball, also with estimated gradients, see `gradient_descent`.


@theorem(ANY, "zinkevich2003online", prescribed_rate=True)
def projected_gradient(diameter: PositiveFloat, gradient_bound: PositiveFloat, n_rounds: Rounds) -> Bound:
    """Regret bound of online gradient descent in a set of diameter D, |g| <= G: D G sqrt(T), with step D / (G sqrt(T)).

    Zinkevich (2003) has the bound D^2 / (2 step) + step G^2 T / 2 from any first hypothesis. If the first hypothesis is
    the centre of a ball, the bound is half as large (`gradient_descent`).

    Args:
        diameter: D.
        gradient_bound: G.
        n_rounds: T.

    Example:
        >>> from jaxonline.bounds import projected_gradient
        >>> bound = projected_gradient(diameter=2.0, gradient_bound=3.0, n_rounds=100)
        >>> bound.value, round(bound.step_size, 4)
        (60.0, 0.0667)
    """
    return gradient_descent(diameter, gradient_bound**2, n_rounds, diameter)


@theorem(ANY, "nemirovski1983problem", "beck2003mirror", "shalevshwartz2012online", prescribed_rate=True)
def mirror_descent(divergence: PositiveFloat, gradient_bound: PositiveFloat, n_rounds: Rounds) -> Bound:
    """Regret bound of `MirrorLearner` for dual norms of at most G: G sqrt(2 D T), with the step sqrt(2 D / T) / G.

    For any constant step the bound is D / step + step G^2 T / 2 (`Bound.at_rounds`), where D = R(u) - min R for the
    comparator u: Shalev-Shwartz (2012), Theorem 2.11. The regret is not bounded for decreasing steps.

    Args:
        divergence: D, as `mirror_map.divergence(u)`.
        gradient_bound: G, a bound on `mirror_map.dual_norm(g)`.
        n_rounds: T.

    Example:
        >>> import numpy as np
        >>> from jaxonline.bounds import mirror_descent
        >>> from jaxonline.learners import Entropy
        >>> round(mirror_descent(Entropy().divergence(np.eye(1000)[0]), 1.0, 100).value, 2)
        37.17
    """
    return gradient_descent(math.sqrt(2.0 * divergence), gradient_bound**2, n_rounds, math.inf)


@theorem(ANY, "kivinen1997exponentiated", "shalevshwartz2012online", prescribed_rate=True)
def exponentiated_gradient(
    n_weights: CountFrom2, gradient_bound: PositiveFloat, n_rounds: Rounds, scale: PositiveFloat = 1.0
) -> Bound:
    """Regret bound of `ExponentiatedGradient` for |g|_inf <= G: scale G sqrt(2 T ln n).

    The step size is sqrt(2 ln n / T) / (scale G). Kivinen and Warmuth (1997); Shalev-Shwartz (2012), Corollary 2.14.
    The regret is bounded for any constant step size, but not for decreasing step sizes: the relative entropy of weights
    is unbounded, so small late steps may not recover the weight that an expert lost by large early steps.

    Args:
        n_weights: number n of weights, equal to the dimension, or to twice the dimension for signed weights.
        gradient_bound: G, bound on the largest absolute entry of a gradient.
        n_rounds: T.
        scale: sum of the weights.

    Example:
        >>> from jaxonline.bounds import exponentiated_gradient
        >>> round(exponentiated_gradient(1000, 1.0, 100).value, 2)
        37.17
    """
    return mirror_descent(math.log(n_weights), scale * gradient_bound, n_rounds)  # ln n is the range of the entropy


@theorem(ANY, "hazan2007logarithmic", "hazan2016introduction", prescribed_rate=True)
def online_newton_step(
    exp_concavity: PositiveFloat, gradient_bound: PositiveFloat, diameter: PositiveFloat, dimension: Count,
    n_rounds: Annotated[int, Ge(4), Horizon()],
) -> Bound:  # fmt: skip
    """Regret bound of `OnlineNewtonStep` for alpha-exp-concave losses with |g| <= G: 5 (1/alpha + G D) d ln T.

    The parameters are gamma = min(1 / (4 G D), alpha) / 2 and epsilon = 1 / (gamma D)^2: Hazan, Agarwal and Kale
    (2007), Theorem 2; Hazan (2016), Theorem 4.5. The squared loss (y_hat - y)^2 with |y_hat - y| <= M is exp-concave
    with alpha = 1 / (2 M^2).

    Args:
        exp_concavity: alpha.
        gradient_bound: G.
        diameter: D.
        dimension: d.
        n_rounds: T.

    Example:
        >>> from jaxonline.bounds import online_newton_step
        >>> bound = online_newton_step(exp_concavity=0.5, gradient_bound=1.0, diameter=2.0, dimension=3, n_rounds=100)
        >>> round(bound.value, 1), bound.gamma, bound.epsilon
        (276.3, 0.0625, 64.0)
    """
    alpha, G, D = exp_concavity, gradient_bound, diameter
    gamma = min(1.0 / (4.0 * G * D), alpha) / 2.0
    value = 5.0 * (1.0 / alpha + G * D) * dimension * math.log(n_rounds)
    return Bound(value, gamma=gamma, epsilon=1.0 / (gamma * D) ** 2)


@theorem(OBLIVIOUS, "flaxman2005online", prescribed_rate=True)
def gradient_bandit(
    radius: PositiveFloat, loss_bound: PositiveFloat, lipschitz: PositiveFloat, dimension: Count, n_rounds: Rounds
) -> Bound:
    """Regret bound of `GradientBandit` for convex L-Lipschitz losses with |loss| <= C on the ball.

    The bound is 2 T^(3/4) sqrt(3 R d C L) (Flaxman, Kalai and McMahan 2005, Theorem 2). For a ball the theorem's factor
    C / r is not needed.

    Args:
        radius: R.
        loss_bound: C.
        lipschitz: L.
        dimension: d.
        n_rounds: the horizon T, large enough for delta < R (otherwise a ValueError).

    Example:
        >>> from jaxonline.bounds import gradient_bandit
        >>> bound = gradient_bandit(radius=1.0, loss_bound=1.0, lipschitz=1.0, dimension=3, n_rounds=10_000)
        >>> bound.value, round(bound.delta, 3), round(bound.step_size, 6)
        (6000.0, 0.1, 0.000333)
    """
    R, C, L, d, T = radius, loss_bound, lipschitz, dimension, n_rounds
    # The norm of the estimates is at most d C / delta, which is gradient descent with the step R delta / (d C sqrt(T)).
    # Smoothing, the exploratory move and the smaller ball cost delta L each. This delta minimises the sum,
    # R d C sqrt(T) / delta + 3 delta L T.
    delta = math.sqrt(R * d * C / (3.0 * L)) / T**0.25
    if delta >= R:
        least = (d * C / (3.0 * L * R)) ** 2
        raise ArgumentError("n_rounds", f"must be above {least:.6g}, so that delta is below the radius (got {T})")
    value, step_size = 2.0 * T**0.75 * math.sqrt(3.0 * R * d * C * L), R * delta / (d * C * math.sqrt(T))
    return Bound(value, delta=delta, step_size=step_size)


# ---------------------------------------------------------------------------------------------------------------------
# Regret bounds of gradient descent with steps that fall as 1/t, or with the gradients so far.


@validate_arguments
def logarithmic_curve(bound: Bound, rounds: Annotated[Numbers, Ge(1)]) -> np.ndarray:
    """Regret bound factor (1 + ln t) after each of `rounds`."""
    return bound.factor * (1.0 + np.log(np.asarray(rounds, float)))


@theorem(ANY, "hazan2007logarithmic", prescribed_rate=True)
def strongly_convex(convexity: PositiveFloat, gradient_bound: PositiveFloat, n_rounds: Rounds) -> Bound:
    """Regret bound of gradient descent on mu-strongly convex losses with |g| <= G: G^2 / (2 mu) (1 + ln T).

    The steps are eta / t = 1 / (mu t), and hypotheses are projected on any convex set: Hazan, Agarwal and Kale (2007),
    Theorem 1. A loss is mu-strongly convex if it stays convex after mu |w|^2 / 2 is subtracted. The squared loss (w -
    y)^2 of a number w has mu = 2. The squared loss of <w, x> is not strongly convex in two or more dimensions; its sum
    with mu |w|^2 / 2 is.

    Args:
        convexity: mu.
        gradient_bound: G.
        n_rounds: T.

    Example:
        >>> from jaxonline.bounds import strongly_convex
        >>> bound = strongly_convex(convexity=2.0, gradient_bound=4.0, n_rounds=100)
        >>> bound
        Bound(22.42068, eta=0.5, factor=4.0)
        >>> bound.at_rounds([1, 100]).value.round(2).tolist()
        [4.0, 22.42]
    """
    factor = gradient_bound**2 / (2.0 * convexity)
    value = factor * (1.0 + math.log(n_rounds))
    return Bound(value, logarithmic_curve, eta=1.0 / convexity, factor=factor)


@theorem(ANY, "duchi2011adaptive", prescribed_rate=True)
def adagrad(radius: PositiveFloat, gradient_norms: Annotated[Vector, Ge(0)]) -> Bound:
    """Regret bound of `AdaGrad` in the box |w_i| <= radius: 2 sqrt(2) radius times the sum of the coordinates' norms.

    The norm of coordinate i is the root of the sum over the rounds of g_i^2. The bound depends on the gradients of the
    run: Duchi, Hazan and Singer (2011), Corollary 6, with D_inf = 2 radius and the step size D_inf / sqrt(2). For |g_i|
    <= G in at most n_i rounds the norm is at most G sqrt(n_i).

    Args:
        radius: half the width of the box.
        gradient_norms: the norm of each coordinate [d].

    Example:
        >>> from jaxonline.bounds import adagrad
        >>> bound = adagrad(radius=1.0, gradient_norms=[10.0, 1.0])
        >>> bound
        Bound(31.1127, step_size=1.414214)
    """
    step_size = math.sqrt(2.0) * radius
    return Bound(2.0 * step_size * float(np.sum(np.asarray(gradient_norms, float))), step_size=step_size)
