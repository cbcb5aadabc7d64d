"""Measured error rates of the verification: false alarms of each method, and power against planted errors.

False alarms: 2,000 independent experiments on correct heavy-tailed estimators at level 1e-2. A method whose rate is at
most 1e-2 raises more than `MAX_ALARMS` alarms with probability below 1e-6, the false-alarm rate of these tests; a
method whose rate is 4e-2 passes with probability below 1e-5.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special, stats
from tiers import some
from verify_samples import ONE, geometric_product

from jaxonline import verify
from jaxonline.verify import sampling
from jaxonline.verify.intervals import Bernstein, BoundedKurtosis, KnownVariance
from jaxonline.verify.sampling import Moments

LEVEL, SEEDS = 1e-2, 2000
MAX_ALARMS = int(stats.binom.isf(1e-6, SEEDS, LEVEL))
P = 2.0


def moments_of(draw, n: int) -> Moments:
    """The moments of 2,000 experiments of n samples each; `draw(rng, shape)` returns samples."""
    rng = np.random.default_rng(20100601)
    parts = [Moments.from_samples(draw(rng, (n, 100))) for _ in range(SEEDS // 100)]
    return Moments(n, *[np.concatenate([getattr(part, f) for part in parts]) for f in ("mean", "m2", "m3", "m4")])


def geometric_weights(x: float, p: float = P):
    """theta = p/(p-1) (p x)^N, the paper's estimate of 1/(1-x): a Pareto tail of index ln p / ln(p x)."""
    values = p / (p - 1) * (p * x) ** np.arange(300)
    return lambda rng, shape: values[np.minimum(rng.geometric(1 - 1 / p, shape) - 1, 299)]


def raw_moment(x: float, q: int, p: float = P) -> float:
    """E theta^q of `geometric_weights`, in closed form; infinite where its series diverges."""
    ratio = p ** (q - 1) * x**q
    return (p / (p - 1)) ** (q - 1) / (1 - ratio) if ratio < 1 else math.inf


def test_max_alarms_separates_valid_from_invalid_rates():
    assert stats.binom.sf(MAX_ALARMS, SEEDS, LEVEL) < 1e-6
    assert stats.binom.cdf(MAX_ALARMS, SEEDS, 4 * LEVEL) < 1e-5
    assert MAX_ALARMS == 44


@pytest.mark.parametrize(("x", "n"), [(0.55, 2000), (0.68, 2000), (0.7, 500)])
def test_false_alarms_with_the_second_moment(x, n):
    """Tails of index 7.3, 2.25 and 2.06; the last barely has a variance."""
    mean = raw_moment(x, 1)
    interval = KnownVariance(np.full(SEEDS, raw_moment(x, 2) - mean**2), LEVEL)
    moments = moments_of(geometric_weights(x), n)
    alarms = int(np.sum(np.abs(moments.mean - mean) > interval.half_width(moments, LEVEL)))
    assert alarms <= MAX_ALARMS


def test_a_z_test_raises_more_false_alarms_than_known_variance():
    """At level 1e-4 and 500 samples the z-test errs in one experiment of a hundred (tail index 2.25)."""
    x, level = 0.68, 1e-4
    moments, mean = moments_of(geometric_weights(x), 500), raw_moment(0.68, 1)
    z = np.abs(moments.mean - mean) / np.sqrt(moments.variance / moments.n)
    assert np.mean(z > stats.norm.isf(level / 2)) > 50 * level
    interval = KnownVariance(np.full(SEEDS, raw_moment(x, 2) - mean**2), level)
    assert np.sum(np.abs(moments.mean - mean) > interval.half_width(moments, level)) <= 5


def test_false_alarms_with_a_bound_on_the_kurtosis():
    x, n = 0.55, 4000
    m = [raw_moment(x, q) for q in range(5)]
    variance = m[2] - m[1] ** 2
    kurtosis = (m[4] - 4 * m[1] * m[3] + 6 * m[1] ** 2 * m[2] - 3 * m[1] ** 4) / variance**2
    assert 27 < kurtosis < 28
    moments = moments_of(geometric_weights(x), n)
    for scale in (variance / 10, variance, 10 * variance):  # a bad guess costs width, not validity
        interval = BoundedKurtosis(kurtosis, np.full(SEEDS, scale), LEVEL)
        half_width = interval.half_width(moments, LEVEL)
        assert np.all(np.isfinite(half_width))
        assert np.sum(np.abs(moments.mean - m[1]) > half_width) <= MAX_ALARMS


# Rare events: 1/q with probability q, else 0. Hits are binomial, so that 2,000 experiments of any size cost nothing.
LOOKS = (0.02, 0.05, 0.1, 0.25, 0.5, 1.0)


def moments_of_hits(hits: np.ndarray, n: int, q: float) -> Moments:
    """The moments of n values, of which `hits` are 1/q and the others 0."""
    p = hits / n
    central = [n * (p * (1 - p) ** k + (1 - p) * (-p) ** k) / q**k for k in (2, 3, 4)]
    return Moments(n, p / q, *central)


def rare_event_moments(q: float, n: int):
    """The moments of 2,000 experiments at each look up to n."""
    rng, hits, before = np.random.default_rng(int(1 / q)), np.zeros(SEEDS, int), 0
    for part in LOOKS:
        now = int(part * n)
        hits, before = hits + rng.binomial(now - before, q, SEEDS), now
        yield moments_of_hits(hits, now, q)


@pytest.mark.parametrize("q", [1e-7, 1e-5, 1e-4, 1e-3, 1e-2, 0.3])
@pytest.mark.parametrize("n", [2000, 200_000])
def test_false_alarms_of_every_method_on_rare_events_at_all_looks_together(q, n):
    ones, kurtosis = np.ones(SEEDS), (1 - 3 * q * (1 - q)) / (q * (1 - q))
    methods = {
        "second moment": KnownVariance(ones * (1 / q - 1), LEVEL, planned=n),
        "kurtosis": BoundedKurtosis(kurtosis, ones / q, LEVEL, planned=n),
        "bernstein": Bernstein(0 * ones, ones / q, planned=n),
    }
    for name, interval in methods.items():
        alarms = np.zeros(SEEDS, bool)
        for moments in rare_event_moments(q, n):
            alarms |= np.abs(moments.mean - 1) > interval.half_width(moments, LEVEL)
        assert alarms.sum() <= MAX_ALARMS, name


@pytest.mark.parametrize("q", [1e-7, 1e-6, 1e-5, 1e-4, 5e-4])
def test_rare_events_beyond_the_assumed_kurtosis_raise_no_alarm(q):
    """2,000 seeds at the default size and level."""
    n, level = 200_000, 1e-9
    interval = BoundedKurtosis(1000.0, np.full(SEEDS, 1e-6), level, planned=n)
    for moments in rare_event_moments(q, n):
        alarm = np.abs(moments.mean - 1) > interval.half_width(moments, level)
        constant = moments.m2 == 0
        assert not np.any(alarm & ~constant & (moments.kurtosis <= 1000.0))


def test_false_alarms_of_bets_against_a_second_moment():
    """The mean of theta^2 is 1, the alternative of the stated 0.8; the stated 0.2 is contradicted."""
    rng, q, n = np.random.default_rng(3), 1e-2, 6000
    right, wrong = (sampling.Bets.start(np.full(SEEDS, s)) for s in (1 / sampling._MARGIN, 0.2))
    for _ in range(4):
        values = np.where(rng.random((n // 4, SEEDS)) < q, q**-0.5, 0.0)
        right, wrong = right.update(values), wrong.update(values)
    assert right.contradicted(LEVEL).sum() <= MAX_ALARMS
    assert wrong.contradicted(LEVEL).mean() > 0.99


def _many_distributions(key):
    """Distributions of mean 1: rare events, counts, weights p^N, exponentials of normal numbers."""
    rare_key, count_key, weight_key, normal_key = jax.random.split(key, 4)
    rare_events = jnp.where(jax.random.uniform(rare_key, (4,)) < RARE, 1 / RARE, 0.0)
    count = jax.random.poisson(count_key, 1.0).astype(jnp.float32)
    n = jax.random.geometric(weight_key, 1 - 1 / P, dtype=jnp.int32) - 1
    weight = 0.32 * 2.0 * jnp.float32(P * 0.68) ** n.astype(jnp.float32)
    lognormal = jnp.exp(jax.random.normal(normal_key) - 0.5)
    return jnp.concatenate([rare_events, jnp.stack([count, weight, lognormal])])


RARE = np.array([1e-4, 1e-3, 1e-2, 0.3], np.float32)
SECONDS = np.array([*(1 / RARE), 2.0, 0.32**2 * raw_moment(0.68, 2), math.e])


WHOLE = [("second moment", 100), ("second moment", SEEDS), ("bernstein", SEEDS), ("kurtosis", SEEDS)]


@pytest.mark.parametrize(("method", "seeds"), some(WHOLE))
def test_false_alarms_of_the_whole_verifier(method, seeds):
    """All distributions together at level 1e-2; with a range or a kurtosis, those that have one."""
    part, known = {
        "second moment": (slice(0, 7), {"second_moment": SECONDS}),
        "bernstein": (slice(0, 4), {"range": (0, 1 / RARE.astype(float))}),
        "kurtosis": (slice(2, 4), {"kurtosis": 100.0}),
    }[method]
    options = {"level": LEVEL, "samples": 4096, "width": 2048, "mesh": ONE}

    def estimator(key):
        return _many_distributions(key)[part]

    target = np.ones(part.stop - part.start)
    verdicts = [verify.unbiased(estimator, target, seed=seed, **options, **known).verdict for seed in range(seeds)]
    assert verdicts.count("biased") <= stats.binom.isf(1e-6, seeds, LEVEL)


# The paper's estimator of -e^(-E X), X ~ N(0.5, 0.09), gamma_N p^(N+1)/(p-1) X_1 ... X_N, and two of its kind. All of
# them, mutants included, are one program; beyond 12 copies the terms are below 1e-13.
MU, SD, CAP = 0.5, 0.3, 12
N = np.arange(CAP + 1)
GAMMA = (-1.0) ** (N + 1) / special.factorial(N)  # of -e^(-a)
BETA = 1 / special.factorial(N)  # of the kernel exp(<x, x'>)
TARGET = -math.exp(-MU)
SECOND = float(sum(P / (P - 1) * GAMMA**2 * (P * (MU**2 + SD**2)) ** N))
WEIGHTS = P ** (N + 1) / (P - 1)

CORRECT = {
    "series": (geometric_product(GAMMA * WEIGHTS, MU, SD), TARGET),
    # <Psi~(x), Psi(x')> with <x, x'> = 0.7
    "features": (geometric_product(np.sqrt(BETA) * np.sqrt(BETA) * WEIGHTS, 0.7, 0.1), math.exp(0.7)),
    # y (y gamma_N ... prod (y X_j)) with y = -1
    "labels": (geometric_product(-GAMMA * WEIGHTS, -0.6, 0.3), math.exp(0.6)),
}
MUTANTS = {
    "scale": (geometric_product(1.05 * GAMMA * WEIGHTS, MU, SD), TARGET),
    "off-by-one": (geometric_product(P * GAMMA * WEIGHTS, MU, SD), TARGET),
    "square root": (geometric_product(BETA * np.sqrt(BETA) * WEIGHTS, 0.7, 0.1), math.exp(0.7)),
    "dropped y": (geometric_product(-GAMMA * WEIGHTS, 0.6, 0.3), math.exp(0.6)),
}


@pytest.mark.parametrize("name", CORRECT)
def test_a_kurtosis_of_1000_passes_correct_estimators(name):
    estimator, target = CORRECT[name]
    result = verify.unbiased(estimator, target, kurtosis=1000.0, mesh=ONE)
    assert result.verdict == "within tolerance"
    assert result.detectable <= 0.045


@pytest.mark.parametrize("name", MUTANTS)
def test_the_default_error_rates_detect_planted_biases(name):
    """The first needs 1.3 million samples, the second the maximum."""
    estimator, target = MUTANTS[name]
    found = verify.unbiased(estimator, target, kurtosis=1000.0, max_samples=1_400_000, mesh=ONE)
    assert found.verdict == "biased"


def test_the_second_moment_reduces_samples_and_still_detects_a_wrong_scale():
    known = verify.unbiased(CORRECT["series"][0], TARGET, second_moment=SECOND, mesh=ONE)
    assert known.verdict == "within tolerance"
    assert known.samples < 800_000  # and more than a million without
    mutant = verify.unbiased(MUTANTS["scale"][0], TARGET, second_moment=SECOND, mesh=ONE)
    assert mutant.verdict == "biased"
    assert abs(mutant.bias - 0.05 * np.sign(TARGET)) < mutant.half_width
