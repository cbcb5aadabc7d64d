"""Estimators of a policy's value: an independent program, exact enumeration with planted errors, intervals."""

import math

import numpy as np
import pytest

import jaxonline as jo
from jaxonline import logs, verify
from jaxonline.parameters.errors import HeavyWeightsWarning, UnsupportedArmsWarning

pytestmark = [
    pytest.mark.filterwarnings(f"ignore::jaxonline.parameters.errors.{name}")
    for name in ("HeavyWeightsWarning", "UnsupportedArmsWarning")
]
WORLD = logs.FiniteWorld([0.75, 0.25], [[0.25, 0.75], [0.5, 0.125]], [[0.8, 0.2], [0.5, 0.5]])
POLICY = np.array([[0.1, 0.9], [0.75, 0.25]])  # the weights are 1/8, 4.5, 1.5, 0.5
MODEL = np.array([[0.5, 0.25], [0.125, 1.0]])  # wrong
WEIGHTS = POLICY / WORLD.behavior
VALUE = 0.75 * (0.1 * 0.25 + 0.9 * 0.75) + 0.25 * (0.75 * 0.5 + 0.25 * 0.125)


def random_log(n=120, n_arms=4, seed=0, reward_range=(0.0, 1.0)):
    rng = np.random.default_rng(seed)
    contexts, arms = rng.normal(size=(n, 3)), rng.integers(n_arms, size=n)
    low, high = reward_range
    rewards, mu = rng.uniform(low, high, n), rng.uniform(0.1, 0.9, n)
    p, q = rng.dirichlet(np.ones(n_arms), n), rng.uniform(low, high, (n, n_arms))
    return jo.Log(contexts, arms, rewards, mu, n_arms, rng.integers(1, 4, n), reward_range), p, q


# ---------------------------------------------------------------------------------------------------------------------
# Values.


def loop(log, p, q, weight, base=True):
    """The mean of base + weight(w) (r - q), row by row."""
    total = 0.0
    for i, arm in enumerate(log.arms):
        w = p[i][arm] / log.propensities[i]
        expected = sum(p[i][k] * q[i][k] for k in range(log.n_arms)) if base else 0.0
        total += expected + weight(w) * (log.rewards[i] - (q[i][arm] if base else 0.0))
    return total / len(log)


@pytest.mark.parametrize("reward_range", [(0.0, 1.0), (-3.0, 5.0)])
def test_the_estimators_equal_an_independent_program(reward_range):
    log, p, q = random_log(reward_range=reward_range)
    options = {"interval": "student"}
    w = np.array([p[i][arm] / log.propensities[i] for i, arm in enumerate(log.arms)])
    expected = {
        logs.ips(log, p, **options): loop(log, p, q, lambda w: w, base=False),
        logs.clipped_ips(log, p, 1.5, **options): loop(log, p, q, lambda w: min(w, 1.5), base=False),
        logs.snips(log, p, **options): loop(log, p, q, lambda w: w, base=False) * len(log) / sum(w),
        logs.direct_method(log, p, q, **options): loop(log, p, q, lambda w: 0.0),
        logs.doubly_robust(log, p, q, **options): loop(log, p, q, lambda w: w),
        logs.switch_dr(log, p, q, 1.5, **options): loop(log, p, q, lambda w: w if w <= 1.5 else 0.0),
        logs.dr_shrinkage(log, p, q, 2.0, **options): loop(log, p, q, lambda w: 2.0 * w / (w * w + 2.0)),
        logs.independent_ips(log, p, **options): sum(
            np.mean([w[i] * log.rewards[i] for i in range(len(log)) if log.positions[i] == k]) for k in (1, 2, 3)
        ),
    }
    assert [value.value for value in expected] == pytest.approx(list(expected.values()), rel=1e-12)
    value = next(iter(expected))
    assert float(value) == value.value
    assert value.effective_sample_size == pytest.approx(sum(w) ** 2 / sum(w * w))
    assert value.largest_weights == pytest.approx(sorted(w)[:-4:-1])
    assert value.largest_share == pytest.approx(max(w) / sum(w))
    assert value.mean_weight == pytest.approx(w.mean())
    assert logs.dr_shrinkage(log, p, q, math.inf).value == logs.doubly_robust(log, p, q).value
    assert logs.switch_dr(log, p, q, math.inf).value == logs.doubly_robust(log, p, q).value


def test_probabilities_and_predictions_have_one_row_or_one_for_each_row():
    log, _, _ = random_log(n=20_000)  # two chunks
    p, q = np.array([0.5, 0.25, 0.25, 0.0]), np.array([0.1, 0.2, 0.3, 0.4])
    every = np.tile(p, (len(log), 1)).astype(np.float32)
    assert logs.doubly_robust(log, p, q).value == logs.doubly_robust(log, every, np.tile(q, (len(log), 1))).value
    clipped = logs.direct_method(log, p, [-5.0, 0.2, 0.3, 9.0]).value  # limited to reward_range
    assert clipped == pytest.approx(0.25 * 0.2 + 0.25 * 0.3)


def test_wrong_probabilities_models_and_limits_raise_errors():
    log, p, q = random_log()
    bad = p.copy()
    bad[6, 1] = -0.1
    calls = [
        (lambda: logs.ips(log, bad), ValueError, "probabilities: must be at least 0 with the sum 1.* in row 7"),
        (lambda: logs.ips(log, 0.9 * p), ValueError, "the sum 0.9 in row 1"),
        (lambda: logs.ips(log, p[:5]), ValueError, r"probabilities: must have the shape \[n, K\]"),
        (lambda: logs.ips(log, np.where(bad < 0, np.nan, bad)), ValueError, "in row 7"),
        (lambda: logs.ips(p, p), TypeError, "log: must be Log"),
        (lambda: logs.doubly_robust(log, p, q[:3]), ValueError, "model: must have the shape"),
        (lambda: logs.doubly_robust(log, p, q * np.nan), ValueError, "model: must be finite"),
        (lambda: logs.doubly_robust(log, p, logs.fit_rewards(random_log()[0])), ValueError, "model: must be fitted on"),
        (lambda: logs.ips(log, p, interval="bernstein"), ValueError, "max_weight: must be given"),
        (lambda: logs.ips(log, p, max_weight=0.5), ValueError, "max_weight: must be at least the largest weight"),
        (lambda: logs.ips(log, p, interval="normal"), ValueError, "interval: must be one of 'betting'"),
        (lambda: logs.ips(log, p, level=1.0), ValueError, "level: must be above 0 and below 1"),
        (lambda: logs.clipped_ips(log, p, 0.0), ValueError, "clip: must be above 0"),
        (lambda: logs.independent_ips(jo.Log(None, [0], [1], 1.0), [1.0]), ValueError, "log: must have positions"),
    ]
    for call, error, words in calls:
        with pytest.raises(error, match=words):
            call()


# ---------------------------------------------------------------------------------------------------------------------
# Exact enumeration: which estimators are unbiased, and planted errors.


def verdict(estimate, n_rows=2, target=VALUE, change=lambda log: log):
    support = [(p, estimate(change(log)).value) for p, log in WORLD.logs(n_rows)]
    return verify.unbiased(None, target, support=support)


def of(estimator, *arguments, policy=POLICY, model=None, **options):
    """The estimator as a function of a log alone."""

    def estimate(log):
        tables = [] if model is None else [WORLD.rows(model, log)]
        return estimator(log, WORLD.rows(policy, log), *tables, *arguments, interval="student", **options)

    return estimate


def wrong_propensity(log):
    return jo.Log(log.contexts, log.arms, log.rewards, np.minimum(1.25 * log.propensities, 1.0), 2)


def wrong_arm(log):
    return jo.Log(log.contexts, 1 - log.arms, log.rewards, log.propensities, 2)


def snips_of_one_row():
    """E r of the log: for one row SNIPS is r."""
    return 0.75 * (0.8 * 0.25 + 0.2 * 0.75) + 0.25 * (0.5 * 0.5 + 0.5 * 0.125)


def test_enumeration_of_a_world_is_complete():
    chances = [p for p, _ in WORLD.logs(2)]
    assert (len(chances), sum(chances)) == (64, pytest.approx(1.0))
    assert WORLD.value(POLICY) == pytest.approx(VALUE)


@pytest.mark.parametrize(
    ("estimate", "change"),
    [
        (of(logs.ips), None), (of(logs.clipped_ips, 4.5), None), (of(logs.doubly_robust, model=MODEL), None),
        (of(logs.doubly_robust, model=WORLD.means), wrong_propensity), (of(logs.switch_dr, 4.5, model=MODEL), None),
        (of(logs.direct_method, model=WORLD.means), wrong_propensity), (of(logs.mrdr, n_blocks=2), None),
        (lambda log: logs.doubly_robust(log, WORLD.rows(POLICY, log), logs.fit_rewards(log, n_blocks=2)), None),
    ],
)  # fmt: skip
def test_ips_and_doubly_robust_are_unbiased(estimate, change):
    assert verdict(estimate, change=change or (lambda log: log)).verdict == "within tolerance"


@pytest.mark.parametrize(
    ("estimate", "change"),
    [
        (of(logs.snips), None), (of(logs.clipped_ips, 2.0), None), (of(logs.direct_method, model=MODEL), None),
        (of(logs.switch_dr, 2.0, model=MODEL), None), (of(logs.dr_shrinkage, 9.0, model=MODEL), None),
        (of(logs.mrdr, n_blocks=1), None), (of(logs.ips), wrong_propensity), (of(logs.ips), wrong_arm),
        (of(logs.doubly_robust, model=MODEL), wrong_propensity), (of(logs.doubly_robust, model=MODEL), wrong_arm),
        (of(logs.ips, policy=WORLD.behavior), None), (of(logs.ips, policy=POLICY[::-1]), None),
        (lambda log: logs.doubly_robust(log, WORLD.rows(POLICY, log), logs.fit_rewards(log, n_blocks=1)), None),
    ],
)  # fmt: skip
def test_biased_estimators_and_planted_errors_are_found(estimate, change):
    """The last rows: a wrong propensity, a wrong arm, the policy of the log, swapped contexts, a model of its rows."""
    assert verdict(estimate, change=change or (lambda log: log)).verdict == "biased"


def test_means_and_variances_equal_closed_forms():
    """Clipped IPS with 2 loses (4.5 - 2) on context 0, arm 1; the variance of IPS is (E w^2 r^2 - v^2) / n."""
    lost = 0.75 * 0.2 * (4.5 - 2.0) * 0.75
    assert verdict(of(logs.clipped_ips, 2.0), target=VALUE - lost).verdict == "within tolerance"
    assert verdict(of(logs.snips), n_rows=1, target=snips_of_one_row()).verdict == "within tolerance"
    assert verdict(of(logs.switch_dr, 2.0, model=MODEL), target=VALUE + 0.75 * 0.9 * (0.25 - 0.75)).verdict == (
        "within tolerance"
    )
    kept = 9 * WEIGHTS / (WEIGHTS**2 + 9) - WEIGHTS  # shrinkage: E (shrunk weight - w) (r - q)
    lost = (np.array([[0.75], [0.25]]) * WORLD.behavior * kept * (WORLD.means - MODEL)).sum()
    assert verdict(of(logs.dr_shrinkage, 9.0, model=MODEL), target=VALUE + lost).verdict == "within tolerance"
    by_chance = [(p, logs.ips(log, WORLD.rows(POLICY, log)).value) for p, log in WORLD.logs(2)]
    second = 0.75 * (0.8 * 0.125**2 * 0.25 + 0.2 * 4.5**2 * 0.75) + 0.25 * 0.5 * (1.5**2 * 0.5 + 0.5**2 * 0.125)
    assert sum(p * (value - VALUE) ** 2 for p, value in by_chance) == pytest.approx((second - VALUE**2) / 2)


def test_independent_ips_is_unbiased_for_lists_without_interaction():
    """Two positions; the first arm earns less beside itself in the second case, and then the estimator is biased."""
    mu, pi = np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([[0.9, 0.1], [0.6, 0.4]])
    for interaction, expected in ((0.0, "within tolerance"), (0.3, "biased")):
        support, target = [], 0.0
        for arms in np.ndindex(2, 2):
            means = [0.2 + 0.5 * arms[0] + interaction * arms[1], 0.1 + 0.4 * arms[1]]
            target += pi[0, arms[0]] * pi[1, arms[1]] * sum(means)
            for rewards in np.ndindex(2, 2):
                chance = np.prod([mu[i, arms[i]] * (means[i] if rewards[i] else 1 - means[i]) for i in range(2)])
                log = jo.Log(None, arms, rewards, [mu[i, arms[i]] for i in range(2)], 2, [1, 2])
                support.append((chance, logs.independent_ips(log, pi, interval="student").value))
        assert verify.unbiased(None, target, support=support).verdict == expected


# ---------------------------------------------------------------------------------------------------------------------
# Models and tuned parameters.


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_regression_equals_scikit_learn(shared, weighted):
    from sklearn.linear_model import Ridge

    log, _, _ = random_log(n=161)
    rng = np.random.default_rng(1)
    contexts = rng.normal(size=(161, 4, 2)) if shared else log.contexts
    log = jo.Log(contexts, log.arms % 3, log.rewards, log.propensities, 4, log.positions)  # arm 3 has no row
    weights = rng.uniform(size=161) * (np.arange(161) % 3 > 0) if weighted else None
    own, theirs = (logs.fit_rewards(log, regressor, sample_weight=weights) for regressor in (None, Ridge()))
    assert own.starts == theirs.starts == (0, 10, 20, 40, 80)
    rows = slice(5, 161)
    np.testing.assert_allclose(own.predict(rows), theirs.predict(rows), rtol=0, atol=1e-10)
    assert (own.predict(slice(0, 10)) == 0).all()
    if not shared:
        np.testing.assert_allclose(own.predict(slice(80, 161))[:, 3], np.clip(log.rewards[:80].mean(), 0, 1))
    changed = log.rewards.copy()
    changed[80:] = 0.0  # predictions depend on earlier blocks only
    again = logs.fit_rewards(
        jo.Log(contexts, log.arms, changed, log.propensities, 4, log.positions), sample_weight=weights
    )
    assert (again.predict(slice(0, 161)) == own.predict(slice(0, 161))).all()


def test_mrdr_minimises_the_variance_of_a_fixed_arm():
    """One constant prediction for arm 0 and the policy that always takes it; the brute force is on a grid."""
    rng = np.random.default_rng(3)
    x = rng.integers(2, size=4000)
    mu = np.where(x == 0, 0.1, 0.8)
    arms = (rng.random(4000) > mu).astype(int)
    rewards = np.where(x == 0, 0.9, 0.2)
    log = jo.Log(None, arms, rewards, np.where(arms == 0, mu, 1 - mu))
    weights = (arms == 0) * (1 - mu) / mu**2
    model = logs.fit_rewards(log, n_blocks=1, sample_weight=weights)
    grid = np.linspace(0, 1, 201)
    terms = [q + (arms == 0) / mu * (rewards - q) for q in grid]
    assert model.predict(slice(0, 1))[0, 0] == pytest.approx(grid[np.argmin([z.var() for z in terms])], abs=0.03)
    mean = logs.fit_rewards(log, n_blocks=1).predict(slice(0, 1))[0, 0]
    assert abs(mean - grid[np.argmin([z.var() for z in terms])]) > 0.2
    value = logs.mrdr(log, [1.0, 0.0], n_blocks=1).value
    assert value == pytest.approx(logs.doubly_robust(log, [1.0, 0.0], model).value, rel=1e-9)


def test_mrdr_equals_an_independent_program():
    """Two blocks and d = 3; the loop minimises weighted squares plus the square of the slopes, by least squares."""
    log, p, _ = random_log(n=80)
    q, w = np.zeros((80, 4)), np.array([p[i][arm] / log.propensities[i] for i, arm in enumerate(log.arms)])
    places = np.array([[float(k == place) for k in (1, 2, 3)] for place in log.positions])
    features = np.hstack([log.contexts, places, np.ones((80, 1))])
    for arm in range(4):
        rows = [i for i in range(40) if log.arms[i] == arm]
        root = np.array([math.sqrt(w[i] * (1 - log.propensities[i]) / log.propensities[i]) for i in rows])
        A = np.vstack([root[:, None] * features[rows], np.eye(7)[:6]])
        q[40:, arm] = features[40:] @ np.linalg.lstsq(A, np.append(root * log.rewards[rows], np.zeros(6)))[0]
    expected = loop(log, p, np.clip(q, 0, 1), lambda w: w)
    assert logs.mrdr(log, p, n_blocks=2).value == pytest.approx(expected, rel=1e-10)


def test_valid_intervals_of_fitted_models_use_terms_only_if_they_are_bets_on_later_rows():
    """Otherwise they are those of IPS: after a fit in one block, and for Bernstein's inequality."""
    log, p, _ = random_log(n=400)
    for interval, n_blocks, is_ips in (("betting", 5, False), ("betting", 1, True), ("bernstein", 5, True)):
        options, model = {"interval": interval, "max_weight": 10.0}, logs.fit_rewards(log, n_blocks=n_blocks)
        low = logs.ips(log, p, **options).low, logs.ips(log, p, **options).high
        for value in (logs.doubly_robust(log, p, model, **options), logs.mrdr(log, p, n_blocks=n_blocks, **options)):
            assert ((value.low, value.high) == low) == is_ips


def test_the_clip_minimises_an_estimate_of_the_mean_squared_error():
    log, p, _ = random_log(reward_range=(-3.0, 5.0))
    w = np.array([p[i][arm] / log.propensities[i] for i, arm in enumerate(log.arms)])
    bounds = []
    for clip in (1.0, 2.0, 4.0, 8.0):
        terms = [min(own, clip) * r for own, r in zip(w, log.rewards, strict=True)]
        bounds.append((np.mean(w * log.rewards) - np.mean(terms)) ** 2 + np.var(terms) / len(log))
    assert logs.clipped_ips(log, p).parameter == 2.0 ** np.argmin(bounds)


def test_wrong_fits_raise_errors():
    log, _, _ = random_log(n=10)
    for call, words in (
        (lambda: logs.fit_rewards(log, object()), "regressor: must be a regressor of scikit-learn"),
        (lambda: logs.fit_rewards(log, sample_weight=[1.0]), "sample_weight: must have 10 entries"),
        (lambda: logs.fit_rewards(log, sample_weight=-np.ones(10)), "sample_weight: must be at least 0"),
        (lambda: logs.fit_rewards(log, n_blocks=5), "n_blocks: must leave rows for the first block"),
        (lambda: logs.fit_rewards(3), "log: must be Log"),
    ):
        with pytest.raises((TypeError, ValueError), match=words):
            call()


def test_slope_stops_before_a_visible_bias():
    """An independent loop over pairs, on estimates whose bias grows while the variance falls."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        pairs = [(float(k), rng.normal(0.02 * (8 - k) ** 2, k, 400)) for k in range(8, 0, -1)]
        mean, half = ([f(z) for _, z in pairs] for f in (np.mean, lambda z: 1.96 * z.std() / 20))
        good = [all(abs(mean[i] - mean[j]) <= half[i] + (6**0.5 - 1) * half[j] for j in range(i)) for i in range(8)]
        last = good.index(False) - 1 if False in good else 7
        assert logs.slope(pairs)[0] == pairs[last][0]


def test_tuned_parameters_reduce_the_error_of_heavy_weights():
    """200 logs of 200 rows; the root mean square errors of IPS and of its tuned version differ by a factor."""
    world = logs.FiniteWorld([1.0], [[0.5, 0.5]], [[0.999, 0.001]])
    policy = np.array([[0.5, 0.5]])
    found = []
    for seed in range(200):
        log = world.draw(200, seed)
        values = [estimate(log, policy[0], interval="student") for estimate in (logs.ips, logs.clipped_ips)]
        found.append([value.value for value in values])
    error = np.sqrt(((np.array(found) - 0.5) ** 2).mean(axis=0))
    assert error[1] < 0.6 * error[0]
    log, p, q = random_log()
    assert logs.clipped_ips(log, p).parameter in [2.0**k for k in range(12)]
    assert logs.switch_dr(log, p, q).parameter in [2.0**k for k in range(12)]
    assert logs.dr_shrinkage(log, p, q).parameter in [0.25, 1.0, 4.0, math.inf, *(16.0 * 4**k for k in range(12))]


# ---------------------------------------------------------------------------------------------------------------------
# Intervals and the printed result.


@pytest.mark.long
def test_the_betting_interval_covers_in_all_logs_of_a_finite_world():
    """Exact coverage over all logs of two rows, also of single ends, for a policy of heavy weights."""
    for level in (0.3, 0.5, 0.9):
        above = below = 0.0
        for p, log in WORLD.logs(2):
            value = logs.ips(log, WORLD.rows(POLICY, log), level=level)
            above, below = above + p * (value.low > VALUE), below + p * (value.high < VALUE)
        assert above <= (1 - level) / 2
        assert below <= (1 - level) / 2


@pytest.mark.long
def test_intervals_cover_light_weights_and_find_planted_errors():
    """100 logs of 300 rows: an interval that covers 90 % of all logs covers fewer than 80 of 100 with probability 8e-4.
    For 20,000 rows, the intervals of a policy with swapped contexts miss the value."""
    kinds = ("betting", "bernstein", "bootstrap", "student")
    behavior = np.full((2, 2), 0.5)
    world = logs.FiniteWorld([0.75, 0.25], WORLD.means, behavior)
    hits = dict.fromkeys(kinds, 0)
    for seed in range(100):
        log = world.draw(300, seed)
        for kind in kinds:
            value = logs.ips(log, world.rows(POLICY, log), level=0.9, interval=kind, max_weight=2.0)
            hits[kind] += value.low <= VALUE <= value.high
            assert value.low < value.value < value.high
    assert min(hits.values()) >= 80
    log = world.draw(20_000)
    for kind in kinds:
        value = logs.ips(log, world.rows(POLICY[::-1], log), interval=kind, max_weight=2.0)
        assert not value.low <= VALUE <= value.high
        value = logs.ips(log, world.rows(POLICY, log), interval=kind, max_weight=2.0)
        assert value.low <= VALUE <= value.high


def test_intervals_equal_independent_formulas():
    log, p, q = random_log(n=200)
    w = np.array([p[i][arm] / log.propensities[i] for i, arm in enumerate(log.arms)])
    value = logs.ips(log, p, level=0.9, interval="bernstein", max_weight=20.0)
    z = w * log.rewards
    half = np.sqrt(2 * z.var(ddof=1) * np.log(40) / 200) + 7 * 20 * np.log(40) / (3 * 199)
    assert (value.low, value.high) == pytest.approx((max(z.mean() - half, 0), min(z.mean() + half, 1)))
    dr = w * log.rewards + (p * q).sum(axis=1) - w * q[np.arange(200), log.arms]
    half = np.sqrt(2 * dr.var(ddof=1) * np.log(40) / 200) + 7 * 41 * np.log(40) / (3 * 199)
    value = logs.doubly_robust(log, p, q, level=0.9, interval="bernstein", max_weight=20.0)
    assert (value.low, value.high) == pytest.approx((max(dr.mean() - half, 0), min(dr.mean() + half, 1)))
    from scipy import stats

    value = logs.ips(log, p, level=0.9, interval="student")
    half = stats.t(199).ppf(0.95) * z.std(ddof=1) / np.sqrt(200)
    assert (value.low, value.high) == pytest.approx((z.mean() - half, z.mean() + half))
    ratio = z.sum() / w.sum()
    error = np.sqrt(((w * (log.rewards - ratio)) ** 2).sum() / 199 / 200) / w.mean()
    value = logs.snips(log, p, level=0.9, interval="student")
    assert value.high - value.low == pytest.approx(2 * stats.t(199).ppf(0.95) * error)
    rows = np.random.default_rng(5).integers(200, size=(4000, 200))
    for estimator, draws in ((logs.ips, z[rows].mean(axis=1)), (logs.snips, z[rows].sum(axis=1) / w[rows].sum(axis=1))):
        value = estimator(log, p, level=0.9, interval="bootstrap")
        width = np.diff(np.quantile(draws, [0.05, 0.95]))[0]
        assert value.high - value.low == pytest.approx(width, rel=0.08)


def test_the_betting_ends_have_the_capital_of_the_level():
    """At each end, the mean capital of the stakes 2^-k, k < 12, is 2 / (1 - level)."""
    log, p, _ = random_log(n=150)
    value = logs.ips(log, p, level=0.9)
    w = np.array([p[i][arm] / log.propensities[i] for i, arm in enumerate(log.arms)])
    for terms, mean in ((w * log.rewards, value.low), (w * (1 - log.rewards), 1 - value.high)):
        capital = np.mean([np.prod(1 + 2.0**-k * (terms / mean - 1)) for k in range(12)])
        assert capital == pytest.approx(20.0, rel=1e-5)
    assert logs.snips(log, p, level=0.9).low == value.low
    assert logs.direct_method(log, p, np.zeros(4), level=0.9).high == value.high
    rare = jo.Log(log.contexts, log.arms, 0.2 * log.rewards, log.propensities, 4)  # the upper end is below 1
    bounded = logs.ips(rare, p, level=0.9, max_weight=20.0)
    assert bounded.low == pytest.approx(logs.ips(rare, p, level=0.9).low)
    above = (1 - w * rare.rewards / 20) / (1 - bounded.high / 20)
    assert np.mean([np.prod(1 + 2.0**-k * (above - 1)) for k in range(12)]) == pytest.approx(20.0, rel=1e-5)
    many, every, _ = random_log(n=3000)  # the lower end is above 0
    z = 0.5 + every[np.arange(3000), many.arms] / many.propensities * (many.rewards - 0.5)
    bounded = logs.doubly_robust(many, every, np.full(4, 0.5), level=0.9, max_weight=20.0)
    ratio = (z + 20) / (bounded.low + 20)  # between -20 and 21
    assert np.mean([np.prod(1 + 2.0**-k * (ratio - 1)) for k in range(12)]) == pytest.approx(20.0, rel=1e-5)
    scaled = jo.Log(log.contexts, log.arms, 8 * log.rewards - 3, log.propensities, 4, reward_range=(-3, 5))
    other = logs.ips(scaled, p, level=0.9)
    assert (other.low, other.high) == pytest.approx((8 * value.low - 3, 8 * value.high - 3))


def test_unsupported_arms_are_counted_and_the_betting_interval_still_holds():
    """Arm 2 is never logged at position 2, and arm 1 never at all."""
    log = jo.Log(None, [0, 2, 0, 0] * 500, [1, 1, 0, 1] * 500, [0.5, 0.5, 1.0, 1.0] * 500, 3, [1, 1, 2, 2] * 500)
    value = logs.ips(log, [0.5, 0.2, 0.3])
    assert value.unsupported == pytest.approx((0.2 + 0.5) / 2)
    assert value.mean_weight == pytest.approx((0.8 + 0.5) / 2)
    assert "35 % of the policy's probability" in str(value)
    assert value.notes == ("rewards of arms that the log never tries are unknown; the interval allows any",)
    assert value.high - value.low > 0.35
    for options, words in ({"max_weight": 4.0}, "smallest reward"), ({"interval": "student"}, "ignores this"):
        with pytest.warns(UnsupportedArmsWarning, match="35 % of the policy's probability is on arms"):
            assert words in logs.ips(log, [0.5, 0.2, 0.3], **options).notes[0]
    alone = jo.Log(None, log.arms, log.rewards, log.propensities, 3)
    assert logs.ips(alone, [0.5, 0.2, 0.3]).unsupported == pytest.approx(0.2)


def test_heavy_weights_and_wrong_propensities_are_reported():
    n = 1000
    log = jo.Log(None, [0] * (n - 1) + [1], np.ones(n), [0.999] * (n - 1) + [0.001], 2)
    with pytest.warns(HeavyWeightsWarning, match="IPS: one row has 50 % of all weight"):
        value = logs.ips(log, [0.5, 0.5])
    assert "warning: one row has 50 % of all weight" in str(value)
    assert value.effective_sample_size == pytest.approx(4.0, abs=0.1)
    few = jo.Log(None, np.arange(3000) % 80, np.ones(3000), 1 / 80)
    with pytest.warns(HeavyWeightsWarning, match="IPS: the effective sample size is 38 of 3,000 rows"):
        logs.ips(few, np.eye(80)[0])
    assert "the largest is 100 % of all weight" in str(logs.ips(jo.Log(None, [0], [1], 1.0), [1.0]))
    assert "too few rows" in logs.ips(jo.Log(None, [0], [1], 1.0), [1.0], interval="student").notes[-1]
    log = jo.Log(None, [0, 1] * 500, [0, 1] * 500, 0.25)
    assert "the mean weight is 2 instead of 1 ± 0; check propensities" in str(logs.ips(log, [0.5, 0.5]))
    assert logs.ips(jo.Log(None, [0, 1] * 500, [0, 1] * 500, 0.5), [0.5, 0.5]).notes == ()
    assert math.isnan(logs.snips(jo.Log(None, [0], [1], 1.0, 2), [0.0, 1.0]).value)


@pytest.mark.long
def test_the_open_bandit_value_equals_the_published_number(data_folder):
    """The README of Open Bandit Pipeline prints 1.198126 for this log, this prior and these 100,000 draws."""
    from benchmarks.logs import PUBLISHED_RATIO, thompson_probabilities

    log = logs.open_bandit("random", data_folder)
    value = logs.ips(log, thompson_probabilities()[log.positions - 1])
    assert value.value / log.rewards.mean() == pytest.approx(PUBLISHED_RATIO, abs=1e-6)
    assert value.low < 0.0042 < value.high  # the mean reward of Thompson sampling itself
