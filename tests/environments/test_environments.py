"""Environments of instances and labels: data streams, linear models, autoregressive series."""

import collections
import inspect
import itertools
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from tiers import some

import jaxonline as jo
from jaxonline.game import Environment, play_round, start, stream_keys
from jaxonline.parameters.signatures import exported_names
from jaxonline.parameters.struct import cast_leaves

FALSE_ALARM = 1e-6


def play_environment(environment, n_rounds: int, n_runs: int = 1, key: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Instances [runs, rounds, d] and answers [runs, rounds], without a learner."""
    game = cast_leaves(jo.Game(environment, jo.FullInformation()), environment.instance_spec.dtype)
    x, y = play_runs(game, jax.random.key(key), n_rounds, n_runs)
    return np.asarray(x), np.asarray(y)


@partial(jax.jit, static_argnums=(2, 3))
def play_runs(game, key, n_rounds, n_runs):
    def play_run(run):
        keys = stream_keys(jax.random.fold_in(key, run))
        rounds = jnp.arange(1, n_rounds + 1, dtype=jnp.int32)
        record = jax.lax.scan(lambda s, t: play_round(game, None, keys, t, s), start(game, None, keys), rounds)[1]
        return record.x, record.y

    return jax.vmap(play_run)(jnp.arange(n_runs, dtype=jnp.uint32))


def numbered_rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    return np.stack([np.arange(n), -np.arange(n)], axis=1).astype(float), 10.0 * np.arange(n)


def row_numbers(n: int, order: str, n_rounds: int, n_runs: int = 1) -> np.ndarray:
    """Row numbers [runs, rounds]; instances and answers are of the same row."""
    x, y = play_environment(jo.environments.DataStream(*numbered_rows(n), order=order), n_rounds, n_runs)
    np.testing.assert_array_equal(y, 10 * x[..., 0])
    np.testing.assert_array_equal(x[..., 1], -x[..., 0])
    return x[..., 0].astype(int)


def test_file_order_repeats_the_rows():
    np.testing.assert_array_equal(row_numbers(5, "file", 13, 2), np.tile(np.arange(13) % 5, (2, 1)))
    assert row_numbers(1, "shuffled", 3).tolist() == [[0, 0, 0]]


def test_shuffled_passes_contain_every_row_once():
    """Every pass of every run is a permutation of all rows, and all permutations differ."""
    row_draws = row_numbers(20, "shuffled", 20 * 6 + 7, 8)
    passes = row_draws[:, :120].reshape(-1, 20)
    np.testing.assert_array_equal(np.sort(passes, axis=1), np.tile(np.arange(20), (48, 1)))
    assert len({tuple(order) for order in passes}) == 48
    assert all(len(set(unfinished)) == 7 for unfinished in row_draws[:, 120:])


@pytest.mark.long
def test_shuffled_passes_are_uniform():
    """All 6 orders of 3 rows, over 1,000 runs of 4 passes; also of a pass given the pass before (36 pairs).
    Chi-square, false alarm 1e-6 each. Probabilities of 7/36 and 5/36 for two orders are detected."""
    passes = row_numbers(3, "shuffled", 12, 1000).reshape(1000, 4, 3)
    orders = list(itertools.permutations(range(3)))
    number = {order: i for i, order in enumerate(orders)}
    order_numbers = np.array([[number[tuple(order)] for order in run] for run in passes])
    assert stats.chisquare(np.bincount(order_numbers.ravel(), minlength=6)).pvalue > FALSE_ALARM
    pairs = (6 * order_numbers[:, [0, 2]] + order_numbers[:, [1, 3]]).ravel()
    assert stats.chisquare(np.bincount(pairs, minlength=36)).pvalue > FALSE_ALARM
    mutant = np.where((order_numbers == 0) & (np.arange(4000).reshape(1000, 4) % 4 == 0), 1, order_numbers)
    assert stats.chisquare(np.bincount(mutant.ravel(), minlength=6)).pvalue < FALSE_ALARM


@pytest.mark.long
def test_resampled_rows_are_uniform_and_independent():
    """Chi-square over 7 rows, and over the 49 pairs of successive rounds; false alarm 1e-6 each."""
    row_draws = row_numbers(7, "iid", 200, 100)
    assert stats.chisquare(np.bincount(row_draws.ravel(), minlength=7)).pvalue > FALSE_ALARM
    pairs = (7 * row_draws[:, 0::2] + row_draws[:, 1::2]).ravel()
    assert stats.chisquare(np.bincount(pairs, minlength=49)).pvalue > FALSE_ALARM
    assert len({tuple(run) for run in row_draws}) == 100
    mutant = np.where((row_draws == 0) & (np.arange(20_000).reshape(100, 200) % 5 == 0), 1, row_draws)
    assert stats.chisquare(np.bincount(mutant.ravel(), minlength=7)).pvalue < FALSE_ALARM


@pytest.mark.long
def test_the_linear_model_answers_with_its_weights():
    """Answers are <weights, x> + noise; the noise is standard normal times noise_std (false alarm 1e-6)."""
    weights = np.array([0.5, -1.0, 2.0])
    x, y = play_environment(jo.environments.LinearModel(weights, noise_std=0.0), 500, 20)
    np.testing.assert_allclose(y, x @ weights, atol=1e-5)
    x, y = play_environment(jo.environments.LinearModel(weights, noise_std=0.3), 500, 20)
    noise = (y - x @ weights).ravel() / 0.3
    assert stats.kstest(noise, "norm").pvalue > FALSE_ALARM
    assert stats.kstest(noise * 1.15, "norm").pvalue < FALSE_ALARM
    assert abs(np.corrcoef(noise, x[..., 0].ravel())[0, 1]) < 5 / np.sqrt(noise.size)


@pytest.mark.long
@pytest.mark.parametrize("instances", some(["gaussian", "sphere", "cube"], "sphere"))
def test_instances_have_their_distribution(instances):
    """A coordinate or the length has SciPy's distribution (false alarm 1e-6 each); instances of all rounds differ."""
    d, radius = 3, 2.0
    x, _ = play_environment(jo.environments.LinearModel(np.ones(d), radius=radius, instances=instances), 500, 20)
    points = x.reshape(-1, d).astype(float)
    assert len(np.unique(points, axis=0)) == len(points)
    squares = np.sum(points**2, axis=1)
    if instances == "gaussian":
        assert stats.kstest(points.ravel(), stats.norm(scale=radius / np.sqrt(d)).cdf).pvalue > FALSE_ALARM
        assert stats.kstest(squares * d / radius**2, stats.chi2(d).cdf).pvalue > FALSE_ALARM
        return
    if instances == "sphere":  # in three dimensions a coordinate of the sphere is uniform (Archimedes)
        np.testing.assert_allclose(squares, radius**2, rtol=1e-5)
    else:
        assert np.abs(points).max() <= radius
    for coordinate in points.T:
        assert stats.kstest(coordinate, stats.uniform(-radius, 2 * radius).cdf).pvalue > FALSE_ALARM
    z = [abs(np.mean(a * b)) / np.std(a * b) * np.sqrt(len(a)) for a, b in itertools.combinations(points.T, 2)]
    assert max(z) < stats.norm.ppf(1 - FALSE_ALARM / 6)


def test_the_series_without_noise_is_its_recursion(x64):
    coefficients = np.array([0.5, -0.3, 0.2])
    series = jo.environments.Autoregressive(coefficients, noise_std=0.0)
    state, past, key = jnp.array([1.0, -2.0, 0.5]), collections.deque([1.0, -2.0, 0.5], maxlen=3), jax.random.key(0)
    for t in range(1, 10):
        x, state = series.instance(key, state, jnp.int32(t))
        np.testing.assert_allclose(x, past, rtol=1e-12)
        y, state = series.outcome(key, state, jnp.int32(t), x, jnp.float64(0.0))
        past.appendleft(float(coefficients @ np.array(past)))
        np.testing.assert_allclose(y, past[0], rtol=1e-12)


def test_the_series_starts_from_zeros_and_has_normal_innovations():
    """x_t holds the last values, newest first; innovations are independent and normal (false alarm 1e-6)."""
    coefficients, runs = np.array([0.6, -0.3]), 20
    x, y = play_environment(jo.environments.Autoregressive(coefficients, noise_std=2.0), 300, runs)
    np.testing.assert_array_equal(x[:, 0], np.zeros((runs, 2)))
    np.testing.assert_array_equal(x[:, 1:, 0], y[:, :-1])
    np.testing.assert_array_equal(x[:, 2:, 1], y[:, :-2])
    innovations = ((y - x @ coefficients) / 2.0).astype(float)
    assert stats.kstest(innovations.ravel(), "norm").pvalue > FALSE_ALARM
    neighbours = np.corrcoef(innovations[:, 1:].ravel(), innovations[:, :-1].ravel())[0, 1]
    assert abs(neighbours) < 5 / np.sqrt(innovations.size)
    assert len(np.unique(y[:, 5])) == runs


ALL = {
    "file": lambda: jo.environments.DataStream(*numbered_rows(4)),
    "shuffled": lambda: jo.environments.DataStream(*numbered_rows(4), order="shuffled"),
    "iid": lambda: jo.environments.DataStream(*numbered_rows(4), order="iid"),
    "linear": lambda: jo.environments.LinearModel(np.ones(2)),
    "series": lambda: jo.environments.Autoregressive([0.5, -0.2]),
}


def test_exactly_the_adversaries_that_react_are_not_oblivious():
    classes = {name: getattr(jo.environments, name) for name in exported_names(jo.environments)}
    facts = {
        name: value.oblivious
        for name, value in classes.items()
        if inspect.isclass(value) and issubclass(value, Environment)
    }
    reacting = {"OppositeLabels", "OppositeInstances", "ContraryLabels", "ContraryLosses", "RestedArms"}
    assert {name for name, fact in facts.items() if fact is False} == reacting
    assert {name for name, fact in facts.items() if fact not in (True, False)} == {"Rewards"}  # that of its environment


@pytest.mark.parametrize("both_precisions", some([False, True], False), indirect=True)
@pytest.mark.parametrize("name", some(ALL, "file"))
def test_environments_keep_their_declared_specs_and_traits(name, both_precisions):
    """Instances have the declared shape and dtype in both precisions; runs are identical only if it is deterministic;
    outcomes do not depend on predictions if it is oblivious."""
    environment = ALL[name]()
    assert isinstance(environment, Environment)
    assert environment.instance_spec == jax.ShapeDtypeStruct((2,), both_precisions)
    x, y = play_environment(environment, 9, 3)
    assert (x.dtype, y.dtype, x.shape) == (both_precisions, both_precisions, (3, 9, 2))
    assert environment.deterministic == bool((x == x[0]).all() and (y == y[0]).all())
    again = play_environment(environment, 9, 3)
    np.testing.assert_array_equal(again[0], x)
    assert (play_environment(environment, 9, 3, key=1)[0] == x).all() == environment.deterministic

    assert environment.oblivious
    key, t = jax.random.key(0), jnp.int32(1)
    instance, state = environment.instance(key, environment.init(key), t)
    answers = [environment.outcome(key, state, t, instance, jnp.asarray(p, both_precisions)) for p in (0.0, np.nan)]
    jax.tree.map(np.testing.assert_array_equal, *answers)
