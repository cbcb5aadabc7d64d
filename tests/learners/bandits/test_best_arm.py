"""Best-arm identification: error probabilities, numbers of pulls, and what happens after stopping."""

import jax
import numpy as np
import pytest
from scipy import optimize, special, stats
from tiers import some

import jaxonline as jo
from benchmarks import best_arm
from jaxonline import bounds
from jaxonline.learners import (
    APT,
    LUCB,
    LilUCB,
    SequentialHalving,
    SuccessiveElimination,
    SuccessiveRejects,
    TopTwoThompson,
    TrackAndStop,
    UniformAllocation,
)
from jaxonline.learners.bandits.best_arm import phase_ends

MEANS = np.array([0.7, 0.2, 0.6, 0.8, 0.9])


SPECS = jo.game.Specs((), jax.ShapeDtypeStruct((5,), np.float32))


def test_a_budget_that_is_too_small_is_an_error():
    small = SequentialHalving(14), SuccessiveRejects(5), UniformAllocation(4), APT(4, 0.5)
    for learner, least in zip(small, (15, 6, 5, 5), strict=True):
        with pytest.raises(ValueError, match=rf"budget.*{least}.*{learner.budget}"):
            learner.init(jax.random.key(0), SPECS)
    with pytest.raises(ValueError, match=r"delta.*ln\(1 \+ epsilon\) / e"):
        LilUCB(0.01)


def game_of(means):
    arms = jo.environments.BernoulliArms(means)
    return jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss(), pseudo=True)


MEASURES = [jo.StoppingRound(), jo.SimpleRegret(), jo.WrongRecommendation(), jo.Pulls()]


@pytest.mark.long
def test_a_stopped_run_is_frozen():
    """Losses, regrets, queries and pulls stay as they are from the stopping round on."""
    learner = SequentialHalving(40)
    result = jo.simulate(game_of(MEANS), learner, n_runs=8, n_rounds=200, record_at=[30, 39, 60, 200],
                         comparator=jo.BestArm(), measures=MEASURES)  # fmt: skip
    rounds = 2 * 5 + 4 * 3 + 6 * 2  # pulls of 5, 3 and 2 arms
    stopping = result.measures["stopping_round"][0]
    assert np.isinf(stopping[:, 0]).all()
    assert (stopping[:, 2:] == rounds).all()
    for numbers in (result.measures["cumulative_loss"], result.regret, result.measures["simple_regret"]):
        np.testing.assert_array_equal(numbers[0, :, 2], numbers[0, :, 3])
    assert (result.measures["queries"][0, :, 2:] == rounds).all()
    assert (result.measures["pulls"][0, :, 3].sum(axis=-1) == rounds).all()
    whole = jo.simulate(game_of(MEANS), learner, n_runs=8, n_rounds=rounds, record_at=[rounds], comparator=jo.BestArm())
    np.testing.assert_array_equal(whole.regret[0, :, 0], result.regret[0, :, 3])


def test_runs_that_have_not_stopped_are_censored():
    result = jo.simulate(game_of(MEANS), SuccessiveElimination(0.05), n_runs=20, n_rounds=50, measures=MEASURES)
    assert np.isinf(result.measures["stopping_round"]).all()
    assert np.isinf(result.mean("stopping_round").mean).all(), "censored runs are seen in the mean"


@pytest.mark.long
@pytest.mark.parametrize("gap", [0.2, 0.4])
@pytest.mark.parametrize("n_arms", [2, 6])
def test_error_and_pulls_of_successive_elimination_satisfy_the_theorem(gap, n_arms):
    """4,000 runs; exact binomial tests of both probabilities against delta = 0.1, false alarm 1e-6 each."""
    means, delta, n_runs = np.array([0.5 - gap, *[0.5] * (n_arms - 1)]), 0.1, 4000
    limit = bounds.successive_elimination(means - means.min(), delta)
    result = jo.simulate(game_of(means), SuccessiveElimination(delta), n_runs=n_runs, n_rounds=limit + 1, key=2,
                         record_at=[limit + 1], measures=MEASURES)  # fmt: skip
    stopping = result.measures["stopping_round"][0, :, 0]
    late, wrong = stopping > limit, result.measures["wrong_recommendation"][0, :, 0]
    for failures in (late, wrong):
        assert stats.binomtest(int(failures.sum()), n_runs, delta, alternative="greater").pvalue > 1e-6


@pytest.mark.long
@pytest.mark.parametrize("means", [[0.1, *[0.5] * 3], [0.3, 0.5, *np.linspace(0.5, 0.9, 6)]], ids=["equal", "spread"])
def test_error_of_sequential_halving_satisfies_the_theorem(means):
    """4,000 runs; exact binomial test against the bound, false alarm 1e-6."""
    means, n_runs = np.array(means), 4000
    budget = next(b for b in range(24, 100_000, 8) if bounds.sequential_halving(means - means.min(), b) < 0.2)
    result = jo.simulate(game_of(means), SequentialHalving(budget), n_runs=n_runs, n_rounds=budget, key=2,
                         record_at=[budget], measures=MEASURES)  # fmt: skip
    wrong = int(result.measures["wrong_recommendation"][0, :, 0].sum())
    limit = bounds.sequential_halving(means - means.min(), budget)
    assert stats.binomtest(wrong, n_runs, limit, alternative="greater").pvalue > 1e-6
    assert np.isfinite(result.measures["stopping_round"]).all()


STOPPING = {
    "LUCB": LUCB(0.2), "lil'UCB": LilUCB(0.03, 0.1, epsilon=0.1, ratio=2.0), "track and stop": TrackAndStop(0.1),
    "track and stop, C": TrackAndStop(0.1, tracking="C"), "Gaussian": TrackAndStop(0.1, 0.5),
    "top-two Thompson": TopTwoThompson(0.1), "rejects": SuccessiveRejects(60), "uniform": UniformAllocation(60),
    "halving": SequentialHalving(60), "elimination": SuccessiveElimination(0.2), "APT": APT(60, 0.5),
}  # fmt: skip


@pytest.mark.parametrize("name", some(STOPPING, "LUCB", "track and stop", "rejects", "APT"))
def test_stopping_never_looks_ahead_and_finds_the_best_arm(name):
    """Arms with the losses 0 and 1: replacing all losses after the stopping round changes nothing before it."""
    losses = np.tile(np.array([1.0, 1.0, 0.0, 1.0], np.float32), (300, 1))
    game = jo.Game(jo.environments.DataStream(None, losses), jo.Bandit(), loss=jo.losses.ArmLoss())
    first = jo.play(game, STOPPING[name], jax.random.key(0), 300)[1]
    stop = int(first.info.stopped.argmax())
    assert first.info.stopped.any()
    found = first.info.above.argmin(axis=1) if name == "APT" else first.info.recommendation
    assert found[stop] == 2
    losses[stop + 1 :] = 1 - losses[stop + 1 :]
    game = jo.Game(jo.environments.DataStream(None, losses), jo.Bandit(), loss=jo.losses.ArmLoss())
    other = jo.play(game, STOPPING[name], jax.random.key(0), 300)[1]
    for numbers in ("y_hat", "info"):
        jax.tree.map(
            lambda a, b: np.testing.assert_array_equal(a[: stop + 1], b[: stop + 1]),
            getattr(first, numbers), getattr(other, numbers),
        )  # fmt: skip


@pytest.mark.parametrize(("beta", "pulls"), [(1.0, 10), (0.5, 26), (2.0, 5)])
def test_lil_ucb_stops_when_the_best_arm_has_its_ratio_of_the_pulls(beta, pulls):
    """After one pull of the other arm: the ratio is (2/beta + 1)^2, and 1 + ratio pulls are enough."""
    game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
    info = jo.play(game, LilUCB(0.003, beta=beta), jax.random.key(0), 40)[1].info
    assert int(info.stopped.argmax()) == pulls  # and the pull of the other arm


def test_phases_of_successive_rejects_are_those_of_the_paper():
    """n = 2, 3, 4 for K = 4 and a budget of 15: L = 1/2 + 13/12 = 19/12, and 11 / L = 6.95 is divided by 4, 3 and 2."""
    assert phase_ends(15, 4).tolist() == [2, 3, 4]
    for budget in (6, 7, 50, 1000):
        ends = phase_ends(budget, 5)
        assert sum(ends) + ends[-1] <= budget  # the last two arms have n_(K-1) pulls


@pytest.mark.parametrize("rewards", some([False, True], True))
def test_thresholds_sort_losses_and_rewards(rewards):
    """The error of APT is far below that of a coin, and the sides of rewards are those of losses in the mirror."""
    means = np.array([0.1, 0.35, 0.62, 0.9])
    game = jo.bandit_game(means, rewards=rewards)
    result = jo.simulate(game, APT(300, 0.5, 0.02), n_runs=400, n_rounds=300, record_at=[1, 300],
                         measures=[jo.WrongSides(), jo.StoppingRound()])  # fmt: skip
    wrong = result.measures["wrong_sides"][0]
    assert wrong[:, 1].mean() < 0.05 < wrong[:, 0].mean()
    assert (result.measures["stopping_round"][0, :, 1] == 300).all()
    tolerant = jo.simulate(game, APT(300, 0.5, 0.41), n_runs=400, n_rounds=300, record_at=[1, 300],
                           measures=[jo.WrongSides(), jo.StoppingRound()])  # fmt: skip
    assert (tolerant.measures["wrong_sides"] == 0).all()


def kl(p, q):
    return special.rel_entr(p, q) + special.rel_entr(1 - p, 1 - q)


def test_characteristic_time_has_its_closed_forms_and_solves_the_convex_programme():
    """Two Gaussian arms; equal Gaussian worse arms, 2 std^2 (1 + sqrt(K - 1))^2 / gap^2; a grid; a general solver."""
    np.testing.assert_allclose(bounds.characteristic_time([0.3, 0.8], 0.7), 8 * 0.7**2 / 0.5**2, rtol=1e-12)
    np.testing.assert_allclose(bounds.characteristic_time([0.0, *[0.5] * 9], 1.0), 2 * 16 / 0.25, rtol=1e-12)
    for gap in (1e-7, 1e-8):  # 8 p (1 - p) / gap^2 for nearly equal arms
        np.testing.assert_allclose(bounds.characteristic_time([0.5, 0.5 + gap]), 2 / gap**2, rtol=1e-6)
    w = np.linspace(1e-6, 1 - 1e-6, 1_000_001)
    q = 0.2 + w * (0.3 - 0.2)
    best = ((1 - w) * kl(0.2, q) + w * kl(0.3, q)).max()
    np.testing.assert_allclose(1 / bounds.characteristic_time([0.2, 0.3]), best, rtol=1e-9)
    mu = np.array([0.5, 0.3, 0.6, 0.35])

    def evidence(w):
        q = (w[1] * mu[1] + w * mu) / (w[1] + w)
        return np.delete(w[1] * kl(mu[1], q) + w * kl(mu, q), 1)

    w, T = bounds.optimal_proportions(mu), bounds.characteristic_time(mu)
    np.testing.assert_allclose([w.sum(), *(T * evidence(w))], 1, rtol=1e-9)
    solved = optimize.minimize(
        lambda v: -v[-1], [0.25, 0.25, 0.25, 0.25, 0.0], method="SLSQP", bounds=[(1e-3, 1)] * 4 + [(0, 1)],
        constraints=[{"type": "eq", "fun": lambda v: v[:4].sum() - 1},
                     {"type": "ineq", "fun": lambda v: evidence(v[:4]) - v[-1]}],
        options={"ftol": 1e-14, "maxiter": 1000})  # fmt: skip
    np.testing.assert_allclose(1 / solved.x[-1], T, rtol=1e-5)
    for bad in ([0.5], [0.3, 0.3, 0.5], [0.0, 0.5]):
        with pytest.raises(ValueError, match="means"):
            bounds.characteristic_time(bad)


def test_bound_of_successive_rejects():
    """H = max(2 / 0.01, 3 / 0.04, 4 / 0.16) = 200, and L = 19/12."""
    assert bounds.successive_rejects([0.2, 0.0, 0.4, 0.1], 2004) == pytest.approx(6 * np.exp(-2000 / (200 * 19 / 12)))
    assert bounds.successive_rejects([0.2, 0.0, 0.4, 0.1], 4) == 1


@pytest.mark.long
@pytest.mark.parametrize("std", [None, 0.5])
@pytest.mark.parametrize("n_arms", [2, 5, 17])
def test_proportions_inside_the_rounds_are_nearly_the_optimal_ones(std, n_arms):
    """In float32, for means from nearly equal to far apart; the error is below 0.001."""
    rng, learner = np.random.default_rng(n_arms), TrackAndStop(0.1, std)
    means = rng.uniform(0.01, 0.99, (40, n_arms))
    means[:10] = 0.5 + 0.02 * (means[:10] - 0.5)
    means = means[np.diff(np.sort(means), axis=1)[:, 0] > 2e-3]
    result = jax.jit(jax.vmap(learner.proportions))(np.float32(means), np.argmin(means, axis=1).astype(np.int32))
    expected = np.array([bounds.optimal_proportions(row, std) for row in means])
    assert len(means) > 10
    assert np.abs(result - expected).max() < 1e-3


def test_price_of_the_mixture_covers_the_largest_likelihood_ratio():
    """N d(m, mean) <= ln M + ln(2 sqrt(N)): sup over the mean of s^.. is at most 2 sqrt(N) times the mixture."""
    for n in (1, 2, 3, 10, 100, 10_000):
        s = np.linspace(0, n, 2001)
        largest = special.xlogy(s, s / n) + special.xlogy(n - s, 1 - s / n)
        mixture = special.betaln(s + 0.5, n - s + 0.5) - np.log(np.pi)
        assert (largest - mixture <= np.log(2 * np.sqrt(n)) + 1e-12).all()


@pytest.mark.long
@pytest.mark.parametrize("learner", [TrackAndStop(0.1), TopTwoThompson(0.1), LUCB(0.1), TrackAndStop(0.1, 0.5)])
def test_errors_are_rarer_than_delta_and_equal_arms_stop_as_rarely(learner):
    """1,000 runs; exact binomial tests against delta = 0.1, false alarm 1e-6 each."""
    for means in ([0.5, 0.45], [0.5, 0.5]):
        arms = game_of(means)
        if getattr(learner, "std", None):
            arms = jo.replace(arms, environment=jo.environments.GaussianArms(means, std=0.5))
        result = jo.simulate(arms, learner, n_runs=1000, n_rounds=400, measures=MEASURES[::2])
        stopped = np.isfinite(result.measures["stopping_round"][0, :, -1])
        wrong = stopped & (result.measures["wrong_recommendation"][0, :, -1] > (0 if means[1] < 0.5 else -1))
        assert stats.binomtest(int(wrong.sum()), 1000, 0.1, alternative="greater").pvalue > 1e-6


@pytest.mark.long
def test_the_quick_benchmark_writes_its_tables_and_continues_from_its_file(tmp_path, capsys):
    """A second call plays no game of a learner with a fixed confidence again."""
    arguments = ["--quick", "--json", str(tmp_path / "numbers.json"), "--figure", str(tmp_path / "figure.png")]
    best_arm.main(arguments)
    first = capsys.readouterr()
    best_arm.main(arguments)
    second = capsys.readouterr()
    assert len(best_arm.games()) == 30
    assert (first.out, first.err.count("\n"), second.err) == (second.out, 12, "")
    assert (tmp_path / "figure.png").exists()
