"""Pairs of games that one noisy copy does not distinguish (Cesa-Bianchi et al. 2010a, Theorem 5), for any noise.

In the game without noise, a label and then an instance with this label are drawn, and copies are equal to instances. In
the game with noise, the instance is the mean of the instances with the drawn label, and its copies have their
distribution. The pair of a label and one copy has the same distribution in both games, so the moves of a learner with
one copy a round also have the same distribution.

Let F1(f) and F2(f) be the expected losses per round of a predictor f in the two games, minus the least such losses in a
convex set of predictors. Let f_T be the mean of the first T predictors. As the losses are convex, the regret per round
is at least F1(f_T) - o(1) without noise and F2(f_T) - o(1) with noise, almost surely, and the same holds for means. Let
v be the minimum of max(F1, F2), which is positive if and only if F1 and F2 have no common minimiser. So:

* The larger of the two expected regrets is at least v T, at every T.
* The probabilities that the regret per round has a limes superior of at least v have a sum of at least 1. They need not
  be 0 and 1: which game is bad for a learner may depend on its copies (erratum E38).
* An adversary that throws a coin for the game of each of a sequence of periods, each much longer than all earlier ones
  together, makes the limes superior at least v with probability 1: in each period, the coin chooses the worse game for
  the learner's mean predictor with probability 1/2.

Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), Theorem 5, which
has one label and linear predictors. With one label, kernels that can fit this label at all points have no loss in
either game. The games with several labels are not in the paper: a point that is an instance with one label and the
mean of the instances with another makes v positive for every kernel.
"""

from collections.abc import Callable
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.environments.adversaries import SQUARED, IndistinguishablePair
from jaxonline.environments.data import DataStream
from jaxonline.feedback import NoisyCopies
from jaxonline.game import Game
from jaxonline.kernels.dot_product import AnyKernel, Kernel
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Component, PositiveFloat, Shape, Takes, Vector

Groups = Annotated[Any, Shape("g", "n", "d")]
AnyLoss = Annotated[Any, Component("loss")]


@struct
class NoiseOfGroups:
    """Noise whose distribution depends on the instance: uniform on `deviations[j]` around the nearest `means[j]`.

    Args:
        means: the instances [g, d].
        deviations: equally likely values of the noise around each instance [g, n, d], with mean 0.
    """

    means: Annotated[Any, Shape("g", "d")]
    deviations: Groups

    def sample(self, key: Key[Array, ""], t: Int[Array, ""], x: Float[Array, "d"]) -> Float[Array, "d"]:
        """Return one draw of the noise."""
        values = self._values(x)
        return values[random.randint(key, (), 0, values.shape[0], dtype=jnp.int32)]

    def covariance_at(self, t: Int[Array, ""], x: Float[Array, "d"]) -> Float[Array, "d d"]:
        """Return the covariance of the noise of the instance `x`."""
        values = self._values(x)
        return values.T @ values / values.shape[0]

    def _values(self, x: Float[Array, "d"]) -> Float[Array, "n d"]:
        means = jnp.asarray(self.means, x.dtype)
        return jnp.asarray(self.deviations, x.dtype)[jnp.argmin(jnp.sum((means - x[None, :]) ** 2, axis=1))]


@cites("cesabianchi2010online")
@validate_arguments
def indistinguishable_games(
    points: Groups, labels: Vector = (1.0,), *, loss: AnyLoss = SQUARED, reveal_covariance: bool = False
) -> IndistinguishablePair:
    """Return two games with a given distribution of the copies, which one copy per round does not distinguish.

    Points and means are rounded to 22 binary digits below the largest number, so that sums are exact in float32 and
    copies have the same bits in both games.

    Args:
        points: g groups of n equally likely instances [g, n, d]; repeat a point for a larger probability. With one
            group and the label 1 these are the games of Theorem 5; all points times a number are a scaled pair. The
            means of two groups must differ (otherwise a ValueError).
        labels: the label of each group [g].
        loss: the loss of both games.
        reveal_covariance: whether learners may ask for the covariance of the noise. The theorem assumes that learners
            may not.

    Example:
        >>> from benchmarks.papers.estimators.games import indistinguishable_games
        >>> import jaxonline as jo
        >>> pair = indistinguishable_games([[[15.0], [-5.0]]])  # scaled by 5
        >>> learner = jo.GradientLearner(jo.estimators.NaiveCopy(), step_size=jo.InverseSqrt(0.002), radius=0.2)
        >>> result = jo.simulate(pair.with_noise, learner, n_runs=8, n_rounds=200, comparator=jo.L2Ball(0.2))
        >>> bool((result.regret[..., -1] > 0.3 * 200).all())
        True
    """
    rows, means, y = _as_groups(points, labels)
    g, n, d = rows.shape
    dtype = jnp.result_type(float)
    quantum = 2.0 ** (np.ceil(np.log2(max(np.abs(rows).max(), 1e-30))) - 22)
    rows, means = (np.round(array / quantum) * quantum for array in (rows, means))
    silent = NoiseOfGroups(means.astype(dtype), np.zeros((g, 1, d), dtype))
    loud = NoiseOfGroups(means.astype(dtype), (rows - means[:, None]).astype(dtype))

    def make_game(X: np.ndarray, y: np.ndarray, noise: NoiseOfGroups) -> Game:
        stream = DataStream(X, y, order="iid" if len(X) > 1 else "file")
        return Game(stream, NoisyCopies(noise, reveal_covariance=reveal_covariance), loss=loss)

    return IndistinguishablePair(make_game(rows.reshape(g * n, d), np.repeat(y, n), silent), make_game(means, y, loud))


@cites("cesabianchi2010online")
@validate_arguments
def unavoidable_regret_of_games(
    points: Groups,
    radius: PositiveFloat,
    labels: Vector = (1.0,),
    *,
    loss: Annotated[Callable[..., Any], Takes("(y_hat, y)"), Component("loss")] = SQUARED,
    kernel: AnyKernel | None = None,
) -> float:
    """Lower bound v on the regret per round with one copy, in the worse game of `indistinguishable_games`.

    v is the minimum over |f| <= radius of max(F1(f), F2(f)). For one group with the label 1, linear predictors, the
    squared loss and a large ball, v = (1 - sqrt(h))^2 with h = m' M^-1 m, where m = E x and M = E x x'. This is 0 only
    if the best linear predictor has no loss in the game without noise. The learner's predictors must also be in the
    ball, unless some f of the ball has no loss at the points and another no loss at the means.

    Args:
        points: the groups of equally likely instances [g, n, d].
        radius: radius of the ball of predictors.
        labels: the label of each group [g].
        loss: a convex differentiable loss `loss(y_hat, y)`.
        kernel: kernel of the RKHS of the predictors; None for linear predictors.

    Raises:
        RuntimeError: the solver (SciPy's SLSQP) does not find a least expected loss with an error below 1e-4.

    Example:
        >>> from benchmarks.papers.estimators.games import unavoidable_regret_of_games
        >>> round(unavoidable_regret_of_games([[[15.0], [-5.0]]], 0.2), 6)  # (1 - 1 / sqrt(5))^2
        0.305573
    """
    from scipy import optimize  # slow to import

    rows, means, y = _as_groups(points, labels)
    with jax.enable_x64(True), np.errstate(all="ignore"):
        features = _features(np.concatenate([rows, means[:, None]], axis=1), kernel)
        outcomes = jnp.broadcast_to(jnp.asarray(y)[:, None], features.shape[:2])

        def expected_losses(w: Float[Array, "r"]) -> Float[Array, "2"]:
            values = loss(jnp.asarray(features) @ w, outcomes)
            return jnp.stack([jnp.mean(values[:, :-1]), jnp.mean(values[:, -1])])

        compiled, slopes = jax.jit(expected_losses), jax.jit(jax.jacobian(expected_losses))
        size, ball = features.shape[-1], {"type": "ineq", "fun": lambda w: radius**2 - w @ w, "jac": lambda w: -2 * w}

        def minimise(weights: np.ndarray) -> float:
            """Return the least sum of the two expected losses in the ball."""
            found = optimize.minimize(
                lambda w: float(weights @ np.asarray(compiled(w))), np.zeros(size),
                jac=lambda w: weights @ np.asarray(slopes(w)), constraints=[ball], method="SLSQP",
                options={"ftol": 1e-15, "maxiter": 1000},
            )  # fmt: skip
            w = found.x * min(1.0, radius / max(np.linalg.norm(found.x), 1e-300))
            gradient = weights @ np.asarray(slopes(w))
            value, error = float(weights @ np.asarray(compiled(w))), gradient @ w + radius * np.linalg.norm(gradient)
            # convex: f(w) - f(u) <= <gradient, w - u> for every u of the ball; the real error is of second order
            if not error <= 1e-4 * (1 + abs(value)):
                raise RuntimeError(f"the least expected loss was not found, but {value:g} with an error of {error:g}")
            return value

        least = np.array([minimise(weights) for weights in np.eye(2)])

        def dual(share: float) -> float:
            weights = np.array([1.0 - share, share])
            return minimise(weights) - float(weights @ least)

        # the largest value of this concave function of the share is the least max(F1, F2), by duality
        found = optimize.minimize_scalar(
            lambda share: -dual(share), bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-7}
        )
        return max(0.0, -float(found.fun))


def _as_groups(points: Any, labels: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the points [g, n, d], their means [g, d] and the labels [g]."""
    rows, y = np.asarray(points, float), np.asarray(labels, float)
    if len(y) != len(rows):
        raise ArgumentError("labels", f"must have one label for each of {len(rows)} groups (got {len(y)})")
    means = rows.mean(axis=1)
    if len(np.unique(means, axis=0)) < len(means):
        raise ArgumentError("points", f"must have groups of different means (got {means.tolist()})")
    return rows, means, y


def _features(points: Float[np.ndarray, "g n d"], kernel: Kernel | None) -> Float[np.ndarray, "g n r"]:
    """Return coordinates of the feature vectors of all points, in an orthonormal basis of their span."""
    flat = points.reshape(-1, points.shape[-1])
    gram = flat @ flat.T
    if kernel is not None:
        gram = np.asarray(jax.vmap(lambda a: jax.vmap(lambda b: kernel(a, b))(flat))(flat))
    values, vectors = np.linalg.eigh(gram)
    used = values > 1e-13 * values[-1]
    return (vectors[:, used] * np.sqrt(values[used])).reshape(*points.shape[:2], -1)
