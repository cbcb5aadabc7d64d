"""Every wrapper forwards traits and optional methods of every learner of the registry that it can wrap, and plays."""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from registry import DICTIONARY, LEARNERS, Entry
from tiers import some

import jaxonline as jo
from benchmarks.papers.claims.noise import PrintedKnownCovariance
from jaxonline.estimators import KnownCovariance
from jaxonline.game import Feedback, Specs, bind
from jaxonline.learners import Doubling, MultiKernel, SurrogateKernel, Truncated, WithFeatures
from jaxonline.parameters.struct import cast_leaves

ROUNDS = 4
VAW = jo.learners.VAW(allow_float32=True)


@jo.struct
class Same:
    def __call__(self, x):
        return x


class Wrapper(NamedTuple):
    wrap: Callable[[Any], Any]
    holds: Callable[[Entry], bool]


def on_advice(entry: Entry) -> bool:
    return isinstance(entry.feedback, jo.FullInformation) and not entry.losses_of_arms


def on_features(entry: Entry) -> bool:
    """The covariance and the attributes of features are unknown."""
    needs_covariance = isinstance(getattr(entry.learner, "estimator", None), KnownCovariance | PrintedKnownCovariance)
    kinds = jo.FullInformation | jo.NoisyCopies | jo.AdversarialCopies
    good = isinstance(entry.feedback, kinds) and not isinstance(entry.learner, SurrogateKernel)
    return good and not needs_covariance and not entry.losses_of_arms


WRAPPERS = {
    "Doubling": Wrapper(lambda learner: Doubling(lambda n_rounds: learner), lambda entry: True),
    "WithFeatures": Wrapper(lambda learner: WithFeatures(learner, Same()), on_features),
    "Truncated": Wrapper(lambda learner: Truncated(learner, -9.0, 9.0), on_advice),
    "MultiKernel": Wrapper(  # learners with a dictionary need instances of three numbers
        lambda learner: MultiKernel(DICTIONARY, learner, VAW),
        lambda entry: on_advice(entry) and not hasattr(entry.learner, "dictionary"),
    ),
}  # fmt: skip
PAIRS = [(wrapper, name) for wrapper in WRAPPERS for name in LEARNERS if WRAPPERS[wrapper].holds(LEARNERS[name]())]
PLAYED = (  # played in `make test`; each needs one program
    ("Doubling", "EXP3"), ("WithFeatures", "two copies"), ("Truncated", "Aggregating"), ("MultiKernel", "EWA"),
)  # fmt: skip


FACTS = ("loss", "loss_range", "loss_at_zero_reward", "capacity_hint", "off_policy", "restricts_arms")


def dropped(wrapped: Any, learner: Any) -> list[str]:
    """Return the facts and optional methods of a learner that its wrapper does not forward."""
    names = [name for name in FACTS if getattr(wrapped, name, None) != getattr(learner, name)]
    names += ["overflow_probability"] * (wrapped.overflow_probability(1) != learner.overflow_probability(1))
    noisy = jo.NoisyCopies(jo.noise.gaussian(1.0), jo.noise.gaussian(1.0))
    errors = [(_raises(item, noisy), _raises(item, jo.FullInformation())) for item in (wrapped, learner)]
    return names + ["check_feedback"] * (errors[0] != errors[1]) + ["weights"] * (not hasattr(wrapped, "weights"))


def _raises(learner: Any, feedback: Feedback) -> bool:
    try:
        learner.check_feedback(feedback)
    except ValueError:
        return True
    return False


@jo.struct
class Probe(jo.Learner):
    """A learner with every trait and every optional method."""

    loss = jo.losses.Absolute()
    loss_range = (0.0, 2.0)
    loss_at_zero_reward = 0.5
    capacity_hint = "ask for less"
    off_policy = "probability"
    restricts_arms = True

    def init(self, key, specs):
        return jnp.zeros(3)

    def predict(self, key, state, x):
        return jnp.sum(x)

    def update(self, key, state, oracle):
        return state, ()

    def check_feedback(self, feedback):
        if feedback.label_noise is not None:
            raise ValueError("label_noise: must be None for Probe")

    def overflow_probability(self, n_rounds):
        return 0.125 * n_rounds

    def weights(self, state):
        return state + 0.5


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_every_trait_and_every_optional_method_is_forwarded(wrapper):
    wrap, _ = WRAPPERS[wrapper]
    wrapped = wrap(Probe())
    assert dropped(wrapped, Probe()) == []
    specs = Specs.of_vectors(3)
    state = wrapped.init(jax.random.key(0), specs)
    assert wrapped.weights(state).tolist() == [0.5] * 3
    assert wrapped.overflow_probability(5) == 0.625  # phases of 1, 2 and 2 rounds, as one of 5
    assert wrapped.overflow_probability(99) >= 1.0


@jo.struct
class GrowingRisk(Probe):
    def overflow_probability(self, n_rounds):
        return n_rounds**2 / 1000


def test_doubling_adds_the_overflow_probabilities_of_its_phases():
    """Ten rounds are phases of 1, 2, 4 and 3 rounds."""
    doubling = Doubling(lambda n_rounds: GrowingRisk())
    found = [doubling.overflow_probability(n_rounds) for n_rounds in (1, 2, 7, 10, 99)]
    np.testing.assert_allclose(found, [0.001, 0.002, 0.021, 0.030, 1.0], rtol=1e-12)


@jo.struct
class Forgetful(jo.Learner):
    learner: Any
    init = predict = update = lambda self, *_: None


def test_wrapper_that_forwards_nothing_is_detected():
    optional = ["overflow_probability", "check_feedback", "weights"]
    assert dropped(Forgetful(Probe()), Probe()) == [*FACTS, *optional]


def game_of(entry: Entry) -> jo.Game:
    return jo.Game(entry.rows(ROUNDS), entry.feedback, loss=entry.loss)


@pytest.mark.parametrize(("wrapper", "name"), some(PAIRS, *PLAYED))
def test_wrapped_learner_plays(wrapper, name):
    entry = LEARNERS[name]()
    wrapped = WRAPPERS[wrapper].wrap(cast_leaves(entry.learner, np.float32))
    with entry.promotion():
        bound = bind(game_of(entry), wrapped)  # a round is traced
        assert jnp.issubdtype(bound.record.loss.dtype, jnp.floating)
        if (wrapper, name) in PLAYED:
            history = jo.play(game_of(entry), wrapped, jax.random.key(1), ROUNDS)[1]
            assert history.loss.shape == (ROUNDS,)
            assert np.isfinite(history.loss).all()
            assert history.queries.tolist() == [entry.queries] * ROUNDS


def test_assumptions_of_a_wrapped_learner_are_checked():
    """In wrappers, entrants and members of a sweep."""
    losses = jo.environments.DataStream(None, np.array([[0.0, 1.5]]))
    arms = jo.Game(losses, jo.Bandit(), loss=jo.losses.ArmLoss())
    ucb = Doubling(lambda n_rounds: jo.learners.UCB1())
    for learner in (ucb, jo.WithFeedback(ucb, jo.Bandit())):
        with pytest.raises(ValueError, match=r"^y\b.*Doubling.* 1"):
            bind(arms, learner)
    rows = jo.environments.DataStream(np.eye(3), np.array([0.5, 1.0, -1.0]))
    hinge = jo.GradientLearner(jo.estimators.FullGradient(jo.losses.Hinge()), 0.1)
    with pytest.raises(ValueError, match=r"^y\b.*-1"):
        bind(jo.Game(rows, jo.FullInformation()), WithFeatures(hinge, Same()))
    noisy = jo.NoisyCopies(jo.noise.gaussian(0.1), label_noise=jo.noise.gaussian(0.1))
    for wrap in (lambda learner: WithFeatures(learner, Same()), lambda learner: Doubling(lambda n_rounds: learner)):
        with pytest.raises(ValueError, match=r"label_noise.*Probe"):
            jo.simulate(jo.Game(rows, noisy), jo.sweep([wrap(Probe())]), n_runs=2, n_rounds=2)


def test_facts_of_feedbacks_have_copies_and_noise():
    distributions = jo.noise.gaussian(0.1), jo.noise.laplace(0.2)
    copies, full = jo.NoisyCopies(*distributions), jo.FullInformation()
    assert (copies.makes_copies, copies.noise, copies.label_noise) == (True, *distributions)
    assert (full.makes_copies, full.noise, full.label_noise, full.max_delay) == (False, None, None, 0)
