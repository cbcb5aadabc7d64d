"""One round of online learning; hidden data reach the learner only through the oracle.

    x        = environment.instance(...)          the environment picks an instance
    y_hat    = learner.predict(...)               the learner moves
    y        = environment.outcome(..., y_hat)    the outcome; an adaptive adversary may use y_hat
    oracle   = feedback.open(x, y, y_hat)         the oracle answers the learner in this round
    state    = learner.update(..., oracle)        the learner sees x and y only through the oracle
               feedback.observe(x, y, y_hat)      a feedback with a state sees the round when it is over
    loss     = game.loss(y_hat, y)

Every method is a pure function of its arguments and a key (`keys`). Instances, moves and outcomes are any pytrees.
"""

import functools
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from jaxonline.game.keys import ANSWER, INIT, INSTANCE, PREDICT, StreamKeys, update_key
from jaxonline.game.printing import game_line, history_table, is_history
from jaxonline.game.roles import Environment, Feedback, Learner, Specs
from jaxonline.losses import Loss, Squared
from jaxonline.losses.arms import ArmLoss, ExpectedLoss, LazyOutcome, as_vector, for_loss
from jaxonline.losses.base import as_loss, check_outcomes
from jaxonline.numerics.elementwise import exact_products
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.struct import cast_leaves, set_field, static, struct
from jaxonline.parameters.types import Component, PyTree


@struct
class WithFeedback:
    """A learner with its own feedback, in a study in which other learners have the game's feedback.

    Args:
        learner: the learner.
        feedback: the learner's own feedback.

    Raises:
        TypeError: an argument is not of the required kind.

    Example:
        >>> import jaxonline as jo
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.1)
        >>> type(jo.WithFeedback(learner, jo.FullInformation()).feedback).__name__
        'FullInformation'
    """

    learner: Annotated[Any, Component("learner")]
    feedback: Annotated[Feedback, Component("feedback")]

    def __post_init__(self) -> None:
        if not hasattr(self.learner, "labels"):  # of a sweep
            check_role("learner", self.learner, Learner)
        check_role("feedback", self.feedback, Feedback)


@struct
class Game:
    """A game: an environment, the feedback of the learners, and a loss.

    Args:
        environment: the environment that generates instances and outcomes.
        feedback: the feedback that answers the queries of learners; a learner `WithFeedback` has its own.
        loss: function `loss(y_hat, y)` from a move and an outcome to a number; squared loss by default.
        pseudo: whether losses are those of the mean outcome given the past, for learner and comparator
            (pseudo-regret, the regret of bandits). The loss must be linear in the outcome, as `losses.ArmLoss` is.

    Raises:
        TypeError: an argument is not of the required kind.
        ValueError: `pseudo` needs mean outcomes that the environment does not have; `loss` is a margin loss and an
            outcome is neither -1 nor +1; the feedback does not suit the instances; the environment has rewards, and
            `loss` is neither `ArmLoss` nor `ExpectedLoss`.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.NoisyCopies(jo.noise.gaussian(0.1)))
        >>> game.deterministic, str(game.dtype)
        (True, 'float32')
        >>> arms = jo.environments.BernoulliArms([0.2, 0.8])
        >>> game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss(), pseudo=True)
        >>> result = jo.simulate(game, jo.learners.EXP3(0.1), n_runs=2, n_rounds=9, comparator=jo.BestArm())
        >>> result.comparator_loss[0, :, -1].round(5).tolist()
        [1.8, 1.8]
    """

    environment: Annotated[Environment, Component("environment")]
    feedback: Annotated[Feedback, Component("feedback")]
    loss: Annotated[Any, Component("loss")] = Squared()
    pseudo: bool = static(default=False)

    def __post_init__(self) -> None:
        check_environment(self.environment)
        check_role("feedback", self.feedback, Feedback)
        if isinstance(self.loss, Loss):
            set_field(self, "loss", as_loss("loss", self.loss))
        elif not callable(self.loss) or any(callable(leaf) for leaf in jax.tree.leaves(self.loss)):
            problem = f"must be a loss (jaxonline.losses) or a jax.tree_util.Partial (got {check.quote(self.loss)})"
            raise ArgumentTypeError("loss", problem)
        check_classes(self.environment, self.loss)
        if self.rewards and not isinstance(self.loss, ArmLoss | ExpectedLoss):
            problem = f"must be ArmLoss() or ExpectedLoss() for arms with rewards (got {check.quote(self.loss)})"
            raise ArgumentError("loss", problem)
        if self.pseudo and not has_mean_outcome(self.environment):
            problem = f"must have the method mean_outcome for pseudo=True (got {type(self.environment).__name__})"
            raise ArgumentError("environment", problem)
        check_feedback_specs(self.feedback, self.specs, self.dtype)
        check_same_instances(self.environment, self.feedback)

    def __repr__(self) -> str:
        return game_line(self)

    @property
    def rewards(self) -> bool:
        """Whether the environment has rewards (`environments.Rewards`), so that results show rewards."""
        return self.environment.rewards

    @property
    def specs(self) -> Specs:
        """Shapes and dtypes of instances and outcomes."""
        return Specs(self.environment.instance_spec, self.environment.outcome_spec)

    @property
    def dtype(self) -> Any:
        """The floating dtype of the game: the dtype of its instances or, if these are not floating, of its outcomes."""
        leaves = jax.tree.leaves(tuple(self.specs))
        floating = [leaf.dtype for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.floating)]
        return floating[0] if floating else jnp.result_type(float)

    @property
    def oblivious(self) -> bool:
        """Whether instances and outcomes do not depend on the learner."""
        return self.environment.oblivious

    @property
    def deterministic(self) -> bool:
        """Whether instances and outcomes are oblivious and identical in every run."""
        return self.environment.oblivious and self.environment.deterministic


class States(NamedTuple):
    """The states of one run between two rounds: of the environment, the learner and the learner's feedback."""

    environment: PyTree
    learner: PyTree
    feedback: PyTree = ()


class Round(NamedTuple):
    """The record of a round, for measures and histories. The record of several rounds prints as a table.

    Attributes:
        loss: the loss of the move; NaN if the learner asks for more copies than are measured (`Replicates`).
        y_hat: the move.
        y: the outcome.
        x: the clean instance.
        y_comparator: the outcome in the losses: y, or its mean (`Game(pseudo=True)`).
        queries: the number of queries charged by the oracle.
        answers: the number of answers of the oracle: 1, or with delayed feedback the number of answers that arrived.
        info: the learner's diagnostics.
    """

    loss: Array
    y_hat: PyTree
    y: PyTree
    x: PyTree
    y_comparator: PyTree
    queries: Array
    answers: Array
    info: PyTree

    def __repr__(self) -> str:
        if is_history(self):
            return history_table(self)
        return f"Round({', '.join(f'{name}={value!r}' for name, value in self._asdict().items())})"


class RewardRound(Round):
    """The record of a round of arms with rewards: as `Round`, and it prints rewards."""

    __slots__ = ()

    @property
    def reward(self) -> Array:
        """The reward of the move: 1 - loss."""
        return 1.0 - self.loss

    def __repr__(self) -> str:
        if is_history(self):
            return history_table(self, rewards=True)
        fields = {"reward": self.reward, **self._asdict(), "y": 1.0 - self.y, "y_comparator": 1.0 - self.y_comparator}
        return f"RewardRound({', '.join(f'{name}={value!r}' for name, value in fields.items() if name != 'loss')})"


@exact_products()
def start(game: Game, entrant: WithFeedback | None, keys: StreamKeys) -> States:
    """Return the states before round 1; with `entrant=None` there is no learner."""
    environment = game.environment.init(jax.random.fold_in(keys.environment, INIT))
    if entrant is None:
        return States(environment, ())
    learner = _learner_of(game, entrant)
    state = learner.init(jax.random.fold_in(keys.learner, INIT), game.specs)
    move = jax.eval_shape(learner.predict, keys.learner, state, game.specs.instance)
    feedback = entrant.feedback.init(jax.random.fold_in(keys.oracle, INIT), game.specs, move)
    return States(environment, state, feedback)


def _learner_of(game: Game, entrant: WithFeedback) -> Any:
    """Return the learner that observes losses; in a game of rewards its parameters are given in rewards."""
    return entrant.learner.for_rewards() if game.rewards else entrant.learner


@exact_products()
def play_round(
    game: Game, entrant: WithFeedback | None, keys: StreamKeys, t: Int[Array, ""], states: States
) -> tuple[States, Round]:
    """Run round t = 1, 2, ... With `entrant=None` only the environment moves; it must be oblivious.

    JAX traces a round once, and reuses the trace in all programs with equal rounds.
    """
    return (_environment_round if entrant is None else _round)(game, entrant, keys, t, states)


@functools.partial(jax.jit, inline=True)
def _round(game, entrant, keys, t, states):
    environment, feedback, learner = game.environment, entrant.feedback, _learner_of(game, entrant)
    environment_key, oracle_key, learner_key = (jax.random.fold_in(key, t) for key in keys)

    x, environment_state = environment.instance(jax.random.fold_in(environment_key, INSTANCE), states.environment, t)
    y_hat = learner.predict(jax.random.fold_in(learner_key, PREDICT), states.learner, x)
    outcome_key = jax.random.fold_in(environment_key, ANSWER)
    outcome, environment_state = environment.outcome(outcome_key, environment_state, t, x, y_hat)
    y = as_vector(outcome)
    observed = outcome if feedback.reads_entries else y
    if game.rewards and learner.loss_at_zero_reward != 1.0:  # outcomes are 1 - reward
        offset = learner.loss_at_zero_reward - 1.0
        observed = outcome.plus(offset) if isinstance(observed, LazyOutcome) else observed + offset
    oracle = feedback.open(oracle_key, t, x, observed, y_hat, states.feedback)
    updated = learner.update(update_key(learner_key, y_hat), states.learner, oracle)
    if not (isinstance(updated, tuple) and len(updated) == 2):
        raise ArgumentTypeError("update", f"must return the next state and an info (got {format_spec(updated)})")
    learner_state, info = updated
    feedback_state = feedback.observe(oracle_key, states.feedback, t, x, observed, y_hat)
    y_comparator = environment.mean_outcome(environment_state, t, x, y) if game.pseudo else y
    loss = game.loss(y_hat, y_comparator if game.pseudo else for_loss(game.loss, outcome))
    queries = oracle.queries()
    if feedback.max_copies is not None:
        loss = jnp.where(queries > feedback.max_copies, jnp.nan, loss)
    record = Round(loss, y_hat, y, x, y_comparator, queries, oracle.answers(), info)
    return States(environment_state, learner_state, feedback_state), record


@functools.partial(jax.jit, inline=True)
def _environment_round(game, entrant, keys, t, states):
    key, zero = jax.random.fold_in(keys.environment, t), jnp.zeros((), game.dtype)
    x, state = game.environment.instance(jax.random.fold_in(key, INSTANCE), states.environment, t)
    outcome, state = game.environment.outcome(jax.random.fold_in(key, ANSWER), state, t, x, zero)
    y = as_vector(outcome)
    y_comparator = game.environment.mean_outcome(state, t, x, y) if game.pseudo else y
    return States(state, ()), Round(zero, zero, y, x, y_comparator, jnp.int32(0), jnp.int32(0), ())


# ---------------------------------------------------------------------------------------------------------------------
# Checks of environments and feedbacks


def format_spec(spec: PyTree) -> str:
    """Format shapes and dtypes, such as "float32[3]"."""
    return ", ".join(f"{leaf.dtype}{list(leaf.shape)}" for leaf in jax.tree.leaves(spec)) or "nothing"


def check_role(name: str, value: Any, role: type) -> None:
    """Check that a value inherits from the base class of its role.

    Raises:
        TypeError: it does not; the message says how to write the class.
    """
    article = "an" if role is Environment else "a"
    wanted = f"{article} {role.__name__.lower()}, whose class inherits from jo.{role.__name__}"
    check.instance(name, value, isinstance(value, role), wanted)


def check_environment(environment: Any) -> None:
    """Check the class of an environment, and the shapes, dtypes and facts that it declares.

    Raises:
        TypeError: the class does not inherit from `Environment`, or an attribute is invalid.
    """
    check_role("environment", environment, Environment)
    name = type(environment).__name__
    for field in ("instance_spec", "outcome_spec"):
        leaves = jax.tree.leaves(spec := getattr(environment, field))
        if not all(hasattr(leaf, "shape") and hasattr(leaf, "dtype") for leaf in leaves):
            raise TypeError(f"{name}.{field}: must be of jax.ShapeDtypeStruct(shape, dtype) (got {check.quote(spec)})")
    for fact in ("oblivious", "deterministic", "rewards"):
        check.flag(f"{name}.{fact}", getattr(environment, fact))


def has_mean_outcome(environment: Environment) -> bool:
    """Whether the means of an environment's outcomes are known."""

    def mean(key: Any, t: Any, x: Any, y: Any) -> Any:
        return environment.mean_outcome(environment.init(key), t, x, y)

    key, t = jax.eval_shape(lambda: jax.random.key(0)), jax.ShapeDtypeStruct((), jnp.int32)
    return jax.eval_shape(mean, key, t, environment.instance_spec, environment.outcome_spec) is not None


def check_classes(environment: Environment, loss: Any) -> None:
    """Check that outcomes known before the game are -1 or +1, if the game's loss is a margin loss."""
    if environment.outcomes is not None and not check.is_abstract(environment.outcomes):
        check_outcomes("y", environment.outcomes, loss)


def check_feedback_specs(feedback: Feedback, specs: Specs, dtype: Any) -> None:
    """Check that a feedback suits the game, without computing anything.

    Raises:
        ValueError: the feedback asks for more attributes than instances have; noise and instances differ in dimension;
            the feedback's state changes its type.
    """
    feedback.check_specs(specs)
    if not feedback.makes_copies:
        return
    feedback = cast_leaves(feedback, dtype)

    def ask(key, t, x, y):
        state = feedback.init(jax.random.fold_in(key, INIT), specs, specs.outcome)
        oracle = feedback.open(key, t, x, y, y, state)
        return state, feedback.observe(key, state, t, x, y, y), (oracle.copy(0), oracle.label())

    key = jax.eval_shape(lambda: jax.random.key(0))
    before, after, _ = jax.eval_shape(ask, key, jax.ShapeDtypeStruct((), jnp.int32), *specs)
    check_state("feedback.observe", before, after)


def check_same_instances(environment: Environment, feedback: Feedback) -> None:
    """Check that the instances are those of the measured copies, if the feedback has measured copies.

    Raises:
        ValueError: the instances differ between runs; the environment has another number of rows than the feedback.
    """
    if feedback.max_rounds is None:
        return
    name = type(feedback).__name__
    if not environment.deterministic:
        problem = f"must be the same in every run for {name}, such as DataStream in file order"
        raise ArgumentError("environment", f"{problem} (got {check.quote(environment)})")
    if environment.n_rows not in (None, feedback.max_rounds):
        problem = f"must have as many rows as {name}, {feedback.max_rounds}"
        raise ArgumentError(
            "environment", f"{problem} (got {type(environment).__name__} with {environment.n_rows} rows)"
        )


def check_state(what: str, before: PyTree, after: PyTree) -> None:
    """Check that a state keeps its structure, shapes and dtypes, as loops require; raise ValueError otherwise."""
    kinds = [[(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(state)] for state in (before, after)]
    if kinds[0] != kinds[1] or jax.tree.structure(before) != jax.tree.structure(after):
        raise ValueError(f"{what}: must return a state of the shapes and dtypes of init, {before} (got {after})")
