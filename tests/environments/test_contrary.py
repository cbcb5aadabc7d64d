"""Adversaries that see the move, environments of experts, and comparators that change over time."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from registry import LEARNERS
from tiers import some

import jaxonline as jo
from jaxonline.comparators import BestExpert, BestOfEachRound, BestSegments
from jaxonline.environments import ContraryLabels, ContraryLosses, FiniteClass, RandomWalkExperts, SwitchingExperts
from jaxonline.game.roles import Draw
from jaxonline.learners import EWA, Hedge
from jaxonline.losses import ExpectedLoss, ZeroOne
from jaxonline.simulation.blocks import default_mesh

pytestmark = pytest.mark.fast_compile
T, KEY = 40, jax.random.key(0)
ONE_DEVICE = default_mesh(jax.devices()[:1])


def learner_names(**properties):
    """Names of the registered learners that have these properties."""
    entries = {name: make() for name, make in LEARNERS.items()}
    return [name for name, entry in entries.items() if all(getattr(entry, k) == v for k, v in properties.items())]


SHORT = ("perceptron", "weighted majority", "full gradient")


@pytest.mark.parametrize("name", some(learner_names(losses_of_arms=False, randomised=False), *SHORT))
def test_every_deterministic_learner_errs_in_every_round(name):
    """T mistakes, and at most T/2 of the better of two experts, which advise -1 and +1."""
    entry = LEARNERS[name]()
    game = jo.Game(ContraryLabels((-1.0, 1.0, -1.0)), entry.feedback, loss=ZeroOne())
    with entry.promotion():
        history = jo.play(game, entry.learner, KEY, T)[1]
    assert history.loss.tolist() == [1.0] * T
    best = min((history.x[:, k] != history.y).sum() for k in range(3))
    assert T - int(best) >= T / 2


BANDITS = [name for name in learner_names(randomised=False) if isinstance(LEARNERS[name]().feedback, jo.Bandit)]
BANDITS = [name for name in BANDITS if not LEARNERS[name]().contexts]


@pytest.mark.parametrize("name", some([*BANDITS, "leader"], "UCB1"))
def test_every_deterministic_learner_of_arms_loses_every_round(name):
    """The learner loses 100 in 100 rounds, and one of two arms at most 50."""
    entry = LEARNERS[name]()
    history = jo.play(jo.Game(ContraryLosses(2), entry.feedback, loss=entry.loss), entry.learner, KEY, 100)[1]
    assert history.loss.sum() - history.y.sum(axis=0).min() >= 50


def test_contrary_losses_answer_the_most_probable_expert():
    labels, losses = ContraryLabels(), ContraryLosses(3)
    x = labels.instance(KEY, (), 1)[0]
    answers = [float(labels.outcome(KEY, (), 1, x, jnp.float32(move))[0]) for move in (-0.1, 0.0, 2.0)]
    assert answers == [1.0, -1.0, -1.0]
    moves = jnp.int32(1), jnp.array([0.2, 0.3, 0.5]), Draw(jnp.int32(1), jnp.array([0.4, 0.2, 0.4]))
    empty = losses.instance(KEY, 0, 1)[0]
    assert [int(losses.outcome(KEY, jnp.int32(0), 1, empty, move)[0].argmax()) for move in moves] == [1, 2, 0]
    blind = ContraryLosses(3, blind=True)
    assert blind.outcome(KEY, jnp.int32(2), 1, empty, moves[0])[0].tolist() == [0.0, 0.0, 1.0]


@jo.struct
class ConstantLearner(jo.Learner):
    """Plays weights 0, or predicts 0."""

    def init(self, key, specs):
        return jnp.zeros(specs.outcome.shape, specs.outcome.dtype)

    def predict(self, key, state, x):
        return state

    def update(self, key, state, oracle):
        return state, ()


def play_constant(environment, n_rounds=2000, loss=None):
    vector = len(environment.outcome_spec.shape) == 1
    game = jo.Game(environment, jo.FullInformation(), loss=loss or (ExpectedLoss() if vector else ZeroOne()))
    history = jo.play(game, ConstantLearner(), KEY, n_rounds)[1]
    return np.asarray(history.x, float), np.asarray(history.y, float)


@pytest.mark.long
def test_finite_class_has_its_error_probabilities():
    """Frequencies of errors: |z| < 6.2 has a false alarm of 6e-10; a difference of 0.07 is detected."""
    errors = np.array([0.0, 0.2, 0.5, 1.0])
    X, y = play_constant(FiniteClass(errors))
    assert set(np.unique(X)) == set(np.unique(y)) == {-1.0, 1.0}
    wrong = (y[:, None] != X).mean(axis=0)
    assert wrong[[0, 3]].tolist() == [0.0, 1.0]
    assert (np.abs(wrong - errors)[1:3] / np.sqrt(0.25 / 2000)).max() < 6.2
    assert abs(y.mean()) * np.sqrt(2000) < 6.2
    again, losses = play_constant(FiniteClass(errors, "losses"))
    np.testing.assert_array_equal(again, X)
    np.testing.assert_array_equal(losses, y[:, None] != X)


def test_the_best_expert_changes_after_every_100th_round():
    for t, best in ((1, 0), (100, 0), (101, 1), (200, 1), (201, 2), (300, 2), (301, 0)):
        expected = SwitchingExperts(3, every=100, gap=0.6).mean_outcome((), jnp.int32(t), None, None)
        np.testing.assert_allclose(expected, np.where(np.arange(3) == best, 0.2, 0.5), rtol=1e-6)


@pytest.mark.long
def test_switching_and_random_walk_experts_have_their_losses():
    """The best expert has the mean loss (1 - gap) / 2; reflected walks stay in [0, 1] and have steps of their size."""
    environment = SwitchingExperts(3, every=100, gap=0.6)
    _, losses = play_constant(environment)
    good = (np.arange(2000) // 100) % 3
    means = [losses[np.arange(2000), (good + k) % 3].mean() for k in range(3)]
    assert (np.abs(np.array(means) - [0.2, 0.5, 0.5]) / np.sqrt(0.25 / 2000)).max() < 6.2

    _, losses = play_constant(RandomWalkExperts(3, step=0.05))
    assert losses[0].tolist() == [0.5] * 3
    assert 0 <= losses.min() < 0.05
    assert 0.95 < losses.max() <= 1
    inside = np.abs(losses[:-1] - 0.5) < 0.2
    assert np.diff(losses, axis=0)[inside].std() == pytest.approx(0.05, rel=0.1)


def brute_force(losses, k):
    """The best of all sequences with at most k segments."""
    n_rounds, n_experts = losses.shape
    best = np.inf
    for sequence in itertools.product(range(n_experts), repeat=n_rounds):
        if sum(a != b for a, b in itertools.pairwise(sequence)) < k:
            best = min(best, losses[np.arange(n_rounds), list(sequence)].sum())
    return best


@pytest.mark.parametrize("k", [1, 2, 3, 7])
def test_best_segments_equals_brute_force(k):
    rng = np.random.default_rng(k)
    for n_rounds, n_experts in ((1, 3), (6, 3), (8, 2), (5, 1)):
        losses = np.round(rng.uniform(size=(n_rounds, n_experts)), 1)
        rounds = np.arange(1, n_rounds + 1)
        best_losses = BestSegments(k).best_losses(None, losses, rounds)
        np.testing.assert_allclose(best_losses, [brute_force(losses[:t], k) for t in rounds], atol=1e-12)
        smallest = jo.comparators.cumulative_statistic(BestOfEachRound(), np.zeros((n_rounds, 0)), losses)
        np.testing.assert_allclose(BestOfEachRound().best_loss(smallest), losses.min(axis=1).sum(), rtol=1e-6)


@pytest.mark.long
def test_a_study_reports_regrets_against_changing_comparators():
    """The comparator's loss is 0 for three segments and for the best of each round if the best experts never err."""
    game = jo.Game(SwitchingExperts(3, every=20, gap=1.0), jo.FullInformation(), loss=ExpectedLoss())

    def loss_of(comparator):
        options = {"n_runs": 3, "n_rounds": 60, "record_at": 2, "comparator": comparator, "mesh": ONE_DEVICE}
        return jo.simulate(game, Hedge(EWA(0.3)), **options).comparator_loss

    arm, one_segment = loss_of(jo.BestArm()), loss_of(BestSegments(1))
    np.testing.assert_allclose(one_segment, arm)
    assert (arm[..., -1] > 10).all()
    assert not loss_of(BestSegments(3)).any()
    assert not loss_of(BestOfEachRound()).any()


def test_the_best_expert_has_the_fewest_mistakes():
    X = np.random.default_rng(0).choice([-1.0, 1.0], size=(30, 4)).astype(np.float32)
    y = np.where(X[:, 1] + X[:, 2] > 0, 1, -1).astype(np.float32)
    mistakes = (y[:, None] != X).sum(axis=0)
    sums = jo.comparators.cumulative_statistic(BestExpert(), X, y)
    assert BestExpert().best_loss(sums) == mistakes.min() < mistakes.max()
