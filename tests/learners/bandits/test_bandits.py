"""Bandits: comparison with NumPy loops that use the same random numbers, ties, and edges of ranges."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from bandit_loops import (
    bernoulli_thompson,
    beta_proposals,
    epsilon_greedy,
    explore_then_commit,
    exponential,
    gaussian_thompson,
    kl_lower,
    kl_ucb,
    linear,
    moss,
    ucb1,
)
from bandit_rounds import DETERMINISTIC, LEARNERS, K, T, arms_of_run, random_rounds, round_keys
from jax.extend.random import threefry_2x32
from optimistic_loops import (
    asymptotic_ucb,
    discounted_ucb,
    fixed_confidence_ucb,
    moss_with_exploration,
    sliding_window_ucb,
    tsallis_inf,
    ucb1_tuned,
    ucb2,
)
from scipy import stats
from tiers import some

import jaxonline as jo
from jaxonline.feedback import BanditOracle
from jaxonline.game import Draw, Specs
from jaxonline.learners import (
    EXP3IX,
    EXP3P,
    EXP4,
    KLUCB,
    MOSS,
    UCB1,
    UCB2,
    AsymptoticUCB,
    BernoulliThompson,
    DiscountedUCB,
    EpsilonGreedy,
    ExploreThenCommit,
    FixedConfidenceUCB,
    GaussianThompson,
    LinThompson,
    LinUCB,
    SlidingWindowUCB,
    TsallisINF,
)
from jaxonline.learners.bandits.index_policies import Tally
from jaxonline.numerics.elementwise import kl_lower_bound
from jaxonline.parameters.struct import cast_leaves

pytestmark = pytest.mark.fast_compile


def arms_of(name, x, losses, key=0) -> list[int]:
    learner = cast_leaves(LEARNERS[name], jnp.result_type(float))
    return arms_of_run(learner, *map(jnp.asarray, (x, losses)), jax.random.key(key)).tolist()


@functools.cache
def random_numbers():
    """Return the uniform numbers of predict and update, and the normal numbers, of all rounds."""

    def one(t):
        predict_key, update_key = round_keys(jax.random.key(0), t)
        normal = jax.random.normal(predict_key, (K,))
        return jax.random.uniform(predict_key, ()), jax.random.uniform(update_key, ()), normal

    return [np.asarray(numbers) for numbers in jax.jit(jax.vmap(one))(jnp.arange(T, dtype=jnp.int32))]


@functools.cache
def words():
    """Return both words of threefry at the counters (turn, i), for all keys [T, 8 turns, 2 (3 K / 2)]."""

    def one(t, turn):
        i = jnp.arange(3 * K // 2, dtype=jnp.uint32)
        return threefry_2x32(jax.random.key_data(round_keys(jax.random.key(0), t)[0]), jnp.stack([0 * i + turn, i]))

    grid = jax.vmap(jax.vmap(one, (None, 0)), (0, None))
    return np.asarray(jax.jit(grid)(jnp.arange(T, dtype=jnp.int32), jnp.arange(8, dtype=jnp.uint32)))


def proposals(t, turn):
    """Return two normal numbers (Box and Muller) and a uniform one, for all arms in turn 0 and else for one arm."""
    first, second = words()[t, turn]
    lengths, angles, levels = (
        np.concatenate([first, second]).reshape(3, K) if turn == 0 else np.array([*first[:2], second[0]])
    )
    return beta_proposals(lengths, angles, levels)


def expected(name, x, losses, change=1.0) -> list[int]:
    """Return the arms of the loop; of a mutant if `change` is not 1."""
    u, toss, normal = random_numbers()
    return {
        "explore then commit": lambda: explore_then_commit(losses, round(6 * change**2)),
        "UCB1": lambda: ucb1(losses, 2.0 * change),
        "MOSS": lambda: moss(losses, T * change**3),
        "KL-UCB": lambda: kl_ucb(losses, 1.0 * change**3),
        "epsilon-greedy": lambda: epsilon_greedy(losses, u, 2.0 * change, 0.5),
        "EXP3-IX": lambda: exponential(losses, u, 0.2, 0.1 * change**5),
        "EXP3.P": lambda: exponential(losses, u, 0.2, beta=0.05 * change**5, mixing=0.1),
        "EXP4": lambda: exponential(losses, u, 0.5 * change**2, mixing=0.1, advice=x),
        "Gaussian Thompson": lambda: gaussian_thompson(losses, normal, 0.4 * change, 0.3, 2.0),
        "Bernoulli Thompson": lambda: bernoulli_thompson(losses, toss, proposals, 1.5, 2.0 * change**5),
        "LinUCB": lambda: linear(losses, x, 0.3 * change, 0.7),
        "linear Thompson": lambda: linear(losses, x, 0.3, 0.7 * change**2, normal),
        "MOSS, Gaussian": lambda: moss_with_exploration(losses, T, 0.4 * change),
        "UCB1-tuned": lambda: ucb1_tuned(losses, change),
        "UCB2": lambda: ucb2(losses, 0.2 * change**3),
        "UCB, fixed confidence": lambda: fixed_confidence_ucb(losses, T**-2.0, 0.3 * change),
        "UCB, asymptotic": lambda: asymptotic_ucb(losses, 0.3 * change),
        "discounted UCB": lambda: discounted_ucb(losses, 0.95, 0.1 * change),
        "sliding-window UCB": lambda: sliding_window_ucb(losses, round(32 * change), 0.1),
        "Tsallis-INF": lambda: tsallis_inf(losses, u, True, change),
        "Tsallis-INF, importance-weighted": lambda: tsallis_inf(losses, u, False, change),
    }[name]()


@pytest.mark.parametrize("name", some(LEARNERS, "KL-UCB", "EXP3.P"))
def test_learner_pulls_the_arms_of_its_numpy_loop(x64, name):
    """The test detects a parameter of the algorithm that differs by 10 % (or a power of that)."""
    x, losses = random_rounds()
    arms = arms_of(name, x, losses)
    assert arms == expected(name, x, losses)
    assert arms != expected(name, x, losses, change=1.1)
    assert set(arms) == set(range(K)), "the test needs pulls of all arms"


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_ties_go_to_the_first_arm(x64, name):
    """Equal losses: arms are pulled in turn; explore-then-commit commits to the first arm. UCB2 pulls an arm several
    times, and a full window breaks the turns: their loops, in which ties go to the first arm, have the same arms."""
    x, losses = random_rounds()[0], np.full((T, K), 0.5)
    arms = arms_of(name, x, losses)
    if name in ("UCB2", "sliding-window UCB"):
        assert arms == expected(name, x, losses)
        return
    turns = [t % K for t in range(T)]
    assert arms == (turns[: 6 * K] + [0] * (T - 6 * K) if name == "explore then commit" else turns)


@pytest.mark.parametrize("name", some(LEARNERS, "UCB1"))
def test_learner_with_one_arm_pulls_it(name):
    learner, x = cast_leaves(LEARNERS[name], jnp.float32), jnp.ones((1, 1))
    state = learner.init(None, Specs(jax.ShapeDtypeStruct(x.shape, x.dtype), jax.ShapeDtypeStruct((1,), x.dtype)))
    for t in range(2):
        predict_key, update_key = round_keys(jax.random.key(0), t)
        move = learner.predict(predict_key, state, x)
        assert (move.arm if isinstance(move, Draw) else move) == 0
        state, _ = learner.update(update_key, state, BanditOracle(x, move, jnp.ones(1)))
        assert all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(state))


@pytest.mark.parametrize(("K", "T", "delta"), [(2, 100, 0.5), (10, 1000, 0.05), (7, 12_345, 1e-3)])
def test_rates_are_those_of_the_theorems(K, T, delta):
    """Theorem 1 of Neu (2015), Theorem 3.3 of Bubeck and Cesa-Bianchi (2012), and Theorem 3 of Auer et al. (2002)."""
    implicit, explicit = EXP3IX.over_horizon(K, T), EXP3P.over_horizon(K, T, delta)
    np.testing.assert_allclose([implicit.eta**2 * K * T, implicit.eta / implicit.gamma], [2 * np.log(K), 2], rtol=1e-12)
    rates = [explicit.eta**2, explicit.beta**2, (explicit.exploration / K) ** 2]
    logs = [0.95**2 * np.log(K), np.log(K) - np.log(delta), 1.05**2 * np.log(K)]
    np.testing.assert_allclose(rates, np.divide(logs, K * T), rtol=1e-12)
    np.testing.assert_allclose(EXP3P.over_horizon(K, T).beta ** 2 * K * T, np.log(K), rtol=1e-12)
    greedy = [
        EpsilonGreedy.decreasing(K, 0.3),
        EpsilonGreedy.decreasing(K, 0.3, 5.5),
    ]
    np.testing.assert_allclose([rule.epsilon * 0.3**2 / K for rule in greedy], [6, 5.5], rtol=1e-12)
    assert [rule.power for rule in greedy] == [1, 1]


@pytest.mark.long
@pytest.mark.parametrize("pulls", [(0, 1), (1, 2), (3, 0)])
def test_gaussian_thompson_pulls_an_arm_with_its_posterior_probability(pulls):
    """P(arm 0 of two) = Phi((m_1 - m_0) / sqrt(s_0^2 + s_1^2)) within 5.5 standard errors (false alarm 4e-8), for the
    posteriors N(m, s^2). A precision that is larger by 1 is detected."""
    noise, prior_mean, prior_std, totals = 1.3, 0.2, 0.9, np.array([0.1, 1.5])
    precision = prior_std**-2 + np.array(pulls) / noise**2
    means = (prior_mean * prior_std**-2 + totals / noise**2) / precision
    tally = Tally(jnp.asarray(pulls, jnp.int32), jnp.asarray(totals, jnp.float32), jnp.zeros(2))
    learner = cast_leaves(GaussianThompson(noise, prior_mean, prior_std), jnp.float32)
    arms = pulled(learner, jax.random.split(jax.random.key(0), 1 << 15), tally)
    share, limit = 1 - float(np.mean(arms)), 5.5 * np.sqrt(0.25 / len(arms))
    right, wrong = (stats.norm.cdf((means[1] - means[0]) / np.sqrt((1 / (precision + n)).sum())) for n in (0, 1))
    assert abs(share - right) < limit < abs(share - wrong)


@jax.jit
def pulled(learner, keys, tally):
    return jax.vmap(lambda key: learner.predict(key, tally, ()))(keys)


# ---------------------------------------------------------------------------------------------------------------------
# Numbers


@pytest.mark.parametrize("both_precisions", [False, True], indirect=True)
def test_kl_lower_bound_agrees_with_bisection(both_precisions):
    """For budgets from the first rounds to a million rounds, and means in [0, 1] with both ends."""
    means = np.array([0.0, 1e-6, 1e-3, 0.02, 0.3, 0.5, 0.9, 0.999, 1.0])
    budgets = np.array([0.0, 1e-7, 1e-5, 1e-3, 0.1, 1.0, 14.0])
    grid = [axis.ravel().astype(both_precisions).astype(float) for axis in np.meshgrid(means, budgets)]
    result = np.asarray(jax.jit(kl_lower_bound)(*(jnp.asarray(axis, both_precisions) for axis in grid)), float)
    expected = np.array([kl_lower(m, b) for m, b in zip(*grid, strict=True)])
    digits = max(64 * np.finfo(both_precisions).eps, 3e-11)  # the loop subtracts logarithms, which limits its precision
    assert (np.abs(result - expected) <= digits * grid[0]).all()
    assert (result <= grid[0]).all()


def test_means_are_accurate_after_a_million_pulls():
    """Compensated sums in float32 of a million losses of 0.3; the mean from plain sums has an error of 1e-3."""

    @jax.jit
    def means(loss):
        empty = Tally.empty(Specs((), jax.ShapeDtypeStruct((2,), jnp.float32)))
        tally = jax.lax.fori_loop(0, 1_000_000, lambda _, tally: tally.add(jnp.int32(1), loss), empty)
        plain = jax.lax.fori_loop(0, 1_000_000, lambda _, total: total + loss, jnp.float32(0.0))
        return tally.means, plain / 1e6

    compensated, plain = means(jnp.float32(0.3))
    np.testing.assert_allclose(compensated, [0.0, 0.3], rtol=3e-7)
    assert abs(plain - 0.3) > 3e-4


# ---------------------------------------------------------------------------------------------------------------------
# Arguments


def arms_game(losses) -> jo.Game:
    return jo.Game(jo.environments.DataStream(None, np.asarray(losses)), jo.Bandit(), loss=jo.losses.ArmLoss())


RANGED = {
    "UCB1", "MOSS", "KL-UCB", "Bernoulli Thompson", "EXP3-IX", "EXP3.P", "EXP4", "MOSS, Gaussian", "UCB1-tuned", "UCB2",
    "discounted UCB", "sliding-window UCB", "Tsallis-INF", "Tsallis-INF, importance-weighted",
}  # fmt: skip


@pytest.mark.parametrize("name", some(LEARNERS, "UCB1", "EXP4", "LinUCB"))
def test_losses_outside_the_range_of_the_theorem_raise_an_error(name):
    if name not in RANGED:
        assert LEARNERS[name].loss_range is None
        return
    x = np.full((2, 2, 2), 0.5)
    for losses in ([[0.0, 1.5], [0.0, 1.0]], [[0.0, 1.0], [-0.1, 1.0]]):
        stream = jo.environments.DataStream(x, np.asarray(losses))
        game = jo.Game(stream, jo.Bandit(), loss=jo.losses.ArmLoss())
        with pytest.raises(ValueError, match=r"^y\b.* 0 .* 1\b"):
            jo.play(game, LEARNERS[name], jax.random.key(0), 2)


@pytest.mark.parametrize(
    ("call", "text"),
    [
        (lambda: ExploreThenCommit(0), "pulls_each"),
        (lambda: EpsilonGreedy(-0.1), "epsilon"),
        (lambda: EpsilonGreedy.decreasing(3, gap=0.0), "gap"),
        (lambda: UCB1(-1.0), "exploration"),
        (lambda: KLUCB(-1.0), "c"),
        (lambda: MOSS(0), "n_rounds"),
        (lambda: MOSS(10, exploration=-1.0), "exploration"),
        (lambda: UCB2(alpha=0.0), "alpha"),
        (lambda: FixedConfidenceUCB(delta=1.0), "delta"),
        (lambda: FixedConfidenceUCB.over_horizon(1), "delta"),
        (lambda: AsymptoticUCB(std=0.0), "std"),
        (lambda: DiscountedUCB(discount=1.0), "discount"),
        (lambda: SlidingWindowUCB(window=0), "window"),
        (lambda: TsallisINF("unbiased"), "estimator"),
        (lambda: BernoulliThompson(0.5), "prior_ones"),
        (lambda: GaussianThompson(0.0), "noise_std"),
        (lambda: EXP3IX(0.0, 0.1), "eta"),
        (lambda: EXP3IX.over_horizon(1, 10), "n_arms"),
        (lambda: EXP3P(0.1, 1.5, 0.1), "beta"),
        (lambda: EXP3P.over_horizon(2, 10, delta=0.0), "delta"),
        (lambda: EXP4("eta"), "combiner"),
        (lambda: EXP4(0.1).init(None, Specs((), jax.ShapeDtypeStruct((2,), float))), "instances"),
        (lambda: LinUCB(regularizer=0.0), "regularizer"),
        (lambda: LinThompson().init(None, Specs.of_vectors(3)), "instances"),
        (lambda: UCB1().init(None, Specs.of_vectors(3)), "outcomes"),
    ],
)
def test_error_names_the_argument(call, text):
    with pytest.raises((ValueError, TypeError), match=rf"^{text}\b"):
        call()
