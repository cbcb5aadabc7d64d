"""Learners on live data: the numbers of `jo.play` round by round, saved in the middle, told losses, and bad calls."""

import copy
import pickle

import jax
import numpy as np
import pytest
from count_programs import n_compiled
from fresh_python import run_python
from mechanisms import bits
from registry import LEARNERS
from tiers import some

import jaxonline as jo
from jaxonline.game import Draw
from jaxonline.live import states
from jaxonline.live.decisions import ArmDecision
from jaxonline.losses import ArmLoss, SquaredDistance, ZeroOne

ROUNDS = 6
KEY = jax.random.key(5)


def gradient(step_size=0.25, **options):
    return jo.GradientLearner(jo.estimators.FullGradient(), step_size=step_size, **options)


@pytest.fixture(params=LEARNERS)
def entry(request):
    """Every learner of the registry in turn, under the dtype promotion that it bears."""
    entry = LEARNERS[request.param]()
    with entry.promotion():
        yield entry


def row(history, t):
    return jax.tree.map(lambda leaf: leaf[t], history)


def plays_alike(game, learner, n_rounds, path=None):
    """Live rounds have the numbers of `jo.play`, also if they are saved in the middle, with a round open."""
    state, history = jo.play(game, learner, KEY, n_rounds)
    outcome = history.y.shape[1:]

    def new(key):
        return jo.Live(learner, game.feedback, outcome=outcome, loss=game.loss, key=key)

    live = new(KEY)
    for t in range(n_rounds):
        x, y = np.asarray(history.x[t]), np.asarray(history.y[t])
        if t == 1 and not isinstance(game.feedback, jo.Bandit):
            live.predict(np.roll(x, 1))  # nothing comes of it
        move, wanted = live.predict(x), row(history.y_hat, t)
        if isinstance(move, ArmDecision):
            move = Draw(np.int32(move), move.probabilities) if isinstance(wanted, Draw) else np.int32(move)
        assert bits(move) == bits(wanted), f"the move of round {t + 1}"
        if t == 3 and path is not None:
            live.save(path)
            live = new(0).load(path)
        record = live.update(x, y)
        assert bits(record) == bits(row(history, t)), f"round {t + 1}"
        assert live.round == t + 1
    assert bits(live.state) == bits(state)
    assert jax.tree.structure(live.state) == jax.tree.structure(state)
    learning = new(KEY)
    first, rest = (slice(3), slice(3, None))
    X, y = np.asarray(history.x), np.asarray(history.y)
    parts = learning.learn(X[first], y[first]), learning.learn(X[rest], y[rest])
    assert bits(jax.tree.map(lambda *leaves: np.concatenate(leaves), *parts)) == bits(history)
    assert bits(learning.state) == bits(state)


@pytest.mark.filterwarnings("ignore:the loss of the game is:UserWarning", "ignore:.*out of storage:RuntimeWarning")
@pytest.mark.parametrize("entry", some(LEARNERS, "EXP3"), indirect=True)
def test_the_numbers_are_those_of_play(entry, tmp_path):
    game = jo.Game(entry.rows(ROUNDS), entry.feedback, loss=entry.loss)
    plays_alike(game, entry.learner, ROUNDS, tmp_path / "state")


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:the loss of the game is:UserWarning")
@pytest.mark.parametrize("name", ["VAW", "BOA", "perceptron", "Hedge", "UCB1", "Gaussian Thompson"])
def test_numbers_are_those_of_play_in_float64(name, x64, tmp_path):
    entry = LEARNERS[name]()
    with entry.promotion():
        game = jo.Game(entry.rows(ROUNDS), entry.feedback, loss=entry.loss)
        plays_alike(game, entry.learner, ROUNDS, tmp_path / "state")


def test_a_session_compiles_three_programs():
    before = {name: n_compiled(name) for name in ("begin", "play", "moves")}
    live = jo.Live(gradient(), instance=19)
    for x in np.eye(19, dtype=np.float32):
        live.predict(x)
        live.predict(2.0 * x)
        live.update(2.0 * x, 1.0)
    live.learn(np.eye(19), np.ones(19))
    assert live.moves(np.eye(19)).shape == (19,)
    assert {name: n_compiled(name) - before[name] for name in before} == {"begin": 1, "play": 1, "moves": 1}


def test_a_record_does_not_change_afterwards():
    live = jo.Live(gradient(), instance=2)
    live.predict(x := np.array([1.0, 2.0], np.float32))
    record = live.update(y=1.0)
    before, state = bits(record), live.state.w
    x[:] = 7.0
    live.learn(np.ones((9, 2)), np.ones(9))
    assert bits(record) == before
    assert state.tolist() == [0.5, 1.0], "the learner's state is another array in each round"
    assert [type(record.loss), type(record.y)] == [np.float32] * 2


def test_it_is_online_gradient_descent():
    """An independent loop in NumPy; and 200 rounds with learners of other numbers compile nothing after the first."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 3)), rng.normal(size=100)
    first = jo.Live(gradient(0.25))
    first.predict(X[0])
    first.moves(X)
    before = n_compiled()
    for step_size in (0.02, 0.05):
        live, w = jo.Live(gradient(step_size)), np.zeros(3)
        for x, target in zip(X, y, strict=True):
            given = [x, x.tolist(), x.astype(np.float32)][live.round % 3]
            np.testing.assert_allclose(live.predict(given), w @ x, rtol=1e-4, atol=1e-4)
            record = live.update(given, target)
            np.testing.assert_allclose(record.loss, (w @ x - target) ** 2, rtol=1e-3, atol=1e-3)
            w = w - 2 * step_size * (w @ x - target) * x
        np.testing.assert_allclose(live.state.w, w, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(live.moves(X), X @ w, rtol=1e-3, atol=1e-4)
        assert live.round == 100
    assert n_compiled() == before


def test_the_loss_of_an_arm_is_all_that_a_bandit_needs():
    losses = np.random.default_rng(0).uniform(size=(ROUNDS, 3)).astype(np.float32)
    learner = LEARNERS["EXP3"]().learner
    told, shown = (jo.Live(learner, jo.Bandit(), outcome=3, key=KEY, loss=ArmLoss()) for _ in range(2))
    for row_of_losses in losses:
        move, same = told.predict(), shown.predict(None)
        assert (move, move.id) == (same, same.id)
        assert bits(move.probabilities) == bits(same.probabilities)
        first, second = told.update(loss=row_of_losses[move.arm]), shown.update(None, row_of_losses)
        assert first.loss == second.loss == row_of_losses[move.arm]
        assert np.isnan(first.y).sum() == 2
    assert bits(told.state) == bits(shown.state)


@pytest.mark.long
def test_the_loss_of_a_point_is_all_that_a_bandit_of_points_needs():
    """Two programs, so that the last bits may differ."""
    learner, loss = jo.learners.GradientBandit(delta=0.2, step_size=0.05), SquaredDistance()
    told, shown = (jo.Live(learner, jo.LossOfMove(loss), outcome=3, key=KEY) for _ in range(2))
    for target in np.random.default_rng(0).uniform(size=(40, 3)):
        move, same = told.predict(), shown.predict()
        np.testing.assert_allclose(move, same, rtol=1e-4, atol=1e-5)
        suffered = ((move - target) ** 2).sum()
        np.testing.assert_allclose(told.update(loss=suffered).loss, shown.update(y=target).loss, rtol=1e-4, atol=1e-5)
    assert np.abs(told.state).max() > 0.01
    np.testing.assert_allclose(told.state, shown.state, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("wide", [False, pytest.param(True, marks=pytest.mark.long)])
def test_it_keeps_the_precision_it_was_made_in(wide, tmp_path):
    with jax.enable_x64(wide):
        live, other = (jo.Live(gradient(), instance=3) for _ in range(2))
    dtype = np.float64 if wide else np.float32
    with jax.enable_x64(not wide):
        assert live.predict([1.0, 2.0, 3.0]).dtype == dtype
        live.update(y=1.0)
        assert live.moves([[1.0, 2.0, 3.0]]).dtype == dtype
        live.save(tmp_path / "state")
        other.load(tmp_path / "state")
        assert bits(other.predict([1.0, 2.0, 3.0])) == bits(live.predict([1.0, 2.0, 3.0]))
    assert other.state.w.dtype == live.state.w.dtype == dtype


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda live: pickle.loads(pickle.dumps(live))])
def test_a_copy_continues_with_the_same_numbers(copied):
    live = jo.Live(gradient(), instance=3)
    live.predict([1.0, 0.0, 2.0])
    other = copied(live)
    other.update([1.0, 0.0, 2.0], -1.0)
    assert (live.round, other.round) == (0, 1)
    live.update([1.0, 0.0, 2.0], -1.0)
    assert bits(live.state) == bits(other.state)
    assert copied(jo.Live(gradient(), key=3)).state is None


def open_round(learner=None, **options):
    live = jo.Live(gradient() if learner is None else learner, instance=3, **options)
    live.predict([1.0, 2.0, 3.0])
    return live


NAN = [1.0, np.nan, 3.0]
BAD_CALLS = {  # those of the constructor are among the generated calls
    "update first": (lambda: jo.Live(gradient()).update(NAN, 1.0), "predict"),
    "update twice": (lambda: [each.update(y=1.0) for each in [open_round()] * 2], "opens round 2"),
    "another instance": (lambda: open_round().update([1.0, 2.0, 4.0], 1.0), "x: must be the instance"),
    "another shape": (lambda: open_round().predict([1.0, 2.0]), r"x: .*got \(2,\)"),
    "no instance": (lambda: open_round().predict(), "x: .*got None"),
    "NaN": (lambda: open_round().predict(NAN), r"x: .*got nan at \[1\]"),
    "too large": (lambda: open_round().predict([1e39, 0, 0]), "x: must be finite in float32"),
    "too large for squares": (lambda: open_round().predict([0, 2e19, 0]), "x: .* squares .*in row 0, column 1"),
    "NaN outcome": (lambda: open_round().update(y=np.nan), "y: must be finite"),
    "an outcome too many": (lambda: open_round().update(y=[1.0, 2.0]), r"y: must have shape \(\)"),
    "no outcome": (lambda: open_round().update(), "one of y, loss and reward .got none"),
    "both": (lambda: open_round().update(y=1.0, loss=1.0), "one of y, loss and reward .got y and loss"),
    "a loss to look at": (lambda: open_round().update(loss=1.0), "got FullInformation"),
    "no class": (lambda: open_round(jo.learners.Perceptron(), loss=ZeroOne()).update(y=0.0), r"y: must be -1 or"),
    "no rows": (lambda: open_round().learn([], []), "y: must have one row a round, at least one"),
    "rows of other shapes": (lambda: open_round().learn([[1.0, 2.0]], [1.0]), r"X: must have one row .* \(3,\) .got"),
    "rows too many": (lambda: open_round().learn([[1.0, 2.0, 3.0]] * 2, [1.0]), "y: must have as many rows as X"),
    "moves of nobody": (lambda: jo.Live(gradient()).moves([[1.0]]), "instance="),
    "a seed too large": (lambda: jo.Live(gradient(), key=2**32), r"key: must be below 2\^32 .got"),
    "too much asked": (
        lambda: jo.Live(jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.1), instance=3),
        "'copies', which .*got FullInformation"),
    "nothing to save": (lambda: jo.Live(gradient()).save("/nowhere"), "instance="),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD_CALLS)
def test_a_bad_call_says_what_is_wrong(name):
    call, says = BAD_CALLS[name]
    with pytest.raises((ValueError, TypeError, RuntimeError), match=says):
        call()


def test_a_bad_call_changes_nothing():
    live = open_round()
    for bad in (lambda: live.predict(NAN), lambda: live.update(y=np.nan), lambda: live.update([0.0, 0.0, 0.0], 1.0)):
        with pytest.raises(ValueError):
            bad()
    assert live.update([1.0, 2.0, 3.0], 1.0).loss == 1.0


OTHERS = {
    "another learner": lambda: jo.Live(gradient(0.5)),
    "another loss": lambda: jo.Live(gradient(), loss=jo.losses.Huber(1.0)),
    r"instances of shape \(2,\).*\(got .*instances of shape \(3,\).*another shape of instances": lambda: jo.Live(
        gradient(), instance=2
    ),
    r"outcomes of shape \(3,\).*\(got .*outcomes of shape \(\).*another .* and shape of outcomes": lambda: jo.Live(
        jo.learners.GradientBandit(delta=0.2, step_size=0.05), jo.LossOfMove(SquaredDistance()), outcome=3
    ),
}


@pytest.mark.filterwarnings("ignore:the loss of the game is:UserWarning")
def test_a_state_belongs_to_its_learner(tmp_path):
    live = open_round()
    live.update(y=1.0)
    live.save(tmp_path / "state")
    assert jo.Live(gradient()).load(tmp_path / "state").state.w.tolist() == live.state.w.tolist()
    for says, make in OTHERS.items():
        other = make()
        with pytest.raises(ValueError, match=says):
            other.load(tmp_path / "state")
        assert other.round == 0


def test_a_state_is_of_a_precision(tmp_path):
    open_round().save(tmp_path / "state")
    with (
        jax.enable_x64(True),
        pytest.raises(ValueError, match=r"in float64, .*got .* in float32, .*another .*precision"),
    ):
        jo.Live(gradient()).load(tmp_path / "state")


def test_a_damaged_file_is_rejected(tmp_path, monkeypatch):
    open_round().save(path := tmp_path / "state")
    content, live = path.read_bytes(), jo.Live(gradient())
    header, arrays = states.read_sealed(path)
    assert {array.dtype.kind for array in arrays.values()} <= set("uif"), "a file holds no objects"
    with monkeypatch.context() as patch:
        patch.setattr(states, "FORMAT", "state of jaxonline.Live, 9 ")
        states.write_sealed(path, header, arrays)
    for damaged in (path.read_bytes(), content[: len(content) // 2], content + b"0", b"", pickle.dumps([1])):
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match=r"state: must be a file that Live\.save wrote"):
            live.load(path)
    assert live.state is None


def test_a_state_of_another_version_of_the_learner_is_rejected(tmp_path):
    """Whose state has other arrays."""
    open_round().save(path := tmp_path / "state")
    header, arrays = states.read_sealed(path)
    header["belongs to"]["state"] = "float32[3], float32[3]"
    states.write_sealed(path, header, arrays)
    with pytest.raises(ValueError, match="another state"):
        jo.Live(gradient()).load(path)


@pytest.mark.long
def test_hashes_depend_on_numbers_in_closures_and_not_on_addresses(tmp_path):
    """Optimizers of optax have their numbers there; the hash of an object is the same in every process."""

    def scaled(factor):
        return lambda loss: factor * loss

    first, same, other = (
        states.identity_hash({"loss": scaled(factor), "more": [print, jax.jit]}) for factor in (1, 1, 2)
    )
    assert first == same != other
    code = "import jaxonline as jo; from jaxonline.live.states import identity_hash as of; import optax;"
    code += "print(of(jo.GradientLearner(jo.estimators.FullGradient(), 0.1, optimizer=optax.adam(0.1))))"
    hashes = {run_python(code), run_python(code), run_python(code.replace("adam(0.1)", "adam(0.2)"))}
    assert len(hashes) == 2


def rounds_with(live, outcomes):
    for y in outcomes:
        live.predict([1.0, 1.0, 1.0])
        live.update(y=y)


def test_divergence_warns_once():
    with pytest.warns(RuntimeWarning, match="the move of round 3 is NaN or infinite") as told:
        rounds_with(jo.Live(gradient(1e20), instance=3), [1e3] * 5)
    assert len(told) == 1


def test_another_loss_than_the_learners_warns():
    with pytest.warns(UserWarning, match="learners are made for another one"):
        jo.Live(gradient(), loss=jo.losses.Huber(1.0), instance=3)
