"""Open the oracle of a round, for feedbacks with and without state."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from jaxonline.game.defaults import FeedbackDefaults, is_adaptive, method_of
from jaxonline.game.keys import INIT
from jaxonline.game.protocols import Feedback, Specs
from jaxonline.game.traits import EnvironmentTraits, FeedbackTraits, traits_of
from jaxonline.losses.arms import as_vector
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import cast_leaves
from jaxonline.parameters.types import PyTree


def for_feedback(feedback: Any, outcome: PyTree) -> PyTree:
    """Return the outcome in the form for a feedback: lazy only if the feedback reads single entries."""
    return outcome if traits_of(feedback, FeedbackTraits).reads_entries else as_vector(outcome)


def open_oracle(
    feedback: Any, key: Key[Array, ""], t: Int[Array, ""], x: PyTree, y: PyTree, y_hat: PyTree, state: PyTree = ()
) -> Any:
    """Open the oracle of round t; only an adaptive feedback receives `state`."""
    return feedback.open(key, t, x, for_feedback(feedback, y), y_hat, *([state] if is_adaptive(feedback) else []))


def initial_feedback_state(feedback: Any, oracle_key: Key[Array, ""], specs: Specs, move: PyTree) -> PyTree:
    """Return the state of a feedback before round 1; () if the feedback has no state."""
    return method_of(feedback, FeedbackDefaults.init)(jax.random.fold_in(oracle_key, INIT), specs, move)


def next_feedback_state(
    feedback: Any, key: Key[Array, ""], state: PyTree, t: Int[Array, ""], x: PyTree, y: PyTree, y_hat: PyTree
) -> PyTree:
    """Return the state of a feedback after round t."""
    return method_of(feedback, FeedbackDefaults.observe)(key, state, t, x, for_feedback(feedback, y), y_hat)


def check_feedback(name: str, value: Any) -> None:
    """Check that a value is a feedback."""
    check.instance(name, value, isinstance(value, Feedback), "a feedback, with the method open of Feedback")


def check_feedback_specs(feedback: Any, specs: Specs, dtype: Any) -> None:
    """Check that a feedback suits the game, without computing anything.

    Raises:
        ValueError: the feedback asks for more attributes than instances have; noise and instances differ in dimension;
            the feedback's state changes its type.
    """
    method_of(feedback, FeedbackDefaults.check_specs)(specs)
    if not traits_of(feedback, FeedbackTraits).makes_copies:
        return
    feedback = cast_leaves(feedback, dtype)

    def ask(key, t, x, y):
        state = initial_feedback_state(feedback, key, specs, specs.outcome)
        oracle = open_oracle(feedback, key, t, x, y, y, state)
        return state, next_feedback_state(feedback, key, state, t, x, y, y), (oracle.copy(0), oracle.label())

    key = jax.eval_shape(lambda: jax.random.key(0))
    before, after, _ = jax.eval_shape(ask, key, jax.ShapeDtypeStruct((), jnp.int32), *specs)
    check_state("feedback.observe", before, after)


def check_same_instances(environment: Any, feedback: Any) -> None:
    """Check that the instances are those of the measured copies, if the feedback has measured copies.

    Raises:
        ValueError: the instances differ between runs; the environment has another number of rows than the feedback.
    """
    n_measured = traits_of(feedback, FeedbackTraits).max_rounds
    if n_measured is None:
        return
    name, traits = type(feedback).__name__, traits_of(environment, EnvironmentTraits)
    if not traits.deterministic:
        problem = f"must be the same in every run for {name}, such as DataStream in file order"
        raise ArgumentError("environment", f"{problem} (got {check.quote(environment)})")
    if traits.n_rows not in (None, n_measured):
        problem = f"must have as many rows as {name}, {n_measured}"
        raise ArgumentError("environment", f"{problem} (got {type(environment).__name__} with {traits.n_rows} rows)")


def ran_out_of_copies(feedback: Any, queries: Int[Array, ""]) -> Bool[Array, ""] | None:
    """Return whether more copies are charged in a round than are measured; None if copies are not measured."""
    limit = traits_of(feedback, FeedbackTraits).max_copies
    return None if limit is None else queries > limit


def check_state(what: str, before: PyTree, after: PyTree) -> None:
    """Check that a state keeps its structure, shapes and dtypes, as loops require; raise ValueError otherwise."""
    kinds = [[(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(state)] for state in (before, after)]
    if kinds[0] != kinds[1] or jax.tree.structure(before) != jax.tree.structure(after):
        raise ValueError(f"{what}: must return a state of the shapes and dtypes of init, {before} (got {after})")
