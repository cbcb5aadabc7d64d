"""One round of online learning; hidden data reach the learner only through the oracle.

    x        = environment.instance(...)         the environment picks an instance
    y_hat    = learner.predict(...)              the learner moves
    y        = environment.answer(..., y_hat)    the outcome; an adaptive adversary may use y_hat
    oracle   = feedback.open(x, y, y_hat)        the oracle answers the learner in this round
    state    = learner.update(..., oracle)       the learner sees x and y only through the oracle
               feedback.observe(x, y, y_hat)     an adaptive feedback sees the round when it is over

Every method is a pure function of its arguments and a key (`keys`). Instances, moves and outcomes are any pytrees.
"""

import dataclasses
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int

from jaxonline.game.defaults import OracleDefaults, has_expected_outcomes, method_of
from jaxonline.game.keys import ANSWER, INIT, INSTANCE, PREDICT, StreamKeys, update_key
from jaxonline.game.oracles import (
    check_feedback,
    check_feedback_specs,
    check_same_instances,
    initial_feedback_state,
    next_feedback_state,
    open_oracle,
    ran_out_of_copies,
)
from jaxonline.game.printing import game_line, history_table, is_history
from jaxonline.game.protocols import AnyFeedback, Environment, Learner, Specs, SweptLearners
from jaxonline.game.specs import check_environment_specs, format_spec
from jaxonline.game.traits import EnvironmentTraits, traits_of
from jaxonline.losses import Loss, Squared
from jaxonline.losses.arms import ArmLoss, ExpectedLoss, as_vector, for_loss
from jaxonline.losses.base import as_loss, check_outcomes
from jaxonline.numerics.elementwise import exact_products
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.signatures import members_of
from jaxonline.parameters.struct import set_field, static, struct
from jaxonline.parameters.types import Component, PyTree


@struct
class Entrant:
    """A learner with its own feedback, in a study in which other learners have the game's feedback.

    Args:
        learner: the learner.
        feedback: the learner's own feedback.

    Example:
        >>> import jaxonline as jo
        >>> entrant = jo.Entrant(jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.1), jo.FullInformation())
        >>> type(entrant.feedback).__name__
        'FullInformation'
    """

    learner: Annotated[Any, Component("learner")]
    feedback: Annotated[Any, Component("feedback")]

    if TYPE_CHECKING:  # strict types for the constructor only, since users know the class of a field

        def __init__(self, learner: Learner | SweptLearners, feedback: AnyFeedback) -> None: ...

    def __post_init__(self) -> None:
        is_learner = isinstance(self.learner, Learner) or dataclasses.is_dataclass(self.learner)  # such as a sweep
        check.instance("learner", self.learner, is_learner, "a learner, with init, predict and update")
        check_feedback("feedback", self.feedback)


@struct
class Game:
    """A game: an environment, the feedback of the learners, and a loss.

    Args:
        environment: the environment that generates instances and outcomes.
        feedback: the feedback that answers the queries of learners; an `Entrant` of a study has its own feedback.
        loss: function `loss(y_hat, y)` from a move and an outcome to a number; squared loss by default.
        pseudo: whether losses are those of the mean outcome given the past, for learner and comparator
            (pseudo-regret, the regret of bandits). The environment must have a method `expected_outcome`. The loss must
            be linear in the outcome, as `losses.ArmLoss` is: only then the loss of the mean outcome is the mean of the
            loss.

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
        >>> options = dict(n_runs=2, n_rounds=9, record_at=1, comparator=jo.BestArm())
        >>> jo.simulate(game, jo.learners.EXP3(0.1), **options).comparator_loss[0, :, -1].round(5).tolist()
        [1.8, 1.8]
    """

    environment: Annotated[Any, Component("environment")]
    feedback: Annotated[Any, Component("feedback")]
    loss: Annotated[Any, Component("loss")] = Squared()
    pseudo: bool = static(default=False)

    if TYPE_CHECKING:

        def __init__(
            self,
            environment: Environment,
            feedback: AnyFeedback,
            loss: Callable[[Any, Any], Any] = ...,
            pseudo: bool = ...,
        ) -> None: ...

    def __post_init__(self) -> None:
        if not isinstance(self.environment, Environment):
            missing = [name for name in members_of(Environment) if not hasattr(self.environment, name)]
            what = f"{type(self.environment).__name__}, which lacks {', '.join(missing)}"
            raise ArgumentTypeError("environment", f"must have the attributes and methods of Environment (got {what})")
        check_environment_specs(self.environment)
        check_feedback("feedback", self.feedback)
        if isinstance(self.loss, Loss):
            set_field(self, "loss", as_loss("loss", self.loss))
        elif not callable(self.loss) or any(callable(leaf) for leaf in jax.tree.leaves(self.loss)):
            raise ArgumentTypeError(
                "loss",
                f"must be a loss (jaxonline.losses) or a jax.tree_util.Partial (got {check.quote(self.loss)})",
            )
        check_classes(self.environment, self.loss)
        if self.rewards and not isinstance(self.loss, ArmLoss | ExpectedLoss):
            problem = f"must be ArmLoss() or ExpectedLoss() for arms with rewards (got {check.quote(self.loss)})"
            raise ArgumentError("loss", problem)
        if self.pseudo and not has_expected_outcomes(self.environment):
            problem = f"must have expected_outcome for pseudo=True (got {type(self.environment).__name__})"
            raise ArgumentError("environment", problem)
        check_feedback_specs(self.feedback, self.specs, self.dtype)
        check_same_instances(self.environment, self.feedback)

    def __repr__(self) -> str:
        return game_line(self)

    @property
    def rewards(self) -> bool:
        """Whether the environment has rewards (`environments.Rewards`), so that results show rewards."""
        return traits_of(self.environment, EnvironmentTraits).rewards

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
        return traits_of(self.environment, EnvironmentTraits).oblivious

    @property
    def deterministic(self) -> bool:
        """Whether instances and outcomes are oblivious and identical in every run."""
        return self.oblivious and traits_of(self.environment, EnvironmentTraits).deterministic


def check_classes(environment: Any, loss: Any) -> None:
    """Check that outcomes known before the game are -1 or +1, if the game's loss is a margin loss."""
    outcomes = traits_of(environment, EnvironmentTraits).outcomes
    if outcomes is not None and not check.is_abstract(outcomes):
        check_outcomes("y", outcomes, loss)


class States(NamedTuple):
    """The states of one run between two rounds.

    Attributes:
        environment: state of the environment.
        learner: state of the learner.
        feedback: state of the entrant's feedback; () for a feedback without a state.
    """

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
def start(game: Game, entrant: Entrant | None, keys: StreamKeys) -> States:
    """Return the states before round 1; with `entrant=None` there is no learner."""
    environment = game.environment.init(jax.random.fold_in(keys.environment, INIT))
    if entrant is None:
        return States(environment, ())
    learner = entrant.learner.init(jax.random.fold_in(keys.learner, INIT), game.specs)
    move = jax.eval_shape(entrant.learner.predict, keys.learner, learner, game.specs.instance)
    return States(environment, learner, initial_feedback_state(entrant.feedback, keys.oracle, game.specs, move))


@exact_products()
def play_round(
    game: Game, entrant: Entrant | None, keys: StreamKeys, t: Int[Array, ""], states: States
) -> tuple[States, Round]:
    """Run round t = 1, 2, ... With `entrant=None` only the environment moves; it must be oblivious.

    JAX traces a round once, and reuses the trace in all programs with equal rounds.
    """
    return _play_round(game, entrant, keys, t, states)


@functools.partial(jax.jit, inline=True)
def _play_round(game, entrant, keys, t, states):
    environment_key, oracle_key, learner_key = (jax.random.fold_in(key, t) for key in keys)
    x, environment = game.environment.instance(jax.random.fold_in(environment_key, INSTANCE), states.environment, t)

    if entrant is None:
        y_hat = jnp.zeros((), game.dtype)
    else:
        y_hat = entrant.learner.predict(jax.random.fold_in(learner_key, PREDICT), states.learner, x)

    answer_key = jax.random.fold_in(environment_key, ANSWER)
    outcome, environment = game.environment.answer(answer_key, environment, t, x, y_hat)
    y = as_vector(outcome)
    y_comparator = game.environment.expected_outcome(environment, t, x, y) if game.pseudo else y
    if entrant is None:
        record = Round(jnp.zeros((), game.dtype), y_hat, y, x, y_comparator, jnp.int32(0), jnp.int32(0), ())
        return States(environment, ()), record

    oracle = open_oracle(entrant.feedback, oracle_key, t, x, outcome, y_hat, states.feedback)
    updated = entrant.learner.update(update_key(learner_key, y_hat), states.learner, oracle)
    if not (isinstance(updated, tuple) and len(updated) == 2):
        raise ArgumentTypeError("update", f"must return the next state and an info (got {format_spec(updated)})")
    learner, info = updated
    loss = game.loss(y_hat, y_comparator if game.pseudo else for_loss(game.loss, outcome))
    loss = loss_if_available(x, y_hat, loss)
    queries, answers = oracle.queries(), method_of(oracle, OracleDefaults.answers)()
    ran_out = ran_out_of_copies(entrant.feedback, queries)
    if ran_out is not None:
        loss = jnp.where(ran_out, jnp.nan, loss)
    record = Round(loss, y_hat, y, x, y_comparator, queries, answers, info)
    feedback = next_feedback_state(entrant.feedback, oracle_key, states.feedback, t, x, outcome, y_hat)
    return States(environment, learner, feedback), record
