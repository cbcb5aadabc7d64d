"""Claims on the regret theorems of papers A and B if adversaries react: labels, instances, or only the noise."""

import functools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp

from benchmarks.papers.claims.printed_bounds import printed_two_copies
from benchmarks.papers.claims.printed_proofs import printed_unbiased_steps
from benchmarks.papers.claims.registry import SamplingOptions, claim
from jaxonline.bounds import known_covariance, two_copies
from jaxonline.estimators.gradients import squared_loss_gradient
from jaxonline.verify.moments import second_moment
from jaxonline.verify.result import Verification

X, ROUNDS = 0.2, 1000  # one instance x with Gaussian noise of variance 1
G = X**2 + 1  # B_g B_Psi: g~ = -y for the linear loss -y <w, x>, and Psi~ is a copy
TWO_COPIES = {"radius": 1.0, "x_bound": math.sqrt(1.09), "y_bound": 40.0, "n_rounds": 400}
ALGORITHM_1 = {"x": 0.5, "p": 3.0, "n_rounds": 1000}
ONE_COPY = {"radius": 1.0, "x_bound": ((1.2**4 + 0.8**4) / 2) ** 0.25, "y_bound": 200.0, "n_rounds": 2000}


def root_of_regret(reacts: bool, key: jax.Array) -> jax.Array:
    """The root of the regret of gradient descent on the linear loss, in one run.

    The label is 1, or -sgn(w_t) if the adversary reacts. The predictor -w, or w, is as good as w for the reversed
    labels, so that the best |w| <= 1 loses -|sum of labels| x, and the regret is never negative.
    """
    copies = X + jax.random.normal(key, (ROUNDS,), jnp.float32)
    return _root_of_linear_regret(reacts, X, 1 / math.sqrt(G * ROUNDS), copies)


def root_of_regret_of_algorithm_1(key: jax.Array) -> jax.Array:
    """The same for Algorithm 1 of paper A with the linear kernel, and labels -sgn(w_t).

    P(N = n) = (p - 1)/p^(n + 1). The estimate Psi~ is x~ / P(1) if its N is 1, else 0; g~ is -y / P(0) if its N is 0,
    else 0.
    """
    x, p, n_rounds = ALGORITHM_1.values()
    noise_key, map_key, length_key = jax.random.split(key, 3)
    first, second = (p - 1) / p, (p - 1) / p**2  # P(0), P(1)
    is_one = jax.random.bernoulli(map_key, second, (n_rounds,))
    is_zero = jax.random.bernoulli(length_key, first, (n_rounds,))
    copies = x + jax.random.normal(noise_key, (n_rounds,), jnp.float32)
    estimates = jnp.where(is_one & is_zero, copies / (first * second), 0)  # -y g~ Psi~
    return _root_of_linear_regret(True, x, 1 / theorem_1(), estimates)


def theorem_1() -> float:
    """Theorem 1 of paper A for `ALGORITHM_1`: B_Psi = p^2 E|x~|^2 / (p - 1), B_g = p/(p - 1) for l' = -1."""
    x, p, n_rounds = ALGORITHM_1.values()
    return printed_unbiased_steps(1.0, p**2 * (x**2 + 1) / (p - 1), p / (p - 1), n_rounds)


def _root_of_linear_regret(reacts: bool, x: float, step: float, estimates: jax.Array) -> jax.Array:
    def play(w, estimate):
        y = jnp.where(w < 0, 1.0, -1.0).astype(w.dtype) if reacts else jnp.ones_like(w)
        return jnp.clip(w + step * y * estimate, -1, 1), (y, -y * w * x)

    _, (labels, losses) = jax.lax.scan(play, jnp.zeros((), jnp.float32), estimates)
    return jnp.sqrt(jnp.maximum(jnp.sum(losses) + jnp.abs(jnp.sum(labels)) * x, 0))


def _moment_of_root(sampler: Callable[[jax.Array], jax.Array], limit: float, options: SamplingOptions) -> Verification:
    """E regret against a bound, as the second moment of its root."""
    sampler = jax.tree_util.Partial(sampler)
    return second_moment(sampler, limit, kurtosis=4.0, width=2048, max_samples=1 << 15, **options.sampling())


@claim(
    "regret if labels contradict the predictions",
    "A, Theorem 4",
    erratum=21,
    mathematics=("printed", "corrected"),
    printed="violated",
    corrected="respected",
)
def _adaptive(form: str, options: SamplingOptions) -> Verification:
    """The regret is 1.26 times the printed bound; twice the printed bound is right.

    Proof: the regret is at most the sum of <w_t - w, g_t>, with the gradients g_t and the best w, which depends on the
    noise. Replace g_t by its estimate g~_t: the sum is then at most sqrt(B_w G T) on average, as in the paper, since
    this holds for every w in each run. The error is the sum of <w_t, g_t - g~_t>, of mean 0, and of <w, g~_t - g_t>, at
    most sqrt(B_w) |sum of g~_t - g_t|. As the differences are uncorrelated, this is at most sqrt(B_w G T) on average.
    """
    theorem = printed_unbiased_steps(1.0, G, 1.0, ROUNDS)
    return _moment_of_root(
        functools.partial(root_of_regret, True), theorem if form == "printed" else 2 * theorem, options
    )


@claim(
    "regret of Algorithm 1 if labels contradict the predictions",
    "A, Theorem 1",
    erratum=21,
    mathematics=("printed", "corrected"),
    printed="violated",
    corrected="respected",
)
def _adaptive_algorithm_1(form: str, options: SamplingOptions) -> Verification:
    """The regret is 1.27 times the printed bound."""
    return _moment_of_root(
        root_of_regret_of_algorithm_1, theorem_1() if form == "printed" else 2 * theorem_1(), options
    )


def root_of_squared_regret(adversary: str, step: float, key: jax.Array) -> jax.Array:
    """The root of the regret of gradient descent with a fixed step on two copies of x = +-0.3, labels +-40, in one run.

    "labels": x = 0.3, y = -40 sgn(w_t), Gaussian noise. "instances": x = -0.3 sgn(w_t), y = 40, Gaussian noise.
    "noise": x = 0.3, y = 40, and the noise is 2 sgn(w_t) with probability 1/5, else -sgn(w_t)/2. Its variance is 1.
    """
    x, label, n_rounds = jnp.float32(0.3), jnp.float32(40.0), TWO_COPIES["n_rounds"]

    def play(w, noise):
        opposite = jnp.where(w < 0, jnp.float32(1), jnp.float32(-1))
        y = opposite * label if adversary == "labels" else jnp.full_like(w, label)
        shown = opposite * x if adversary == "instances" else jnp.full_like(w, x)
        noise = -opposite[0] * noise if adversary == "noise" else noise
        gradient = squared_loss_gradient(w, shown + noise[0], y, shown + noise[1])
        return jnp.clip(w - step * gradient, -1, 1), (shown * y, (w * shown) ** 2 - 2 * w * shown * y)

    shape = (n_rounds, 2, 1)
    if adversary == "noise":
        noise = jnp.where(jax.random.bernoulli(key, 0.2, shape), jnp.float32(2), jnp.float32(-0.5))
    else:
        noise = jax.random.normal(key, shape, jnp.float32)
    _, (products, losses) = jax.lax.scan(play, jnp.zeros(1, jnp.float32), noise)
    return _root_of_squared_regret(x, n_rounds, products, losses)


def _root_of_squared_regret(x: jax.Array, n_rounds: int, products: jax.Array, losses: jax.Array) -> jax.Array:
    """From the products x_t y_t, and the losses without y_t^2, for |x_t| = x."""
    total, squares = jnp.sum(products), n_rounds * x**2
    best = jnp.clip(total / squares, -1, 1)
    return jnp.sqrt(jnp.maximum(jnp.sum(losses) - (squares * best**2 - 2 * best * total), 0))


def _two_copies(adversary: str, form: str, options: SamplingOptions) -> Verification:
    theorem = (printed_two_copies if form == "printed" else two_copies)(**TWO_COPIES)
    limit = theorem.value if form == "printed" else theorem.in_any_environment().value
    return _moment_of_root(functools.partial(root_of_squared_regret, adversary, theorem.step_size), limit, options)


@claim(
    "regret of two copies if labels contradict the predictions",
    "B, Theorem 1",
    erratum=37,
    printed="violated",
    corrected="respected",
)
def _opposite_labels(form: str, options: SamplingOptions) -> Verification:
    """Printed step and bound: 2037 against 1671. With E10: 2018 against 1714, and twice that, as for E21."""
    return _two_copies("labels", form, options)


@claim(
    "regret of two copies if instances contradict the predictions",
    "B, Theorem 1",
    erratum=37,
    printed="violated",
    corrected="respected",
)
def _opposite_instances(form: str, options: SamplingOptions) -> Verification:
    return _two_copies("instances", form, options)


@claim("regret of two copies if only the noise reacts", "B, Theorem 1", printed="respected")
def _reacting_noise(form: str, options: SamplingOptions) -> Verification:
    """The data, and so the best predictor, do not depend on the noise."""
    return _two_copies("noise", form, options)


def root_of_one_copy_regret(key: jax.Array) -> jax.Array:
    """The root of the regret for one copy 0.2 +- 1 and its variance 1, and labels -200 sgn(w_t), in one run."""
    x, label = jnp.float32(0.2), jnp.float32(ONE_COPY["y_bound"])
    step, n_rounds = known_covariance(**ONE_COPY).step_size, ONE_COPY["n_rounds"]

    def play(w, noise):
        y, copy = jnp.where(w < 0, label, -label), x + noise
        gradient = 2 * (w * copy - y) * copy - 2 * w
        return jnp.clip(w - step * gradient, -1, 1), (x * y, (w * x) ** 2 - 2 * w * x * y)

    noise = jax.random.rademacher(key, (n_rounds,), jnp.float32)
    _, (products, losses) = jax.lax.scan(play, jnp.zeros((), jnp.float32), noise)
    return _root_of_squared_regret(x, n_rounds, products, losses)


@claim(
    "regret of one copy if labels contradict the predictions, bound for fixed labels",
    "B, Theorem 2",
    erratum=37,
    improved="violated",
)
def _one_copy_fixed(form: str, options: SamplingOptions) -> Verification:
    """1.2 times `known_covariance`. The printed bounds, with a larger G, are not exceeded here."""
    return _moment_of_root(root_of_one_copy_regret, known_covariance(**ONE_COPY).value, options)


@claim(
    "regret of one copy if labels contradict the predictions, bound in any environment",
    "B, Theorem 2",
    erratum=37,
    improved="respected",
)
def _one_copy_any(form: str, options: SamplingOptions) -> Verification:
    return _moment_of_root(root_of_one_copy_regret, known_covariance(**ONE_COPY).in_any_environment().value, options)


@claim("regret if labels are fixed in advance", "A, Theorem 4", mathematics=("printed",), printed="respected")
def _oblivious(form: str, options: SamplingOptions) -> Verification:
    theorem = printed_unbiased_steps(1.0, G, 1.0, ROUNDS)
    return _moment_of_root(functools.partial(root_of_regret, False), theorem, options)
