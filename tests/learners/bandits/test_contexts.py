"""Contextual bandits: models that are equal, closed forms, scikit-learn and Vowpal Wabbit."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bandit_rounds import own_moves
from scipy import stats
from tiers import some

import jaxonline as jo
from jaxonline import learners
from jaxonline.game import Specs
from jaxonline.learners.bandits.reductions import RegressionState

pytestmark = pytest.mark.fast_compile

T, K, D = 150, 4, 3
RIDGE = learners.VAW(forward=False, allow_float32=True)
FALSE_ALARM = 1e-6


def rows(seed=0):
    """Return contexts [T, D], features of arms in blocks [T, K, K D], and losses [T, K]."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(T, D))
    blocks = np.einsum("jk,td->tjkd", np.eye(K), x).reshape(T, K, -1)
    return x, blocks, 0.5 + 0.2 * x @ rng.normal(size=(D, K)) + 0.1 * rng.normal(size=(T, K))


def features(model, x, blocks):
    """Return the features of the shared model that is equal to a model."""
    return blocks if model == "disjoint" else np.concatenate([np.repeat(x[:, None], K, axis=1), blocks], axis=-1)


@pytest.mark.parametrize(
    ("name", "model"),
    some([("LinUCB", "disjoint"), ("LinUCB", "hybrid"), ("LogisticUCB", "disjoint")], ("LinUCB", "hybrid")),
)
def test_models_are_shared_models_with_more_features(x64, name, model):
    """Disjoint: features e_k (x) x. Hybrid: (x, e_k (x) x)."""
    x, blocks, losses = rows()
    losses, cls = np.clip(losses, 0, 1), getattr(learners, name)
    arms, _ = own_moves(cls(0.5, 2.0, model), x, losses)
    assert arms == own_moves(cls(0.5, 2.0), features(model, x, blocks), losses)[0]
    assert arms != own_moves(cls(0.6, 2.0), features(model, x, blocks), losses)[0]
    assert set(arms) == set(range(K))


def shares(learner, x, losses, n=20_000):
    """Return how often the arms are drawn in the next round, after the rounds with the arms 0, 1, 2, 3, 0, ..."""
    specs = Specs(*(jax.ShapeDtypeStruct(row.shape[1:], row.dtype) for row in (x, losses)))
    state = jo.replace(learner, ties="first").init(None, specs)

    @jax.jit
    def draw(state, keys):
        learn = lambda state, row: learner.update(None, state, jo.feedback.BanditOracle(*row))  # noqa: E731
        state, _ = jax.lax.scan(
            learn, state, (x[:-1], jnp.arange(T - 1, dtype=jnp.int32) % losses.shape[1], losses[:-1])
        )
        return jax.vmap(lambda key: learner.predict(key, state, x[-1]))(keys)

    return np.bincount(draw(state, jax.random.split(jax.random.key(0), n)), minlength=K)


@pytest.mark.long
@pytest.mark.parametrize("model", some(["disjoint", "hybrid"], "disjoint"))
def test_draws_have_the_law_of_the_shared_model_with_more_features(x64, model):
    """Numbers of pulls in 20,000 draws (homogeneity, false alarm 1e-6), which detect a width of 1.2 instead of 1."""
    x, blocks, losses = map(jnp.asarray, rows())
    more = jnp.asarray(features(model, x, blocks))
    ours = shares(learners.LinThompson(1.0, 2.0, model), x, losses)
    assert stats.chi2_contingency([ours, shares(learners.LinThompson(1.0, 2.0), more, losses)]).pvalue > FALSE_ALARM
    assert stats.chi2_contingency([ours, shares(learners.LinThompson(1.2, 2.0), more, losses)]).pvalue < FALSE_ALARM


def test_thompson_sampling_draws_an_arm_with_its_posterior_probability(x64):
    """Two arms: P(arm 0) is a normal distribution function of the difference of their losses (false alarm 1e-6)."""
    rng, width, penalty = np.random.default_rng(0), 0.8, 2.0
    x, losses = rng.normal(size=(T, 2, D)), rng.normal(size=(T, 2))
    arms = np.arange(T - 1) % 2
    X, y = x[np.arange(T - 1), arms], losses[np.arange(T - 1), arms]
    P, gap = np.linalg.inv(penalty * np.eye(D) + X.T @ X), x[-1, 1] - x[-1, 0]
    p = stats.norm.cdf(gap @ P @ X.T @ y / (width * np.sqrt(gap @ P @ gap)))
    assert 0.1 < p < 0.9
    n = shares(learners.LinThompson(width, penalty), jnp.asarray(x), jnp.asarray(losses), 20_000)
    assert stats.binomtest(int(n[0]), 20_000, p).pvalue > FALSE_ALARM
    assert stats.binomtest(int(n[0]), 20_000, p + 0.03).pvalue < FALSE_ALARM


def test_square_cb_has_the_probabilities_of_a_worked_example(x64):
    """Predictions 0.5, 0.2, 0.3 in round 4 with gamma_4 = 10 sqrt(4): 1 / (3 + 20 * 0.3), the rest, 1 / (3 + 2)."""
    learner = learners.SquareCB(RIDGE, 10.0, 0.5, ties="first")
    p = learner.probabilities(RegressionState((), jnp.int32(3), None), jnp.array([0.5, 0.2, 0.3]))
    np.testing.assert_allclose(p, [1 / 9, 31 / 45, 1 / 5], rtol=1e-12)


def test_cost_of_exploration_has_its_closed_form(x64):
    """The first arm has the loss 0 and is always predicted best, others the loss 1: the cost is that of random arms."""
    x, losses = jnp.ones((T, 1)), jnp.asarray(np.tile([0.0, 1, 1, 1], (T, 1)))
    t = np.arange(1, T + 1)
    for learner, random in (
        (learners.EpsilonGreedyCB(RIDGE, 0.3, 0.5), 0.3 / np.sqrt(t)),
        (learners.ExploreFirstCB(RIDGE, 40), t <= 40),
    ):
        _, p = own_moves(learner, x, losses)
        np.testing.assert_allclose((p * losses).sum(axis=1).cumsum(), (random * (K - 1) / K).cumsum(), rtol=1e-12)


@pytest.mark.long
def test_bagged_models_learn_a_round_as_often_as_poisson_numbers(x64):
    """After a round with the feature 1 the inverse is 1 / (1 + N): 20,000 models (chi^2, false alarm 1e-6)."""
    learner = learners.BaggingCB(RIDGE, 20_000, ties="first")
    specs = Specs(*(jax.ShapeDtypeStruct(shape, jnp.float64) for shape in ((1,), (2,))))
    move = jo.game.Draw(jnp.int32(0), jnp.array([0.5, 0.5]))
    oracle = jo.feedback.BanditOracle(jnp.ones(1), move, jnp.ones(2))
    state, _ = learner.update(jax.random.key(0), learner.init(None, specs), oracle)
    counts = np.bincount(np.round(1 / state.regressors.inverse[:, 0, 0, 0] - 1).astype(int), minlength=8)
    law = stats.poisson(1).pmf(np.arange(7))
    observed, expected = [*counts[:6], counts[6:].sum()], [*law[:6], 1 - law[:6].sum()]
    assert stats.chisquare(observed, 20_000 * np.array(expected)).pvalue > FALSE_ALARM


def distance_to_laplace(state, X, y, penalty):
    """Return the largest error in standard deviations from the mode (scikit-learn), and variances over Laplace's."""
    from sklearn.linear_model import LogisticRegression

    w = LogisticRegression(C=1 / penalty, fit_intercept=False, tol=1e-10, max_iter=1000).fit(X, y).coef_[0]
    p = 1 / (1 + np.exp(-X @ w))
    P = np.linalg.inv(penalty * np.eye(len(w)) + (X.T * p * (1 - p)) @ X)  # from the Hessian
    ratios = np.linalg.eigvals(np.linalg.solve(P, state.root @ state.root.T))
    return np.abs((state.w - w) / np.sqrt(np.diag(P))).max(), ratios


@pytest.mark.long
def test_belief_of_a_logistic_model_is_near_the_posterior_of_scikit_learn(x64):
    """After 4,000 rounds. The approximation in each round leaves an error: below 0.2 deviations, 5 % of a variance."""
    arms = jo.environments.ContextualLogisticArms([1.0, -0.5, 0.25], n_arms=3)
    game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss())
    state, rounds = jo.play(game, learners.LogisticThompson(1.0, 2.0), jax.random.key(0), 4000)
    X, y = (np.asarray(part)[np.arange(4000), np.asarray(rounds.y_hat)] for part in (rounds.x, rounds.y))
    error, ratios = distance_to_laplace(state, X, y, 2.0)
    assert error < 0.2
    assert np.abs(ratios - 1).max() < 0.05


@pytest.mark.long
def test_belief_of_a_logistic_model_with_features_that_are_not_scaled(x64):
    """Scores of size 30: below 2 standard deviations, and variances above a quarter of Laplace's.

    One Newton step from the mean before the round, in place of the mode, has 4.9 deviations and a ratio of 0.03.
    """
    rng = np.random.default_rng(1)
    X = 30 * rng.normal(size=(2000, 1, 2))
    y = (rng.random((2000, 1)) < 1 / (1 + np.exp(-X @ [1.0, -0.5]))).astype(float)
    game = jo.Game(jo.environments.DataStream(X, y), jo.Bandit(), loss=jo.losses.ArmLoss())
    state, _ = jo.play(game, learners.LogisticUCB(), jax.random.key(0), 2000)
    error, ratios = distance_to_laplace(state, X[:, 0], y[:, 0], 1.0)
    assert error < 2
    assert ratios.min() > 0.25


@pytest.mark.long
def test_losses_are_near_those_of_vowpal_wabbit():
    """The mean loss on the same 2,000 rows, of 3 runs of Vowpal Wabbit and 64 of ours: at most 0.01 apart.

    Vowpal Wabbit has the options `--cb_explore_adf --cb_type mtr --noconstant`, and features of their own for each arm.
    The rules of exploration are the same. Its regressor is adaptive, normalised gradient descent with the rate 0.5, and
    ours online ridge regression with lambda = 1. Random arms have a loss of 0.46, the best arms of the rounds 0.20.
    """
    vowpalwabbit = pytest.importorskip("vowpalwabbit", reason="vowpalwabbit is in the extra `test-all`")
    rng, n = np.random.default_rng(0), 2000
    X = np.column_stack([np.ones(n), rng.uniform(-1, 1, (n, 3))])
    losses = np.clip(0.5 + 0.25 * X @ rng.uniform(-1, 1, (4, K)) + 0.1 * rng.normal(size=(n, K)), 0, 1)
    texts = [[" ".join(f"{k}_{i}:{v:.6f}" for i, v in enumerate(x)) for k in range(K)] for x in X]

    def theirs(options, seed):
        options = f"--cb_explore_adf --cb_type mtr --noconstant --quiet --random_seed {seed} {options}"
        vw, draws, total = vowpalwabbit.Workspace(options), np.random.default_rng(seed), 0.0
        for text, row in zip(texts, losses, strict=True):
            p = np.asarray(vw.predict([f"| {arm}" for arm in text]))
            k = draws.choice(K, p=p / p.sum())
            label = f"0:{row[k]:.6f}:{p[k]:.6f} "
            vw.learn([f"{label if j == k else ''}| {arm}" for j, arm in enumerate(text)])
            total += row[k] / n
        vw.finish()
        return total

    policies = {
        "--squarecb --gamma_scale 10 --gamma_exponent 0.5": learners.SquareCB(RIDGE, 10.0, 0.5),
        "--epsilon 0.1": learners.EpsilonGreedyCB(RIDGE, 0.1),
        "--bag 5": learners.BaggingCB(RIDGE, 5),
        "other": learners.EpsilonGreedyCB(RIDGE, 0.2),
    }
    game = jo.Game(jo.environments.DataStream(X, losses), jo.Bandit(), loss=jo.losses.ArmLoss())
    result = jo.simulate(game, policies, n_runs=64, n_rounds=n, record_at=1)
    *ours, other = result.mean("cumulative_loss").mean[:, -1] / n
    expected = [np.mean([theirs(options, seed) for seed in (1, 2, 3)]) for options in list(policies)[:3]]
    np.testing.assert_allclose(ours, expected, rtol=0, atol=0.01)
    assert abs(other - expected[1]) > 0.01
