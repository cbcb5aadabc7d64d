"""One round of the game of online learning, and the only place where hidden data flows.

    x        = environment.instance(...)         the environment picks an instance
    y_hat    = learner.predict(...)              the learner moves; the referee applies its hypothesis to x
    y        = environment.answer(..., y_hat)    the outcome; an adaptive adversary may look at y_hat
    oracle   = feedback.open(x, y, y_hat)        what the learner may ask about this round
    state    = learner.update(..., oracle)       the learner sees x and y only through the oracle
               feedback.observe(x, y, y_hat)     an adaptive feedback learns of the round when it is over

Every method is a pure function of its arguments and a key (`keys`). Instance, move and outcome are any pytree.
"""

import functools
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, PyTree

from jaxonline.game.defaults import EnvironmentDefaults, is_adaptive, overrides
from jaxonline.game.keys import ANSWER, INIT, INSTANCE, PREDICT, StreamKeys, update_key
from jaxonline.game.oracles import feedback_state, observed, open_oracle, try_feedback
from jaxonline.game.printing import history_table, is_history
from jaxonline.game.protocols import Environment, Feedback, Specs
from jaxonline.game.regret import CleanRegret, Regret
from jaxonline.game.specs import check_declared, said
from jaxonline.game.traits import EnvironmentTraits, FeedbackTraits, traits_of
from jaxonline.linalg.programs import exact_products
from jaxonline.losses import Loss, Squared
from jaxonline.losses.actions import ARM_LOSSES
from jaxonline.losses.base import as_loss, check_outcomes
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.short_repr import short_repr
from jaxonline.parameters.signatures import members_of
from jaxonline.parameters.struct import set_field, struct
from jaxonline.parameters.types import Component


@struct
class Entrant:
    """A learner with a feedback of its own, beside others of a study that have the game's.

    Example:
        >>> import jaxonline as jo
        >>> entrant = jo.Entrant(jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.1), jo.FullInformation())
        >>> type(entrant.feedback).__name__
        'FullInformation'
    """

    learner: Annotated[Any, Component("learner")]
    feedback: Annotated[Any, Component("feedback")]


@struct
class Game:
    """An environment, the feedback through which learners see it, a loss, and a notion of regret.

    Args:
        environment: where instances and outcomes come from.
        feedback: what a learner may ask; an `Entrant` of a study may bring another one.
        loss: `loss(y_hat, y)` of a move and an outcome, a number; squared loss by default.
        regret: which regret is measured (`jaxonline.game.regret`): `CleanRegret()` by default, `NoisyRegret()`,
            `NoisyLearnerRegret()`, `PseudoRegret()`.

    Raises:
        TypeError: if an argument is not what it must be.
        ValueError: if `regret` asks for copies that the feedback cannot make, or for expected outcomes that the
            environment does not state; if `loss` is one of a margin, and an outcome neither -1 nor +1; if the feedback
            does not suit the instances.

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.NoisyCopies(jo.noise.gaussian(0.1)))
        >>> game.deterministic, str(game.dtype)
        (True, 'float32')
    """

    environment: Annotated[Any, Component("environment")]
    feedback: Annotated[Any, Component("feedback")]
    loss: Annotated[Any, Component("loss")] = Squared()
    regret: Annotated[Any, Component("regret")] = CleanRegret()

    def __post_init__(self):
        if not isinstance(self.environment, Environment):
            lacking = [name for name in members_of(Environment) if not hasattr(self.environment, name)]
            what = f"{type(self.environment).__name__}, which lacks {', '.join(lacking)}"
            raise ArgumentTypeError("environment", f"must have the attributes and methods of Environment (got {what})")
        check_declared(self.environment)
        if not isinstance(self.feedback, Feedback):
            raise ArgumentTypeError(
                "feedback", f"must have the method open of Feedback (got {type(self.feedback).__name__})"
            )
        if isinstance(self.loss, Loss):
            set_field(self, "loss", as_loss("loss", self.loss))
        elif not callable(self.loss) or any(callable(leaf) for leaf in jax.tree.leaves(self.loss)):
            raise ArgumentTypeError(
                "loss",
                f"must be a loss (jaxonline.losses) or a jax.tree_util.Partial (got {check.quote(self.loss)})",
            )
        check_classes(self.environment, self.loss)
        if not isinstance(self.regret, Regret):
            raise ArgumentTypeError(
                "regret", f"must be a notion of regret (jaxonline.game.regret) (got {check.quote(self.regret)})"
            )
        name = type(self.regret).__name__
        if wants_copies(self.regret) and not traits_of(self.feedback, FeedbackTraits).makes_copies:
            problem = f"must make noisy copies for regret={name}() (got {type(self.feedback).__name__})"
            raise ArgumentError("feedback", problem)
        states_means = overrides(self.environment, EnvironmentDefaults.expected_outcome)
        if self.regret.on_expected_outcomes and not states_means:
            problem = f"must have expected_outcome for regret={name}() (got {type(self.environment).__name__})"
            raise ArgumentError("environment", problem)
        try_feedback(self.feedback, self.specs, self.dtype)

    def __repr__(self) -> str:
        note = "  # outcomes are losses of arms: lower is better" if isinstance(self.loss, ARM_LOSSES) else ""
        return f"{short_repr(self)}{note}"

    @property
    def specs(self) -> Specs:
        """Shapes and dtypes of instance and outcome."""
        return Specs(self.environment.instance_spec, self.environment.outcome_spec)

    @property
    def dtype(self) -> Any:
        """The floating dtype of the game: that of its instances or, where they hold none, of its outcomes."""
        leaves = jax.tree.leaves(tuple(self.specs))
        floating = [leaf.dtype for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.floating)]
        return floating[0] if floating else jnp.result_type(float)

    @property
    def oblivious(self) -> bool:
        """True when what the comparator is judged on does not depend on the learner."""
        judged_on_adaptive_noise = self.regret.comparator_on_copies and is_adaptive(self.feedback)
        return traits_of(self.environment, EnvironmentTraits).oblivious and not judged_on_adaptive_noise

    @property
    def deterministic(self) -> bool:
        """True when it is also the same in every run."""
        same_data = traits_of(self.environment, EnvironmentTraits).deterministic
        return self.oblivious and same_data and not self.regret.comparator_on_copies


def check_classes(environment: Any, loss: Any) -> None:
    """Check the outcomes of an environment that knows them, where a loss is one of a margin."""
    outcomes = traits_of(environment, EnvironmentTraits).outcomes
    if outcomes is not None and not check.is_abstract(outcomes):
        check_outcomes("y", outcomes, loss)


class States(NamedTuple):
    """The states of one run between two rounds.

    Attributes:
        environment: of the environment.
        learner: of the learner.
        feedback: of the entrant's feedback, () for one that remembers nothing.
        referee: of the game's feedback as far as the referee takes noisy copies from it, else ().
    """

    environment: PyTree
    learner: PyTree
    feedback: PyTree = ()
    referee: PyTree = ()


class Round(NamedTuple):
    """What the referee writes down about a round, for measures and histories.

    Attributes:
        loss: the loss of the move.
        y_hat: the move.
        y: the outcome.
        x: the clean instance.
        x_comparator: the instance on which the comparator is judged: x, or a noisy copy (`NoisyRegret`).
        y_comparator: the outcome that losses are of: y, or its mean (`PseudoRegret`).
        queries: the number of queries charged by the oracle.
        info: the learner's diagnostics.

    A history, the record of several rounds, prints as a table.
    """

    loss: Array
    y_hat: PyTree
    y: PyTree
    x: PyTree
    x_comparator: PyTree
    y_comparator: PyTree
    queries: Array
    info: PyTree

    def __repr__(self) -> str:
        if is_history(self):
            return history_table(self)
        return f"Round({', '.join(f'{name}={value!r}' for name, value in self._asdict().items())})"


def wants_copies(regret: Regret) -> bool:
    """Whether a notion of regret looks at noisy copies, as a referee who takes copy 0."""
    return regret.learner_on_copies or regret.comparator_on_copies


def _referees_feedback(game: Game) -> Any:
    """The feedback from which the referee takes noisy copies, or None."""
    return game.feedback if wants_copies(game.regret) else None


@exact_products()
def start(game: Game, entrant: Entrant | None, keys: StreamKeys) -> States:
    """The states before round 1.

    Raises:
        ValueError: without an entrant, if the comparator is judged on noise that an adversary aims at a learner.
    """
    environment = game.environment.init(jax.random.fold_in(keys.environment, INIT))
    if entrant is None:
        if traits_of(game.environment, EnvironmentTraits).oblivious and not game.oblivious:
            raise ArgumentError("entrant", "must be given for NoisyRegret() with an adaptive feedback (got None)")
        return States(environment, ())
    return States(
        environment,
        entrant.learner.init(jax.random.fold_in(keys.learner, INIT), game.specs),
        feedback_state(entrant.feedback, keys.oracle, game.specs.instance),
        feedback_state(_referees_feedback(game), keys.oracle, game.specs.instance),
    )


@exact_products()
def play_round(
    game: Game, entrant: Entrant | None, keys: StreamKeys, t: Int[Array, ""], states: States, code: str = ""
) -> tuple[States, Round]:
    """Play round t = 1, 2, ... With `entrant=None` only the environment moves (it must be oblivious).

    It is traced once for all programs that play such rounds. `code` tells apart what a user's own functions were when
    they were traced, where somebody keeps account of that.
    """
    return _play_round(game, entrant, keys, t, states, code=code)


@functools.partial(jax.jit, static_argnames="code", inline=True)
def _play_round(game, entrant, keys, t, states, code):
    del code
    environment_key, oracle_key, learner_key = (jax.random.fold_in(key, t) for key in keys)
    x, environment = game.environment.instance(jax.random.fold_in(environment_key, INSTANCE), states.environment, t)

    def seen(on_copies: bool) -> PyTree:
        if not on_copies:
            return x
        unseen = _zeros(game.specs.outcome)  # a noisy copy of x depends on neither outcome nor move of this round
        return open_oracle(game.feedback, oracle_key, t, x, unseen, unseen, states.referee).copy(0)

    x_comparator = seen(game.regret.comparator_on_copies)
    if entrant is None:
        y_hat = jnp.zeros((), game.dtype)
    else:
        x_learner = seen(game.regret.learner_on_copies)
        y_hat = entrant.learner.predict(jax.random.fold_in(learner_key, PREDICT), states.learner, x_learner)

    answer_key = jax.random.fold_in(environment_key, ANSWER)
    y, environment = game.environment.answer(answer_key, environment, t, x, y_hat)
    y_comparator = game.environment.expected_outcome(environment, t, x, y) if game.regret.on_expected_outcomes else y
    if entrant is None:
        record = Round(jnp.zeros((), game.dtype), y_hat, y, x, x_comparator, y_comparator, jnp.int32(0), ())
        return States(environment, ()), record

    oracle = open_oracle(entrant.feedback, oracle_key, t, x, y, y_hat, states.feedback)
    updated = entrant.learner.update(update_key(learner_key, y_hat), states.learner, oracle)
    if not (isinstance(updated, tuple) and len(updated) == 2):
        raise ArgumentTypeError("update", f"must return the next state and an info (got {said(updated)})")
    learner, info = updated
    loss = game.loss(y_hat, y_comparator)
    record = Round(loss, y_hat, y, x, x_comparator, y_comparator, oracle.queries(), info)
    feedback = observed(entrant.feedback, states.feedback, t, x, y, y_hat)
    referee = observed(_referees_feedback(game), states.referee, t, x, y, y_hat)
    return States(environment, learner, feedback, referee), record


def _zeros(specs: PyTree) -> PyTree:
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), specs)
