"""Delayed feedback: when answers arrive, equality without delay, a NumPy loop with a queue, and the theorems."""

import delayed_reference as reference
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiers import some

import jaxonline as jo
from jaxonline import bounds
from jaxonline.game import Draw
from jaxonline.learners import BOLD, EWA, EXP3, UCB1, Hedge, UpdateOnArrival

LOSSES = np.random.default_rng(0).random((60, 3)).astype(np.float32)
GIVEN = np.random.default_rng(1).integers(0, 6, 60).tolist()
DELAYS = {"fixed": (4, [4] * 60), "given": (GIVEN, GIVEN), "none": (0, [0] * 60)}


def game_of(feedback, losses=LOSSES, loss=None):
    return jo.Game(jo.environments.DataStream(None, losses), feedback, loss=loss or jo.losses.ArmLoss())


def play(game, learner, n_rounds=60, seed=0):
    return jo.play(game, learner, jax.random.key(seed), n_rounds)[1]


@pytest.mark.parametrize("name", DELAYS)
def test_ucb1_equals_a_loop_with_a_queue(name):
    delay, delays = DELAYS[name]
    history = play(game_of(jo.Delayed(jo.Bandit(), delay)), UpdateOnArrival(UCB1(ties="first")))
    assert history.y_hat.tolist() == reference.delayed_ucb1(LOSSES, delays)
    assert history.answers.tolist() == [len(reference.arrivals(delays, t)) for t in range(1, 61)]
    np.testing.assert_array_equal(history.queries, history.answers)


@pytest.mark.parametrize("name", DELAYS)
def test_exp3_uses_the_probabilities_of_the_round_that_is_answered(name):
    delay, delays = DELAYS[name]
    history = play(game_of(jo.Delayed(jo.Bandit(), delay)), UpdateOnArrival(EXP3(0.05)))
    expected = reference.delayed_exp3(LOSSES, delays, 0.05, history.y_hat.arm.tolist())
    np.testing.assert_allclose(history.y_hat.probabilities, expected, rtol=2e-4)


@pytest.mark.parametrize("name", DELAYS)
def test_bold_equals_a_loop_over_copies(name):
    delay, delays = DELAYS[name]
    game = game_of(jo.Delayed(jo.FullInformation(), delay), loss=jo.losses.ExpectedLoss())
    history = play(game, BOLD(Hedge(EWA(0.5)), max_delay=5))
    expected = reference.bold_hedge(LOSSES, [*delays, 5], 0.5)  # as many copies as BOLD has
    np.testing.assert_allclose(history.y_hat, expected[:60] if len(expected) > 60 else expected, rtol=1e-4)


LEARNERS = {
    "UCB1": (UCB1(), jo.Bandit(), jo.losses.ArmLoss()),
    "EXP3": (EXP3(0.2), jo.Bandit(), jo.losses.ArmLoss()),
    "Hedge": (Hedge(EWA(0.2)), jo.FullInformation(), jo.losses.ExpectedLoss()),
}


@pytest.mark.parametrize("name", some(LEARNERS, "EXP3"))
@pytest.mark.parametrize("wrapper", [UpdateOnArrival, lambda learner: BOLD(learner, 0)], ids=["on arrival", "BOLD"])
def test_without_delay_the_numbers_are_the_same_bit_for_bit(name, wrapper):
    learner, feedback, loss = LEARNERS[name]
    plain = play(game_of(feedback, loss=loss), learner)
    delayed = play(game_of(jo.Delayed(feedback, 0), loss=loss), wrapper(learner))
    jax.tree.map(np.testing.assert_array_equal, plain, delayed)


RANDOM = {"uniform": jo.delays.UniformDelay(6), "geometric": jo.delays.GeometricDelay(2.0, maximum=6)}


@pytest.mark.long
@pytest.mark.parametrize("delay", [*RANDOM.values(), jo.delays.GeometricDelay(0.5, maximum=6)], ids=repr)
def test_random_delays_have_their_distribution(delay):
    """Chi-square test with 20,000 draws: false alarm 1e-6."""
    keys = jax.random.split(jax.random.key(0), 20_000)
    counts = np.bincount(jax.vmap(lambda key: delay.sample(key, jnp.int32(1)))(keys), minlength=7)
    p = np.full(7, 1 / 7)
    if isinstance(delay, jo.delays.GeometricDelay):
        rest = delay.mean / (1 + delay.mean)
        p = (1 - rest) * rest ** np.arange(7)
        p[-1] = rest**6
    assert len(counts) == 7
    statistic = ((counts - 20_000 * p) ** 2 / (20_000 * p)).sum()
    assert statistic < 38.3  # 1 - 1e-6 quantile, 6 degrees of freedom


ROWS = np.random.default_rng(3)
X, Y, MOVES = (ROWS.normal(size=size).astype(np.float32) for size in ((12, 2), 12, 12))
MEASURED = ROWS.normal(size=(12, 3, 2)), ROWS.normal(size=(12, 2))
FEEDBACKS = {
    "noise": (jo.NoisyCopies(jo.noise.gaussian(0.3), label_noise=jo.noise.laplace(0.5)), jo.delays.UniformDelay(3)),
    "replicates": (jo.Replicates(*MEASURED), [3, 0, 1, 0, 2]),
    "adversary": (jo.AdversarialCopies(jo.environments.ChasingNoise(0.5, always=True)), 2),
}


def answer(oracle):
    """Copies 0, 1 and 2 (one alone, two of three together), two labels, and the number of queries."""
    copies = oracle.copies(1, 3, jnp.int32(2))
    numbers = jnp.stack([oracle.label(), oracle.label(1), oracle.queries().astype(jnp.float32)])
    return jnp.concatenate([oracle.copy(0), copies.ravel(), numbers])


@pytest.mark.long
@pytest.mark.parametrize("name", FEEDBACKS)
def test_an_answer_is_that_of_the_round_of_the_prediction(name):
    """Every arrival equals the oracle that a loop opened in its round, with the key, row and state of that round; the
    delays have their own key. Answers that nobody looks at cost no queries."""
    base, delay = FEEDBACKS[name]
    delayed, specs, first = jo.Delayed(base, delay), jo.game.Specs.of_vectors(2), jax.random.key(1)
    keys, rounds = jax.random.split(jax.random.key(2), 12), jnp.arange(1, 13, dtype=jnp.int32)

    def play(state, inputs):
        key, t, x, y, move = inputs
        oracle = delayed.open(key, t, x, y, move, state)
        unused = oracle.queries()

        def add(carry, arrival):
            table, n = carry
            about = jnp.stack([arrival.round.astype(x.dtype), arrival.age.astype(x.dtype), arrival.move])
            return table.at[n].set(jnp.concatenate([about, answer(arrival.oracle)])), n + 1

        table, _ = oracle.for_each(add, (jnp.zeros((5, 14)), jnp.int32(0)))
        following = delayed.observe(key, state, t, x, y, move)
        return following, (table, oracle.answers(), oracle.queries(), unused)

    inputs = keys, rounds, *map(jnp.asarray, (X, Y, MOVES))
    _, (tables, numbers, queries, unused) = jax.lax.scan(play, delayed.init(first, specs, specs.outcome), inputs)
    state, opened, delays = base.init(first, specs, specs.outcome), [], []
    look = jax.jit(lambda *arguments: answer(base.open(*arguments)))
    for arguments in zip(*inputs, strict=True):
        opened.append(np.asarray(look(*arguments, state)))
        state = base.observe(arguments[0], state, *arguments[1:])
        t = arguments[1]
        delays.append(int(delayed.delay.sample(jax.random.fold_in(jax.random.fold_in(first, jnp.uint32(2**31)), t), t)))
    for t in range(1, 13):
        arrived = reference.arrivals(delays, t)
        assert (numbers[t - 1], queries[t - 1], unused[t - 1]) == (len(arrived), 3 * len(arrived), 0)
        expected = np.zeros((5, 14))
        for row, s in enumerate(arrived):
            expected[row] = [s, t - s, MOVES[s - 1], *opened[s - 1]]
        np.testing.assert_allclose(tables[t - 1], expected, rtol=1e-5, atol=1e-6)
    assert name == "adversary" or len(set(delays)) > 1


@pytest.mark.long
def test_the_measure_counts_unanswered_rounds():
    game = game_of(jo.Delayed(jo.Bandit(), GIVEN))
    measures = [jo.Unanswered()]
    result = jo.simulate(game, UpdateOnArrival(UCB1()), n_runs=2, n_rounds=60, record_at=60, measures=measures)
    expected = [sum(s + GIVEN[s - 1] > t for s in range(1, t + 1)) for t in range(1, 61)]
    assert result.measures["unanswered"][0, 1].tolist() == expected


@pytest.mark.long
@pytest.mark.parametrize("delay", [0, 10, 50])
def test_regret_under_delay_is_below_the_theorems(delay):
    """Means of 500 runs; the bounds are far above, so that a false alarm has a probability below 1e-9."""
    n_rounds, means = 2000, np.array([0.3, 0.5, 0.6, 0.7])
    arms = jo.environments.BernoulliArms(means)
    eta = min(1 / (2 * np.e * (delay + 1)), np.sqrt(np.log(4) / (n_rounds * (np.e * 2 + delay))))
    bandits = {"UCB1": UpdateOnArrival(UCB1()), "EXP3": UpdateOnArrival(EXP3(eta))}
    game = jo.Game(arms, jo.Delayed(jo.Bandit(), delay), loss=jo.losses.ArmLoss(), pseudo=True)
    result = jo.simulate(game, bandits, n_runs=500, n_rounds=n_rounds, key=1, comparator=jo.BestArm(), record_at=1)
    ucb1, exp3 = np.asarray(result.regret)[:, :, -1].mean(axis=1)
    assert 0 < ucb1 <= bounds.delayed_ucb1(means - 0.3, delay, n_rounds)
    assert 0 < exp3 <= bounds.delayed_exp3(4, delay, n_rounds, eta)
    game = jo.Game(arms, jo.Delayed(jo.FullInformation(), delay), loss=jo.losses.ExpectedLoss())
    rate = np.sqrt(8 * np.log(4) * (delay + 1) / n_rounds)
    hedge = jo.simulate(
        game, BOLD(Hedge(EWA(rate)), delay), n_runs=500, n_rounds=n_rounds, comparator=jo.BestArm(), record_at=1
    )
    assert hedge.regret[0, :, -1].max() <= bounds.bold(lambda T: np.sqrt(T * np.log(4) / 2), delay, n_rounds)


def test_gradient_descent_equals_a_loop_with_a_queue():
    """Each answer moves the hypothesis by the gradient at the time of its arrival."""
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(60, 3)).astype(np.float32), rng.normal(size=60).astype(np.float32)
    game = jo.Game(jo.environments.DataStream(X, y), jo.Delayed(jo.FullInformation(), GIVEN))
    learner = UpdateOnArrival(jo.GradientLearner(jo.estimators.FullGradient(), 0.05, radius=0.7))
    expected = reference.delayed_gradient_descent(X, y, GIVEN, step=0.05, radius=0.7)
    np.testing.assert_allclose(play(game, learner).y_hat, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("move", [np.int32(2), Draw(np.int32(2), np.full(3, 1 / 3))], ids=["arm", "draw"])
def test_a_bandit_charges_one_query_for_any_number_of_looks(move):
    oracle = jo.Bandit().open(None, jnp.int32(1), (), LOSSES[0], move)
    assert oracle.queries() == 0
    assert [float(oracle.loss()) for _ in range(3)] == [LOSSES[0, 2]] * 3
    assert oracle.queries() == 1


def test_an_outcome_on_request_is_shown_and_charged_only_if_it_is_asked():
    """Zeros do not depend on the outcome; a second question is free, and does not show the outcome to another call."""
    oracle = jo.OnRequest().open(None, jnp.int32(1), (), LOSSES[0], ())
    assert oracle.queries() == 0
    np.testing.assert_array_equal(oracle.outcome(jnp.bool_(False)), np.zeros(3))
    assert oracle.queries() == 0
    for _ in range(2):
        np.testing.assert_array_equal(oracle.outcome(jnp.bool_(True)), LOSSES[0])
        assert oracle.queries() == 1
    np.testing.assert_array_equal(oracle.outcome(jnp.bool_(False)), np.zeros(3))
    assert oracle.queries() == 1
