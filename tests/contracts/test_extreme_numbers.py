"""No number from 1e-30 to 1e30 changes a result silently by overflow: parameters of learners and feedbacks, and data.

The same six rounds are played in float32 and in float64, in which no such number overflows, with the same random draws.
A result is silent if all moves and losses of float32 are finite but a move differs from that of float64 by more than
2 % of the largest move plus 1e-6, as rounding and underflow can change it. An infinity or NaN is not silent, because
`simulate`, `tune` and `Live` count and report it. Nor is an error when the object is constructed.
"""

import dataclasses
import inspect
import warnings

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from registry import LEARNERS
from tiers import some

import jaxonline as jo
from jaxonline.estimators import counts, multilevel
from jaxonline.game import play_round, start, stream_keys
from jaxonline.parameters.struct import cast_leaves, replace_at, stack, structure_of
from jaxonline.random import draws, exact

pytestmark = pytest.mark.fast_compile

VALUES = [float(f"1e{exponent}") for exponent in range(-30, 31, 5)]
ROUNDS = 6
# learners with other draws in float64, and learners with moves that are arms or depend on sines of large angles
LEFT_OUT = ("AER", "four attributes", "noisy kernel", "Fourier", "ML-Poly", "Raker", "OMKL", "multi-kernel")
NAMES = [name for name, make in LEARNERS.items() if not (name.startswith(LEFT_OUT) or make().losses_of_arms)]
REPAIRED = ("AdaGrad", "VAW", "PA-I", "PA-II")  # others are long
# cases in which float32 lacks the digits: differences of large numbers, and weights that depend on ties
ROUNDING = {
    "EWA": ("combiner.eta", "X"),
    "EWA, truncated": ("learner.combiner.eta",),
    "Aggregating": ("learner.high",),
    "ML-Prod": ("X",),
    "online Newton step": ("epsilon", "X"),
}


def number_paths(obj, prefix=""):
    """Yield the paths and values of the numbers of a struct that a sweep can vary."""
    for field in dataclasses.fields(obj):
        value, path = getattr(obj, field.name), f"{prefix}{field.name}"
        if not field.init or field.metadata.get("static"):
            continue
        if dataclasses.is_dataclass(value):
            yield from number_paths(value, f"{path}.")
        elif isinstance(value, int | float | np.ndarray | np.generic | jax.Array):
            yield path, np.asarray(value, float)


def changed(obj):
    """Yield a struct with each number changed to each value, without those that raise an error when constructed."""
    for path, value in number_paths(obj):
        for factor in VALUES:
            try:
                new = replace_at(obj, path, factor if value.ndim == 0 else factor * value, "grid", keep_classes=False)
                cast_leaves(new, np.float32)
            except ValueError:
                continue
            if structure_of(cast_leaves(new, np.float32)) == structure_of(cast_leaves(obj, np.float32)):
                yield f"{path} {factor:g}", new


def cases(entry):
    """Return environment, feedback and learner by the name of the changed number."""
    rows, feedback, learner = entry.rows(8), entry.feedback, entry.learner
    found = {name: (rows, feedback, new) for name, new in changed(learner)}
    found |= {f"feedback {name}": (rows, new, learner) for name, new in changed(feedback)}
    if not entry.losses_of_arms:
        for factor in VALUES:
            X, y = factor * np.asarray(rows.X, float), np.asarray(rows.y, float)
            found[f"X {factor:g}"] = jo.environments.DataStream(X, y), feedback, learner
    return found


def moves_and_losses(entry, parts):
    """Play all cases as one program."""

    def play(tree):
        game, entrant = jo.Game(tree[0], tree[1], entry.loss), jo.WithFeedback(tree[2], tree[1])
        keys = stream_keys(jax.random.key(7))

        def play_next(states, t):
            states, record = play_round(game, entrant, keys, t, states)
            return states, (record.y_hat, record.loss)

        return jax.lax.scan(play_next, start(game, entrant, keys), jnp.arange(1, ROUNDS + 1, dtype=jnp.int32))[1]

    dtype = jnp.result_type(float)
    played = jax.jit(jax.vmap(play))(stack([cast_leaves(part, dtype) for part in parts]))
    flat = [np.asarray(leaf, float).reshape(len(parts), -1) for leaf in jax.tree.leaves(played)]
    return np.concatenate(flat[:-1], axis=1), flat[-1]


@pytest.fixture
def float32_draws(monkeypatch):
    """Draws in float64 are those of float32."""

    def in_float32(draw):
        def wrapper(*args, **options):
            bound = inspect.signature(draw).bind(*args, **options)
            bound.apply_defaults()
            wanted = jax.dtypes.canonicalize_dtype(bound.arguments["dtype"])
            bound.arguments["dtype"] = jnp.float32
            for name in {"minval", "maxval", "df"} & bound.arguments.keys():
                bound.arguments[name] = jnp.asarray(bound.arguments[name], jnp.float32)
            return draw(*bound.args, **bound.kwargs).astype(wanted)

        return wrapper

    for name in ("normal", "uniform", "laplace", "t"):
        monkeypatch.setattr(jax.random, name, in_float32(getattr(jax.random, name)))
    for module in (draws, exact):
        pairs = module.word_pairs
        monkeypatch.setattr(module, "word_pairs", lambda key, shape, dtype, pairs=pairs: pairs(key, shape, jnp.float32))
    of_number = counts.fine_uniform
    for module in (counts, multilevel):
        monkeypatch.setattr(module, "fine_uniform", lambda key, dtype: of_number(key, jnp.float32).astype(dtype))


def silent_cases(name):
    entry = LEARNERS[name]()
    with entry.promotion(), warnings.catch_warnings(action="ignore"):
        found = cases(entry)
        moves, losses = moves_and_losses(entry, list(found.values()))
        with jax.enable_x64(True):
            wanted, _ = moves_and_losses(entry, list(cases(entry).values()))
    is_loud = ~np.isfinite(moves).all(axis=1) | ~np.isfinite(losses).all(axis=1)
    wanted = np.where(np.isfinite(wanted), wanted, moves)
    with np.errstate(invalid="ignore"):
        is_right = (np.abs(moves - wanted) <= 0.02 * np.abs(wanted).max(axis=1, keepdims=True) + 1e-6).all(axis=1)
    silent = [case for case, is_silent in zip(found, ~is_loud & ~is_right, strict=True) if is_silent]
    return [case for case in silent if not case.startswith(ROUNDING.get(name, ()))]


@pytest.mark.parametrize("name", some(NAMES, *REPAIRED))
def test_no_extreme_number_changes_the_moves_silently(name, float32_draws):
    assert silent_cases(name) == []
