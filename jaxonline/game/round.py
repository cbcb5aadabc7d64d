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

from jaxonline.game.defaults import OracleDefaults, has_expected_outcomes, is_adaptive, method_of
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
from jaxonline.game.regret import CleanRegret, NoisyLearnerRegret, NoisyRegret, PseudoRegret, Regret
from jaxonline.game.specs import check_environment_specs, format_spec
from jaxonline.game.traits import EnvironmentTraits, FeedbackTraits, traits_of
from jaxonline.losses import Loss, Squared
from jaxonline.losses.arms import ArmLoss, ExpectedLoss, as_vector, for_loss
from jaxonline.losses.base import as_loss, check_outcomes
from jaxonline.numerics.elementwise import exact_products
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.signatures import members_of
from jaxonline.parameters.struct import set_field, struct
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
    """A game: an environment, the feedback of the learners, a loss and a notion of regret.

    Args:
        environment: the environment that generates instances and outcomes.
        feedback: the feedback that answers the queries of learners; an `Entrant` of a study has its own feedback.
        loss: function `loss(y_hat, y)` from a move and an outcome to a number; squared loss by default.
        regret: the regret that is measured (`jaxonline.game.regret`): `CleanRegret()` by default, `NoisyRegret()`,
            `NoisyLearnerRegret()` or `PseudoRegret()`.

    Raises:
        TypeError: an argument is not of the required kind.
        ValueError: `regret` needs copies or expected outcomes that are missing; `loss` is a margin loss and an outcome
            is neither -1 nor +1; the feedback does not suit the instances; the environment has rewards, and `loss` is
            neither `ArmLoss` nor `ExpectedLoss`.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.NoisyCopies(jo.noise.gaussian(0.1)))
        >>> game.deterministic, str(game.dtype)
        (True, 'float32')
    """

    environment: Annotated[Any, Component("environment")]
    feedback: Annotated[Any, Component("feedback")]
    loss: Annotated[Any, Component("loss")] = Squared()
    regret: Annotated[Any, Component("regret")] = CleanRegret()

    if TYPE_CHECKING:

        def __init__(
            self,
            environment: Environment,
            feedback: AnyFeedback,
            loss: Callable[[Any, Any], Any] = ...,
            regret: Regret | CleanRegret | NoisyRegret | NoisyLearnerRegret | PseudoRegret = ...,
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
        if not isinstance(self.regret, Regret):
            raise ArgumentTypeError(
                "regret", f"must be a notion of regret (jaxonline.game.regret) (got {check.quote(self.regret)})"
            )
        name = type(self.regret).__name__
        if uses_copies(self.regret) and not traits_of(self.feedback, FeedbackTraits).makes_copies:
            problem = f"must make noisy copies for regret={name}() (got {type(self.feedback).__name__})"
            raise ArgumentError("feedback", problem)
        if self.regret.on_expected_outcomes and not has_expected_outcomes(self.environment):
            problem = f"must have expected_outcome for regret={name}() (got {type(self.environment).__name__})"
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
        """Whether the comparator's instances and outcomes do not depend on the learner."""
        judged_on_adaptive_noise = self.regret.comparator_on_copies and is_adaptive(self.feedback)
        return traits_of(self.environment, EnvironmentTraits).oblivious and not judged_on_adaptive_noise

    @property
    def deterministic(self) -> bool:
        """Whether the comparator's instances and outcomes are oblivious and identical in every run."""
        same_data = traits_of(self.environment, EnvironmentTraits).deterministic
        return self.oblivious and same_data and not self.regret.comparator_on_copies


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
        referee: state of the game's feedback, if the regret uses noisy copies of this feedback; else ().
    """

    environment: PyTree
    learner: PyTree
    feedback: PyTree = ()
    referee: PyTree = ()


class Round(NamedTuple):
    """The record of a round, for measures and histories. The record of several rounds prints as a table.

    Attributes:
        loss: the loss of the move; NaN if the learner asks for more copies than are measured (`Replicates`).
        y_hat: the move.
        y: the outcome.
        x: the clean instance.
        x_comparator: the instance on which the comparator is judged: x, or a noisy copy (`NoisyRegret`).
        y_comparator: the outcome in the losses: y, or its mean (`PseudoRegret`).
        queries: the number of queries charged by the oracle.
        answers: the number of answers of the oracle: 1, or with delayed feedback the number of answers that arrived.
        info: the learner's diagnostics.
    """

    loss: Array
    y_hat: PyTree
    y: PyTree
    x: PyTree
    x_comparator: PyTree
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


def uses_copies(regret: Regret) -> bool:
    """Whether a notion of regret uses noisy copies; it then uses copy 0 of each round."""
    return regret.learner_on_copies or regret.comparator_on_copies


def _referee_feedback(game: Game) -> Any:
    """Return the feedback whose noisy copies the regret uses, or None."""
    return game.feedback if uses_copies(game.regret) else None


@exact_products()
def start(game: Game, entrant: Entrant | None, keys: StreamKeys) -> States:
    """Return the states before round 1.

    Raises:
        ValueError: there is no entrant, but the comparator is judged on noise that depends on the entrant.
    """
    environment = game.environment.init(jax.random.fold_in(keys.environment, INIT))
    if entrant is None:
        if traits_of(game.environment, EnvironmentTraits).oblivious and not game.oblivious:
            raise ArgumentError("entrant", "must be given for NoisyRegret() with an adaptive feedback (got None)")
        return States(environment, ())
    learner = entrant.learner.init(jax.random.fold_in(keys.learner, INIT), game.specs)
    move = jax.eval_shape(entrant.learner.predict, keys.learner, learner, game.specs.instance)
    feedbacks = (entrant.feedback, _referee_feedback(game))
    states = [initial_feedback_state(feedback, keys.oracle, game.specs, move) for feedback in feedbacks]
    return States(environment, learner, *states)


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

    def instance_or_copy(on_copies: bool) -> PyTree:
        if not on_copies:
            return x
        zeros = _zeros(
            game.specs.outcome
        )  # a noisy copy of x does not depend on the outcome and the move of this round
        return open_oracle(game.feedback, oracle_key, t, x, zeros, zeros, states.referee).copy(0)

    x_comparator = instance_or_copy(game.regret.comparator_on_copies)
    if entrant is None:
        y_hat = jnp.zeros((), game.dtype)
    else:
        x_learner = instance_or_copy(game.regret.learner_on_copies)
        y_hat = entrant.learner.predict(jax.random.fold_in(learner_key, PREDICT), states.learner, x_learner)

    answer_key = jax.random.fold_in(environment_key, ANSWER)
    outcome, environment = game.environment.answer(answer_key, environment, t, x, y_hat)
    y = as_vector(outcome)
    means = game.regret.on_expected_outcomes
    y_comparator = game.environment.expected_outcome(environment, t, x, y) if means else y
    if entrant is None:
        record = Round(
            jnp.zeros((), game.dtype), y_hat, y, x, x_comparator, y_comparator, jnp.int32(0), jnp.int32(0), ()
        )
        return States(environment, ()), record

    oracle = open_oracle(entrant.feedback, oracle_key, t, x, outcome, y_hat, states.feedback)
    updated = entrant.learner.update(update_key(learner_key, y_hat), states.learner, oracle)
    if not (isinstance(updated, tuple) and len(updated) == 2):
        raise ArgumentTypeError("update", f"must return the next state and an info (got {format_spec(updated)})")
    learner, info = updated
    loss = game.loss(y_hat, y_comparator if means else for_loss(game.loss, outcome))
    queries, answers = oracle.queries(), method_of(oracle, OracleDefaults.answers)()
    ran_out = ran_out_of_copies(entrant.feedback, queries)
    if ran_out is not None:
        loss = jnp.where(ran_out, jnp.nan, loss)
    record = Round(loss, y_hat, y, x, x_comparator, y_comparator, queries, answers, info)
    feedback = next_feedback_state(entrant.feedback, oracle_key, states.feedback, t, x, outcome, y_hat)
    referee = next_feedback_state(_referee_feedback(game), oracle_key, states.referee, t, x, outcome, y_hat)
    return States(environment, learner, feedback, referee), record


def _zeros(specs: PyTree) -> PyTree:
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), specs)
