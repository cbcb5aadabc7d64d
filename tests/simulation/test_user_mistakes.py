"""Errors before a study runs, and warnings before and after it, for probable mistakes of the user."""

import warnings
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxonline as jo
from jaxonline import environments, estimators, feedback, losses
from jaxonline.parameters.errors import SettingsWarning
from jaxonline.simulation.blocks import default_mesh

ONE_DEVICE = default_mesh(jax.devices()[:1])
X, Y = np.eye(3), np.array([1.0, -1.0, 1.0])
STREAM, FULL = environments.DataStream(X, Y), feedback.FullInformation()
COPIES = feedback.NoisyCopies(feedback.noise.gaussian(0.1))
SIZES = {"n_runs": 4, "n_rounds": 12, "record_at": 3, "mesh": ONE_DEVICE}


def learner(estimator, step=0.1, radius=None):
    return jo.GradientLearner(estimator, step, radius)


class Asks(jo.Learner):
    def init(self, key, specs):
        return jnp.zeros(specs.instance.shape)

    def predict(self, key, state, x):
        return state @ x

    def update(self, key, state, oracle):
        return state, oracle.gradient(state)


jax.tree_util.register_static(Asks)


def test_unsupported_query_raises_before_any_learner_runs():
    played = []
    both = {"good": learner(estimators.FullGradient()), "wrong": Asks()}
    with pytest.raises(TypeError, match=r"learners.'wrong'.: .* asks for 'gradient', which"):
        jo.simulate(jo.Game(STREAM, FULL), both, **SIZES, progress=lambda *each: played.append(each))
    assert not played


def test_error_in_a_custom_learner_keeps_its_traceback():
    class Broken(Asks):
        def update(self, key, state, oracle):
            return state.weights, ()

    jax.tree_util.register_static(Broken)
    with pytest.raises(TypeError, match=r"learner: Broken cannot play .*FullInformation, instances float32") as caught:
        jo.play(jo.Game(STREAM, FULL), Broken(), 0, 4)
    assert "weights" in str(caught.value)
    assert isinstance(caught.value.__cause__, AttributeError)


def test_margin_losses_of_a_learner_reject_labels_0_and_1():
    game = jo.Game(environments.DataStream(X, [0, 1, 1]), FULL)
    with pytest.raises(ValueError, match=r"y: must be -1 or \+1"):
        jo.simulate(game, learner(estimators.FullGradient(losses.Hinge())), **SIZES)


def test_loss_mismatch_warns_once_also_of_parameters_and_not_of_surrogates():
    game = jo.Game(STREAM, FULL, losses.Absolute())
    both = {"squared": learner(estimators.FullGradient()), "absolute": learner(estimators.FullGradient(game.loss))}
    with pytest.warns(SettingsWarning, match=r"loss of the game is Absolute\(\).* 'squared' for Squared\(\)") as caught:
        jo.simulate(game, both, **SIZES)
    assert len(caught) == 1
    assert "'absolute'" not in str(caught[0].message)
    pinball = jo.Game(STREAM, FULL, losses.Pinball(0.1))
    with pytest.warns(SettingsWarning, match=r"Pinball\(tau=0.9\)"):
        jo.play(pinball, learner(estimators.FullGradient(losses.Pinball(0.9))), 0, 4)
    square = jax.tree_util.Partial(lambda y_hat, y: (y_hat - y) ** 2)
    with warnings.catch_warnings(action="error"):
        jo.play(pinball, learner(estimators.FullGradient(losses.Pinball(0.1))), 0, 4)
        for loss, own in ((losses.ZeroOne(), losses.Logistic()), (square, losses.Squared())):
            jo.play(jo.Game(STREAM, FULL, loss), learner(estimators.FullGradient(own)), 0, 4)


def test_labels_that_underflow_float32_warn():
    with pytest.warns(SettingsWarning, match=r"y: .*got 1e-38 as the largest"):
        environments.DataStream(X, 1e-38 * Y)
    with warnings.catch_warnings(action="error"):
        environments.DataStream(X, [1e-50, 1.0, 0.0])
        with jax.enable_x64(True):
            environments.DataStream(X, 1e-38 * Y)


@pytest.mark.parametrize(
    ("other", "message"),
    [
        ({"estimator": estimators.TwoCopies()}, "estimator a TwoCopies, item 0 a FullGradient"),
        ({"hypothesis": "average"}, "hypothesis = 'average', item 0 'last'"),
        ({"radius": 1.0}, "radius a float, item 0 a NoneType"),
    ],
)
def test_sweep_error_names_the_field_of_different_kind(other, message):
    one = learner(estimators.FullGradient())
    with pytest.raises(ValueError, match=f"item 1 with {message}"):
        jo.sweep([one, jo.replace(one, **other)])


@jo.struct
class Declares(jo.Environment):
    """An environment of the user's own, which does as it declares by default."""

    instance_spec: Any = jo.static(default=jax.ShapeDtypeStruct((2,), np.float32))
    outcome_spec: Any = jo.static(default=jax.ShapeDtypeStruct((), np.float32))
    size: int = jo.static(default=2)
    shape: tuple = jo.static(default=())
    state: bool = jo.static(default=True)
    oblivious: Any = jo.static(default=True)
    deterministic: Any = jo.static(default=True)

    def init(self, key):
        return jnp.zeros(())

    def instance(self, key, state, t):
        x = jnp.ones(self.size)
        return (x, state) if self.state else x

    def outcome(self, key, state, t, x, y_hat):
        return jnp.ones(self.shape), state


@pytest.mark.parametrize(
    ("declared", "error", "message"),
    [
        ({"oblivious": "yes"}, TypeError, "Declares.oblivious: .*got 'yes'"),
        ({"deterministic": 1}, TypeError, "Declares.deterministic: .*got 1"),
        ({"instance_spec": (2,)}, TypeError, "Declares.instance_spec: must be of jax.ShapeDtypeStruct"),
        ({"size": 3}, ValueError, r"Declares.instance: .*got float32\[3\]"),
        ({"state": False}, TypeError, "Declares.instance: must return an instance and the next state"),
        ({"shape": (2,)}, ValueError, r"Declares.outcome: .*got float32\[2\]"),
    ],
)
def test_environment_that_violates_its_declaration_raises(declared, error, message):
    with pytest.raises(error, match=message):
        jo.play(jo.Game(Declares(**declared), FULL), learner(estimators.FullGradient()), 0, 2)
    jo.play(jo.Game(Declares(), FULL), learner(estimators.FullGradient()), 0, 2)


@pytest.mark.parametrize("role", [jo.Environment, jo.Feedback, jo.Oracle, jo.Learner, jo.learners.IndexPolicy])
def test_a_class_without_a_method_of_its_role_has_no_objects(role):
    @jo.struct
    class Own(role):
        pass

    for method in role.__abstractmethods__:
        with pytest.raises(TypeError, match=rf"\bOwn\b.*\b{method}\b"):
            Own()


@pytest.mark.parametrize("returns", [0.0, (0.0, (), ())])
def test_error_shows_what_update_must_return(returns):
    class Own(Asks):
        def update(self, key, state, oracle):
            return jax.tree.map(lambda each: state + each, returns)

    jax.tree_util.register_static(Own)
    with pytest.raises(TypeError, match=r"update: .*got float32"):
        jo.simulate(jo.Game(STREAM, FULL), Own(), **SIZES)


# ---------------------------------------------------------------------------------------------------------------------
# Losses of an own environment outside the range that a learner assumes.


@jo.struct
class OneLargeLoss(jo.Environment):
    """Losses of two arms, 0.5 except in round 5."""

    large: float

    instance_spec, outcome_spec = jax.ShapeDtypeStruct((0,), np.float32), jax.ShapeDtypeStruct((2,), np.float32)
    oblivious = True

    def instance(self, key, state, t):
        return jnp.zeros(0), state

    def outcome(self, key, state, t, x, y_hat):
        return jnp.where(t == 5, jnp.array([0.5, 1.0]) * self.large, 0.5), state


def game_of_losses(large, rewards=False):
    arms = OneLargeLoss(np.float32(large))
    return jo.Game(environments.Rewards(arms) if rewards else arms, jo.Bandit(), loss=losses.ArmLoss())


ASSUME_A_RANGE = {
    "UCB1": jo.learners.UCB1(), "KL-UCB": jo.learners.KLUCB(), "Thompson": jo.learners.BernoulliThompson(),
    "EXP3": jo.learners.EXP3(0.3), "EXP3-IX": jo.learners.EXP3IX(0.3, 0.1), "any losses": jo.learners.AsymptoticUCB(),
}  # fmt: skip


@pytest.mark.long
def test_losses_outside_the_range_of_a_learner_are_reported_once(tmp_path):
    """Of learners with and without a range; a loss within rounding errors of the range is inside."""
    for _ in range(2):  # the second time from the checkpoint
        with pytest.warns(SettingsWarning) as caught:
            result = jo.simulate(game_of_losses(-9.0), ASSUME_A_RANGE, checkpoint=tmp_path / "study", **SIZES)
        wanted = "assumes losses from 0 to 1, but the environment has others in 4 of 4 runs, first in round 5"
        texts = [str(warning.message) for warning in caught if "assumes" in str(warning.message)]
        assert [text.partition(";")[0] for text in texts] == [f"{name!r} {wanted}" for name in [*ASSUME_A_RANGE][:-1]]
        assert result.first_out_of_range.tolist() == [[5] * 4] * 5 + [[0] * 4]
        assert result.failed.tolist() == [0] * 6, "the runs count"
    result.save(path := tmp_path / "result.npz")
    assert jo.load_result(path).first_out_of_range.tolist() == result.first_out_of_range.tolist()
    inside = jo.simulate(game_of_losses(1.0 + 5e-7), ASSUME_A_RANGE, **SIZES)
    assert not inside.first_out_of_range.any()


def test_play_reports_them_and_rewards_are_called_rewards():
    ucb = ASSUME_A_RANGE["UCB1"]
    with pytest.warns(SettingsWarning, match="assumes losses from 0 to 1.* in 1 of 1 runs, first in round 5;"):
        jo.play(game_of_losses(1.5), ucb, 0, 12)
    with pytest.warns(SettingsWarning, match="'learner' assumes rewards from 0 to 1, .*convert the rewards"):
        jo.play(game_of_losses(7.0, rewards=True), ucb, 0, 12)
    jo.play(game_of_losses(1.5), ucb, 0, 4)
    gaussian = jo.Game(environments.GaussianArms([0.0, 3.0]), jo.Bandit(), loss=losses.ArmLoss())
    jo.play(gaussian, jo.learners.UCB1(8.0), 0, 12)
