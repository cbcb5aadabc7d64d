"""Check that a learner can play a game, before the first round."""

import contextlib
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxonline.game.defaults import LearnerDefaults, method_of
from jaxonline.game.keys import stream_keys
from jaxonline.game.oracles import check_feedback, check_feedback_specs, check_same_instances, check_state
from jaxonline.game.protocols import Draw, Learner, Oracle
from jaxonline.game.round import Entrant, Game, Round, States, check_classes, play_round, start
from jaxonline.game.specs import check_instance, check_spec, format_spec
from jaxonline.game.traits import EnvironmentTraits, FeedbackTraits, LearnerTraits, traits_of
from jaxonline.losses import Loss, ZeroOne
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError, LossMismatchWarning
from jaxonline.parameters.struct import cast_leaves


class BoundGame(NamedTuple):
    """A game and an entrant of one floating dtype, with the shapes and dtypes of their rounds.

    Attributes:
        game: the game, with every number as an array.
        entrant: the learner and its feedback, with every number as an array.
        record: shapes and dtypes of a `Round`.
    """

    game: Game
    entrant: Entrant
    record: Round


def as_entrant(game: Game, learner: Any) -> Entrant:
    """Return the learner with its own feedback if it is an `Entrant`, else with the game's feedback; check types."""
    check.instance("game", game, Game, "a Game")
    entrant = learner if isinstance(learner, Entrant) else Entrant(learner, game.feedback)
    wanted = "a learner, with init, predict and update"
    missing = [name for name in ("init", "predict", "update") if not hasattr(entrant.learner, name)]
    if 0 < len(missing) < 3:
        wanted += f" (it lacks {' and '.join(missing)})"
    check.instance("learner", entrant.learner, isinstance(entrant.learner, Learner), wanted)
    check_feedback("feedback", entrant.feedback)
    return entrant


def check_assumptions(environment: Any, entrant: Entrant) -> None:
    """Check the feedback, and the outcomes known in advance, against the assumptions of the learner.

    Raises:
        ValueError: the learner does not suit this noise; its loss is a margin loss but outcomes are not -1 and +1;
            losses of arms are outside the range that the learner declares; the feedback has answers for other
            instances.
    """
    learner = entrant.learner
    method_of(learner, LearnerDefaults.check_feedback)(traits_of(entrant.feedback, FeedbackTraits))
    check_same_instances(environment, entrant.feedback)
    loss, loss_range, *_ = traits_of(learner, LearnerTraits)
    if loss is not None:
        check_classes(environment, loss)
    outcomes = traits_of(environment, EnvironmentTraits).outcomes
    of_arms = jax.tree.leaves(environment.outcome_spec)[0].ndim > 0  # else the learner raises: there are no arms
    if loss_range is not None and of_arms and outcomes is not None and not check.is_abstract(outcomes):
        low, high = loss_range
        if traits_of(environment, EnvironmentTraits).rewards:
            low, high, outcomes, kind = 1.0 - high, 1.0 - low, 1.0 - np.asarray(outcomes), "rewards"
        else:
            kind = "losses"
        check.numbers(f"y ({kind} of arms for {type(learner).__name__})", outcomes, ge=low, le=high)


def check_rounds(game: Game, entrant: Entrant, n_rounds: int) -> None:
    """Check that the entrant's feedback has answers for all rounds; raise a ValueError otherwise."""
    check_same_instances(game.environment, entrant.feedback)
    limit = traits_of(entrant.feedback, FeedbackTraits).max_rounds
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
        learner: a learner, or an `Entrant` (a learner with its own feedback).
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
    if isinstance(game.specs.instance, Available) and not traits_of(entrant.learner, LearnerTraits).uses_masks:
        problem = f"must support masks, as UCB1, EXP3 and Hedge with EWA do (got {type(entrant.learner).__name__})"
        raise ArgumentError("learner", problem)
    dtype, own_feedback = game.dtype, entrant.feedback is not game.feedback  # the game has checked its own
    game, entrant = cast_leaves(game, dtype, "game"), cast_leaves(entrant, dtype)
    what = type(entrant.learner).__name__
    argument = "learner" if name is None else f"learners[{name!r}]"
    with _name_learner_in_errors(argument, game, entrant):
        if own_feedback:
            check_feedback_specs(entrant.feedback, game.specs, dtype)
        key = jax.eval_shape(lambda: jax.random.key(0))
        before, after, record = shapes_of(_first_round, game, entrant, key)
    name = type(game.environment).__name__
    check_spec(f"{name}.instance", "instance", game.specs.instance, record.x)
    check_spec(f"{name}.answer", "outcome", game.specs.outcome, record.y)
    check_state(f"{what}.update", before.learner, after.learner)
    check_state(f"{name}.answer", before.environment, after.environment)
    if not isinstance(record.loss, jax.ShapeDtypeStruct) or record.loss.shape != ():
        raise ArgumentTypeError(
            "loss",
            f"must return a number for the move {format_spec(record.y_hat)} of {argument} and the outcome "
            f"{format_spec(record.y)} "
            f"(got {format_spec(record.loss)}){_loss_advice(record)}",
        )
    overflow_flag(record.info)
    return BoundGame(game, entrant, record)


def warn_about_loss_mismatch(game: Game, learners: Mapping[str, Any]) -> None:
    """Warn once, with the names of all learners that are made for another loss than the game's.

    Another loss can be intended (a surrogate loss), so the mismatch is not an error. There is no warning if no learner
    can follow gradients of the game's loss: the zero-one loss, or a loss without a gradient.
    """
    if isinstance(game.loss, ZeroOne) or not isinstance(game.loss, Loss):
        return
    losses = {name: traits_of(learner, LearnerTraits).loss for name, learner in learners.items()}
    other = [
        f"{name!r} for {loss!r}" for name, loss in losses.items() if loss is not None and not same_loss(game, loss)
    ]
    if other:
        warnings.warn(
            f"the loss of the game is {game.loss!r}, but learners are made for another one: {', '.join(other)}. Regret "
            "is in the game's; give the estimators the same loss if that is not meant",
            LossMismatchWarning,
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


def _first_round(game: Game, entrant: Entrant, key: jax.Array) -> tuple[States, States, Round]:
    keys = stream_keys(key)
    before = start(game, entrant, keys)
    return before, *play_round(game, entrant, keys, jnp.int32(1), before)


@contextlib.contextmanager
def _name_learner_in_errors(argument: str, game: Game, entrant: Entrant) -> Iterator[None]:
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
                f"(got {type(entrant.feedback).__name__}); it answers {', '.join(_answer_names(error.obj))}",
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
