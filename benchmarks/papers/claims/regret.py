"""Regret theorems of Cesa-Bianchi et al. (2010a, b): adversaries, high probability, proofs, and one noisy copy."""

import functools
import itertools
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from scipy import special

from benchmarks.papers.claims.noise import printed_two_copies
from benchmarks.papers.claims.registry import PRINTED_BIASED, PRINTED_VIOLATED, Options, claim, in_float64
from benchmarks.papers.estimators.games import unavoidable_regret_of_games
from jaxonline.bounds import known_covariance, largest_estimate, two_copies, with_high_probability
from jaxonline.environments import unavoidable_regret
from jaxonline.estimators.gradients import squared_loss_gradient
from jaxonline.kernels import Gaussian
from jaxonline.losses import Squared
from jaxonline.verify import Verification, bound, second_moment, unbiased

# ---------------------------------------------------------------------------------------------------------------------
# Adversaries that react, with a linear loss

X, ROUNDS = 0.2, 1000  # one instance x with Gaussian noise of variance 1
G = X**2 + 1  # B_g B_Psi: g~ = -y for the linear loss -y <w, x>, and Psi~ is a copy
ALGORITHM_1 = {"x": 0.5, "p": 3.0, "n_rounds": 1000}


def printed_unbiased_steps(radius: float, feature_moment: float, length_moment: float, n_rounds: int) -> float:
    """E21, A Theorem 4: sqrt(B_w B_g B_Psi T) for every adversary, with the best w in hindsight."""
    return radius * math.sqrt(feature_moment * length_moment * n_rounds)


def theorem_4() -> float:
    """Theorem 4 of Cesa-Bianchi et al. (2010a) for gradient descent on copies of `X`."""
    return printed_unbiased_steps(1.0, G, 1.0, ROUNDS)


def theorem_1() -> float:
    """Theorem 1 of Cesa-Bianchi et al. (2010a) for `ALGORITHM_1`, with l' = -1 and B_g = p/(p - 1)."""
    x, p, n_rounds = ALGORITHM_1.values()
    return printed_unbiased_steps(1.0, p**2 * (x**2 + 1) / (p - 1), p / (p - 1), int(n_rounds))


def _opposite(w: jax.Array) -> jax.Array:
    """Return -sgn(w), which is -1 for w = 0."""
    return jnp.where(w < 0, 1.0, -1.0).astype(w.dtype)


def _root_of_linear_regret(reacts: bool, x: float, step: float, estimates: jax.Array) -> jax.Array:
    def play(w, estimate):
        y = _opposite(w) if reacts else jnp.ones_like(w)
        return jnp.clip(w + step * y * estimate, -1, 1), (y, -y * w * x)

    _, (labels, losses) = jax.lax.scan(play, jnp.zeros((), jnp.float32), estimates)
    return jnp.sqrt(jnp.maximum(jnp.sum(losses) + jnp.abs(jnp.sum(labels)) * x, 0))


def root_of_regret(reacts: bool, key: jax.Array) -> jax.Array:
    """The root of the regret of gradient descent on the linear loss, in one run.

    The label is 1, or -sgn(w_t) if the adversary reacts. The predictor -w, or w, is as good as w for the reversed
    labels, so that the best |w| <= 1 loses -|sum of labels| x, and the regret is never negative.
    """
    copies = X + jax.random.normal(key, (ROUNDS,), jnp.float32)
    return _root_of_linear_regret(reacts, X, 1 / theorem_4(), copies)


def root_of_regret_of_algorithm_1(key: jax.Array) -> jax.Array:
    """The same for Algorithm 1 of Cesa-Bianchi et al. (2010a) with the linear kernel, and labels -sgn(w_t).

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


def _moment_of_root(sampler: Callable[[jax.Array], jax.Array], limit: float, options: Options) -> Verification:
    """E regret against a bound, as the second moment of its root."""
    return second_moment(Partial(sampler), limit, kurtosis=4.0, width=2048, max_samples=1 << 15, **options)


@claim("regret if labels contradict the predictions", "A, Theorem 4",
       functools.partial(root_of_regret, True), theorem_4, note=21, sampled=True, mathematics="printed corrected",
       **PRINTED_VIOLATED)  # fmt: skip
@claim("regret of Algorithm 1 if labels contradict the predictions", "A, Theorem 1",
       root_of_regret_of_algorithm_1, theorem_1, note=21, sampled=True, mathematics="printed corrected",
       **PRINTED_VIOLATED)  # fmt: skip
@claim("regret if labels are fixed in advance", "A, Theorem 4", functools.partial(root_of_regret, False), theorem_4,
       sampled=True, mathematics="printed", printed="respected")  # fmt: skip
def _linear_regret(form: str, options: Options, root: Callable, theorem: Callable[[], float]) -> Verification:
    """The regret is 1.26 (Algorithm 1: 1.27) times the printed bound; twice the printed bound is right.

    Proof: the regret is at most the sum of <w_t - w, g_t>, with the gradients g_t and the best w, which depends on the
    noise. Replace g_t by its estimate g~_t: the sum is then at most sqrt(B_w G T) on average, as in the paper, since
    this holds for every w in each run. The error is the sum of <w_t, g_t - g~_t>, of mean 0, and of <w, g~_t - g_t>, at
    most sqrt(B_w) |sum of g~_t - g_t|. As the differences are uncorrelated, this is at most sqrt(B_w G T) on average.
    """
    return _moment_of_root(root, theorem() if form == "printed" else 2 * theorem(), options)


# ---------------------------------------------------------------------------------------------------------------------
# Adversaries that react, with the squared loss

TWO_COPIES = {"radius": 1.0, "x_bound": math.sqrt(1.09), "y_bound": 40.0, "n_rounds": 400}
ONE_COPY = {"radius": 1.0, "x_bound": ((1.2**4 + 0.8**4) / 2) ** 0.25, "y_bound": 200.0, "n_rounds": 2000}


def _root_of_squared_regret(x: jax.Array, n_rounds: int, products: jax.Array, losses: jax.Array) -> jax.Array:
    """From the products x_t y_t, and the losses without y_t^2, for |x_t| = x."""
    total, squares = jnp.sum(products), n_rounds * x**2
    best = jnp.clip(total / squares, -1, 1)
    return jnp.sqrt(jnp.maximum(jnp.sum(losses) - (squares * best**2 - 2 * best * total), 0))


def root_of_squared_regret(adversary: str, step: float, key: jax.Array) -> jax.Array:
    """The root of the regret of gradient descent with a fixed step on two copies of x = +-0.3, labels +-40, in one run.

    "labels": x = 0.3, y = -40 sgn(w_t), Gaussian noise. "instances": x = -0.3 sgn(w_t), y = 40, Gaussian noise.
    "noise": x = 0.3, y = 40, and the noise is 2 sgn(w_t) with probability 1/5, else -sgn(w_t)/2. Its variance is 1.
    """
    x, label, n_rounds = jnp.float32(0.3), jnp.float32(40.0), int(TWO_COPIES["n_rounds"])

    def play(w, noise):
        opposite = _opposite(w)
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


@claim("regret of two copies if labels contradict the predictions", "B, Theorem 1", "labels", note=37, sampled=True,
       **PRINTED_VIOLATED)  # fmt: skip
@claim("regret of two copies if instances contradict the predictions", "B, Theorem 1", "instances", note=37,
       sampled=True, **PRINTED_VIOLATED)  # fmt: skip
@claim("regret of two copies if only the noise reacts", "B, Theorem 1", "noise", sampled=True, printed="respected")
def _two_copies(form: str, options: Options, adversary: str) -> Verification:
    """Printed step and bound: 2037 against 1671. With E10: 2018 against 1714, and twice that, as for E21.

    If only the noise reacts, the data, and so the best predictor, do not depend on the noise.
    """
    theorem = (printed_two_copies if form == "printed" else two_copies)(**TWO_COPIES)  # type: ignore[arg-type]
    limit = theorem.value if form == "printed" else theorem.in_any_environment().value
    return _moment_of_root(functools.partial(root_of_squared_regret, adversary, theorem.step_size), limit, options)


def root_of_one_copy_regret(key: jax.Array) -> jax.Array:
    """The root of the regret for one copy 0.2 +- 1 and its variance 1, and labels -200 sgn(w_t), in one run."""
    x, label = jnp.float32(0.2), jnp.float32(ONE_COPY["y_bound"])
    step, n_rounds = known_covariance(**ONE_COPY).step_size, int(ONE_COPY["n_rounds"])  # type: ignore[arg-type]

    def play(w, noise):
        y, copy = label * _opposite(w), x + noise
        gradient = 2 * (w * copy - y) * copy - 2 * w
        return jnp.clip(w - step * gradient, -1, 1), (x * y, (w * x) ** 2 - 2 * w * x * y)

    noise = jax.random.rademacher(key, (n_rounds,), jnp.float32)
    _, (products, losses) = jax.lax.scan(play, jnp.zeros((), jnp.float32), noise)
    return _root_of_squared_regret(x, n_rounds, products, losses)


@claim("regret of one copy if labels contradict the predictions, bound for fixed labels", "B, Theorem 2", False,
       note=37, sampled=True, improved="violated")  # fmt: skip
@claim("regret of one copy if labels contradict the predictions, bound in any environment", "B, Theorem 2", True,
       note=37, sampled=True, improved="respected")  # fmt: skip
def _one_copy(form: str, options: Options, in_any_environment: bool) -> Verification:
    """1.2 times `known_covariance`. The printed bounds, with a larger G, are not exceeded here."""
    theorem = known_covariance(**ONE_COPY)  # type: ignore[arg-type]
    limit = theorem.in_any_environment().value if in_any_environment else theorem.value
    return _moment_of_root(root_of_one_copy_regret, limit, options)


# ---------------------------------------------------------------------------------------------------------------------
# Steps of proofs


@claim("gradient of a linear loss from one copy", "A, section 3.1", note=35, mathematics="printed corrected",
       **PRINTED_BIASED)  # fmt: skip
def _linear_loss(form: str, options: Options) -> Verification:
    """l(a) = c a with c = -2, x = (0.6, -0.3), noise (0.5, 0.2) or its negative: the mean is c x, printed x."""
    c, x, noise = -2.0, np.array([0.6, -0.3]), np.array([0.5, 0.2])
    support = [(0.5, c * (x + sign * noise)) for sign in (-1, 1)]
    return unbiased(None, x if form == "printed" else c * x, support=support)


def largest_exponential_moment(n_rounds: int = 12, factor: float = 1.0) -> float:
    """The largest E exp(s S) / exp(s^2 c^2 T / 8) of all s >= 0, for S of `bounds.with_high_probability`.

    Linear prediction of y = 0.5 at x = 1 from labels y + 3 or y - 3, T = 12. The 2^T runs have equal probabilities.
    A `factor` multiplies c.
    """
    radius, y, error = 1.0, 0.5, 3.0
    expected = two_copies(radius, 1.0, math.hypot(y, error), n_rounds)
    likely = with_high_probability(expected, largest_estimate(radius, 1.0, y + error), n_rounds, math.exp(-2))
    eta = expected.step_size
    azuma = factor * 2 * expected.diameter * likely.estimate_bound  # c
    signs = 1 - 2 * ((np.arange(2**n_rounds)[:, None] >> np.arange(n_rounds)) & 1)
    w, S = np.zeros(len(signs)), np.zeros(len(signs))
    for sign in signs.T:
        h = [eta * g**2 / 2 - g * (w - y) for g in (2 * (w - y - error), 2 * (w - y + error))]
        S += np.where(sign > 0, *h) - (h[0] + h[1]) / 2
        w = np.clip(w - eta * 2 * (w - y - error * sign), -radius, radius)
    s = np.linspace(0, 4, 81)[1:] / azuma
    logs = special.logsumexp(s[:, None] * S, axis=1) - math.log(len(S)) - s**2 * azuma**2 * n_rounds / 8
    return float(np.exp(logs.max()))


@claim("high-probability regret, the martingale's exponential moment", "B, section 2", improved="respected")
def _high_probability(form: str, options: Options) -> Verification:
    """Cesa-Bianchi et al. (2010b) mention Azuma's inequality; `bounds.with_high_probability` has the bound."""
    return bound(largest_exponential_moment(), 1.0)


@claim("g~_t and earlier Psi~, independence", "A, Theorem 4", note=24, mathematics="printed corrected",
       **PRINTED_BIASED)  # fmt: skip
def _independence(form: str, options: Options) -> Verification:
    """E g~_2 Psi~_1 against E g~_2 E Psi~_1, and E g~_2 Psi~_2 given the past against the product of the means.

    Squared loss, linear kernel, x = y = 1, noise +-0.5: w_2 = 2 step y Psi~_1, g~_2 = 2 (w_2 x~ - y).
    """
    step, copies = 0.1, (0.5, 1.5)
    if form == "printed":
        support = [(0.25, 2 * (2 * step * psi1 * copy - 1) * psi1) for psi1 in copies for copy in copies]
        return unbiased(None, 2 * (2 * step - 1.0), support=support)
    w2 = 2 * step * 1.5
    support = [(0.25, 2 * (w2 * copy - 1) * psi2) for copy in copies for psi2 in copies]
    return unbiased(None, 2 * (w2 - 1.0), support=support)


@claim("subgradients at 3w and -w", "A, Appendix E", note=27, **PRINTED_BIASED)
def _subgradients(form: str, options: Options) -> Verification:
    """At w = 0.2, the minimiser of l(3w) + l(-w) for the squared loss: -0.8 and -2.4."""
    multiples = np.array([3.0, -1.0])
    w = multiples.sum() / (multiples @ multiples)
    at_3w, at_minus_w = in_float64(Squared().gradient, multiples * w, np.ones(2))
    return unbiased(None, float(at_minus_w), support=[(1.0, float(at_3w) if form == "printed" else 3 * float(at_3w))])


@claim("the comparator's loss in Eq. 5, |w| <= 1/2", "A, Appendix A", note=29, mathematics="printed corrected",
       **PRINTED_BIASED)  # fmt: skip
def _comparator(form: str, options: Options) -> Verification:
    """w* = 1/2, x = w*/|w*| = 1: the least loss (w - y)^2 is 1/4 for the printed label 1, and 0 for the label |w*|."""
    label = 1.0 if form == "printed" else 0.5
    return unbiased(None, 0.0, support=[(1.0, float(np.min((np.linspace(-0.5, 0.5, 101) - label) ** 2)))])


# ---------------------------------------------------------------------------------------------------------------------
# One noisy copy is not enough

PERIODS, RATIO = 10, 100.0  # each period is 100 times as long as the period before
POINTS = np.array([[2.0, 0.0], [-1.0, 1.0], [0.5, -0.5]])


@claim("regret a round with one copy, |w| <= 1/5", "A, Theorem 3", note=28, **PRINTED_BIASED)
def _small_ball(form: str, options: Options) -> Verification:
    """The instances 3e and -e give 0, and 15e and -5e give the constant (1 - 1/sqrt(5))^2 of a large ball."""
    scale, loss = 1.0 if form == "printed" else 5.0, Squared()
    regret = unavoidable_regret(0.2, lambda y_hat, y: loss(scale * y_hat, y))
    return unbiased(None, (1 - 1 / math.sqrt(5)) ** 2, support=[(1.0, regret)], detect=1e-6)


def regret_per_round(w: float, noiseless: float) -> float:
    """Regret per round of the predictor w e if a share `noiseless` of the rounds is in the game without noise."""

    def loss(w: float) -> float:
        return noiseless * ((3 * w - 1) ** 2 + (-w - 1) ** 2) / 2 + (1 - noiseless) * (w - 1) ** 2

    best = 1 / (1 + 4 * noiseless)  # E x = 1, E x^2 = 1 + 4 * noiseless
    return loss(w) - loss(best)


@claim("proof of Theorem 5, a learner that throws a coin", "A, Appendix F", note=38, mathematics="printed corrected",
       **PRINTED_BIASED)  # fmt: skip
def _almost_surely(form: str, options: Options) -> Verification:
    """The learner plays w = 1 or 1/5 for ever, by its first copy. Regrets above (1 - 1/sqrt(5))^2 a round count as 1.

    Printed: the game with the larger probability. Corrected: 10 periods with a coin for the game of each, at the end of
    one of them; the probability is 1 - 2^-10.
    """
    limit, moves = (1 - 1 / math.sqrt(5)) ** 2, (1.0, 0.2)
    if form == "printed":
        exceeds = max([[regret_per_round(w, share) > limit for w in moves] for share in (1.0, 0.0)], key=sum)
        return unbiased(None, 1.0, support=[(0.5, float(bad)) for bad in exceeds])
    lengths, support = RATIO ** np.arange(PERIODS), []
    for w, coins in itertools.product(moves, itertools.product((0.0, 1.0), repeat=PERIODS)):
        shares = np.cumsum(lengths * coins) / np.cumsum(lengths)
        exceeds = any(regret_per_round(w, share) > limit for share in shares)
        support.append((0.5**PERIODS / len(moves), float(exceeds)))
    return unbiased(None, 1 - 0.5**PERIODS, support=support)


@claim("regret a round with one copy, three points in the plane", "A, Theorem 5", improved="within tolerance")
def _any_distribution(form: str, options: Options) -> Verification:
    """Squared loss: (1 - sqrt(h))^2 with h = m' M^-1 m.

    Proof: F1(w) = (w - M^-1 m)' M (w - M^-1 m). Its least value for <w, m> = q is (q - h)^2 / h, and F2 = (1 - q)^2.
    The larger of the two is least at q = sqrt(h).
    """
    m, M = POINTS.mean(axis=0), POINTS.T @ POINTS / len(POINTS)
    regret = unavoidable_regret_of_games(POINTS[None], radius=10.0)
    return unbiased(None, (1 - math.sqrt(m @ np.linalg.solve(M, m))) ** 2, support=[(1.0, np.float32(regret))])


@claim("regret a round with one copy, Gaussian kernel", "A, section 4.3", improved="within tolerance")
def _kernel(form: str, options: Options) -> Verification:
    """Instances 3e, -e with the label 1 and -3e, e with the label -1, or their means e and -e with these labels.

    Without noise f(e) = -1 and f(-e) = 1 are best, with noise the opposite. With a = f(e) = -f(-e), F1 = (1 + a)^2 / 2
    and F2 = (1 - a)^2 if f fits the labels of 3e and -3e. The larger is least at a = (sqrt(2) - 1)^2.
    """
    groups = np.array([[[3.0], [-1.0]], [[-3.0], [1.0]]])
    regret = unavoidable_regret_of_games(groups, radius=5.0, labels=[1.0, -1.0], kernel=Gaussian(1.0))
    return unbiased(None, (1 - (math.sqrt(2) - 1) ** 2) ** 2, support=[(1.0, np.float32(regret))])
