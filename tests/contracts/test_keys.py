"""No two draws of a game use the same words of a random key, for every learner, feedback and environment.

Rounds are traced. `Reader` walks through all operations, but computes only the values on which keys depend.
"""

import collections
import functools
import itertools
import math
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import Literal
from registry import LEARNERS

import jaxonline as jo
from jaxonline import environments, learners, losses
from jaxonline.feedback import FullOracle
from jaxonline.game import play_round, start, stream_keys
from jaxonline.parameters.struct import cast_leaves
from jaxonline.simulation.blocks import item_keys

ROUNDS = {0: 3, 1: 1}  # of each run
MAX_DELAY = 2
DRAWS = ("random_bits", "random_gamma")
INNER = ("jaxpr", "call_jaxpr", "call", "branches", "cond_jaxpr", "body_jaxpr")


class Use(NamedTuple):
    """A draw of words of a key, or of all words (None): in a run and round, by operations inside each other."""

    key: tuple[int, int]
    words: Collection[int] | None
    when: tuple[int, int]
    calls: tuple[Any, ...]

    def path(self) -> list[str]:
        """Return the functions that made the draw, without those of jax and of `jaxonline.random`."""
        traces = [call.source_info.traceback for call in self.calls if call.source_info.traceback]
        frames = [frame for trace in traces for frame in trace.frames[::-1]]
        hidden = "site-packages", "/jaxonline/random/", "/jaxonline/_xla/"
        return list(dict.fromkeys(f.function_name for f in frames if not any(part in f.file_name for part in hidden)))


def programs(eqn):
    values = [eqn.params[name] for name in INNER if name in eqn.params]
    return [program for value in values for program in (value if isinstance(value, tuple) else (value,))]


@functools.cache
def has_draws(program):
    return any(map(is_draw, getattr(program, "jaxpr", program).eqns))


def is_draw(eqn):
    is_one = eqn.primitive.name in DRAWS or eqn.params.get("name") == "_rounds"
    return is_one or any(map(has_draws, programs(eqn)))


class Reader:
    """The draws of a traced program. A value is a function that computes it when it is needed."""

    def __init__(self, on_cpu):
        self.uses, self.when, self.calls, self.on_cpu = [], (0, 0), (), on_cpu

    def run(self, program, values):
        jaxpr, constants = getattr(program, "jaxpr", program), getattr(program, "consts", ())
        env = dict(zip([*jaxpr.constvars, *jaxpr.invars], [*map(known, constants), *values], strict=True))

        def read(atom):
            return known(np.asarray(atom.val, atom.aval.dtype)) if isinstance(atom, Literal) else env[atom]

        for eqn in jaxpr.eqns:
            self.calls += (eqn,)
            env |= zip(eqn.outvars, self.apply(eqn, list(map(read, eqn.invars))), strict=True)
            self.calls = self.calls[:-1]
        return list(map(read, jaxpr.outvars))

    def apply(self, eqn, values):
        name, params = eqn.primitive.name, eqn.params
        if name == "platform_index":
            return [known(np.int32(not self.on_cpu))]
        if name == "mul" and any(isinstance(atom, Literal) and atom.val == 0 for atom in eqn.invars):
            return [known(np.zeros(eqn.outvars[0].aval.shape, eqn.outvars[0].aval.dtype))]
        if name in DRAWS:
            self.draw_from_keys(eqn.invars[0].aval.dtype._impl, values[0], params.get("shape"))
        elif params.get("name") == "_rounds":
            self.draw_words(*np.broadcast_arrays(*(value() for value in values)))
        elif name == "cond" and is_draw(eqn):
            return self.run(params["branches"][np.clip(values[0](), 0, len(params["branches"]) - 1)], values[1:])
        elif name == "while" and is_draw(eqn):
            return self.loop(params, values, params["cond_nconsts"], params["body_nconsts"])
        elif name == "scan" and is_draw(eqn):
            return self.scan(params, values, params["num_consts"], params["num_carry"])
        elif programs(eqn) and name not in ("cond", "while", "scan"):
            return self.run(programs(eqn)[0], values)
        compute = functools.cache(functools.partial(bind, eqn, values))
        return [functools.partial(item, compute, index) for index in range(len(eqn.outvars))]

    def loop(self, params, values, n_of_condition, n_of_body):
        first = n_of_condition + n_of_body
        carry = values[first:]
        while self.run(params["cond_jaxpr"], values[:n_of_condition] + carry)[0]().any():
            carry = self.run(params["body_jaxpr"], values[n_of_condition:first] + carry)
        return carry

    def scan(self, params, values, n_constants, n_carry):
        first = n_constants + n_carry
        carry, rows, order = values[n_constants:first], [], slice(None, None, -1 if params["reverse"] else 1)
        for index in range(params["length"])[order]:
            row = [functools.partial(item, value, index) for value in values[first:]]
            results = self.run(params["jaxpr"], values[:n_constants] + carry + row)
            carry, rows = results[:n_carry], [*rows, results[n_carry:]]
        return carry + [functools.partial(stack, column) for column in zip(*rows[order], strict=True)]

    def draw_from_keys(self, impl, keys, shape):
        if impl.name.endswith("given words"):  # which were drawn before
            return
        number = int(impl.tag.split("x")[1]) if "x" in impl.tag else None if shape is None else math.prod(shape)
        data = keys() if keys().dtype == np.uint32 else jax.random.key_data(keys())
        for key in np.reshape(data, (-1, 2)).tolist():
            self.uses.append(Use(tuple(key), number and range(number), self.when, self.calls))

    def draw_words(self, *numbers):
        words = collections.defaultdict(set)
        for first, second, high, low in zip(*(number.ravel().tolist() for number in numbers), strict=True):
            words[first, second].add((high << 32) + low)
        self.uses += [Use(key, of_key, self.when, self.calls) for key, of_key in words.items()]


def known(value):
    return lambda: value


def item(values, index):
    return values()[index]


def stack(values):
    return np.stack([value() for value in values])


def bind(eqn, values):
    with eqn.ctx.manager:
        results = eqn.primitive.bind(*(value() for value in values), **eqn.params)
    return results if eqn.primitive.multiple_results else [results]


def draws_of(game, learner, on_cpu=True, streams=stream_keys):
    """Return all draws in the first rounds of two runs."""

    def before(key, run):
        return start(game, entrant, streams(item_keys(key, run, 1)[0]))

    def after(key, run, t, states):
        return play_round(game, entrant, streams(item_keys(key, run, 1)[0]), t, states)[0]

    game, entrant = cast_leaves((game, jo.WithFeedback(learner, game.feedback)), np.float32)
    key, reader = jax.random.key(0), Reader(on_cpu)
    first, states = jax.make_jaxpr(before, return_shape=True)(key, jnp.uint32(0))
    other = jax.make_jaxpr(after)(key, jnp.uint32(0), jnp.int32(1), states)
    for run, n_rounds in ROUNDS.items():
        given = [known(key), known(np.uint32(run))]
        reader.when = run, 0
        values = reader.run(first, given)
        for t in range(1, n_rounds + 1):
            reader.when = run, t
            values = reader.run(other, [*given, known(np.int32(t)), *values])
    return reader.uses


def repeated(uses):
    """Return the paths of pairs of draws that use the same word of a key."""
    faults, by_key = [], collections.defaultdict(list)
    for use in uses:
        by_key[use.key].append(use)
    for of_key in by_key.values():
        for one, other in itertools.combinations(of_key, 2):
            disjoint = None not in (one.words, other.words) and set(one.words).isdisjoint(other.words)
            if not disjoint and not is_same_delay(one, other):
                faults.append((one.when, one.path(), other.when, other.path()))
    return faults


def is_same_delay(one, other):
    """Whether `Delayed.open` and `Delayed.observe` draw the delay of a round, which both put into the queue."""
    first, second = one.path(), other.path()
    callers = "Delayed.open" in first and "Delayed.observe" in second
    return callers and one.when == other.when and "Delayed._with_round" in {*first} & {*second}


def game_of(name):
    entry = LEARNERS[name]()
    return jo.Game(jo.replace(entry.rows(4), order="iid"), entry.feedback, loss=entry.loss), entry


@pytest.mark.parametrize("name", LEARNERS)
def test_learner_draws_no_word_twice(name):
    game, entry = game_of(name)
    with entry.promotion():
        uses = draws_of(game, entry.learner)
    assert repeated(uses) == []
    assert len(uses) >= sum(ROUNDS.values()) * (1 + entry.randomised), "the draws of the rows, and of the learner"


@pytest.mark.parametrize("wrap", [learners.UpdateOnArrival, lambda learner: learners.BOLD(learner, MAX_DELAY)])
@pytest.mark.parametrize("name", LEARNERS)
def test_learner_draws_no_word_twice_if_answers_are_late(name, wrap):
    game, entry = game_of(name)
    with entry.promotion():
        game = jo.replace(game, feedback=jo.Delayed(game.feedback, jo.delays.UniformDelay(MAX_DELAY)))
        assert repeated(draws_of(game, wrap(entry.learner))) == []


MEANS, GRADIENT = [0.2, 0.5, 0.8], jo.GradientLearner(jo.estimators.TwoCopies(), 0.1)
COPIES = jo.NoisyCopies(jo.noise.gaussian(0.1), jo.noise.FlippedLabels(0.1)), losses.Squared(), GRADIENT
BANDIT = jo.Bandit(), losses.ArmLoss(), learners.EXP3(0.3)
EXPERTS = jo.FullInformation(), losses.ArmLoss(), learners.DrawnExpert(learners.EWA(0.5))
ENVIRONMENTS = [
    (environments.BernoulliArms(MEANS), *BANDIT),
    (environments.GaussianArms(MEANS), *BANDIT),
    (environments.HiddenBestArm(3, 0.2), *BANDIT),
    (environments.DriftingArms(MEANS, step=0.1), *BANDIT),
    (environments.SwitchingArms([MEANS, MEANS[::-1]], [2]), *BANDIT),
    (environments.Rewards(environments.BernoulliArms(MEANS)), *BANDIT),
    (environments.ContextualLinearArms([0.5, -0.5], n_arms=3, noise_std=0.1), *BANDIT),
    (environments.PreferenceArms([[0.5, 0.8], [0.2, 0.5]]), jo.Duel(), losses.PairLoss(0), learners.RUCB(4.0)),
    (environments.DataStream(np.eye(4, 3), np.ones(4), order="shuffled"), *COPIES),
    (environments.Autoregressive([0.5, -0.3]), *COPIES),
    (environments.FiniteClass(MEANS), *COPIES),
    (environments.RandomWalkExperts(3), *EXPERTS),
    (environments.SwitchingExperts(3, every=2), *EXPERTS),
    (environments.ContraryLosses(3), *EXPERTS),
    (environments.ContraryLabels(), *COPIES),
    (environments.OppositeInstances([0.3]), *COPIES),
    (environments.OppositeLabels([0.3]), *COPIES),
    (environments.HiddenAttribute(3, 0.2), *COPIES),
    (environments.SeparableData([1.0, 1.0]), *COPIES),
    (environments.SparseBooleans(4, n_relevant=2), *COPIES),
    *((environments.LinearModel(MEANS, 0.1, instances=law), *COPIES) for law in ("gaussian", "sphere", "cube")),
]
LINE, LATE = environments.LinearModel(MEANS, noise_std=0.1), jo.delays.GeometricDelay(1.0, maximum=MAX_DELAY)
MEAN = losses.Squared(), jo.GradientLearner(jo.estimators.MeanOfCopies(3), 0.1)
OWN = jo.noise.CustomNoise(lambda key, t, x: jax.random.normal(key, x.shape, x.dtype))
STUDENT, POINTS, ERRORS = jo.noise.student_t(0.1, 5.0), jo.noise.TwoPoints(MEANS), jo.noise.RareErrors(1.0, 0.1)
LAWS = *(law(0.1) for law in (jo.noise.gaussian, jo.noise.laplace, jo.noise.uniform)), STUDENT, POINTS, ERRORS, OWN
FEEDBACKS = [
    *((LINE, jo.NoisyCopies(law), *MEAN) for law in LAWS),
    (LINE, jo.Delayed(COPIES[0], LATE), losses.Squared(), learners.UpdateOnArrival(GRADIENT)),
    (environments.DataStream(np.eye(4, 3), np.ones(4)), jo.Replicates(np.ones((4, 2, 3))), losses.Squared(), GRADIENT),
]


@pytest.mark.parametrize("on_cpu", [True, False])
@pytest.mark.parametrize(
    "parts", ENVIRONMENTS + FEEDBACKS, ids=lambda parts: " ".join(type(p).__name__ for p in parts[:2])
)
def test_environment_and_feedback_draw_no_word_twice(parts, on_cpu):
    environment, feedback, loss, learner = parts
    assert repeated(draws_of(jo.Game(environment, feedback, loss=loss), learner, on_cpu)) == []


def classes(module, role):
    return {value for value in vars(module).values() if isinstance(value, type) and issubclass(value, role)}


def test_every_environment_and_feedback_is_tested():
    tested = {type(part) for parts in ENVIRONMENTS + FEEDBACKS for part in parts[:2]}
    tested |= {type(LEARNERS[name]().feedback) for name in LEARNERS}
    assert classes(environments, jo.Environment) | classes(jo.feedback, jo.Feedback) <= tested


# ---------------------------------------------------------------------------------------------------------------------
# Planted errors


@jo.struct
class Guess(jo.Learner):
    """Predicts a number that is drawn by a function of its key."""

    draw: Callable[..., Any] = jo.static(default=jo.random.normal)

    def init(self, key, specs):
        return jnp.float32(0.0)

    def predict(self, key, state, x):
        return self.draw(key)

    def update(self, key, state, oracle):
        return state, ()


def number_and_mask(key):
    return jnp.where(jo.random.bernoulli(key), jo.random.normal(key), 0.0)


def count_and_terms(key):
    count = jo.random.randint(jax.random.fold_in(key, 0), (), 2, 5)
    return jax.lax.fori_loop(0, count, lambda j, total: total + jo.random.normal(jax.random.fold_in(key, 1)), 0.0)


def word_of_a_vector(key):
    return jo.random.normal(key, (4,)).sum() + jo.random.words(key, 3, 32)[2].astype(float)


@jo.struct
class Masked(jo.Feedback):
    """Noise and the places without noise have one key."""

    def open(self, key, t, x, y, y_hat, state):
        return FullOracle(
            jnp.where(jo.random.bernoulli(key, jnp.full(x.shape, 0.5)), x, jo.random.normal(key, x.shape)), y
        )


@jo.struct
class Frozen(environments.LinearModel):
    """The key of an instance does not depend on the round."""

    def init(self, key):
        return jax.random.key_data(key)

    def instance(self, key, state, t):
        return jo.random.normal(jax.random.wrap_key_data(state, impl=jax.random.key_impl(key)), (3,)), state


def learner_has_the_keys_of_the_environment(key):
    keys = stream_keys(key)
    return keys._replace(learner=keys.environment)


PLANTED = {
    "number and mask": (LINE, jo.FullInformation(), Guess(number_and_mask)),
    "count and terms": (LINE, jo.FullInformation(), Guess(count_and_terms)),
    "word of a vector": (LINE, jo.FullInformation(), Guess(word_of_a_vector)),
    "feedback": (LINE, Masked(), Guess()),
    "rounds": (Frozen(MEANS), jo.FullInformation(), Guess()),
    "streams": (LINE, jo.FullInformation(), Guess(), learner_has_the_keys_of_the_environment),
    "runs": (LINE, jo.FullInformation(), Guess(), lambda key: stream_keys(jax.random.key(0))),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_error_is_detected(name):
    environment, feedback, learner, *streams = PLANTED[name]
    assert repeated(draws_of(jo.Game(environment, feedback), learner, True, *streams)) != []


def test_learner_that_draws_once_is_right():
    assert repeated(draws_of(jo.Game(LINE, jo.FullInformation()), Guess())) == []
