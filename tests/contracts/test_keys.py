"""No two draws of a game use the same word of a random key, for every learner, feedback and environment.

Rounds are traced. `Reader` walks through all operations, but computes only the values on which keys depend.
"""

import collections
import functools
import itertools
import math
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import Literal
from registry import LEARNERS
from tiers import some

import jaxonline as jo
from jaxonline import environments, learners, losses
from jaxonline.feedback import FullOracle
from jaxonline.game import play_round, start, stream_keys
from jaxonline.parameters.struct import cast_leaves
from jaxonline.simulation.blocks import item_keys

ROUNDS = {0: 2, 1: 1}  # of each run
DRAWS = ("random_bits", "random_gamma")
INNER = ("jaxpr", "call_jaxpr", "call", "branches", "cond_jaxpr", "body_jaxpr")
Use = collections.namedtuple("Use", "key words derives when calls")  # words None: all; when: run and round


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
        if name in DRAWS or name == "random_split":
            self.use_keys(eqn.invars[0].aval.dtype, values[0], params.get("shape"), name not in DRAWS)
        elif name == "random_fold_in":
            pairs = np.broadcast_arrays(*jax.random.key_data(values[0]()).T, np.asarray(values[1]()).T)
            self.use_words(*pairs[:2], np.zeros_like(pairs[2]), pairs[2], derives=True)
        elif params.get("name") == "_rounds":
            self.use_words(*np.broadcast_arrays(*(value() for value in values)))
        elif name == "cond" and is_draw(eqn):
            return self.run(params["branches"][np.clip(values[0](), 0, len(params["branches"]) - 1)], values[1:])
        elif name == "while" and is_draw(eqn):
            return self.loop(params, values, params["cond_nconsts"], params["body_nconsts"])
        elif name == "scan" and is_draw(eqn):
            return self.scan(params, values)
        elif programs(eqn) and name not in ("cond", "while", "scan", "reduce"):
            return self.run(programs(eqn)[0], values)
        compute = functools.cache(functools.partial(bind, eqn, values))
        return [functools.partial(item, compute, index) for index in range(len(eqn.outvars))]

    def loop(self, params, values, n_of_condition, n_of_body):
        first = n_of_condition + n_of_body
        carry = values[first:]
        while np.any(self.run(params["cond_jaxpr"], values[:n_of_condition] + carry)[0]()):
            carry = self.run(params["body_jaxpr"], values[n_of_condition:first] + carry)
        return carry

    def scan(self, params, values):
        if "ft_in" in params:  # jax 0.12
            constants, carry, xs = map(list, params["ft_in"].update(values).unpack())
        else:
            ends = params["num_consts"], params["num_consts"] + params["num_carry"]
            constants, carry, xs = values[: ends[0]], values[ends[0] : ends[1]], values[ends[1] :]
        rows, order = [], slice(None, None, -1 if params["reverse"] else 1)
        for index in range(params["length"])[order]:
            results = self.run(params["jaxpr"], constants + carry + [functools.partial(item, x, index) for x in xs])
            carry, rows = results[: len(carry)], [*rows, results[len(carry) :]]
        return carry + [functools.partial(stack, column) for column in zip(*rows[order], strict=True)]

    def use_keys(self, dtype, keys, shape, derives):
        tag = "" if dtype == np.uint32 else dtype._impl.tag
        if tag.startswith("words"):  # drawn before
            return
        number = int(tag.split("x")[1]) if "x" in tag else None if shape is None else math.prod(shape)
        words = keys() if dtype == np.uint32 else jax.random.key_data(keys())
        for key in np.reshape(words, (-1, 2)).tolist():
            of_key = None if number is None else range(number)
            self.uses.append(Use(tuple(key), of_key, derives, self.when, self.calls))

    def use_words(self, *numbers, derives=False):
        words = collections.defaultdict(set)
        for first, second, high, low in zip(*(number.ravel().tolist() for number in numbers), strict=True):
            words[first, second].add((high << 32) + low)
        self.uses += [Use(key, of_key, derives, self.when, self.calls) for key, of_key in words.items()]


def known(value):
    return lambda: value


def item(values, index):
    return values()[index]


def stack(values):
    return np.stack([value() for value in values])


def bind(eqn, values):
    with eqn.ctx.manager, jax.enable_x64(True):
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
        given, reader.when = [known(key), known(np.uint32(run))], (run, 0)
        values = reader.run(first, given)
        for t in range(1, n_rounds + 1):
            reader.when = run, t
            values = reader.run(other, [*given, known(np.int32(t)), *values])
    return reader.uses


def path(use):
    """Return the modules and functions that made a draw, from the outermost on (JAX 0.10 has no qualified names)."""
    traces = [call.source_info.traceback for call in use.calls if call.source_info.traceback]
    frames = [frame for trace in traces for frame in trace.frames[::-1] if "site-packages" not in frame.file_name]
    names = (f"{Path(frame.file_name).stem}.{frame.function_name.rpartition('.')[2]}" for frame in frames)
    return list(dict.fromkeys(names))


def repeated(uses):
    """Return pairs of draws that use the same word of a key, as their rounds and paths.

    A key derived from a key is made of one of its words, which must not be drawn.
    """
    by_key = collections.defaultdict(list)
    for use in uses:
        by_key[use.key].append(use)
    pairs = [pair for of_key in by_key.values() for pair in itertools.combinations(of_key, 2)]
    pairs = [(a, b) for a, b in pairs if not (a.derives and b.derives)]
    pairs = [(a, b) for a, b in pairs if None in (a.words, b.words) or not set(a.words).isdisjoint(b.words)]
    return [(a.when, path(a), b.when, path(b)) for a, b in pairs if not is_the_same_number(a, b)]


LAZY = (  # the functions of an entry and of all entries
    {"arms._bernoulli_entry", "arms._bernoulli_vector"}, {"arms._normal_entry", "arms._normal_vector"},
    {"bandit_games._duel", "bandit_games._all_duels"},
)  # fmt: skip
NAMELESS = "JAX 0.10 does not name the functions of some nested programs, by which these two draws are known"


def is_the_same_number(a, b):
    """Whether two draws compute one number twice on purpose.

    `Delayed.open` and `Delayed.observe` put the round into the queue, with its delay. The entries of a lazy outcome are
    those of its vector. The loop of `fast_beta` uses its draw only after a rejection, with a turn that is then new.
    `NoisyKernel` computes the copy with an index again where it needs it, and in rows of ragged loops that are dropped.
    """
    one, other = path(a), path(b)
    queued = "delayed.open" in one and "delayed.observe" in other and "delayed._with_round" in {*one} & {*other}
    lazy = any(of_one & {*one} and of_one & {*other} for of_one in LAZY)
    retried = "exact.fast_beta" in one and "exact.retry" in other
    copied = all({"noisy.multiply", "copies._draw"} <= {*names} for names in (one, other))
    if jax.__version_info__ < (0, 12) and a.when == b.when and ("exact.retry" in other or not (own(one) or own(other))):
        pytest.skip(NAMELESS)
    return a.when == b.when and (queued or lazy or retried or copied)


def own(names):
    """Return the names of the functions that ask for a draw: below the round, above the generator."""
    others = "test_keys.", "contextlib.", "round.", "barriers.", "threefry.", "draws."
    return [name for name in names if not name.startswith(others)]


def game_of(name):
    entry = LEARNERS[name]()
    return jo.Game(jo.replace(entry.rows(4), order="iid"), entry.feedback, loss=entry.loss), entry


RANDOMISED = [name for name in LEARNERS if LEARNERS[name]().randomised]
LATE = "two copies", "four attributes", "Bernoulli Thompson", "noisy kernel, dot product, exponential loss", "OMKL-GF"


@pytest.mark.parametrize("name", some(LEARNERS, "surrogate kernel", "mean of copies", *LATE))
def test_learner_uses_no_word_twice(name):
    game, entry = game_of(name)
    with entry.promotion():
        uses = draws_of(game, entry.learner)
    assert repeated(uses) == []
    n_sources = 1 + entry.randomised  # the rows, and the learner
    assert sum(not use.derives for use in uses) >= sum(ROUNDS.values()) * n_sources


@pytest.mark.parametrize("wrap", some(["UpdateOnArrival", "BOLD"], "UpdateOnArrival"))
@pytest.mark.parametrize("name", some(["two copies", *RANDOMISED], *LATE))
def test_learner_with_late_answers_uses_no_word_twice(name, wrap):
    game, entry = game_of(name)
    with entry.promotion():
        game = jo.replace(game, feedback=jo.Delayed(game.feedback, [1, 0]))  # two answers arrive in round 2
        learner = learners.BOLD(entry.learner, 1) if wrap == "BOLD" else learners.UpdateOnArrival(entry.learner)
        drawn = [use for use in draws_of(game, learner) if not use.derives]
    assert repeated(drawn) == []


MEANS, E, J = [0.2, 0.5, 0.8], environments, jo.noise
GRADIENT, MEAN = (jo.GradientLearner(a, 0.1) for a in (jo.estimators.TwoCopies(), jo.estimators.MeanOfCopies(3)))
COPIES = jo.NoisyCopies(J.gaussian(0.1), J.FlippedLabels(0.1))
OWN = J.CustomNoise(lambda key, t, x: jax.random.normal(key, x.shape, x.dtype))
LAWS = [J.gaussian(0.1), J.laplace(0.1), J.uniform(0.1), J.student_t(0.1, 5.0), J.TwoPoints(MEANS)]
LAWS += [J.RareErrors(1, 0.1), OWN]
DELAYS = jo.delays.GeometricDelay(1.0, maximum=2), jo.delays.UniformDelay(2)
LINE, ROWS = E.LinearModel(MEANS, noise_std=0.1), (np.eye(4, 3), np.ones(4))
BANDITS = [
    E.BernoulliArms(MEANS), E.GaussianArms(MEANS), E.HiddenBestArm(3, 0.2), E.DriftingArms(MEANS, step=0.1),
    E.SwitchingArms([MEANS, MEANS[::-1]], [2]), E.Rewards(E.BernoulliArms(MEANS)),
    E.RestlessArms([MEANS, MEANS[::-1]], [[0.5, 0.5], [0.5, 0.5]]), E.RestedArms([MEANS, MEANS[::-1]]),
    E.ContextualLinearArms([0.5, -0.5], n_arms=3, noise_std=0.1),
    E.ContextualLogisticArms([[0.5], [-0.5], [0.1]], shared=True), E.ClassificationArms(np.eye(4, 3), [0, 1, 2, 1]),
]  # fmt: skip
NOISY = [
    E.DataStream(*ROWS, order="shuffled"), E.Autoregressive([0.5, -0.3]), E.FiniteClass(MEANS), E.ContraryLabels(),
    E.OppositeInstances([0.3], 2.0), E.OppositeLabels([0.3], 2.0), E.HiddenAttribute(3, 0.2),
    E.SeparableData([1.0, 1.0]), E.SparseBooleans(4, n_relevant=2), LINE, E.LinearModel(MEANS, instances="sphere"),
    E.LinearModel(MEANS, instances="cube"),
]  # fmt: skip
EXPERTS = E.RandomWalkExperts(3), E.SwitchingExperts(3, every=2), E.ContraryLosses(3)
DUELS = E.PreferenceArms([[0.5, 0.8], [0.2, 0.5]])
GAMES = [
    *((jo.Game(arms, jo.Bandit(), losses.ArmLoss()), learners.EXP3(0.3)) for arms in BANDITS),
    *(
        (jo.Game(one, jo.FullInformation(), losses.ArmLoss()), learners.DrawnExpert(learners.EWA(0.5)))
        for one in EXPERTS
    ),
    (jo.Game(DUELS, jo.Duel(), losses.PairLoss(0)), learners.RUCB(4.0)),
    *((jo.Game(one, COPIES), GRADIENT) for one in NOISY),
    *((jo.Game(LINE, jo.NoisyCopies(law)), MEAN) for law in LAWS),
    *((jo.Game(LINE, jo.Delayed(COPIES, delay)), learners.UpdateOnArrival(GRADIENT)) for delay in DELAYS),
    (jo.Game(E.DataStream(*ROWS), jo.Replicates(np.ones((4, 2, 3)))), GRADIENT),
]


@pytest.mark.long
@pytest.mark.parametrize("on_cpu", [True, False])
@pytest.mark.parametrize("game", GAMES, ids=lambda game: type(game[0].environment).__name__)
def test_environment_and_feedback_use_no_word_twice(game, on_cpu):
    assert repeated(draws_of(*game, on_cpu)) == []


def test_every_environment_and_feedback_is_tested():
    public = {
        value for module in (environments, jo.feedback) for value in vars(module).values() if isinstance(value, type)
    }
    tested = {type(part) for game, _ in GAMES for part in (game.environment, game.feedback)}
    tested |= {type(LEARNERS[name]().feedback) for name in LEARNERS}
    assert {one for one in public if issubclass(one, jo.Environment | jo.Feedback)} <= tested


# ---------------------------------------------------------------------------------------------------------------------
# Planted errors


@jo.struct
class Guess(jo.Learner):
    """Predicts a number that a function draws."""

    draw: object = jo.static(default=jo.random.normal)

    def init(self, key, specs):
        return jnp.float32(0.0)

    def predict(self, key, state, x):
        return self.draw(key)

    def update(self, key, state, oracle):
        return state, ()


@jo.struct
class Restless(Guess):
    """A regressor that draws in every method."""

    def init(self, key, specs):
        return self.draw(key)

    def predict(self, key, state, x):
        return state + self.draw(key)

    def update(self, key, state, oracle):
        return state + self.draw(key), ()


@pytest.mark.long
@pytest.mark.parametrize("model", ["shared", "disjoint"])
@pytest.mark.parametrize("cls", [learners.SquareCB, learners.BaggingCB])
def test_bandit_and_its_regressors_use_no_word_twice(cls, model):
    game = jo.Game(E.ContextualLinearArms([0.5, -0.5], n_arms=3), jo.Bandit(), losses.ArmLoss())
    uses = draws_of(game, cls(Restless(), model=model))
    assert repeated(uses) == []
    assert sum(not use.derives for use in uses) > 5 * sum(ROUNDS.values())  # instances, arms, and regressors


def number_and_mask(key):
    return jnp.where(jo.random.bernoulli(key), jo.random.normal(key), 0.0)


def terms_with_one_key(key):
    count = jo.random.randint(jax.random.fold_in(key, 0), (), 2, 5)
    return jax.lax.fori_loop(0, count, lambda j, total: total + jo.random.normal(jax.random.fold_in(key, 1)), 0.0)


@jo.struct
class Masked(jo.Feedback):
    """The noise and the mask of the noise have one key."""

    def open(self, key, t, x, y, y_hat, state):
        noise, mask = jo.random.normal(key, x.shape), jo.random.bernoulli(key, jnp.full(x.shape, 0.5))
        return FullOracle(jnp.where(mask, x + noise, x), y)


@jo.struct
class Frozen(environments.LinearModel):
    """The key of an instance does not depend on the round."""

    def init(self, key):
        return jax.random.key_data(key)

    def instance(self, key, state, t):
        return jo.random.normal(jax.random.wrap_key_data(state, impl=jax.random.key_impl(key)), (3,)), state


def learner_has_the_environments_key(key):
    return stream_keys(key)._replace(learner=stream_keys(key).environment)


PLANTED = {
    "number and mask": (LINE, jo.FullInformation(), Guess(number_and_mask)),
    "count and terms": (LINE, jo.FullInformation(), Guess(terms_with_one_key)),
    "feedback": (LINE, Masked(), Guess()),
    "rounds": (Frozen(MEANS), jo.FullInformation(), Guess()),
    "streams": (LINE, jo.FullInformation(), Guess(), learner_has_the_environments_key),
    "runs": (LINE, jo.FullInformation(), Guess(), lambda key: stream_keys(jax.random.key(0))),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_error_is_detected(name):
    environment, feedback, learner, *streams = PLANTED[name]
    assert repeated(draws_of(jo.Game(environment, feedback), learner, True, *streams)) != []
