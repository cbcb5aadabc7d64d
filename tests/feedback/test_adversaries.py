"""Adversaries: what an adaptive feedback knows and when, and noise that chases the learner."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from adversary_games import FALSE_ALARM, ONE_DEVICE, Looking, lower, played
from scipy import stats
from tiers import some

import jaxonline as jo
from jaxonline.environments.adversaries import ChasingNoise
from jaxonline.estimators import NaiveCopy, TwoCopies
from jaxonline.feedback import AdversarialCopies
from jaxonline.parameters.struct import struct


@struct
class Echo:
    """Noise that tells what the adversary saw last."""

    def init(self, key, instance):
        return jax.random.uniform(key, (3,), instance.dtype), jnp.int32(0)

    def sample(self, key, state, t, index, x):
        told = jnp.stack([state[0][0], state[0][1], state[0][2] + 10 * index.astype(x.dtype)])
        return told.astype(x.dtype)

    def observe(self, state, t, x, y, y_hat):
        return jnp.stack([y_hat, y, x[0]]).astype(state[0].dtype), t


def model() -> jo.environments.LinearModel:
    return jo.environments.LinearModel(np.array([0.6, -0.8, 0.3]), noise_std=0.1)


ECHO = AdversarialCopies(Echo())


@pytest.mark.parametrize("both_precisions", some([False, True], False), indirect=True)
@pytest.mark.parametrize("own", some([False, True], False), ids=["game's feedback", "own feedback"])
def test_an_adversary_observes_only_earlier_rounds(own, both_precisions):
    """In round 1 copies tell what `init` drew. Copies of one index are the same, one by one or in a block."""
    feedback = jo.NoisyCopies(jo.noise.gaussian(0.1)) if own else ECHO
    history = played(jo.Game(model(), feedback), jo.WithFeedback(Looking(), ECHO) if own else Looking())
    told = history.info.first - history.x
    np.testing.assert_allclose(told[1:, 0], np.arange(5) + 0.25, atol=1e-5)
    np.testing.assert_allclose(told[1:, 1], history.y[:-1], atol=1e-5)
    np.testing.assert_allclose(told[1:, 2], history.x[:-1, 0], atol=1e-5)
    assert ((told[0] > 0) & (told[0] < 1)).all()
    by_index = np.array([0.0, 0.0, 10.0])
    np.testing.assert_allclose(history.info.second, history.info.first + by_index, atol=1e-5)
    wanted = history.info.first[:, None] + by_index * np.array([3, 4])[:, None]
    np.testing.assert_allclose(history.info.block[:, :2], wanted, atol=1e-5)
    assert history.queries.tolist() == [4] * 6
    assert history.x.dtype == history.info.first.dtype == both_precisions


@pytest.mark.long
def test_an_adversary_that_uses_the_present_round_is_detected():
    class Peeking(AdversarialCopies):
        def open(self, key, t, x, y, y_hat, state):
            return AdversarialCopies.open(self, key, t, x, y, y_hat, (state[0].at[0].set(y_hat), state[1]))

    jax.tree_util.register_pytree_node(Peeking, lambda _: ((), None), lambda *_: Peeking(Echo()))
    history = played(jo.Game(model(), jo.FullInformation()), jo.WithFeedback(Looking(), Peeking(Echo())))
    told = history.info.first - history.x
    assert np.abs(told[1:, 0] - (np.arange(5) + 0.25)).min() > 0.9


@struct
class Wrong:
    what: str = jo.static()

    def init(self, key, instance):
        return jnp.zeros(instance.shape, instance.dtype)

    def sample(self, key, state, t, index, x):
        noise = state[:2] if self.what == "shape" else state
        return noise.astype(jnp.float16) if self.what == "dtype" else noise

    def observe(self, state, t, x, y, y_hat):
        return {"state": state[:1], "structure": (state,)}.get(self.what, state)


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("shape", "adversary: sample.*shape"),
        ("dtype", "adversary: sample.*dtype"),
        ("state", "feedback.observe"),
        ("structure", "feedback.observe"),
    ],
)
def test_adversaries_of_a_wrong_form_raise_errors(what, message):
    jo.Game(model(), AdversarialCopies(Wrong("nothing")))
    with pytest.raises((ValueError, TypeError), match=message):
        jo.Game(model(), AdversarialCopies(Wrong(what)))


def trajectory(adversary: ChasingNoise, rounds: int = 12, seed: int = 0):
    """States after each of some rounds, from the adversary and from NumPy, and the rounds."""
    rng = np.random.default_rng(seed)
    state = adversary.init(jax.random.key(seed), jax.ShapeDtypeStruct((3,), np.float64))
    aim, errors = np.asarray(state.aim), []
    memory = float(adversary.memory)
    for t in range(1, rounds + 1):
        x, y, y_hat = rng.normal(size=3), rng.normal(), rng.normal()
        state = adversary.observe(state, jnp.int32(t), jnp.asarray(x), jnp.asarray(y), jnp.asarray(y_hat))
        right = t == 1 or (y_hat - y) ** 2 <= np.mean(errors)
        errors.append((y_hat - y) ** 2)
        aim = memory * aim + (1 - memory) * y_hat * x
        yield state, aim, np.sign(y_hat), right


def test_chasing_noise_follows_the_hypothesis_after_good_predictions(x64):
    """Against NumPy along a trajectory; loud and quiet rounds both occur, and both signs."""
    kinds = set()
    for state, aim, sign, right in trajectory(ChasingNoise(1.0, memory=0.7)):
        np.testing.assert_allclose(state.aim, aim, rtol=1e-12)
        assert (float(state.sign), bool(state.was_right)) == (sign, right)
        kinds.add((sign, right))
    assert len(kinds) == 4


@pytest.mark.parametrize("skew", some([0.4, 1.0, 3.0], 3.0))
def test_chasing_noise_has_its_mean_and_variance(x64, skew):
    """Multiples of the aim by two numbers, which with probability 1/(1 + c^2) make a law of mean 0 and of the variance.
    Binomial test over 20,000 keys, false alarm 1e-6 each; the mutant 1/(1 + c) is seen where it is another law."""
    adversary, n = ChasingNoise(2.5, skew=skew, memory=0.7), 20_000
    keys = jax.random.split(jax.random.key(1), n)
    draw = jax.jit(jax.vmap(adversary.sample, in_axes=(0, None, None, None, None)))
    p = 1 / (1 + skew**2)
    assert p * skew - (1 - p) / skew == pytest.approx(0.0, abs=1e-15)
    assert p * skew**2 + (1 - p) / skew**2 == pytest.approx(1.0)
    states = list(trajectory(adversary))[:6]
    assert sum(right for *_, right in states) >= 3, "loud rounds, where there is noise to look at"
    for state, aim, sign, right in states:
        for index in (0, 1):
            noise = np.asarray(draw(keys, state, jnp.int32(9), jnp.int32(index), jnp.zeros(3)))
            if not right:
                assert (noise == 0).all()
                continue
            along = noise @ aim / np.linalg.norm(aim)
            np.testing.assert_allclose(noise, np.outer(along, aim / np.linalg.norm(aim)), rtol=0, atol=4e-15)
            xi = along / np.sqrt(2.5) * sign * (1 if index == 0 else -1)
            rare = np.isclose(xi, skew)
            assert np.isclose(xi[~rare], -1 / skew).all()
            assert stats.binomtest(int(rare.sum()), n, p).pvalue > FALSE_ALARM
            assert (stats.binomtest(int(rare.sum()), n, 1 / (1 + skew)).pvalue < FALSE_ALARM) == (skew != 1.0)


def test_with_always_there_is_noise_after_bad_predictions(x64):
    """Of length sqrt(variance) where the law is symmetric, along the aim."""
    always, n_bad = ChasingNoise(2.5, skew=1.0, memory=0.7, always=True), 0
    for state, aim, _, right in trajectory(always):
        noise = np.asarray(always.sample(jax.random.key(3), state, jnp.int32(9), jnp.int32(0), jnp.zeros(3)))
        np.testing.assert_allclose(abs(noise @ aim), np.sqrt(2.5) * np.linalg.norm(aim), rtol=1e-12)
        np.testing.assert_allclose(noise @ noise, 2.5, rtol=1e-12)
        n_bad += not right
    assert n_bad > 2


@pytest.mark.long
def test_chasing_noise_keeps_its_budget_in_long_runs():
    """With a hypothesis of 0 the aim decays to 0, but its direction has length 1, also in float32."""
    adversary = ChasingNoise(1.0, skew=1.0, memory=0.5)
    state = adversary.init(jax.random.key(0), jax.ShapeDtypeStruct((4,), np.float32))
    zero = jnp.float32(0.0)
    lengths = []
    for t in range(1, 170):
        noise = adversary.sample(jax.random.key(t), state, jnp.int32(t), jnp.int32(0), jnp.zeros(4))
        lengths.append(float(jnp.linalg.norm(noise)))
        state = adversary.observe(state, jnp.int32(t), jnp.ones(4), zero, zero)
    assert max(lengths) < 1 + 1e-5
    assert min(lengths[:120]) > 1 - 1e-5
    assert lengths[-1] == 0, "an aim of 0 gives no noise"


@pytest.mark.long
def test_chasing_noise_increases_the_regret_of_the_naive_learner_most():
    """With the same E|noise|^2 in five dimensions, and in some rounds only, the naive learner loses more than twice as
    much as to noise that is the same in all directions, and its regret is linear (four times the rounds: more than
    3.5 times as much). Two copies still do: less than 3 times. Each comparison is wrong with probability 1e-6."""
    weights = np.array([0.6, -0.6, 0.3, 0.3, 0.2])
    sphere = jo.environments.LinearModel(weights / np.linalg.norm(weights), instances="sphere")
    options = {"step_size": jo.InverseSqrt(0.5), "radius": 1.0}
    learners = {"naive": jo.GradientLearner(NaiveCopy(), **options), "two": jo.GradientLearner(TwoCopies(), **options)}

    def regret(feedback):
        study = {"n_runs": 64, "n_rounds": 1600, "record_at": [400], "comparator": jo.L2Ball(1.0), "mesh": ONE_DEVICE}
        return jo.simulate(jo.Game(sphere, feedback), learners, **study).regret

    chasing, isotropic = regret(AdversarialCopies(ChasingNoise(0.5))), regret(jo.NoisyCopies(jo.noise.gaussian(0.1)))
    assert lower(chasing[0, :, 1] - 2 * isotropic[0, :, 1]) > 0
    assert lower(chasing[0, :, 1] - 3.5 * chasing[0, :, 0]) > 0
    assert lower(3 * chasing[1, :, 0] - chasing[1, :, 1]) > 0
