"""Games that one noisy copy does not tell apart, for any distribution of the copies, and the least larger regret."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import jaxonline as jo
from benchmarks.papers.estimators.games import indistinguishable_games, unavoidable_regret_of_games
from jaxonline.environments import unavoidable_regret

FALSE_ALARM = 1e-6
GROUPS = np.array([[[0.7, 0.1], [-0.3, 0.9], [0.1, 0.2]], [[-1.1, 0.3], [0.2, 0.4], [0.7, 0.1]]])
LABELS = np.array([1.0, -0.5])


def draw_rounds(game, n):
    environment, noise = game.environment, game.feedback.noise

    @jax.jit
    @jax.vmap
    def one(key):
        keys = [jax.random.fold_in(key, i) for i in range(4)]
        state = environment.init(keys[0])
        x, state = environment.instance(keys[1], state, jnp.int32(1))
        y, _ = environment.outcome(keys[1], state, jnp.int32(1), x, jnp.float32(0.0))
        return x, y, x + noise.sample(keys[2], jnp.int32(1), x), x + noise.sample(keys[3], jnp.int32(1), x)

    return [np.asarray(part) for part in one(jax.random.split(jax.random.key(0), n))]


def as_points(y, *copies):
    return [tuple(row) for row in np.column_stack([y, *copies]).tolist()]


@pytest.fixture(scope="module")
def rounds():
    return [draw_rounds(game, 12_000) for game in indistinguishable_games(GROUPS, LABELS)]


@pytest.mark.long
def test_one_copy_has_the_same_distribution_in_both_games_and_two_have_not(rounds):
    """Label and copy: the same six values bit for bit, each with probability 1/6 (chi-square, false alarm 1e-6 each;
    the mutant with a share of 1/5 for one value is caught). Two copies: equal without noise, and with noise one time
    in three."""
    values = []
    for x, y, first, second in rounds:
        points, counts = np.unique(as_points(y, first), axis=0, return_counts=True)
        values.append(points)
        assert stats.chisquare(counts).pvalue > FALSE_ALARM
        mutant = counts * np.array([1.2, *[0.96] * 5])
        assert stats.chisquare(mutant, np.full(6, mutant.mean())).pvalue < FALSE_ALARM
        same = (first == second).all(axis=1)
        if np.unique(x, axis=0).shape[0] == 2:
            assert stats.binomtest(int(same.sum()), len(same), 1 / 3).pvalue > FALSE_ALARM
        else:
            assert same.all()
            np.testing.assert_array_equal(x, first)
    np.testing.assert_array_equal(*values)
    wanted = np.unique(np.column_stack([np.repeat(LABELS, 3), GROUPS.reshape(6, 2)]), axis=0)
    np.testing.assert_allclose(values[0], wanted, atol=1e-6)


def test_instances_with_noise_are_the_means_and_the_covariance_is_that_of_the_group(rounds):
    x = np.unique(rounds[1][0], axis=0)
    np.testing.assert_allclose(x, np.unique(GROUPS.mean(axis=1), axis=0), atol=1e-6)
    quiet, loud = indistinguishable_games(GROUPS, LABELS, reveal_covariance=True)
    for j in range(2):
        mean = jnp.asarray(GROUPS[j].mean(axis=0), jnp.float32)
        covariance = loud.feedback.noise.covariance_at(jnp.int32(1), mean)
        np.testing.assert_allclose(covariance, np.cov(GROUPS[j].T, bias=True), atol=1e-5)
        assert not np.asarray(quiet.feedback.noise.covariance_at(jnp.int32(1), mean)).any()
    assert loud.feedback.reveal_covariance


@pytest.mark.parametrize("radius", [0.3, 4.0])
def test_the_pair_of_theorem_3_is_a_special_case(radius):
    """Also scaled: points times 5 in a ball of a fifth of the radius."""
    wanted = unavoidable_regret(radius)
    for scale in (1.0, 5.0):
        points = scale * np.array([[[3.0], [-1.0]]])
        assert unavoidable_regret_of_games(points, radius / scale) == pytest.approx(wanted, abs=1e-9)
    assert wanted > 0.03
    assert unavoidable_regret_of_games([[[3.0], [-1.0]]], 0.2) < 1e-9


def by_grid(points, radius, loss):
    centre, half, m = np.zeros(2), radius, points.mean(axis=0)
    grid = radius * np.stack(np.meshgrid(*[np.linspace(-1, 1, 1201)] * 2), axis=-1).reshape(-1, 2)
    grid = grid[np.linalg.norm(grid, axis=1) <= radius]
    least = [loss(grid @ points.T).mean(axis=1).min(), loss(grid @ m).min()]
    for _ in range(8):
        w = centre + half * np.stack(np.meshgrid(*[np.linspace(-1, 1, 201)] * 2), axis=-1).reshape(-1, 2)
        w = w[np.linalg.norm(w, axis=1) <= radius]
        larger = np.maximum(loss(w @ points.T).mean(axis=1) - least[0], loss(w @ m) - least[1])
        centre, half = w[np.argmin(larger)], half / 3
    return larger.min()


@pytest.mark.long
@pytest.mark.parametrize(
    ("loss", "numpys"),
    [(jo.losses.Squared(), lambda a: (a - 1) ** 2), (jo.losses.Logistic(), lambda a: np.logaddexp(0, -a))],
    ids=["squared", "logistic"],
)
def test_the_least_larger_regret_equals_a_grid_search(loss, numpys):
    """In a ball that binds; the least losses on the grid are too large by up to 1e-4 for the logistic loss."""
    points, radius = np.array([[2.0, 0.0], [-1.0, 1.0], [0.5, -0.5]]), 1.1
    value = unavoidable_regret_of_games(points[None], radius, loss=loss)
    assert value == pytest.approx(by_grid(points, radius, numpys), rel=0.01)
    assert value > 0.01
