"""Theorems of Cesa-Bianchi et al. (2010c): risks of the Baseline and of AER, deviations, remarks, and the lower bound.

The functions printed_* are formulas as printed in the paper.
"""

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from jaxtyping import ArrayLike, Float
from scipy import stats

from benchmarks.papers.claims.registry import PRINTED_BIASED, Options, claim, in_float64
from jaxonline.bounds import aer_regret, baseline_risk
from jaxonline.environments import HiddenAttribute
from jaxonline.estimators import AttributeGradient, AttributePairs, FullGradient, Regularised
from jaxonline.feedback import FullOracle
from jaxonline.learners.attributes import minimise_on_l1_ball
from jaxonline.losses import Squared
from jaxonline.verify import Verification, bound, unbiased

DELTA = 0.05

# ---------------------------------------------------------------------------------------------------------------------
# The Baseline: Theorem 1 with its remark, Lemmas 2 and 3, and footnote 2


def printed_baseline_risk(dimension: int, n_attributes: int, radius: float, n_examples: int, delta: float) -> float:
    """E40, C Theorem 1: a constant times B^2, the constant being that of `bounds.baseline_risk` for B = 1."""
    return radius**2 * baseline_risk(dimension, n_attributes, 1.0, n_examples, delta)


def quantile_of_excess_risk(n_examples: int, radius: float) -> float:
    """Return an excess risk that is reached with a probability of at least `DELTA`: d = k = 2, x = (1, 0), labels +-1.

    The pair (i, j) has n = 0, 1 or 2 indices of the first attribute, with the probabilities 1/4, 1/2 and 1/4. It adds 4
    to A_11 if n = 2, and n to v_1. The labels are fair, so the risk is 1 + w_1^2. With a probability of at least 0.99
    at most `pairs` examples have n = 2, and with a probability of at least `DELTA` + 0.01 the sum of y n is at least
    `total`, up to its sign, which does not matter.
    """
    pairs = stats.binom.ppf(0.99, n_examples, 0.25)
    reach = 1 << math.ceil(math.log2(16 * math.sqrt(n_examples) + 16))  # above 13 standard deviations
    angles = 2 * np.pi * np.arange(2 * reach) / (2 * reach)
    law = np.fft.ifft((0.25 + np.cos(angles) / 2 + np.cos(2 * angles) / 4) ** n_examples).real  # of the sum of y n
    at_least = 2 * np.cumsum(law[1:reach][::-1])[::-1]  # P(|sum| >= 1), P(|sum| >= 2), ...
    total = 1 + int(np.flatnonzero(at_least >= DELTA + 0.01)[-1])
    A, v = np.diag(np.array([4 * float(pairs) / n_examples, 0.0])), np.array([total / n_examples, 0.0])
    w = in_float64(functools.partial(minimise_on_l1_ball, n_steps=50), A, v, radius, np.zeros(2))
    return float(w[0] ** 2)


@claim("excess risk of the Baseline for B = 1/sqrt(m)", "C, Theorem 1", note=40,
       printed="violated", corrected="within tolerance")  # fmt: skip
def _small_radius(form: str, options: Options) -> Verification:
    """d = k = 2, m = 10^6: the excess risk is B^2 with a probability of 0.41.

    Corrected: the bound of this package against the terms of the proof, with B (B + 1) for B^2.
    """
    m, B = 10**6, 1e-3
    if form == "printed":
        limit = printed_baseline_risk(2, 2, B, m, DELTA)
        return bound(quantile_of_excess_risk(m, B), limit, note="below the 95 % quantile, and the bound")
    log = math.log(4 / DELTA)
    estimates = 2 * B**2 * math.sqrt(2 * (math.log(8) + log)) + 2 * B * math.sqrt(2 * (math.log(4) + log))
    uniform = 4 * (B + 1) * B * math.sqrt(2 * math.log(4)) + 4 * B * math.sqrt(2 * log)
    limit = (2 * estimates + uniform) / math.sqrt(m)
    return unbiased(None, limit, support=[(1.0, baseline_risk(2, 2, B, m, DELTA))], detect=1e-6)


def examples_that_make_up(power: float = 4.0) -> float:
    """Return the largest ratio of the Baseline's bound after m (d / k^(1/2))^`power` examples to that of d = k = 2.

    The number m of examples is 10^4, and B = 1. Both bounds are divided by (ln(d/delta) / m)^(1/2), the order of the
    bound with full information (Eq. 2).
    """
    m, ratios = 10**4, []
    for d, k in ((2, 2), (10, 2), (10, 10), (100, 2), (100, 10), (1000, 4)):
        examples = math.ceil(m * (d / math.sqrt(k)) ** power)
        ratios.append(baseline_risk(d, k, 1.0, examples, DELTA) / math.sqrt(math.log(d / DELTA) / m))
    return max(ratios) / ratios[0]


@claim("m d^4/k^2 examples make up for the factor d^2/k", "C, remark after Theorem 1", printed="respected")
def _make_up(form: str, options: Options) -> Verification:
    """For d up to 1,000; with m d^2/k examples the ratio would grow like d/k^(1/2)."""
    return bound(examples_that_make_up(), 1 + 1e-9, note="the largest bound, relative to d = k = 2 and to Eq. 2")


@claim("variance of the Baseline's A if all attributes are seen", "C, remark after Theorem 1",
       printed="within tolerance")  # fmt: skip
def _all_attributes(form: str, options: Options) -> Verification:
    """For k = d = 4 and x = (1, ..., 1), E|A - x x'|^2 is 67.2, where full information gives 0.

    A_ii is 2 d^2/k if the pair (i, i) is drawn, and A_ij is d^2/k for each of the pairs (i, j) and (j, i). One pair is
    drawn with probability q = k/(2 d^2), and two with probability q (k/2 - 1)/(d^2 - 1).
    """
    d = k = 4
    q = k / (2 * d**2)
    both = q * (k / 2 - 1) / (d**2 - 1)
    diagonal, other = 4 * q * (d**2 / k) ** 2, (d**2 / k) ** 2 * (2 * q + 2 * both)
    deviations = [(p, float(np.sum((m.A - 1) ** 2))) for p, m in AttributePairs(k).support(np.ones(d))]
    return unbiased(None, d * diagonal + d * (d - 1) * other - d**2, support=deviations)


def largest_tail_ratio(step: float, probabilities: list[float], mean: float, exponent: float) -> float:
    """Return the largest P(|mean of m copies - mean| >= eps) / (2 exp(-m exponent eps^2)) over eps, for four m.

    The copies have the values 0, step, 2 step, ... with the given probabilities. The distribution is exact.
    """
    logs = []
    for m in (5, 20, 100, 400):
        law = functools.reduce(np.convolve, [np.array(probabilities)] * m)
        deviations = np.round(np.abs(np.arange(len(law)) * step / m - mean), 12)
        for eps in np.unique(deviations[deviations > 0]):
            tail = float(law[deviations >= eps].sum())
            logs.append(math.log(tail) - math.log(2) + m * exponent * eps**2 if tail else -math.inf)
    return math.exp(min(max(logs), 700.0))


@claim("deviation of a diagonal entry of the Baseline's mean A", "C, Lemma 2", 9.0, [8 / 9, 1 / 9], 1.0, 2 / 81,
       mathematics="printed", printed="respected")  # fmt: skip
@claim("deviation of an entry of the Baseline's mean v, k = 2", "C, Lemma 3", 3.0, [4 / 9, 4 / 9, 1 / 9], 2.0, 1 / 18,
       mathematics="printed", printed="respected")  # fmt: skip
def _deviation(
    form: str, options: Options, step: float, probabilities: list[float], mean: float, exponent: float
) -> Verification:
    """Both for d = 3, k = 2 and y x_i = 1.

    A_ii is 0 or 2 d^2/k, so that the interval has the printed width, and 2 exp(-m k^2 eps^2/(2 d^4)) is right. An entry
    of 2 y v is in [0, 4 d/k], as attribute i is in the pair never, once or twice: 2 exp(-m k^2 eps^2/(8 d^2)) is right.
    """
    ratio = largest_tail_ratio(step, probabilities, mean, exponent)
    return bound(ratio, 1.0, note="the largest ratio of a tail to its bound")


def printed_identity_solution(labels: Float[ArrayLike, "m"], estimates: Float[ArrayLike, "m d"]) -> np.ndarray:
    """E44, C footnote 2: the sum of y v over the examples; the mean is right."""
    return np.asarray(labels, float) @ np.asarray(estimates, float)


@claim("w if the correlation matrix is the identity, ten examples", "C, footnote 2", note=44,
       mathematics="printed corrected", **PRINTED_BIASED)  # fmt: skip
def _identity(form: str, options: Options) -> Verification:
    """Means over ten examples of the hidden attribute x_1 of two, with all outcomes of one example and of v (Eq. 3)."""
    d, p, m = 2, 0.5 + math.sqrt(0.04), 10
    support = []
    for x, agrees, i in itertools.product(itertools.product((-1.0, 1.0), repeat=d), (True, False), range(d)):
        y, v = (x[0] if agrees else -x[0]), d * x[i] * np.eye(d)[i]
        total = printed_identity_solution(np.full(m, y), np.tile(v, (m, 1)))
        weight = (p if agrees else 1 - p) / 2**d / d
        support.append((weight, total if form == "printed" else total / m))
    return unbiased(None, np.array([2 * math.sqrt(0.04), 0.0]), support=support)


# ---------------------------------------------------------------------------------------------------------------------
# AER: Eq. 5, Eq. 7, Theorem 2, and footnotes 3 to 5


def printed_regularised_minimiser(regularizer: float) -> float:
    """E42, C Eq. 5: where (w - 1)^2 + lambda w^2 is least, for the example x = y = 1; lambda w^2 / 2 is right."""
    return 1 / (1 + regularizer)


@claim("minimiser of the regularised risk, d = 1", "C, Eq. 5", note=42, **PRINTED_BIASED)
def _regularised(form: str, options: Options) -> Verification:
    """The gradient of AER's update is 0 at 2/3, where (w - 1)^2 + w^2/2 is least; the printed sum is least at 1/2."""
    regularizer = 1.0
    w = printed_regularised_minimiser(regularizer) if form == "printed" else 1 / (1 + regularizer / 2)
    with jax.enable_x64(True):
        oracle = FullOracle(jnp.ones(1), jnp.ones(()))
        gradient = float(Regularised(FullGradient(), regularizer)(jax.random.key(0), jnp.full(1, w), oracle)[0])
    return unbiased(None, 1.0, support=[(1.0, 1.0 + gradient)])


def printed_sum_of_gradients(dimension: int, n_attributes: int, radius: float, norm: float, n_examples: int) -> float:
    """E43, C Eq. 7: alpha, the bound on the sum of <z_t, w_t - w*>, with the constant of `bounds.aer_regret`.

    It is a bound on the mean over the examples; m alpha bounds the sum.
    """
    return aer_regret(dimension, n_attributes, radius, norm, n_examples).value / n_examples


def norm_for_regularizer(n_examples: int) -> float:
    """Return the B_2 with which AER has lambda = 8, for d = k = 2 and B = 1."""
    return math.sqrt(math.log(n_examples) / (8 * n_examples))


def sum_of_gradients(n_examples: int) -> float:
    """Return the expected sum of <z_t, w_t> over a run of AER with lambda = 8: d = k = 2, x = (1, 0), fair labels +-1.

    y^ is the prediction a of w_t = (a, 0), and z_t is 4 (a - y) (1, 0) or 0 with probability 1/2 each. As lambda = 8,
    w_(t+1) is a mean of vectors in the ball with radius B = 1, so the projection changes nothing, and E a^2 satisfies a
    recursion. E<z_t, w_t> is the mean factor times E a^2.
    """
    regularizer = aer_regret(2, 2, 1.0, norm_for_regularizer(n_examples), n_examples).regularizer
    support = AttributeGradient(2).support(np.array([1.0, 0.0]), np.array([1.0, 0.0]), 0.0)  # a - y is 1
    mean, square = (sum(p * z[0] ** power for p, z in support) for power in (1, 2))
    a2, total = 0.0, 0.0
    for t in range(1, n_examples + 1):
        total += mean * a2
        keep, step = 1 - 1 / t, 1 / (regularizer * t)
        a2 = (keep**2 - 2 * keep * step * mean) * a2 + step**2 * square * (a2 + 1)
    return float(total)


@claim("sum of <z_t, w_t> over 10,000 examples", "C, Eq. 7", note=43, printed="violated", corrected="within tolerance")
def _sum_of_gradients(form: str, options: Options) -> Verification:
    """The expected sum, 1.76, is compared with alpha; w* = 0, B = 1.

    Corrected: the bound of this package, which is m alpha, against lambda m B_2^2/2 + G (1 + ln m)/lambda with G = 64
    and lambda = 8.
    """
    m = 10_000
    norm = norm_for_regularizer(m)
    if form == "printed":
        return bound(sum_of_gradients(m), printed_sum_of_gradients(2, 2, 1.0, norm, m))
    limit = math.log(m) / 2 + 8 * (1 + math.log(m))
    return unbiased(None, limit, support=[(1.0, float(aer_regret(2, 2, 1.0, norm, m).value))], detect=1e-6)


@claim("bound of AER over that of the Baseline, B = 1", "C, footnote 3", printed="respected")
def _comparison(form: str, options: Options) -> Verification:
    """d/k^(1/2) against d^2/k, with all constants, for d from 100 to 10,000, k from 2 to 100 and m = 10^6."""
    m, ratios = 10**6, []
    for d, k in itertools.product((100, 1000, 10_000), (2, 10, 100)):
        ratios.append(aer_regret(d, k, 1.0, 1.0, m).value / m / baseline_risk(d, k, 1.0, m, DELTA))
    return bound(max(ratios), 1.0, note="the largest ratio of the bounds")


@claim("gradient of AER for short instances", "C, footnote 4", printed="respected", improved="respected")
def _short_instances(form: str, options: Options) -> Verification:
    """Printed: |z| <= 2 (B + 1) 2 d |x|_2 / k in each outcome. Improved: E|z|^2 <= 4 (B + 1)^2 2 d |x|_2^2 / k.

    The root of the second one is at most the first one, as k <= d. It is the sqrt(d/k) |x|_2 of `bounds.aer_regret`.
    """
    d, k, w, short = 4, 4, np.array([0.5, -0.5, 0.0, 0.0]), np.array([0.4, -0.3, 0.0, 0.0])
    size, support = float(np.linalg.norm(short)), AttributeGradient(k).support(w, short, -1.0)
    if form == "printed":
        return bound(max(float(np.linalg.norm(z)) for _, z in support), 2 * (1 + 1) * 2 * d * size / k)
    moment = float(sum(p * np.sum(z**2) for p, z in support))
    return bound(moment, aer_regret(d, k, 1.0, 1.0, 2, x_norm=size).G)


def largest_mean_deviation(n_examples: int = 10) -> float:
    """Return the mean of sup over |w| <= 1 of the mean of s_t (w - y_t)^2, over all signs s, for y = 1, -1, 1, ..."""
    signs = 1 - 2 * ((np.arange(2**n_examples)[:, None] >> np.arange(n_examples)) & 1)
    labels, w = np.where(np.arange(n_examples) % 2 == 0, 1.0, -1.0), np.linspace(-1, 1, 401)
    losses = in_float64(jax.vmap(Squared(), (None, 0)), w, labels)
    return float(np.mean(np.max(signs @ losses, axis=1))) / n_examples


@claim("Rademacher complexity of the squared loss, d = 1", "C, footnote 5", printed="respected")
def _rademacher(form: str, options: Options) -> Verification:
    """Ten examples x = 1: the loss is 2 (B + 1)-Lipschitz in <w, x>, and the linear class has B (2 ln(2 d)/m)^(1/2)."""
    d, m, B = 1, 10, 1.0
    return bound(largest_mean_deviation(m), 2 * (B + 1) * B * math.sqrt(2 * math.log(2 * d) / m))


# ---------------------------------------------------------------------------------------------------------------------
# The lower bound of Theorem 3: in each round a strategy picks K of d arms, and arm i pays 1 if x_i = y.

ARMS, PICKED, ROUNDS, P, HIDDEN_ARM = 4, 2, 5, 0.25, 1


def histories(d: int, K: int, rounds: int, p: float, arm: int) -> list[tuple[float, float, int]]:
    """List (P_u, P_j / P_u, N_j) for all histories of the strategy that picks the K arms that were most often right.

    P_u is the law of uniform x and y, P_j that of `HiddenAttribute` with eps = p^2 and the hidden attribute j = `arm`.
    """
    outcomes = []
    for pays in itertools.product(itertools.product((-1, 1), repeat=K), repeat=rounds):  # the signs of x_i y
        right, ratio, picks = np.zeros(d), 1.0, 0
        for signs in pays:
            chosen = np.argsort(-right, kind="stable")[:K]
            right[chosen] += np.array(signs)
            if arm in chosen:
                ratio *= 1 + 2 * p * signs[int(np.flatnonzero(chosen == arm)[0])]
                picks += 1
        outcomes.append((2.0 ** (-K * rounds), ratio, picks))
    return outcomes


@claim("KL divergence of the histories of the game with K arms", "C, Lemma 6", mathematics="printed",
       printed="within tolerance")  # fmt: skip
def _divergence(form: str, options: Options) -> Verification:
    """KL(P_u, P_j) = -log(1 - 4 p^2) E_u N_j / 2, by enumeration of the 1,024 histories of a strategy that learns."""
    outcomes = histories(ARMS, PICKED, ROUNDS, P, HIDDEN_ARM)
    picks = sum(weight * n for weight, _, n in outcomes)
    divergence = -0.5 * math.log(1 - 4 * P**2) * picks
    return unbiased(None, divergence, support=[(weight, -math.log(ratio)) for weight, ratio, _ in outcomes])


def _draw_picks(hidden: HiddenAttribute, key: jax.Array) -> jax.Array:
    """Draw N_j of the strategy of `histories` in the environment, with a random hidden attribute j."""
    state = hidden.init(jax.random.fold_in(key, 0))

    def play(right: jax.Array, t: jax.Array) -> tuple[jax.Array, jax.Array]:
        draw, answer = jax.random.split(jax.random.fold_in(key, t))
        x, _ = hidden.instance(draw, state, t)
        y, _ = hidden.outcome(answer, state, t, x, jnp.zeros_like(x[0]))
        chosen = jnp.argsort(-right, stable=True)[:PICKED]
        return right.at[chosen].add(x[chosen] * y), jnp.any(chosen == state.attribute)

    picks = jax.lax.scan(play, jnp.zeros(hidden.dimension), jnp.arange(1, ROUNDS + 1, dtype=jnp.int32))[1]
    return jnp.sum(picks, dtype=jnp.float32)


@claim("picks of the hidden arm in draws of HiddenAttribute", "C, Lemma 6", few=True, improved="within tolerance")
def _environment(form: str, options: Options) -> Verification:
    """The environment has the law P_j of `histories`: the mean of N_j over j equals that by enumeration."""
    outcomes = [outcome for j in range(ARMS) for outcome in histories(ARMS, PICKED, ROUNDS, P, j)]
    mean = sum(weight * ratio * n for weight, ratio, n in outcomes) / ARMS
    sampler = Partial(_draw_picks, HiddenAttribute(ARMS, eps=P**2))
    return unbiased(sampler, mean, range=(-1e-6, ROUNDS), **options)


def _picks_bound(form: str, rounds: int, picks: float) -> float:
    """Return T sqrt(-log(1 - 4 p^2) E_u N_j), or half of it.

    The proof has M |P_j - P_u|_1, and M |P_j - P_u|_1 / 2 suffices for a function with values in [0, M].
    """
    return rounds * math.sqrt(-math.log(1 - 4 * P**2) * picks) / (1 if form == "printed" else 2)


@claim("picks of the hidden arm in the game with K arms", "C, Lemma 6", mathematics="printed improved",
       printed="respected", improved="respected")  # fmt: skip
def _picks(form: str, options: Options) -> Verification:
    """E_j N_j - E_u N_j <= T sqrt(-log(1 - 4 p^2) E_u N_j); half of it is right, too."""
    outcomes = histories(ARMS, PICKED, ROUNDS, P, HIDDEN_ARM)
    before = sum(weight * n for weight, _, n in outcomes)
    return bound(sum(weight * (ratio - 1) * n for weight, ratio, n in outcomes), _picks_bound(form, ROUNDS, before))


def best_picks(d: int, rounds: int, p: float) -> float:
    """Return the largest possible mean of N_j over j for K = 1, by dynamic programming over all strategies."""
    up, down = 1 + 2 * p, 1 - 2 * p

    @functools.cache
    def value(arms: tuple[tuple[int, int], ...], left: int) -> float:
        if left == 0:
            return 0.0
        values = []
        for i in {arm: place for place, arm in enumerate(arms)}.values():
            (agreed, disagreed), others = arms[i], arms[:i] + arms[i + 1 :]
            counts = ((agreed + 1, disagreed), (agreed, disagreed + 1))
            after = [value(tuple(sorted((*others, count))), left - 1) for count in counts]
            values.append(up**agreed * down**disagreed / d + sum(after) / 2)
        return max(values)

    return value(((0, 0),) * d, rounds)


@claim("picks of the hidden arm by the best strategy, K = 1", "C, Theorem 3", mathematics="printed improved",
       printed="respected", improved="respected")  # fmt: skip
def _best_strategy(form: str, options: Options) -> Verification:
    """E N_j <= K T/d + T sqrt(-log(1 - 4 p^2) K T/d) for every strategy (Eq. 13), here the optimal one.

    With half of the second term, as in the claim on Lemma 6, Theorem 3 has d/(24 k eps) for d/(96 k eps).
    """
    d, rounds = 6, 8
    return bound(best_picks(d, rounds, P), rounds / d + _picks_bound(form, rounds, rounds / d))
