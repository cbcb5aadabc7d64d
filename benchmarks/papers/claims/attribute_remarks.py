"""Claims on the remarks of paper C, and on Theorem 2 (AER) where its bound is below the risk of w = 0."""

import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.papers.claims.registry import SamplingOptions, claim
from jaxonline.bounds import StronglyConvexBound, aer_regret, baseline_risk
from jaxonline.environments import HiddenAttribute
from jaxonline.estimators.attribute_pairs import AttributePairs
from jaxonline.feedback.attributes import AttributesOracle
from jaxonline.game import Specs
from jaxonline.learners import aer
from jaxonline.learners.gradient.descent import GradientLearner
from jaxonline.losses import Squared
from jaxonline.numerics.elementwise import run_compiled
from jaxonline.verify.bias import unbiased
from jaxonline.verify.moments import bound, second_moment
from jaxonline.verify.result import Verification

# ---------------------------------------------------------------------------------------------------------------------
# The remark after Theorem 1


def examples_that_make_up(power: float = 4.0) -> float:
    """Return the largest ratio of the Baseline's bound after m (d / k^(1/2))^`power` examples to that of d = k = 2.

    The number m of examples is 10^4, and B = 1. Both bounds are divided by (ln(d/delta) / m)^(1/2), the order of the
    bound with full information (Eq. 2).
    """
    m, delta, ratios = 10**4, 0.05, []
    for d, k in ((2, 2), (10, 2), (10, 10), (100, 2), (100, 10), (1000, 4)):
        examples = math.ceil(m * (d / math.sqrt(k)) ** power)
        ratios.append(baseline_risk(d, k, 1.0, examples, delta) / math.sqrt(math.log(d / delta) / m))
    return max(ratios) / ratios[0]


@claim(
    "m d^4/k^2 examples make up for the factor d^2/k", "C, remark after Theorem 1", cost="exact", printed="respected"
)
def _make_up(form: str, options: SamplingOptions) -> Verification:
    """For d up to 1,000; with m d^2/k examples the ratio would grow like d/k^(1/2)."""
    return bound(examples_that_make_up(), 1 + 1e-9, note="the largest bound, relative to d = k = 2 and to Eq. 2")


@claim(
    "variance of the Baseline's A if all attributes are seen",
    "C, remark after Theorem 1",
    cost="exact",
    printed="within tolerance",
)
def _all_attributes(form: str, options: SamplingOptions) -> Verification:
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


# ---------------------------------------------------------------------------------------------------------------------
# Theorem 2 and footnotes 3 and 5


@claim("bound of AER over that of the Baseline, B = 1", "C, footnote 3", cost="exact", printed="respected")
def _comparison(form: str, options: SamplingOptions) -> Verification:
    """d/k^(1/2) against d^2/k, with all constants, for d from 100 to 10,000, k from 2 to 100 and m = 10^6."""
    m, ratios = 10**6, []
    for d, k in itertools.product((100, 1000, 10_000), (2, 10, 100)):
        ratios.append(aer_regret(d, k, 1.0, 1.0, m).value / m / baseline_risk(d, k, 1.0, m, 0.05))
    return bound(max(ratios), 1.0, note="the largest ratio of the bounds")


def largest_mean_deviation(n_examples: int = 10) -> float:
    """Return the mean of sup over |w| <= 1 of the mean of s_t (w - y_t)^2, over all signs s, for y = 1, -1, 1, ..."""
    signs = 1 - 2 * ((np.arange(2**n_examples)[:, None] >> np.arange(n_examples)) & 1)
    labels, w = np.where(np.arange(n_examples) % 2 == 0, 1.0, -1.0), np.linspace(-1, 1, 401)
    with jax.enable_x64(True):
        losses = np.asarray(run_compiled(_losses, w, labels))
    return float(np.mean(np.max(signs @ losses, axis=1))) / n_examples


def _losses(w: jax.Array, labels: jax.Array) -> jax.Array:
    return jax.vmap(lambda y: Squared()(w, y))(labels)


@claim("Rademacher complexity of the squared loss, d = 1", "C, footnote 5", cost="exact", printed="respected")
def _rademacher(form: str, options: SamplingOptions) -> Verification:
    """Ten examples x = 1: the loss is 2 (B + 1)-Lipschitz in <w, x>, and the linear class has B (2 ln(2 d)/m)^(1/2)."""
    d, m, B = 1, 10, 1.0
    return bound(largest_mean_deviation(m), 2 * (B + 1) * B * math.sqrt(2 * math.log(2 * d) / m))


HIDDEN, EXAMPLES, RUNS = HiddenAttribute(2, eps=0.0625), 100_000, 512


def theorem_2() -> StronglyConvexBound:
    """Return the bound for d = k = 2, B = 1 and |w*|_2 = 1/2; per example it is 0.139. The risk of w = 0 is 0.25."""
    return aer_regret(HIDDEN.dimension, 2, 1.0, 0.5, EXAMPLES)


def error_of_aer(learner: GradientLearner, key: jax.Array, n_examples: int = EXAMPLES) -> jax.Array:
    """Return w - w* for the mean w of AER's hypotheses; its squared norm is the excess risk."""
    state, x = HIDDEN.init(jax.random.fold_in(key, 0)), jnp.zeros(HIDDEN.dimension)
    specs = Specs(jax.ShapeDtypeStruct(x.shape, x.dtype), jax.ShapeDtypeStruct((), x.dtype))

    def play(w, t):
        draw, answer, choice = jax.random.split(jax.random.fold_in(key, t), 3)
        x, _ = HIDDEN.instance(draw, state, t)
        y, _ = HIDDEN.answer(answer, state, t, x, jnp.zeros_like(x[0]))
        return learner.update(choice, w, AttributesOracle(2, x, y))[0], None

    rounds = jnp.arange(1, n_examples + 1, dtype=jnp.int32)
    w = jax.lax.scan(play, learner.init(key, specs), rounds)[0].average
    eps: Any = HIDDEN.eps
    return w.at[state.attribute].add(-2 * math.sqrt(eps))  # type: ignore[union-attr]


@claim("risk of AER after 100,000 examples, simulated", "C, Theorem 2", corrected="respected")
def _aer(form: str, options: SamplingOptions) -> Verification:
    """The excess risk |w - w*|^2 of the mean hypothesis, d = k = 2 and B = 1.

    The mean of 512 runs is 2.7e-4, the bound 0.1395, and the excess risk of w = 0 is 0.25.
    """
    theorem = theorem_2()
    sampler = jax.tree_util.Partial(error_of_aer, aer(2, theorem.regularizer, 1.0))
    sampling: dict[str, Any] = options.sampling() | {"samples": RUNS if options.samples is None else options.samples}
    return second_moment(sampler, theorem.value / EXAMPLES, kurtosis=6.0, width=64, **sampling)
