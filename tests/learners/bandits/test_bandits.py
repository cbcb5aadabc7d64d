"""Bandits: NumPy loops that use the same random numbers, ties, rates and numbers."""

import functools
import math
from fractions import Fraction

import bandit_loops as loops
import jax
import jax.numpy as jnp
import numpy as np
import optimistic_loops as optimistic
import pytest
from bandit_rounds import DETERMINISTIC, LEARNERS, K, T, arms_of_run, random_rounds, round_keys
from jax.extend.random import threefry_2x32
from tiers import some

from jaxonline import learners
from jaxonline.game import Specs
from jaxonline.learners.bandits.exponential import tsallis_weights
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
    return loops.beta_proposals(lengths, angles, levels)


def expected(name, x, losses, change=1.0) -> list[int]:
    """Return the arms of the loop; of a mutant if `change` is not 1."""
    u, toss, normal = random_numbers()
    return {
        "explore then commit": lambda: loops.explore_then_commit(losses, round(6 * change**2)),
        "UCB1": lambda: loops.ucb1(losses, 2.0 * change),
        "MOSS": lambda: loops.moss(losses, T * change**3),
        "KL-UCB": lambda: loops.kl_ucb(losses, 1.0 * change**3),
        "epsilon-greedy": lambda: loops.epsilon_greedy(losses, u, 2.0 * change, 0.5),
        "EXP3-IX": lambda: loops.exponential(losses, u, 0.2, 0.1 * change**5),
        "EXP3.P": lambda: loops.exponential(losses, u, 0.2, beta=0.05 * change**5, mixing=0.1),
        "EXP4": lambda: loops.exponential(losses, u, 0.5 * change**2, mixing=0.1, advice=x),
        "Gaussian Thompson": lambda: loops.gaussian_thompson(losses, normal, 0.4 * change, 0.3, 2.0),
        "Bernoulli Thompson": lambda: loops.bernoulli_thompson(losses, toss, proposals, 1.5, 2.0 * change**5),
        "LinUCB": lambda: loops.linear(losses, x, 0.3 * change, 0.7),
        "linear Thompson": lambda: loops.linear(losses, x, 0.3, 0.7 * change**2, normal),
        "MOSS, Gaussian": lambda: optimistic.moss_with_exploration(losses, T, 0.4 * change),
        "UCB1-tuned": lambda: optimistic.ucb1_tuned(losses, change),
        "UCB2": lambda: optimistic.ucb2(losses, 0.2 * change**3),
        "UCB, fixed confidence": lambda: optimistic.fixed_confidence_ucb(losses, T**-2.0, 0.3 * change),
        "UCB, asymptotic": lambda: optimistic.asymptotic_ucb(losses, 0.3 * change),
        "discounted UCB": lambda: optimistic.discounted_ucb(losses, 0.95, 0.1 * change),
        "sliding-window UCB": lambda: optimistic.sliding_window_ucb(losses, round(32 * change), 0.1),
        "Tsallis-INF": lambda: optimistic.tsallis_inf(losses, u, True, change),
        "Tsallis-INF, importance-weighted": lambda: optimistic.tsallis_inf(losses, u, False, change),
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
    """Arms are pulled in turn, except by UCB2 and by a full window, which have their loops."""
    x, losses = random_rounds()[0], np.full((T, K), 0.5)
    turns = [t % K for t in range(T)]
    if name == "explore then commit":
        turns[6 * K :] = [0] * (T - 6 * K)
    assert arms_of(name, x, losses) == (expected(name, x, losses) if name in ("UCB2", "sliding-window UCB") else turns)


@pytest.mark.parametrize(("K", "T", "delta"), [(2, 100, 0.5), (7, 12_345, 1e-3)])
def test_rates_are_those_of_the_theorems(K, T, delta):
    """Theorem 1 of Neu (2015), Theorem 3.3 of Bubeck and Cesa-Bianchi (2012), and Theorem 3 of Auer et al. (2002)."""
    implicit, explicit = learners.EXP3IX.over_horizon(K, T), learners.EXP3P.over_horizon(K, T, delta)
    np.testing.assert_allclose([implicit.eta**2 * K * T, implicit.eta / implicit.gamma], [2 * np.log(K), 2], rtol=1e-12)
    rates = [explicit.eta**2, explicit.beta**2, (explicit.exploration / K) ** 2]
    logs = [0.95**2 * np.log(K), np.log(K) - np.log(delta), 1.05**2 * np.log(K)]
    np.testing.assert_allclose(rates, np.divide(logs, K * T), rtol=1e-12)
    np.testing.assert_allclose(learners.EXP3P.over_horizon(K, T).beta ** 2 * K * T, np.log(K), rtol=1e-12)
    greedy = [learners.EpsilonGreedy.decreasing(K, 0.3), learners.EpsilonGreedy.decreasing(K, 0.3, 5.5)]
    np.testing.assert_allclose([rule.epsilon * 0.3**2 / K for rule in greedy], [6, 5.5], rtol=1e-12)
    assert [rule.power for rule in greedy] == [1, 1]
    assert learners.DiscountedUCB.over_horizon(10_000).discount == 1 - 1 / 400
    assert learners.SlidingWindowUCB.over_horizon(10_000).window == round(4 * np.sqrt(1e4 * np.log(1e4))) == 1214
    np.testing.assert_allclose(learners.FixedConfidenceUCB.over_horizon(1000).delta, 1e-6, rtol=1e-12)


@pytest.mark.parametrize("both_precisions", [False, True], indirect=True)
def test_kl_lower_bound_agrees_with_bisection(both_precisions):
    """For budgets from the first rounds to a million rounds, and means in [0, 1] with both ends."""
    means = np.array([0.0, 1e-6, 1e-3, 0.02, 0.3, 0.5, 0.9, 0.999, 1.0])
    budgets = np.array([0.0, 1e-7, 1e-5, 1e-3, 0.1, 1.0, 14.0])
    grid = [axis.ravel().astype(both_precisions).astype(float) for axis in np.meshgrid(means, budgets)]
    result = np.asarray(jax.jit(kl_lower_bound)(*(jnp.asarray(axis, both_precisions) for axis in grid)), float)
    expected = np.array([loops.kl_lower(m, b) for m, b in zip(*grid, strict=True)])
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


@pytest.mark.parametrize("both_precisions", [False, True], indirect=True)
@pytest.mark.parametrize("alpha", [Fraction(1, 1000), Fraction(1, 4), Fraction(1, 2), Fraction(1)])
def test_epochs_of_ucb2_end_at_powers_that_are_rounded_up(both_precisions, alpha):
    """All ends up to 4,000 pulls; those of the growth 1/1000 may differ by a pull in float32."""
    exact, power = [1], Fraction(1)
    while exact[-1] < 4000:
        power *= 1 + alpha
        exact += [math.ceil(power)] if math.ceil(power) > exact[-1] else []
        power = power.limit_denominator(10**15)
    ends = jax.jit(jax.vmap(lambda pulls: learners.UCB2(float(alpha))._epoch_end(pulls, both_precisions)))
    result = np.asarray(ends(jnp.asarray([0, *exact[:-1]], jnp.int32)))
    allowed = 1 if alpha < 0.1 and both_precisions == jnp.float32 else 0
    assert np.abs(result - exact).max() <= allowed


@pytest.mark.parametrize("both_precisions", [False, True], indirect=True)
def test_weights_of_tsallis_inf_agree_with_bisection(both_precisions):
    """For 2 to 100 arms, rates of the first round and of round 10^8, and equal and very different sums."""
    rng, limit = np.random.default_rng(0), 1e-5 if both_precisions == jnp.float32 else 1e-12
    compute = jax.jit(tsallis_weights)
    for n_arms in (2, 9, 100):
        for rate in (4.0, 0.3, 4e-4):
            for spread in (0.0, 1.0, 1e4):
                sums = np.asarray(spread * rng.uniform(size=n_arms), both_precisions)
                weights = np.asarray(compute(jnp.asarray(sums), jnp.asarray(rate, both_precisions)), float)
                expected = optimistic.tsallis_weights(sums.astype(float) - float(sums.min()), rate)
                np.testing.assert_allclose(weights, expected, rtol=limit)
