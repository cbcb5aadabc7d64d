"""Notions of regret, environments that answer back, and long sums."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

import jaxonline as jo
from jaxonline.estimators import FullGradient, NaiveCopy, TwoCopies
from jaxonline.game import CleanRegret, NoisyLearnerRegret, NoisyRegret
from jaxonline.numerics.elementwise import Compensated
from jaxonline.parameters.struct import struct
from jaxonline.simulation.blocks import default_mesh

ONE_DEVICE = default_mesh(jax.devices()[:1])
FALSE_ALARM = 1e-6
LIMIT = stats.norm.ppf(1 - FALSE_ALARM)


def upper(values: np.ndarray) -> float:
    """Upper confidence limit of a mean over runs, wrong with probability 1e-6 (normal limit)."""
    return float(np.mean(values) + LIMIT * np.std(values, ddof=1) / np.sqrt(len(values)))


def lower(values: np.ndarray) -> float:
    return -upper(-values)


# ---------------------------------------------------------------------------------------------------------------------
# Clean, noisy, noisy learner


def sphere_game(regret) -> jo.Game:
    model = jo.environments.LinearModel(np.array([0.6, -0.8]), instances="sphere")
    return jo.Game(model, jo.NoisyCopies(jo.noise.gaussian(0.5)), regret=regret)


def naive_regret(regret) -> np.ndarray:
    """[R, 2] after 400 and 1600 rounds."""
    learner = jo.GradientLearner(NaiveCopy(), step_size=jo.InverseSqrt(0.3), radius=1.0)
    result = jo.simulate(
        sphere_game(regret), learner, n_runs=64, n_rounds=1600, record_at=[400], comparator=jo.L2Ball(1.0),
        mesh=ONE_DEVICE,
    )  # fmt: skip
    return result.regret[0]


@pytest.mark.long
def test_noisy_regret_of_the_naive_learner_is_sublinear_and_its_clean_regret_linear():
    """Appendix A: on the noisy data the naive learner is plain gradient descent, which needs one copy and no more.
    Four times the rounds make the noisy regret less than 3 times as large, and the clean regret more than 3.5 times
    (linear would be 4, a square root 2); each statement is wrong with probability 1e-6 at most."""
    noisy, clean = naive_regret(NoisyRegret()), naive_regret(CleanRegret())
    assert upper(noisy[:, 1] - 3 * noisy[:, 0]) < 0
    assert lower(clean[:, 1] - 3.5 * clean[:, 0]) > 0
    assert lower(clean[:, 1]) > 0.05 * 1600


@pytest.mark.long
def test_noisy_learner_regret_of_any_linear_learner_is_linear():
    """Appendix A, Eq. 5: with x = y = 1 and noise of variance 1, E (w x~ - y)^2 = (w - 1)^2 + w^2 >= 1/2 for every w,
    while the comparator, which sees x, has no loss: regret >= T/2, whatever the learner knows. The naive learner is
    the best one here: it comes within 10 % of the bound. Each comparison is wrong with probability 1e-6."""
    game = jo.Game(
        jo.environments.DataStream(np.ones((1, 1)), np.ones(1)), jo.NoisyCopies(jo.noise.gaussian(1.0)),
        regret=NoisyLearnerRegret(),
    )  # fmt: skip
    options = {"step_size": jo.InverseSqrt(0.2), "radius": 1.0}
    learners = {
        "full": jo.Entrant(jo.GradientLearner(FullGradient(), **options), jo.FullInformation()),
        "two": jo.GradientLearner(TwoCopies(), **options),
        "naive": jo.GradientLearner(NaiveCopy(), **options),
    }
    rounds, runs = 800, 256
    result = jo.simulate(
        game, learners, n_runs=runs, n_rounds=rounds, record_at=2, comparator=jo.L2Ball(1.0), mesh=ONE_DEVICE
    )
    np.testing.assert_allclose(result.comparator_loss, 0.0, atol=1e-9)
    for regret in result.regret:
        for i, t in enumerate(result.rounds):
            assert upper(regret[:, i]) >= t / 2
        assert lower(regret[:, 1] - 1.9 * regret[:, 0]) > -0.05 * rounds, "linear growth"
    full, two, naive = result.regret[:, :, -1]
    assert upper(naive) < 1.1 * rounds / 2
    assert lower(full) > 0.95 * rounds
    assert lower(two) > lower(naive)


@pytest.mark.long
def test_regrets_use_the_declared_instances_and_outcomes():
    """By hand: the learner's loss and the comparator's sums under the three notions."""
    key, rounds = jax.random.key(5), 6
    records = {}
    notions = {"clean": CleanRegret(), "noisy": NoisyRegret(), "noisy learner": NoisyLearnerRegret()}
    for name, regret in notions.items():
        learner = jo.GradientLearner(NaiveCopy(), step_size=0.1)
        records[name] = jo.play(sphere_game(regret), learner, key, rounds)[1]
    game, oracle_key = sphere_game(CleanRegret()), jo.game.stream_keys(key).oracle
    x = records["clean"].x
    noisy = [
        game.feedback.open(jax.random.fold_in(oracle_key, t), jnp.int32(t), x[t - 1], 0.0, 0.0).copy(0)
        for t in range(1, rounds + 1)
    ]
    for regret, record in records.items():
        np.testing.assert_array_equal(record.x, x, "instances are the same under every notion")
        comparator_sees = np.stack(noisy) if regret == "noisy" else x
        np.testing.assert_allclose(record.x_comparator, comparator_sees, rtol=1e-6)
    np.testing.assert_allclose(records["noisy"].y_hat, records["noisy learner"].y_hat, rtol=1e-6)
    w, hand = np.zeros(2), []
    for copy, target in zip(noisy, records["noisy"].y, strict=True):
        hand.append(w @ copy)
        w = w - 0.1 * 2 * (w @ copy - target) * copy
    np.testing.assert_allclose(records["noisy"].y_hat, hand, rtol=1e-4, atol=1e-6)


# ---------------------------------------------------------------------------------------------------------------------
# An adversary who answers back


@struct
class Contrary:
    """Random instances on the axes; the answer is the sign that the prediction has not."""

    instance_spec = jax.ShapeDtypeStruct((2,), np.float32)
    outcome_spec = jax.ShapeDtypeStruct((), np.float32)

    def init(self, key):
        return ()

    def instance(self, key, state, t):
        return jax.nn.one_hot(jax.random.randint(key, (), 0, 2), 2, dtype=jnp.float32), state

    def answer(self, key, state, t, x, y_hat):
        return jnp.where(y_hat > 0, jnp.float32(-1.0), jnp.float32(1.0)), state


def contrary_game() -> jo.Game:
    return jo.Game(Contrary(), jo.NoisyCopies(jo.noise.gaussian(0.1)))


@pytest.mark.long
def test_each_learner_has_the_comparator_of_its_own_game():
    """An adaptive adversary plays another game with every learner: the best in hindsight is of that game."""
    ball, rounds, key = jo.L2Ball(0.5), 30, 8
    learners = {eta: jo.GradientLearner(TwoCopies(), step_size=eta) for eta in (0.02, 0.2)}
    options = {"n_runs": 4, "n_rounds": rounds, "key": key, "comparator": ball, "mesh": ONE_DEVICE, "record_at": [10]}
    result = jo.simulate(contrary_game(), learners, **options)
    assert result.learners == ("0.02", "0.2")
    for i, learner in enumerate(learners.values()):
        for run in range(4):
            run_key = jax.random.fold_in(jax.random.key(key), run)
            history = jo.play(contrary_game(), learner, run_key, rounds)[1]
            assert (np.asarray(history.y) * np.asarray(history.y_hat) <= 0).all()
            for g, t in enumerate(result.rounds):
                sums = jo.comparators.cumulative_statistic(ball, history.x[:t], history.y[:t])
                np.testing.assert_allclose(result.comparator_loss[i, run, g], ball.best_loss(sums), rtol=1e-5)
                loss = np.sum(np.asarray(history.loss, float)[:t])
                np.testing.assert_allclose(result.cumulative_loss[i, run, g], loss, rtol=1e-5)
    assert (result.comparator_loss[0] != result.comparator_loss[1]).any()
    assert (result.regret[..., -1] > 0).all()

    swept = jo.simulate(contrary_game(), jo.sweep(learners), **options)
    np.testing.assert_allclose(swept.regret, result.regret, rtol=1e-5, atol=1e-5)


@pytest.mark.long
def test_an_adaptive_adversary_works_without_a_comparator():
    learner = jo.GradientLearner(TwoCopies(), step_size=0.02)
    result = jo.simulate(contrary_game(), learner, n_runs=4, n_rounds=30, key=8, mesh=ONE_DEVICE, record_at=1)
    assert result.comparator_loss is None
    assert (result.cumulative_loss[..., -1] >= 30).all(), "a wrong sign costs at least 1"


# ---------------------------------------------------------------------------------------------------------------------
# Long sums


def test_compensated_sums_keep_what_plain_sums_lose():
    """After 1e8, a float32 sum does not see terms of 1 any more; the compensated one does, to the last one."""

    @jax.jit
    def sums(terms):
        def add(carry, term):
            plain, compensated = carry
            return (plain + term, compensated.add({"loss": term})), None

        empty = Compensated.zeros({"loss": jax.ShapeDtypeStruct((), terms.dtype)})
        return jax.lax.scan(add, (jnp.zeros((), terms.dtype), empty), terms)[0]

    rng = np.random.default_rng(0)
    terms = np.concatenate([[1e8], rng.random(100_000)]).astype(np.float32)
    plain, compensated = sums(terms)
    exact = np.sum(terms.astype(float))
    total = float(compensated.total["loss"]) - float(compensated.correction["loss"])
    late = exact - 1e8
    assert abs(float(plain) - exact) > 0.9 * late
    assert abs(total - exact) < 1e-4 * late


@struct
class Silent:
    """A learner that always says 0."""

    def init(self, key, specs):
        return ()

    def predict(self, key, state, x):
        return jnp.zeros((), x.dtype)

    def update(self, key, state, oracle):
        return state, ()


def test_a_study_sums_losses_with_compensation():
    """The first loss is 1e8, later ones are 1, which is less than the rounding of a plain sum: they all arrive. (In the
    best in hindsight those of the first chunk are rounded with the big one, as float32 rounds 1e8.)"""
    y = np.concatenate([[1e4], np.ones(1999)])
    game = jo.Game(jo.environments.DataStream(np.zeros((2000, 1)), y), jo.FullInformation())
    result = jo.simulate(
        game, Silent(), n_runs=1, n_rounds=2000, record_at=[1000], comparator=jo.L2Ball(1.0), mesh=ONE_DEVICE
    )
    assert result.cumulative_loss[0, 0].tolist() == [1e8 + 999, 1e8 + 1999]
    first, second = result.comparator_loss[0, 0].tolist()
    assert abs(first - (1e8 + 999)) < 1e8 * 2**-23 * 2
    assert second - first == 1000
