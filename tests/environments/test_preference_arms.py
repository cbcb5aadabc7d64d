"""Arms that are compared in pairs, and their comparators."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import jaxonline as jo
from jaxonline.environments import PreferenceArms
from jaxonline.losses import PairLoss, SmallestArms
from jaxonline.parameters.struct import cast_leaves

pytestmark = pytest.mark.fast_compile

PREFERENCES = np.array([[0.5, 0.4, 0.9, 1.0], [0.6, 0.5, 0.7, 0.55], [0.1, 0.3, 0.5, 0.2], [0.0, 0.45, 0.8, 0.5]])
WINNER = 1


def duels_of(n_rounds, dtype=np.float32):
    arms = cast_leaves(PreferenceArms(PREFERENCES), dtype)
    answer = jax.jit(jax.vmap(lambda key: arms.outcome(key, (), 1, None, None)[0].vector()))
    return np.asarray(answer(jax.random.split(jax.random.key(0), n_rounds)))


def test_probabilities_of_winning_are_the_preferences():
    """Exact binomial tests of the six pairs, false alarm 1e-6 each; pairs are not correlated; one arm of two wins."""
    duels, n = duels_of(20_000), 20_000
    np.testing.assert_array_equal(duels + duels.transpose(0, 2, 1), 1.0)
    np.testing.assert_array_equal(np.diagonal(duels, axis1=1, axis2=2), 0.5)
    assert set(np.unique(duels[:, ~np.eye(4, dtype=bool)])) == {0.0, 1.0}
    for i in range(4):
        for j in range(i):
            assert stats.binomtest(int(duels[:, i, j].sum()), n, PREFERENCES[i, j]).pvalue > 1e-6
    lower = np.tril_indices(4, -1)
    assert np.abs(np.corrcoef(duels[:, lower[0], lower[1]][:, [0, 1, 2, 4, 5]].T) - np.eye(5)).max() < 0.05


@pytest.mark.long
def test_one_duel_has_the_bits_of_the_matrix(both_precisions):
    arms = cast_leaves(PreferenceArms(PREFERENCES), both_precisions)

    @jax.jit
    def single(key, i, j):
        return arms.outcome(key, (), 1, None, None)[0][i, j]

    for seed in range(5):
        duels = arms.outcome(jax.random.key(seed), (), 1, None, None)[0].vector()
        assert duels.dtype == both_precisions
        entries = [[single(jax.random.key(seed), jnp.int32(i), jnp.int32(j)) for j in range(4)] for i in range(4)]
        np.testing.assert_array_equal(np.array(entries), duels)


@pytest.mark.parametrize(
    ("preferences", "message"),
    [
        ([[0.5, 0.7], [0.4, 0.5]], r"\[0, 1\].*0.4 at \[1, 0\]"),
        ([[0.6, 0.5], [0.5, 0.4]], r"\[0, 0\]"),
        ([[0.5, 1.2], [-0.2, 0.5]], "at most 1"),
        ([[0.5, 0.5]], "square"),
        ([0.5, 0.5], "2 dimensions"),
    ],
)
def test_matrices_that_are_not_preferences_raise_errors(preferences, message):
    for make in (PreferenceArms, jo.CondorcetWinner):
        with pytest.raises(ValueError, match=rf"^preferences: .*{message}"):
            make(preferences)


def test_condorcet_winner_is_found_and_its_absence_is_an_error():
    best = jo.CondorcetWinner(PREFERENCES)
    assert best.best_predictor == WINNER
    assert best.loss.winner == WINNER
    cycle = np.array([[0.5, 0.6, 0.4], [0.4, 0.5, 0.6], [0.6, 0.4, 0.5]])
    for without_winner in (cycle, np.full((2, 2), 0.5)):
        with pytest.raises(ValueError, match=r"^preferences: .*Condorcet"):
            jo.CondorcetWinner(without_winner)


@pytest.mark.filterwarnings("ignore:all runs of")
def test_game_must_have_the_loss_of_the_winner():
    @jo.struct
    class Fixed(jo.Learner):
        def init(self, key, specs):
            return jnp.float32(0.0)

        def predict(self, key, state, x):
            return jnp.array([0, 2], jnp.int32)

        def update(self, key, state, oracle):
            return state + oracle.first_wins(), ()

    def regret(winner):
        game = jo.Game(PreferenceArms(PREFERENCES), jo.Duel(), PairLoss(winner), pseudo=True)
        comparator = jo.CondorcetWinner(PREFERENCES)
        return jo.simulate(game, Fixed(), n_runs=2, n_rounds=10, record_at=1, comparator=comparator)

    result = regret(WINNER)
    np.testing.assert_allclose(result.regret, 10 * (0.1 + 0.2) / 2, rtol=1e-5)
    np.testing.assert_array_equal(result.comparator_loss, 0.0)
    with pytest.raises(ValueError, match=r"comparator.*PairLoss\(winner=1\)"):
        regret(0)


def test_best_set_has_the_smallest_cumulative_loss():
    sums = np.random.default_rng(0).random((2, 3, 6))
    best = jo.BestSet(SmallestArms(3))
    np.testing.assert_allclose(best.best_loss(sums), np.sort(sums, axis=-1)[..., :3].sum(axis=-1), rtol=1e-14)
    expected = np.sort(np.argsort(sums, axis=-1)[..., :3], axis=-1)
    np.testing.assert_array_equal(best.best_predictor(sums), expected)
    close = np.array([1e9, 1e9 - 1e-3, 2e9])  # equal in float32
    assert jo.BestSet(SmallestArms(1)).best_predictor(close).tolist() == [1]
