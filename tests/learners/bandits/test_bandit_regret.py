"""Regret of bandits: upper and lower bounds, exact values of small games, and a million rounds."""

import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from registry import LEARNERS
from scipy import optimize, stats

import jaxonline as jo
from jaxonline import bounds, learners
from jaxonline.environments import BernoulliArms, DataStream, GaussianArms
from jaxonline.feedback import BanditOracle
from jaxonline.game import Specs
from jaxonline.learners.bandits import contextual
from jaxonline.simulation.blocks import default_mesh

FALSE_ALARM = 1e-6  # for all comparisons of a test together, by the normal limit
ONE_DEVICE = default_mesh(jax.devices()[:1])


def simulate(environment, rules, n_runs, n_rounds, pseudo=True, **options):
    game = jo.Game(environment, jo.Bandit(), jo.losses.ArmLoss(), pseudo)
    options = {"comparator": jo.BestArm() if pseudo else None, "record_at": 1, "key": 1, "mesh": ONE_DEVICE} | options
    return jo.simulate(game, rules, n_runs=n_runs, n_rounds=n_rounds, **options)


def interval(values: np.ndarray, comparisons: int = 1) -> tuple[float, float]:
    """Return the confidence interval of a mean over runs."""
    width = stats.norm.ppf(1 - FALSE_ALARM / (2 * comparisons)) * values.std(ddof=1) / np.sqrt(len(values))
    return float(values.mean() - width), float(values.mean() + width)


@pytest.mark.long
def test_regret_of_exp4_to_the_best_expert_is_below_the_bound():
    """Ten experts with fixed distributions over four arms; one expert is good."""
    rng, n_rounds, n_runs = np.random.default_rng(0), 4000, 128
    advice = rng.dirichlet(np.ones(4), size=10)
    advice[3] = [0.97, 0.01, 0.01, 0.01]
    losses = (rng.uniform(size=(n_rounds, 4)) < [0.2, 0.6, 0.6, 0.6]).astype(float)
    environment = DataStream(np.tile(advice, (n_rounds, 1, 1)), losses)
    rules = {"EXP4": learners.EXP4.over_horizon(10, 4, n_rounds), "flat": learners.EXP4(1e-9)}
    result = simulate(environment, rules, n_runs, n_rounds, pseudo=False)
    regrets = result.cumulative_loss[..., -1] - (losses @ advice.T).sum(axis=0).min()
    bound = float(bounds.exp4(10, 4, n_rounds))
    assert interval(regrets[0])[1] < bound
    assert interval(regrets[1])[0] > bound, "equal weights: must exceed the bound"


@pytest.mark.long
def test_regret_per_log_round_approaches_the_constant_of_lai_and_robbins():
    """The regret divided by ln T is below the constant, and closer to it at 10^5 rounds than at 10^3. An independent
    numba program has the slope 0.805 (standard error 0.035) for Thompson sampling; that of UCB1 is 7.4 constants."""
    means, grid = [0.2, 0.5, 0.6], [1000, 100_000]
    rules = {"Thompson": learners.BernoulliThompson(), "KL-UCB": learners.KLUCB(), "UCB1": learners.UCB1()}
    result = simulate(BernoulliArms(means), rules, 256, 100_000, record_at=grid)
    constant = bounds.lai_robbins(means)
    regret = result.regret / constant
    slopes = (regret[..., 1] - regret[..., 0]) / np.log(100)
    limits = [interval(slope, 3) for slope in slopes]
    assert all(0.55 < low < high < 1.6 for low, high in limits[:2]), limits
    assert limits[0][0] < 0.805 + 4.9 * 0.035, limits
    assert limits[0][1] > 0.805 - 4.9 * 0.035, limits
    assert limits[2][0] > 4, limits
    for ratios in regret[:2].mean(axis=1) / np.log(grid):
        assert ratios[0] < ratios[1] < 1, ratios
    assert regret[1, :, 1].mean() / np.log(grid[1]) > 0.85


@pytest.mark.long
def test_explore_then_commit_has_its_exact_regret_on_two_gaussian_arms():
    """Lattimore and Szepesvari (2020), section 6.1: with variance 1 the pseudo-regret is exactly m gap + (T - 2 m) gap
    Phi(-gap sqrt(m / 2)). Mutant: the difference of two means has the variance 1 / m instead of 2 / m."""
    n_rounds, m = 200, 15
    for gap in (0.2, 0.5):
        result = simulate(GaussianArms([gap, 0.0]), learners.ExploreThenCommit(m), 4096, n_rounds)
        low, high = interval(result.regret[0, :, -1], 2)

        def exact(variance, gap=gap):
            return m * gap + (n_rounds - 2 * m) * gap * stats.norm.cdf(-gap * np.sqrt(m / variance))

        assert low < exact(2.0) < high
        assert not low < exact(1.0) < high


def share_of_the_best(theta, exploration=2.0):
    """Return the limit of the share of pulls of the better of two arms by Kalvit and Zeevi (2021)."""
    target = np.sqrt(theta / exploration)
    return optimize.brentq(lambda s: 1 / np.sqrt(1 - s) - 1 / np.sqrt(s) - target, 0.5, 1 - 1e-12)


@pytest.mark.long
@pytest.mark.parametrize("noise", [False, True])
def test_share_of_pulls_of_ucb1_is_near_its_limit(noise):
    """T = 20,000: the share is within 0.01 of the limit, with Bernoulli losses the interval of its mean over 512 runs
    (false alarm 1e-6 for all) within 0.03. Another exploration is 0.05 off for one gap."""
    n_rounds, n_runs = 20_000, 512 if noise else 2
    errors = []
    for theta in (0.0, 2.0, 8.0, 32.0):
        gap = np.sqrt(theta * np.log(n_rounds) / n_rounds)
        means = [0.5 - gap / 2, 0.5 + gap / 2]
        arms = BernoulliArms(means) if noise else GaussianArms(means, std=0.0)
        result = simulate(arms, learners.UCB1(), n_runs, n_rounds, pseudo=False, measures=[jo.Pulls()])
        share = result.measures["pulls"][0, :, -1, 0] / n_rounds
        ends = np.array(interval(share, 4))
        assert np.abs(ends - share_of_the_best(theta)).max() < (0.03 if noise else 0.01), theta
        errors.append(abs(share.mean() - share_of_the_best(theta, exploration=1.0)))
    assert max(errors) > 0.05
    assert share_of_the_best(0.0) == pytest.approx(0.5)


FOR_FEW_ROUNDS = "explore then commit", "MOSS", "UCB, fixed confidence", "discounted UCB", "sliding-window UCB"
FORGETFUL = {"EXP3.S": (0.1 * math.e, 10**9), "Rexp3": (0.0, 5)}  # shares of all arms, and rounds until a new start


def mean_loss_of_gains(means, share, every, gamma=0.5, n_rounds=20_000, n_runs=64):
    """The mean loss of EXP3 on gains with a share for all arms that starts again, in NumPy."""
    rng, means, K, total = np.random.default_rng(0), np.asarray(means), len(means), 0.0
    for t in range(n_rounds):
        w = np.ones((n_runs, K)) if t % every == 0 else w
        w = w / w.sum(axis=1, keepdims=True)
        p = (1 - gamma) * w + gamma / K
        arms = np.minimum((p.cumsum(axis=1) < rng.random((n_runs, 1))).sum(axis=1), K - 1)
        losses, pulled = rng.random(n_runs) < means[arms], np.eye(K)[arms]
        w = w * np.exp(gamma / K * pulled * (1 - losses)[:, None] / p) + share / K
        total += losses.mean() / n_rounds
    return total


BANDITS = [name for name in LEARNERS if type(LEARNERS[name]().feedback) is jo.Bandit and not LEARNERS[name]().contexts]


@pytest.mark.long
@pytest.mark.parametrize("name", [name for name in BANDITS if name not in FOR_FEW_ROUNDS])
def test_losses_are_below_random_after_a_million_rounds(name):
    """In float32, also for rates that are too large for the horizon. Learners that keep exploring have the loss of a
    loop within 6 standard errors (false alarm below 1e-8); without the factor e of its share EXP3.S has 0.04 less."""
    means = [0.8, 0.2, 0.8]
    result = simulate(BernoulliArms(means), LEARNERS[name]().learner, 1, 1_000_000, False, record_at=[1_000_000])
    assert result.failed.tolist() == [0]
    if name in FORGETFUL:
        assert result.cumulative_loss.item() / 1e6 == pytest.approx(
            mean_loss_of_gains(means, *FORGETFUL[name]), abs=4e-3
        )
    else:
        assert result.cumulative_loss.item() < 0.55e6, "the mean of a random arm is 0.6"


@pytest.mark.long
@pytest.mark.parametrize(("model", "drift"), [("shared", 1e-4), ("hybrid", 1e-3)])
def test_lin_ucb_in_float32_drifts_less_than_documented(model, drift):
    """Of predictions, and of P in each direction, in 10^5 rounds with d = 5, as the docstring of LinUCB states."""
    rng, n, K = np.random.default_rng(0), 100_000, 1 if model == "shared" else 3
    x = rng.normal(size=(n, K, 5)) / np.sqrt(5)
    losses = x @ rng.normal(size=5) + 0.1 * rng.normal(size=(n, K))

    @jax.jit
    def run(x, losses):
        learner = learners.LinUCB(0.0, model=model, ties="first")

        def play_round(state, row):
            oracle = BanditOracle(row[0], row[2], row[1])
            X = (
                row[0]
                if state.common is None
                else contextual.along(state.root, contextual.transposed_times(state.root, row[0]))
            )
            means = jnp.sum(jnp.atleast_2d(state.w) * row[0], axis=-1)
            return learner.update(None, state, oracle)[0], means + (0 if state.common is None else X @ state.common.w)

        specs = Specs(*(jax.ShapeDtypeStruct(rows.shape[1:], rows.dtype) for rows in (x, losses)))
        arms = jnp.arange(n, dtype=jnp.int32) % K
        return jax.lax.scan(play_round, learner.init(None, specs), (x, losses, arms))

    single = run(*(jnp.asarray(array, jnp.float32) for array in (x, losses)))
    with jax.enable_x64(True):
        double = run(jnp.asarray(x), jnp.asarray(losses))
    (state, predictions), (exact, expected) = (
        jax.tree.map(lambda v: np.asarray(v, float), v) for v in (single, double)
    )
    assert np.abs(predictions - expected).max() < drift * np.abs(expected).max()
    parts = [(state, exact), (state.common, exact.common)]
    for part, good in parts[: 1 if model == "shared" else 2]:
        P, Q = (L @ L.swapaxes(-1, -2) for L in (part.root, good.root))
        assert np.abs(np.linalg.eigvals(np.linalg.solve(Q, P)) - 1).max() < drift
