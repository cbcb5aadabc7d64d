"""Every learner of the registry inside every wrapper that can hold it: the wrapper has its traits and its optional
methods, and plays. Facts that a wrapper states itself are written down here."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from registry import DICTIONARY, LEARNERS, Entry
from tiers import some

import jaxonline as jo
from jaxonline.claims import PrintedKnownCovariance
from jaxonline.estimators import KnownCovariance, TwoCopies
from jaxonline.game import FeedbackTraits, LearnerDefaults, LearnerTraits, Specs, bind
from jaxonline.game.defaults import FeedbackDefaults, method_of
from jaxonline.game.traits import traits_of
from jaxonline.learners import Doubling, MultiKernel, SurrogateKernel, Truncated, WithFeatures
from jaxonline.parameters.struct import cast_leaves
from jaxonline.simulation.controls import Shadowed

ROUNDS = 4
VAW = jo.learners.VAW(allow_float32=True)


@jo.struct
class Same:
    """Features that are the instance itself."""

    def __call__(self, x):
        return x


class Wrapper(NamedTuple):
    """How a learner is wrapped, which learners can be, and the traits that the wrapper states itself."""

    wrap: Callable[[Any], Any]
    holds: Callable[[Entry], bool]
    own: dict[str, Any] | None = None


def on_advice(entry: Entry) -> bool:
    return isinstance(entry.feedback, jo.FullInformation) and not entry.losses_of_arms


def on_any_advice(entry: Entry) -> bool:
    """Of any length: those with a dictionary are for instances of three numbers."""
    return on_advice(entry) and not hasattr(entry.learner, "dictionary")


def on_features(entry: Entry) -> bool:
    """The covariance of features is not known, and no attributes of them are answered."""
    told = isinstance(getattr(entry.learner, "estimator", None), KnownCovariance | PrintedKnownCovariance)
    kinds = jo.FullInformation | jo.NoisyCopies | jo.AdversarialCopies
    good = isinstance(entry.feedback, kinds) and not isinstance(entry.learner, SurrogateKernel)
    return good and not told and not entry.losses_of_arms


def on_two_copies(entry: Entry) -> bool:
    return isinstance(getattr(entry.learner, "estimator", None), TwoCopies) and hasattr(entry.learner, "step_size")


WRAPPERS = {
    "Doubling": Wrapper(lambda learner: Doubling(lambda n_rounds: learner), lambda entry: True),
    "WithFeatures": Wrapper(lambda learner: WithFeatures(learner, Same()), on_features),
    "Truncated": Wrapper(lambda learner: Truncated(learner, -9.0, 9.0), on_advice, {"label_range": (-9.0, 9.0)}),
    "MultiKernel": Wrapper(lambda learner: MultiKernel(DICTIONARY, learner, VAW), on_any_advice),
    "Shadowed": Wrapper(Shadowed, on_two_copies),
}  # fmt: skip
PAIRS = [(wrapper, name) for wrapper in WRAPPERS for name in LEARNERS if WRAPPERS[wrapper].holds(LEARNERS[name]())]
PLAYED = (  # in `make test`, with a program each
    ("Doubling", "EXP3"), ("WithFeatures", "two copies"), ("Truncated", "Aggregating"), ("MultiKernel", "EWA"),
    ("Shadowed", "two copies, momentum, schedule"),
)  # fmt: skip


def same(one: Any, other: Any) -> bool:
    """Whether two records are equal, arrays in them included."""
    leaves, structure = jax.tree.flatten(one)
    others, other_structure = jax.tree.flatten(other)
    return structure == other_structure and all(map(np.array_equal, leaves, others))


def dropped(wrapped: Any, learner: Any, own: dict[str, Any] | None = None) -> list[str]:
    """The traits and the optional methods of a learner that its wrapper does not have."""
    traits = traits_of(learner, LearnerTraits)._replace(**own or {})
    names = [name for name in traits._fields if not same(getattr(wrapped.traits, name), getattr(traits, name))]
    risks = [method_of(each, LearnerDefaults.overflow_probability)(1) for each in (wrapped, learner)]
    names += ["overflow_probability"] * (risks[0] != risks[1])
    feedbacks = FeedbackTraits(True, label_noise=jo.noise.gaussian(1.0)), FeedbackTraits()
    for feedback in feedbacks:
        refused = [_refuses(each, feedback) for each in (wrapped, learner)]
        names += ["check_feedback"] * (refused[0] != refused[1])
    return names + ["weights"] * (hasattr(learner, "weights") and not hasattr(wrapped, "weights"))


def _refuses(learner: Any, feedback: FeedbackTraits) -> bool:
    try:
        method_of(learner, LearnerDefaults.check_feedback)(feedback)
    except ValueError:
        return True
    return False


def wrapped_entry(wrapper: str, name: str) -> tuple[Entry, Any, Any]:
    """An entry, its learner with numbers as arrays, and that learner in a wrapper."""
    entry = LEARNERS[name]()
    learner = cast_leaves(entry.learner, np.float32)
    return entry, learner, WRAPPERS[wrapper].wrap(learner)


@pytest.mark.parametrize("wrapper", WRAPPERS)
def test_traits_and_optional_methods_are_forwarded(wrapper):
    held = [name for each, name in PAIRS if each == wrapper]
    assert len(held) >= 8
    for name in held:
        _, learner, wrapped = wrapped_entry(wrapper, name)
        assert dropped(wrapped, learner, WRAPPERS[wrapper].own) == [], name


@jo.struct
class Probe:
    """A learner with every trait and every optional method."""

    traits: ClassVar = LearnerTraits(jo.losses.Absolute(), (0.0, 2.0), (-1.0, 1.0), True, "ask for less")

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


@pytest.mark.parametrize("wrapper", [name for name in WRAPPERS if name != "Shadowed"])
def test_every_trait_and_every_optional_method_is_forwarded(wrapper):
    wrap, _, own = WRAPPERS[wrapper]
    wrapped = wrap(Probe())
    assert dropped(wrapped, Probe(), own) == []
    specs = Specs.of_vectors(3)
    state = wrapped.init(jax.random.key(0), specs)
    assert wrapped.weights(state).tolist() == [0.5] * 3
    assert wrapped.overflow_probability(5) == 0.625  # phases of 1, 2 and 2 rounds, as one of 5
    assert wrapped.overflow_probability(99) >= 1.0


@jo.struct
class Forgetful:
    """A wrapper that drops everything but the learner's moves."""

    learner: Any

    traits: ClassVar = LearnerTraits()

    def init(self, key, specs):
        return self.learner.init(key, specs)

    def predict(self, key, state, x):
        return self.learner.predict(key, state, x)

    def update(self, key, state, oracle):
        return self.learner.update(key, state, oracle)


def test_a_wrapper_that_forgets_is_caught():
    optional = ["overflow_probability", "check_feedback", "weights"]
    assert dropped(Forgetful(Probe()), Probe()) == [*LearnerTraits._fields, *optional]
    learners = {name: make().learner for name, make in LEARNERS.items()}
    caught = {name for name, learner in learners.items() if dropped(Forgetful(learner), learner)}
    assert caught >= {
        "full gradient",
        "UCB1",
        "EXP3",
        "EWA, truncated",
        "kernel gradient",
        "noisy kernel, Gaussian, ball",
    }


def game_of(entry: Entry) -> jo.Game:
    return jo.Game(entry.rows(ROUNDS), entry.feedback, loss=entry.loss)


@pytest.mark.parametrize(("wrapper", "name"), some(PAIRS, *PLAYED))
def test_a_wrapped_learner_plays(wrapper, name):
    entry, _, wrapped = wrapped_entry(wrapper, name)
    with entry.promotion():
        bound = bind(game_of(entry), wrapped)  # a round is traced
        assert jnp.issubdtype(bound.record.loss.dtype, jnp.floating)
        if (wrapper, name) in PLAYED:
            history = jo.play(game_of(entry), wrapped, jax.random.key(1), ROUNDS)[1]
            assert history.loss.shape == (ROUNDS,)
            assert np.isfinite(history.loss).all()
            assert history.queries.tolist() == [entry.queries] * ROUNDS


def test_what_a_wrapped_learner_assumes_is_checked():
    """Losses of arms, noise of labels, classes: through each wrapper, in an entrant, and in any member of a sweep."""
    losses = jo.environments.DataStream(None, np.array([[0.0, 1.5]]))
    arms = jo.Game(losses, jo.Bandit(), loss=jo.losses.ArmLoss())
    ucb = Doubling(lambda n_rounds: jo.learners.UCB1())
    for learner in (ucb, jo.Entrant(ucb, jo.Bandit())):
        with pytest.raises(ValueError, match=r"y .losses of arms for Doubling.: must .* 1 .got"):
            bind(arms, learner)
    rows = jo.environments.DataStream(np.eye(3), np.array([0.5, 1.0, -1.0]))
    hinge = jo.GradientLearner(jo.estimators.FullGradient(jo.losses.Hinge()), 0.1)
    with pytest.raises(ValueError, match="y: must be -1 or"):
        bind(jo.Game(rows, jo.FullInformation()), WithFeatures(hinge, Same()))
    noisy = jo.NoisyCopies(jo.noise.gaussian(0.1), label_noise=jo.noise.gaussian(0.1))
    for wrap in (lambda learner: WithFeatures(learner, Same()), lambda learner: Doubling(lambda n_rounds: learner)):
        with pytest.raises(ValueError, match="label_noise: must be None for Probe"):
            jo.simulate(jo.Game(rows, noisy), jo.sweep([wrap(Probe())]), n_runs=2, n_rounds=2)


def test_copies_and_noise_of_feedbacks():
    laws = jo.noise.gaussian(0.1), jo.noise.laplace(0.2)
    assert jo.NoisyCopies(*laws).traits == FeedbackTraits(True, False, *laws)
    assert jo.FullInformation().traits == FeedbackTraits()
    assert method_of(object(), FeedbackDefaults.init)(None, None) == ()


class Broken(LearnerDefaults):
    """A learner whose traits are of another kind."""

    traits: Any = ()


def test_traits_of_another_kind_are_refused():
    with pytest.raises(TypeError, match=r"Broken.traits: must be a LearnerTraits .got"):
        traits_of(Broken(), LearnerTraits)
