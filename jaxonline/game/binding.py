"""Check that a learner can play a game, before the first round; and `play`, one run with its full history."""

import contextlib
import random as standard_random
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxonline.game.keys import stream_keys
from jaxonline.game.roles import Draw, Environment, EnvironmentWrapper, Learner, Oracle
from jaxonline.game.round import (
    Game,
    RewardRound,
    Round,
    States,
    WithFeedback,
    check_classes,
    check_feedback_specs,
    check_role,
    check_same_instances,
    check_state,
    format_spec,
    play_round,
    start,
)
from jaxonline.losses import Loss, ZeroOne
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError, SettingsWarning
from jaxonline.parameters.optional_packages import check_not_forked
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import cast_leaves
from jaxonline.parameters.types import Component, PyTree, Rounds


class BoundGame(NamedTuple):
    """A game and an entrant of one floating dtype, with the shapes and dtypes of their rounds.

    Attributes:
        game: the game, with every number as an array.
        entrant: the learner and its feedback, with every number as an array.
        record: shapes and dtypes of a `Round`.
    """

    game: Game
    entrant: WithFeedback
    record: Round


def as_entrant(game: Game, learner: Any) -> WithFeedback:
    """Return the learner with its own feedback, or with the game's feedback; check types."""
    check.instance("game", game, Game, "a Game")
    entrant = learner if isinstance(learner, WithFeedback) else WithFeedback(learner, game.feedback)
    check_role("learner", entrant.learner, Learner)
    return entrant


def check_assumptions(environment: Environment, entrant: WithFeedback) -> None:
    """Check the feedback, and the outcomes known in advance, against the assumptions of the learner.

    Raises:
        ValueError: the learner does not suit this noise; its loss is a margin loss but outcomes are not -1 and +1;
            losses of arms are outside the range that the learner declares; the feedback has answers for other
            instances.
    """
    learner, outcomes = entrant.learner, environment.outcomes
    learner.check_feedback(entrant.feedback)
    learner.check_environment(environment)
    check_same_instances(environment, entrant.feedback)
    if learner.loss is not None:
        check_classes(environment, learner.loss)
    of_arms = jax.tree.leaves(environment.outcome_spec)[0].ndim > 0  # else the learner raises: there are no arms
    if learner.loss_range is not None and of_arms and outcomes is not None and not check.is_abstract(outcomes):
        (low, high), kind = assumed_range(learner, environment.rewards), "losses"
        if environment.rewards:
            outcomes, kind = 1.0 - np.asarray(outcomes), "rewards"
        check.numbers(f"y ({kind} of arms for {type(learner).__name__})", outcomes, ge=low, le=high)


def assumed_range(learner: Any, rewards: bool) -> tuple[float, float]:
    """Return the range of the losses of arms that a learner assumes, or of their rewards."""
    (low, high), top = learner.loss_range, learner.loss_at_zero_reward
    return (top - high, top - low) if rewards else (low, high)


ROUNDING = 1e-6  # relative error of a loss at the end of the range


def loss_limits(environment: Environment, learner: Any) -> tuple[float, float] | None:
    """Return the limits of the losses of arms that are checked in each round; None without a check.

    The user's own environments of unknown outcomes have this check. Their losses may exceed the range that the learner
    assumes by rounding errors. Environments of this package are not checked: they declare their outcomes, or have
    losses without limits, such as `GaussianArms`.
    """
    limits, inner = learner.loss_range, environment
    while isinstance(inner, EnvironmentWrapper):
        inner = inner.environment
    is_own = not type(inner).__module__.startswith("jaxonline.")
    of_arms = jax.tree.leaves(environment.outcome_spec)[0].ndim > 0
    if limits is None or environment.outcomes is not None or not (is_own and of_arms):
        return None
    rounding = ROUNDING * max([1.0, *(abs(limit) for limit in limits if np.isfinite(limit))])
    offset = 1.0 - learner.loss_at_zero_reward if environment.rewards else 0.0  # outcomes are 1 - reward
    return limits[0] + offset - rounding, limits[1] + offset + rounding


def is_outside(y: PyTree, limits: tuple[float, float]) -> jax.Array:
    """Return whether a loss of an arm is outside the limits; NaN is not."""
    losses = jax.tree.leaves(y)[0]
    return jnp.any((losses < limits[0]) | (losses > limits[1]))


def warn_of_losses_out_of_range(game: Game, learners: Mapping[str, Any], first: np.ndarray) -> None:
    """Warn of learners with losses outside the range that they assume; `first` [L, R] has the first rounds, or 0."""
    kind = "rewards" if game.rewards else "losses"
    for (name, learner), rounds in zip(learners.items(), first, strict=True):
        if n := int((rounds > 0).sum()):
            low, high = assumed_range(learner, game.rewards)
            where = f"in {n:,} of {len(rounds):,} runs, first in round {rounds[rounds > 0].min():,}"
            problem = f"{name!r} assumes {kind} from {low:g} to {high:g}, but the environment has others {where}"
            warnings.warn(f"{problem}; convert the {kind} to this range", SettingsWarning, stacklevel=5)


def check_rounds(game: Game, entrant: WithFeedback, n_rounds: int) -> None:
    """Check that the feedback has answers for all rounds; raise a ValueError otherwise."""
    check_same_instances(game.environment, entrant.feedback)
    limit = entrant.feedback.max_rounds
    if limit is not None and n_rounds > limit:
        problem = f"must be at most {limit}, the rounds of {type(entrant.feedback).__name__} (got {n_rounds})"
        raise ArgumentError("n_rounds", problem)


def overflow_flag(info: Any) -> Any:
    """Return the field `overflow` of a learner's info, or None; raise TypeError if it is not a boolean."""
    overflow = getattr(info, "overflow", None)
    if overflow is not None and (kind := (jnp.shape(overflow), jnp.result_type(overflow))) != ((), jnp.bool_):
        raise ArgumentTypeError("info.overflow", f"must be a boolean scalar (got shape and dtype {kind})")
    return overflow


def bind(
    game: Game, learner: Any, name: str | None = None, shapes_of: Callable[..., Any] = jax.eval_shape
) -> BoundGame:
    """Check that a learner can play a game by tracing one round; nothing is computed.

    The traced program is the round itself, so an error shows a feedback that does not answer the learner. The learner
    need not declare its queries.

    Args:
        game: the game.
        learner: a learner, or a learner `WithFeedback` (a learner with its own feedback).
        name: the learner's name in a study.
        shapes_of: `jax.eval_shape`, or a function like it that also caches the trace for later rounds.

    Raises:
        TypeError: the object is not a learner; the feedback does not answer the learner; the loss is not a number for
            the learner's moves.
        ValueError: noise and instances differ in dimension; the type of a state changes between rounds; the instances
            or outcomes differ from `instance_spec` and `outcome_spec`; also for the reasons of `check_assumptions`.
    """
    entrant = as_entrant(game, learner)
    check_assumptions(game.environment, entrant)
    dtype, own_feedback = game.dtype, entrant.feedback is not game.feedback  # the game has checked its own
    game, entrant = cast_leaves(game, dtype, "game"), cast_leaves(entrant, dtype)
    what = type(entrant.learner).__name__
    argument = "learner" if name is None else f"learners[{name!r}]"
    with _name_learner_in_errors(argument, game, entrant):
        if own_feedback:
            check_feedback_specs(entrant.feedback, game.specs, dtype)
        key = jax.eval_shape(lambda: jax.random.key(0))
        states = _global_random_states()
        before, after, record = shapes_of(_first_round, game, entrant, key)
        if _global_random_states() != states:
            warnings.warn(
                f"{argument}: {what} or its game draws from numpy.random or Python's random while JAX traces it, so "
                "the number is the same in all rounds and runs; draw with the key that the method receives",
                SettingsWarning, stacklevel=8,
            )  # fmt: skip
    name = type(game.environment).__name__
    check_spec(f"{name}.instance", "instance", game.specs.instance, record.x)
    check_spec(f"{name}.outcome", "outcome", game.specs.outcome, record.y)
    check_state(f"{what}.update", before.learner, after.learner)
    check_state(f"{name}.outcome", before.environment, after.environment)
    if not isinstance(record.loss, jax.ShapeDtypeStruct) or record.loss.shape != ():
        raise ArgumentTypeError(
            "loss",
            f"must return a number for the move {format_spec(record.y_hat)} of {argument} and the outcome "
            f"{format_spec(record.y)} "
            f"(got {format_spec(record.loss)}){_loss_advice(record)}",
        )
    overflow_flag(record.info)
    return BoundGame(game, entrant, record)


def _global_random_states() -> tuple:
    state: Any = np.random.get_state()  # noqa: NPY002  (users draw from it)
    return standard_random.getstate(), state[1].tobytes(), state[2]


def warn_about_loss_mismatch(game: Game, learners: Mapping[str, Any]) -> None:
    """Warn once, with the names of all learners that are made for another loss than the game's.

    Another loss can be intended (a surrogate loss), so the mismatch is not an error. There is no warning if no learner
    can follow gradients of the game's loss: the zero-one loss, or a loss without a gradient.
    """
    if isinstance(game.loss, ZeroOne) or not isinstance(game.loss, Loss):
        return
    losses = {name: learner.loss for name, learner in learners.items()}
    other = [
        f"{name!r} for {loss!r}" for name, loss in losses.items() if loss is not None and not same_loss(game, loss)
    ]
    if other:
        warnings.warn(
            f"the loss of the game is {game.loss!r}, but learners are made for another one: {', '.join(other)}. Regret "
            "is in the game's; give the estimators the same loss if that is not meant",
            SettingsWarning,
            stacklevel=3,
        )


def same_loss(game: Game, loss: Any) -> bool:
    """Whether a loss equals the loss of the game, including its numbers where they are known."""
    (leaves, structure), (own_leaves, own_structure) = map(jax.tree.flatten, (game.loss, loss))

    def alike(number: Any, own: Any) -> bool:
        if check.is_abstract(number) or check.is_abstract(own):
            return True
        return np.array_equal(np.asarray(number).astype(game.dtype), np.asarray(own).astype(game.dtype))

    return structure == own_structure and all(map(alike, leaves, own_leaves))


def check_spec(method: str, kind: str, declared: PyTree, returned: PyTree) -> None:
    """Check that a method returns an "instance" or "outcome" of the declared structure, shapes and dtypes."""
    kinds = [[(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(specs)] for specs in (declared, returned)]
    if kinds[0] != kinds[1] or jax.tree.structure(declared) != jax.tree.structure(returned):
        raise ValueError(
            f"{method}: must return an {kind} as in {kind}_spec, {format_spec(declared)} (got {format_spec(returned)})"
        )


def check_instance(environment: Environment) -> None:
    """Check the first instance of an environment, without computing anything.

    Raises:
        TypeError: `instance` does not return an instance and a state.
        ValueError: the instance differs from `instance_spec`.
    """
    key, name = jax.eval_shape(lambda: jax.random.key(0)), f"{type(environment).__name__}.instance"
    returned = jax.eval_shape(lambda key: environment.instance(key, environment.init(key), jnp.int32(1)), key)
    if not (isinstance(returned, tuple) and len(returned) == 2):
        raise ArgumentTypeError(name, f"must return an instance and the next state (got {format_spec(returned)})")
    check_spec(name, "instance", environment.instance_spec, returned[0])


def _first_round(game: Game, entrant: WithFeedback, key: jax.Array) -> tuple[States, States, Round]:
    keys = stream_keys(key)
    before = start(game, entrant, keys)
    return before, *play_round(game, entrant, keys, jnp.int32(1), before)


@contextlib.contextmanager
def _name_learner_in_errors(argument: str, game: Game, entrant: WithFeedback) -> Iterator[None]:
    """Add the names of the learner and the game to errors that a round raises."""
    what = type(entrant.learner).__name__
    instances, outcomes = map(format_spec, game.specs)
    setting = f"(got {type(entrant.feedback).__name__}, instances {instances} and outcomes {outcomes})"
    try:
        yield
    except AttributeError as error:
        if isinstance(error.obj, Oracle):
            raise ArgumentTypeError(
                argument,
                f"{what} asks for {error.name!r}, which the feedback does not answer "
                f"(got {type(entrant.feedback).__name__}); it answers {', '.join(answers := _answer_names(error.obj))}"
                f"{'; wrap the learner in jo.learners.UpdateOnArrival' if 'for_each' in answers else ''}",
            ) from error
        raise ArgumentTypeError(argument, f"{what} cannot play this game {setting}; {_first_line(error)}") from error
    except NotImplementedError as error:
        # some functions of jax.random take the keys of jax's own generator only
        advice = "draw random numbers with jaxonline.random, e.g. jo.random.poisson(key, lam)"
        raise NotImplementedError(f"{argument}: {what} cannot play; {_first_line(error)}; {advice}") from error
    except (TypeError, ValueError) as error:
        check_instance(game.environment)
        kind = ArgumentTypeError if isinstance(error, TypeError) else ArgumentError
        message = f"{_first_line(error).rstrip('.')}{_advice(error, entrant.learner)}"
        raise kind(argument, f"{what} cannot play this game {setting}; {message}") from error


def _advice(error: Exception, learner: Any) -> str:
    """Return advice on how to correct a learner's code that JAX cannot trace."""
    if isinstance(error, jax.errors.TracerBoolConversionError):
        return "; use jnp.where instead of a Python `if`"
    if isinstance(error, jax.errors.ConcretizationTypeError | jax.errors.TracerArrayConversionError):
        return "; use jnp instead of NumPy, and .astype(jnp.int32) instead of int()"
    if not isinstance(error, TypeError):
        return ""
    sizes = [
        f"{type(learner).__name__}{jax.tree_util.keystr(path)}"
        for path, leaf in jax.tree_util.tree_leaves_with_path(learner)
        if jnp.ndim(leaf) == 0 and jnp.issubdtype(jnp.result_type(leaf), jnp.integer)
    ]
    return f"; a field that is a size must be jo.static() (here {', '.join(sizes)})" if sizes else ""


def _loss_advice(record: Round) -> str:
    """Return advice on how to correct a game's loss that does not return a number."""
    arms = isinstance(record.y_hat, Draw) or jnp.issubdtype(jax.tree.leaves(record.y_hat)[0].dtype, jnp.integer)
    shapes = [leaf.shape for leaf in jax.tree.leaves(record.y)]
    if arms and shapes and len(shapes[0]) == 1:
        return "; for arms pass loss=jo.losses.ArmLoss()"
    if shapes == [(1,)]:
        return "; pass outcomes of shape (n,), e.g. y.ravel()"
    return ""


def _answer_names(oracle: Any) -> list[str]:
    """Return the names of the questions that an oracle answers."""
    names = {name for kind in type(oracle).__mro__[:-1] for name in vars(kind)} | set(vars(oracle))
    return sorted(name for name in names if not name.startswith("_") and name != "queries")


def _first_line(error: Exception) -> str:
    line = next(iter(str(error).splitlines()), type(error).__name__)
    return line if len(line) <= 250 else f"{line[:247]}..."


# ---------------------------------------------------------------------------------------------------------------------
# One run with its full history: for small games, debugging and teaching


@validate_arguments
def play(
    game: Game, learner: Annotated[Learner | WithFeedback, Component("learner")], key: int | jax.Array, n_rounds: Rounds
) -> tuple[PyTree, Round]:
    """Run a game once and keep its full history.

    Args:
        game: the game.
        learner: a learner, or a learner `WithFeedback`.
        key: the key of the run, or a seed; run r of a study with key k has the key `fold_in(k, r)`.
        n_rounds: the horizon.

    Returns:
        The learner's final state, and the `Round` records with a leading axis [n_rounds]. The records of arms with
        rewards print rewards, and have the attribute `reward` beside `loss`.

    Raises:
        TypeError, ValueError: the learner cannot play the game.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
        >>> state, history = jo.play(game, learner, key=0, n_rounds=6)
        >>> history.loss.tolist()  # each coordinate occurs twice, and a step of 1/2 learns it at once
        [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
        >>> history
        round  instance  move  outcome  loss  queries
            1   [1 0 0]     0        1     1        1
            2   [0 1 0]     0        1     1        1
            3   [0 0 1]     0        1     1        1
            4   [1 0 0]     1        1     0        1
            5   [0 1 0]     1        1     0        1
            6   [0 0 1]     1        1     0        1
        6 rounds, sum of losses 3, 6 queries
    """
    check_not_forked()
    key = check.as_key("key", key)
    bound = bind(game, learner)
    check_rounds(game, bound.entrant, n_rounds)
    named = {"learner": as_entrant(game, learner).learner}
    warn_about_loss_mismatch(game, named)
    state, history = _play(bound.game, bound.entrant, key, n_rounds)
    limits = loss_limits(game.environment, named["learner"])
    if limits is not None and not check.is_abstract(history.y):
        outside = np.asarray(jax.vmap(lambda y: is_outside(y, limits))(history.y))
        warn_of_losses_out_of_range(game, named, np.array([[outside.any() * (1 + outside.argmax())]]))
    return state, RewardRound(*history) if game.rewards else history


@jax.jit(static_argnames=("n_rounds",))
def _play(game, entrant, key, n_rounds):
    keys = stream_keys(key)
    rounds = jnp.arange(1, n_rounds + 1, dtype=jnp.int32)
    states, history = jax.lax.scan(
        lambda states, t: play_round(game, entrant, keys, t, states), start(game, entrant, keys), rounds
    )
    return states.learner, history
