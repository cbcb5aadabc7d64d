"""Measured copies: the same runs as with the noise that produced them, and errors or failed runs for missing copies."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from registry import LEARNERS, noisy
from tiers import some

import jaxonline as jo
from jaxonline.estimators import KnownCovariance, MeanOfCopies, TwoCopies
from jaxonline.game.keys import stream_keys
from jaxonline.parameters.errors import DivergedRunsWarning

D, ROUNDS, MEASURED = 3, 8, 16
ROWS = np.random.default_rng(0)
X, Y = ROWS.normal(size=(ROUNDS, D)).astype(np.float32), ROWS.normal(size=ROUNDS).astype(np.float32)
STREAM = jo.environments.DataStream(X, Y)
COPIES = X[:, None] + ROWS.normal(size=(ROUNDS, 4, D)).astype(np.float32)
LABELS = Y[:, None] + ROWS.normal(size=(ROUNDS, 3)).astype(np.float32)


def learner(estimator):
    return jo.GradientLearner(estimator, step_size=0.05)


def recorded(feedback, key, measured=MEASURED):
    oracle_key = stream_keys(key).oracle

    @jax.jit
    @jax.vmap
    def measure(t, x, y):
        oracle = feedback.open(jax.random.fold_in(oracle_key, t), t, x, y, 0.0)
        indices = jnp.arange(measured, dtype=jnp.int32)
        return jax.vmap(oracle.reserve(jnp.int32(measured)))(indices), jax.vmap(oracle.label)(indices)

    return measure(jnp.arange(1, ROUNDS + 1, dtype=jnp.int32), jnp.asarray(X), jnp.asarray(Y))


PLAYERS = some(
    ["two copies", "known covariance", "mean of copies", "noisy kernel, Gaussian, ball"],
    "two copies",
    "known covariance",
)


@pytest.mark.parametrize("name", PLAYERS)
def test_recorded_noise_gives_the_run_with_that_noise(name):
    """The learner of the registry makes the same moves and queries with the noise and with its recorded copies."""
    entry, key = LEARNERS[name](), jax.random.key(3)
    feedback = entry.feedback
    copies, labels = recorded(feedback, key)
    measured = jo.Replicates(copies, labels, covariance=feedback.noise.covariance)
    with entry.promotion():
        _, drawn = jo.play(jo.Game(STREAM, feedback, loss=entry.loss), entry.learner, key, ROUNDS)
        _, replayed = jo.play(jo.Game(STREAM, measured, loss=entry.loss), entry.learner, key, ROUNDS)
    most = int(drawn.queries.max())
    assert most <= MEASURED, "otherwise the run would fail"
    np.testing.assert_array_equal(drawn.queries, replayed.queries)
    np.testing.assert_allclose(drawn.y_hat, replayed.y_hat, rtol=1e-5, atol=1e-6)
    assert np.ptp(np.asarray(drawn.y_hat)) > 0


def test_the_oracle_returns_the_measured_rows_and_counts_distinct_copies():
    oracle = jo.Replicates(COPIES, LABELS).open(None, jnp.int32(3), X[2], Y[2], 0.0)
    np.testing.assert_array_equal(oracle.copy(1), COPIES[2, 1])
    np.testing.assert_array_equal(oracle.copies(0, 3), COPIES[2, :3])
    assert oracle.queries().item() == 3
    draw = oracle.reserve(jnp.int32(2))
    np.testing.assert_array_equal(jax.vmap(draw)(jnp.arange(4)), COPIES[2])
    np.testing.assert_array_equal(oracle.copies(1, 3, jnp.int32(2)), [*COPIES[2, 1:3], np.zeros(D)])
    assert oracle.queries().item() == 7
    assert float(oracle.label(2)) == LABELS[2, 2]
    np.testing.assert_array_equal(oracle.labels(3, jnp.int32(2))[:2], LABELS[2, :2])
    clean = jo.Replicates(COPIES).open(None, jnp.int32(3), X[2], jnp.asarray(Y[2]), 0.0)
    assert float(clean.label(7)) == Y[2]
    assert clean.labels(3, jnp.int32(2)).tolist() == [Y[2]] * 3


def test_a_known_distribution_reveals_its_covariance():
    """The run of `KnownCovariance` is that with the covariance given."""
    matrix = np.diag([0.3, 0.2, 0.5])
    known = jo.Replicates(COPIES, LABELS, noise=jo.noise.gaussian([0.3, 0.2, 0.5]))
    games = [jo.Game(STREAM, feedback) for feedback in (jo.Replicates(COPIES, LABELS, matrix), known)]
    runs = [jo.play(game, learner(KnownCovariance()), 0, ROUNDS)[1].y_hat for game in games]
    np.testing.assert_allclose(*runs, rtol=1e-5)
    assert np.ptp(np.asarray(runs[0])) > 0
    assert known.noise is known.noise


def test_a_random_number_of_copies_is_answered_in_full_or_with_nan():
    @jax.jit
    def ask(first_number):
        oracle = jo.Replicates(COPIES, LABELS).open(None, jnp.int32(1), X[0], Y[0], 0.0)
        rows = oracle.copies(0, 6, first_number)
        return rows, oracle.reserve(first_number)(jnp.int32(0)), oracle.labels(6, first_number), oracle.queries()

    rows, first, labels, queries = ask(jnp.int32(4))
    np.testing.assert_array_equal(rows, np.concatenate([COPIES[0], np.zeros((2, D), np.float32)]))
    np.testing.assert_array_equal(first, COPIES[0, 0])
    np.testing.assert_array_equal(labels[:3], LABELS[0])
    assert np.isnan(labels[3:]).all()
    assert int(queries) == 8
    rows, first, *_ = ask(jnp.int32(5))
    assert np.isnan(rows[:5]).all()
    assert np.isnan(first).all()
    assert not rows[5].any()
    later = jo.Replicates(COPIES).open(None, jnp.int32(ROUNDS + 1), X[0], Y[0], 0.0)
    assert np.isnan(later.copy(0)).all()


@pytest.mark.parametrize("number", [0, 1, 3])
def test_a_draw_that_is_out_of_range_is_nan(number):
    draw = jo.Replicates(COPIES).open(None, jnp.int32(1), X[0], Y[0], 0.0).reserve(jnp.int32(number))
    assert np.isnan(draw(jnp.int32(4))).all()
    assert np.isnan(draw(jnp.int32(-1))).all()


@jo.struct
class Reserves(jo.Learner):
    def init(self, key, specs):
        return jnp.int32(1)

    def predict(self, key, state, x):
        return x[0]

    def update(self, key, state, oracle):
        oracle.reserve(state)
        return state + 1, ()


def test_a_run_fails_in_any_round_with_too_many_copies_also_if_they_are_unused():
    game = jo.Game(STREAM, jo.Replicates(COPIES))  # 4 copies
    with pytest.warns(DivergedRunsWarning, match=r"from round 5 on.*the 4 measured"):
        result = jo.simulate(game, Reserves(), n_runs=2, n_rounds=5)
    assert result.first_nonfinite.tolist() == [[5, 5]]
    risk = jo.learners.held_out_risk(game, Reserves(), X, Y, 5, 2)
    assert risk.overflowed.tolist() == [True, True]
    assert not jo.learners.held_out_risk(game, Reserves(), X, Y, 4).overflowed.any()
    assert jo.Delayed(jo.Replicates(COPIES), 1).max_copies is None, "two rounds may be charged at once"


@pytest.mark.parametrize(
    ("stream", "copies", "message"),
    [
        (jo.environments.DataStream(X[:, :2], Y), COPIES, "X: must have copies"),
        (jo.environments.DataStream(X, X), COPIES, "y: must be None unless"),
        (STREAM, COPIES[1:], "environment: must have as many rows as Replicates, 7"),
        (jo.replace(STREAM, order="shuffled"), COPIES, "environment: must be the same in every run"),
    ],
)
def test_replicates_of_another_game_raise_an_error(stream, copies, message):
    measured = jo.Replicates(copies, LABELS[: len(copies)])
    with pytest.raises(ValueError, match=message):
        jo.Game(stream, measured)
    if stream is STREAM:
        with pytest.raises(ValueError, match=message):
            jo.play(jo.Game(STREAM, noisy()), jo.WithFeedback(learner(TwoCopies()), measured), 0, 4)


@pytest.mark.parametrize(
    ("estimator", "n_rounds", "message"),
    [
        (MeanOfCopies(5), 4, "copies: must be at most 4 a round, as many as are measured .got 5"),
        (TwoCopies(), ROUNDS + 1, "n_rounds: must be at most 8, the rounds of Replicates .got 9"),
        (KnownCovariance(), 4, "covariance: must be given to Replicates"),
    ],
)
def test_a_game_that_is_not_measured_raises_an_error_before_the_first_round(estimator, n_rounds, message):
    game = jo.Game(STREAM, jo.Replicates(COPIES))
    with pytest.raises(ValueError, match=message):
        jo.play(game, learner(estimator), 0, n_rounds)
    with pytest.raises(ValueError, match=message):
        jo.simulate(game, learner(estimator), n_runs=2, n_rounds=n_rounds)


def test_an_evaluation_of_more_rounds_than_are_measured_raises_an_error():
    game = jo.Game(STREAM, jo.Replicates(COPIES))
    with pytest.raises(ValueError, match=r"n_rounds: must be at most 8, the rounds of Replicates .got 9"):
        jo.learners.held_out_risk(game, learner(TwoCopies()), X, Y, ROUNDS + 1)
    assert jo.Replicates(COPIES).max_rounds == ROUNDS
