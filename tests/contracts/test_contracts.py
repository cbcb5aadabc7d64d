"""Contracts of every learner of the registry."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from mechanisms import FEW, MECHANISMS, ROUNDS, bits
from registry import LEARNERS, D, Entry, adversarial, noisy
from tiers import some

import jaxonline as jo
from jaxonline.feedback import (
    BanditOracle,
    CopiesOracle,
    DuelOracle,
    FullOracle,
    GraphOracle,
    LossOfMoveOracle,
    OnRequestOracle,
    SemiBanditOracle,
    SymbolOracle,
)
from jaxonline.game import Draw, Specs, binding
from jaxonline.game.roles import Oracle
from jaxonline.learners import GradientLearner, SurrogateKernel
from jaxonline.learners.bandits.index_policies import Tally
from jaxonline.parameters.struct import cast_leaves

MAX_COPIES = 8
MoveFeedback = jo.Bandit | jo.SemiBandit | jo.Duel | jo.LossOfMove | jo.FeedbackGraph | jo.PartialMonitoring


@pytest.fixture(params=LEARNERS)
def entry(request):
    """Each learner of the registry, under its dtype promotion."""
    entry = LEARNERS[request.param]()
    with entry.promotion():
        yield entry


class Poisoned(Oracle):
    """Oracle that answers questions, with poison for hidden x and y, copies not charged and all other attributes."""

    def __init__(self, copies, labels, covariance, poison):
        self.given = copies, labels
        self.covariance = covariance
        self.poison = poison
        self.charged = 0
        self.asked = set()

    def copy(self, index):
        self.charged = self.charged + (index not in self.asked)
        self.asked.add(index)
        return self.given[0][index]

    def copies(self, first, capacity, number=None):
        if number is None:
            return jnp.stack([self.copy(first + k) for k in range(capacity)])
        self.charged = self.charged + number
        paid = jnp.arange(capacity) < number
        wanted = self.given[0][first : first + capacity]
        return jnp.where(paid.reshape(-1, *[1] * (wanted.ndim - 1)), wanted, self.poison)

    def reserve(self, number):
        self.charged = self.charged + number

        def draw(index):  # copies repeat, because learners may ask for more than there are
            return jnp.where(index < number, self.given[0][index % MAX_COPIES], self.poison)

        return draw

    def label(self, index=0):
        return self.given[1][index]

    def labels(self, capacity, number):  # labels repeat too
        index = jnp.arange(capacity)
        return jnp.where(index < number, self.given[1][index % MAX_COPIES], self.poison)

    def queries(self):
        return jnp.asarray(self.charged, jnp.int32)

    def __getattr__(self, name):
        if name.startswith("__") or name in ("given", "poison"):
            raise AttributeError(name)
        return jnp.full(self.given[0].shape[1:], self.poison)  # x, _x, _y, _key, ...


class PoisonedAttributes(Poisoned):
    """Oracle that answers with the attributes asked for, with poison beyond a random number of them."""

    def __init__(self, x, label, poison):
        super().__init__(x[None], label[None], None, poison)

    def attributes(self, indices, number=None):
        number = jnp.int32(len(indices)) if number is None else number
        self.charged = self.charged + number
        return jnp.where(jnp.arange(len(indices)) < number, self.given[0][0][indices], self.poison)


class PoisonedOnRequest(OnRequestOracle):
    """Oracle that answers questions, with poison where none is asked; the instance and the move are poison too."""

    def outcome(self, ask):
        return jnp.where(ask, super().outcome(ask), self.x)


def poisoned_oracle(feedback: Any, material: dict[str, Any], move: Any, poison: Any) -> Any:
    """Return the oracle of a feedback with poison in hidden data; each kind of feedback has one line here."""
    if isinstance(feedback, jo.FullInformation):
        return FullOracle(material["copies"][0], material["outcome"])
    if isinstance(feedback, jo.Bandit):
        pulled = jnp.arange(D) == (move.arm if isinstance(move, Draw) else move)
        return BanditOracle(material["context"], move, jnp.where(pulled, material["outcome"], poison))
    if isinstance(feedback, jo.SemiBandit):
        chosen = jnp.any(jnp.arange(D)[None, :] == move[:, None], axis=0)
        return SemiBanditOracle(material["context"], move, jnp.where(chosen, material["outcome"], poison))
    if isinstance(feedback, jo.Duel):
        chosen = (jnp.arange(D) == move[0])[:, None] & (jnp.arange(D) == move[1])[None, :]
        return DuelOracle(material["context"], move, jnp.where(chosen, material["outcome"], poison))
    if isinstance(feedback, jo.FeedbackGraph):
        shown = feedback.adjacency[move.arm] > 0
        losses = jnp.where(shown, material["outcome"], poison)
        return GraphOracle(material["context"], move, losses, feedback.adjacency)
    if isinstance(feedback, jo.PartialMonitoring):
        return SymbolOracle(poison, move, feedback.open(None, 0, poison, material["outcome"], move).symbol())
    if isinstance(feedback, jo.LossOfMove):
        return LossOfMoveOracle(poison, move, feedback.loss(move, material["outcome"]))
    if isinstance(feedback, jo.OnRequest):
        return PoisonedOnRequest(poison, poison, material["outcome"])
    if isinstance(feedback, jo.Attributes):
        return PoisonedAttributes(material["copies"][0], material["labels"][0], poison)
    if isinstance(feedback, jo.AdversarialCopies):
        return Poisoned(material["copies"], material["labels"], None, poison)
    assert isinstance(feedback, jo.NoisyCopies), f"add a poisoned oracle of {type(feedback).__name__} here"
    return Poisoned(material["copies"], material["labels"], material["covariance"], poison)


def material_of(entry: Entry, seed: int) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(D, D)) / 3
    arrays = {
        "copies": rng.normal(size=(MAX_COPIES, D)),
        "labels": rng.normal(size=MAX_COPIES),
        "covariance": root @ root.T,
        "losses": rng.uniform(size=entry.outcome_shape),
        "context": rng.dirichlet(np.ones(D), size=D) if entry.contexts else np.zeros(0),
    }
    material = jax.tree.map(jnp.asarray, {name: np.asarray(array, np.float32) for name, array in arrays.items()})
    return material | {"outcome": material["losses"] if entry.losses_of_arms else material["labels"][0]}


def specs_of(entry: Entry, dtype: Any = np.float32) -> Specs:
    if entry.losses_of_arms:
        context = jax.ShapeDtypeStruct((D, D) if entry.contexts else (0,), dtype)
        return Specs(context, jax.ShapeDtypeStruct(entry.outcome_shape, dtype))
    return Specs.of_vectors(D, dtype)


def finite(tree: Any) -> bool:
    return all(bool(np.isfinite(np.asarray(leaf)).all()) for leaf in jax.tree.leaves(tree))


def steps_under_poison(entry: Entry) -> dict[str, Any]:
    """Return the states after two rounds with several poisons, keys and materials, from one compiled program."""
    learner, feedback = cast_leaves((entry.learner, entry.feedback), np.float32)

    @jax.jit
    def two_rounds(learner, feedback, materials, poison, keys):
        state = learner.init(keys[0], specs_of(entry))
        asked = []
        for material, key in zip(materials, keys, strict=True):
            x = material["context"] if entry.losses_of_arms else material["copies"][0]
            answers_move = isinstance(feedback, MoveFeedback)
            move = learner.predict(key, state, x) if answers_move else None
            oracle = poisoned_oracle(feedback, material, move, poison)
            state, _ = learner.update(key, state, oracle)
            asked.append(oracle.queries())
        return state, jnp.stack(asked)

    materials = [material_of(entry, 0), material_of(entry, 1)]
    # many, because different losses may become the same random 0 or 1
    others = [[material_of(entry, seed), material_of(entry, 2)] for seed in (0, *range(3, 16))]
    keys, *other_keys = (jax.random.split(jax.random.key(seed), 2) for seed in range(5))

    def play(materials, poison, keys):
        return two_rounds(learner, feedback, materials, jnp.float32(poison), keys)

    return {
        "plain": play(materials, 0.5, keys),
        "huge": play(materials, 1e30, keys),
        "nan": play(materials, np.nan, keys),
        "other keys": [play(materials, 0.5, pair) for pair in other_keys],  # arms may be drawn twice
        "other materials": [play(other, 0.5, keys) for other in others],
    }


@pytest.mark.parametrize("entry", some(LEARNERS, *FEW), indirect=True)
def test_learner_observes_only_answers_to_its_questions(entry):
    states = steps_under_poison(entry)
    plain, asked = states["plain"]
    assert finite(plain)
    assert bits(states["nan"]) == bits(states["plain"])
    assert bits(states["huge"]) == bits(states["plain"])
    answers_matter = any(bits(state) != bits(plain) for state, _ in states["other materials"])
    assert answers_matter, "the test needs a state that depends on the answers"
    assert asked.tolist() == [entry.queries] * 2 or entry.queries is None
    keys_matter = any(bits(state) != bits(plain) for state, _ in states["other keys"])
    draws_order = getattr(entry.learner, "ties", "first") == "random"
    assert keys_matter == (draws_order or (entry.randomised and not entry.silent))


def peeks_at_the_instance(key, w, oracle):
    return 0 * w + oracle._x


def uses_copies_it_did_not_pay_for(key, w, oracle):
    return oracle.copies(0, 4, jnp.int32(2)).sum(axis=0)


def looks_beyond_what_it_reserved(key, w, oracle):
    return oracle.reserve(jnp.int32(2))(jnp.int32(2))


@pytest.mark.parametrize(
    "cheat", [peeks_at_the_instance, uses_copies_it_did_not_pay_for, looks_beyond_what_it_reserved]
)
def test_poison_detects_a_cheating_learner(cheat):
    class Cheat(jo.Learner):
        learner = GradientLearner(cheat, step_size=0.1)
        init, predict, update = learner.init, learner.predict, learner.update

    jax.tree_util.register_pytree_node(Cheat, lambda _: ((), None), lambda *_: Cheat())
    states = steps_under_poison(Entry(Cheat(), noisy()))
    assert bits(states["nan"]) != bits(states["plain"])


def opened(feedback: Any, key: Any, t: int, x: Any, y: Any, y_hat: Any) -> Any:
    """Return the oracle of a feedback; an adaptive feedback has its initial state."""
    state = feedback.init(key, Specs(jax.ShapeDtypeStruct(x.shape, x.dtype), None), None)
    return feedback.open(key, jnp.int32(t), x, y, y_hat, state)


def leaf_types(tree: Any) -> list[tuple]:
    leaves, structure = jax.tree.flatten(tree)
    return [structure, *((leaf.shape, leaf.dtype, getattr(leaf, "weak_type", False)) for leaf in leaves)]


@pytest.mark.parametrize("both_precisions", some([False, True], True), indirect=True)
@pytest.mark.parametrize("entry", some(LEARNERS, *MECHANISMS), indirect=True)
def test_state_keeps_its_type(both_precisions, entry):
    dtype = both_precisions
    learner, feedback = cast_leaves((entry.learner, entry.feedback), dtype)
    specs, key = specs_of(entry, dtype), jax.random.key(0)
    x, y = (jnp.zeros(spec.shape, dtype) for spec in specs)

    def update(state):
        oracle = opened(feedback, key, 1, x, y, learner.predict(key, state, x))
        return learner.update(key, state, oracle)[0]

    first = jax.eval_shape(lambda: learner.init(key, specs))
    second = jax.eval_shape(update, first)
    assert leaf_types(first) == leaf_types(second)
    assert not any(weak for *_, weak in leaf_types(first)[1:])
    assert all(leaf.dtype == dtype for leaf in jax.tree.leaves(first) if jnp.issubdtype(leaf.dtype, jnp.floating))

    move = jax.eval_shape(lambda state: learner.predict(key, state, x), first)
    assert not any(weak for *_, weak in leaf_types(move)[1:])
    assert {leaf.dtype for leaf in jax.tree.leaves(move)} <= {np.dtype(dtype), np.dtype(np.int32)}
    loss = jax.eval_shape(cast_leaves(entry.loss, dtype), move, y)
    assert (loss.shape, loss.dtype, loss.weak_type) == ((), dtype, False)

    def carried(state, flag):
        return jax.lax.scan(lambda s, _: (jax.lax.cond(flag, update, lambda s: s, s), None), state, length=2)

    jax.eval_shape(carried, first, jax.ShapeDtypeStruct((), bool))


def is_number(value: Any) -> bool:
    return isinstance(value, float | np.floating | np.ndarray | jax.Array) and not callable(value)


def static_numbers(obj: Any, where: str = "") -> list[str]:
    """Return the paths of finite floats and arrays in static fields, which cannot be swept."""
    paths = []
    if not dataclasses.is_dataclass(obj):
        return paths
    for field in dataclasses.fields(obj):
        value = getattr(obj, field.name)
        if field.metadata.get("static"):
            paths += [f"{where}.{field.name}"] * bool(is_number(value) and np.isfinite(value).all())
        else:
            paths += static_numbers(value, f"{where}.{field.name}")
    return paths


def test_numbers_are_leaves(request, entry):
    learner = entry.learner
    assert static_numbers(learner) == []
    leaves, structure = jax.tree.flatten(learner)
    assert all(is_number(leaf) or isinstance(leaf, int) for leaf in leaves)
    hash(structure)
    assert structure == jax.tree.structure(LEARNERS[request.node.callspec.params["entry"]]().learner), (
        "two equal constructor calls: must be the same program"
    )
    assert jax.tree.structure(jax.tree.unflatten(structure, leaves)) == structure


@pytest.mark.filterwarnings("ignore:the loss of the game is:UserWarning")  # half of a loss is another loss
@pytest.mark.parametrize("entry", some(LEARNERS, *FEW), indirect=True)
def test_one_program_for_all_numbers_and_moves_depend_on_the_past(entry):
    rows = entry.rows(ROUNDS)
    game = jo.Game(rows, entry.feedback, loss=entry.loss)
    keys = [jax.random.fold_in(jax.random.key(0), run) for run in range(3)]
    before = binding._play._cache_size()
    loop = [jo.play(game, entry.learner, keys[0], ROUNDS)]
    compiled = binding._play._cache_size()
    assert compiled - before <= 1  # 0 if another test has compiled it
    loop += [jo.play(game, entry.learner, key, ROUNDS) for key in keys[1:]]

    other = jax.tree.map(lambda leaf: 0.5 * leaf if np.asarray(leaf).dtype.kind == "f" else leaf, entry.learner)
    if isinstance(other, SurrogateKernel):  # the surrogate must match the noise
        other = jo.replace(other, surrogate=entry.learner.surrogate)
    slower = jo.play(game, other, keys[0], ROUNDS)
    fourth = jnp.round(1.0 - rows.y[3]) if entry.losses_of_arms else rows.y[3] * (-1.0 if entry.classes else -5.0)
    y = rows.y.at[3].set(fourth)
    elsewhere = jo.Game(jo.replace(rows, y=y), entry.feedback, loss=entry.loss)
    changed = jo.play(elsewhere, entry.learner, keys[0], ROUNDS)
    assert binding._play._cache_size() == compiled

    moves, changed_moves = loop[0][1].y_hat, changed[1].y_hat
    no_numbers = entry.late or not jax.tree.leaves(entry.learner)
    assert no_numbers or bits(slower) != bits(loop[0]), "numbers: must change moves"

    def rounds(tree, part):
        return bits(jax.tree.map(lambda leaf: leaf[part], tree))

    assert rounds(changed_moves, slice(4)) == rounds(moves, slice(4)), "moves depend on a later outcome"
    arms = all(jnp.issubdtype(leaf.dtype, jnp.integer) for leaf in jax.tree.leaves(moves))
    if arms or isinstance(loop[0][0], Tally):
        opposite = jo.Game(jo.replace(rows, y=rows.y.at[3].set(1.0 - fourth)), entry.feedback, loss=entry.loss)
        state = jo.play(opposite, entry.learner, keys[0], ROUNDS)[0] if entry.losses_of_arms else loop[0][0]
        assert bits(changed[0]) != bits(state), "the state: must depend on the loss, if the arm does not"
    else:
        assert entry.coarse or rounds(changed_moves, slice(4, None)) != rounds(moves, slice(4, None))
    queries = loop[0][1].queries
    assert len(set(queries.tolist())) > 1 if entry.queries is None else queries.tolist() == [entry.queries] * ROUNDS


@pytest.mark.long
@pytest.mark.parametrize("name", LEARNERS)
def test_vmap_equals_a_loop_over_runs(name):
    entry = LEARNERS[name]()
    with entry.promotion():
        game = jo.Game(entry.rows(ROUNDS), entry.feedback, loss=entry.loss)
        keys = [jax.random.fold_in(jax.random.key(0), run) for run in range(3)]
        loop = [jo.play(game, entry.learner, key, ROUNDS) for key in keys]
        together = jax.jit(jax.vmap(lambda key: jo.play(game, entry.learner, key, ROUNDS)))(jnp.stack(keys))
    one_by_one = jax.tree.map(lambda *leaves: np.stack(leaves), *loop)
    jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=2e-5, atol=1e-6), together, one_by_one)


@pytest.mark.parametrize("feedback", [jo.FullInformation(), noisy(), adversarial(), jo.Attributes(2)], ids=type)
def test_answers_do_not_depend_on_the_prediction(feedback):
    """All feedbacks except those of bandits."""
    x, y, key = jnp.arange(3.0), jnp.float32(2.0), jax.random.key(1)

    def answers(y_hat):
        oracle = opened(feedback, key, 5, x, y, jnp.float32(y_hat))
        if isinstance(oracle, FullOracle):
            return oracle.x, oracle.y
        return oracle.attributes(jnp.arange(2)) if hasattr(oracle, "attributes") else oracle.copy(0), oracle.label()

    assert bits(answers(np.nan)) == bits(answers(0.0))


def test_queries_count_distinct_copies():
    x, y, t = jnp.zeros(3), jnp.float32(2.0), jnp.int32(1)
    oracle: CopiesOracle = noisy().open(jax.random.key(0), t, x, y, y)
    first = oracle.copy(0)
    assert oracle.queries() == 1
    assert bits(oracle.copy(0)) == bits(first)
    assert oracle.queries() == 1, "a repeated copy is not a new query"
    oracle.copy(3)
    labels = [oracle.label(j) for j in range(4)]
    rows = oracle.labels(6, jnp.int32(4))
    assert bits(rows[0]) == bits(labels[0])
    np.testing.assert_allclose(rows[:4], labels, rtol=1e-6)
    np.testing.assert_allclose(jax.jit(oracle.label)(jnp.int32(3)), labels[3], rtol=1e-6)
    assert len({float(label) for label in labels}) == 4, "every index: must have its own label"
    assert jo.NoisyCopies(jo.noise.gaussian(1.0)).open(None, t, x, y, y).labels(3, jnp.int32(1)).tolist() == [2.0] * 3
    assert oracle.queries() == 2
    block = oracle.copies(4, 3, jnp.int32(2))
    assert oracle.queries() == 4
    fresh: CopiesOracle = noisy().open(jax.random.key(0), t, x, y, y)
    np.testing.assert_allclose(block, [fresh.copy(4), fresh.copy(5), np.zeros(3)], rtol=1e-6)
    fresh.copies(10, 4, jnp.int32(9))
    assert fresh.queries() == 2 + 4, "at most the capacity is charged"
    draw = fresh.reserve(jnp.int32(3))
    np.testing.assert_allclose(jax.jit(draw)(jnp.int32(5)), fresh.copy(5), rtol=1e-6)
    assert fresh.queries() == 2 + 4 + 3, "reserved copies are charged, used or not"
    with pytest.raises(TypeError, match="index"):
        oracle.copy(jnp.int32(0))
    with pytest.raises(ValueError, match="index"):
        oracle.copy(-1)
    with pytest.raises(ValueError, match="covariance"):
        _ = jo.NoisyCopies(jo.noise.gaussian(1.0)).open(jax.random.key(0), t, x, y, y).covariance


# ---------------------------------------------------------------------------------------------------------------------
# Programs do not grow with the dimension: their instructions before compilation are counted, and not the time

DIMENSIONS, MAX_LINES, MAX_GROWTH = (2, 16, 40), 12_000, 1.25
LAWS = {"student_t": lambda covariance: jo.noise.student_t(covariance, 10.0)}
LAWS |= {law.__name__: law for law in (jo.noise.gaussian, jo.noise.laplace, jo.noise.uniform)}
OF_DIMENSION_3 = ("surrogate kernel", "Fourier features")  # their entries have arrays for three coordinates
WITH_COPIES = [name for name in LEARNERS if isinstance(LEARNERS[name]().feedback, jo.NoisyCopies)]


@pytest.mark.long
@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", [name for name in WITH_COPIES if not name.startswith(OF_DIMENSION_3)])
def test_programs_do_not_grow_with_the_dimension(name, law):
    entry, lines = LEARNERS[name](), []
    for d in DIMENSIONS:
        rng = np.random.default_rng(0)
        y, label_noise = rng.choice([-1.0, 1.0], size=4), None if entry.classes else LAWS[law](0.1)
        copies = jo.NoisyCopies(LAWS[law](0.2), label_noise=label_noise, reveal_covariance=True)
        game = jo.Game(jo.environments.DataStream(rng.normal(size=(4, d)), y), copies, entry.loss)
        program = jax.jit(lambda key, game=game: jo.play(game, entry.learner, key, n_rounds=4))
        with entry.promotion():
            lines.append(program.lower(jax.random.key(0)).as_text().count("\n"))
    assert max(lines) <= min(MAX_LINES, MAX_GROWTH * lines[0])
