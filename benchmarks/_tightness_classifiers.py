"""Cases of `benchmarks.tightness`: mistakes of votes and of linear classifiers."""

from typing import Any

import jax.numpy as jnp
import numpy as np

import jaxonline as jo
from benchmarks._tightness_search import Case
from benchmarks._tightness_tables import play_rows
from jaxonline import bounds
from jaxonline.learners import Halving, PassiveAggressive, Perceptron, PNormPerceptron, WeightedMajority, Winnow
from jaxonline.losses import ZeroOne

T, SHORT = 32, 16
FULL = jo.FullInformation()


def votes(name: str, learner: Any, settings: Any, bound: Any, extras: int, n_experts: int = 4) -> Case:
    """A case whose table says which experts err; the label is 1, since both learners treat both labels alike."""

    def advice(tables):
        return np.where(tables < 0.5, 1.0, -1.0)

    def play(table, settings, key):
        X = jnp.where(table < 0.5, 1.0, -1.0).astype(table.dtype)
        return play_rows(X, jnp.ones(len(X), X.dtype), FULL, ZeroOne(), learner(settings), key).loss

    def ratios(losses, tables, settings):
        best = (advice(tables) < 0).sum(axis=1).min(axis=1)
        values = [bound({key: value[i] for key, value in settings.items()}, int(n)) for i, n in enumerate(best)]
        return losses.sum(axis=-1) / np.array(values, float)[:, None]

    return Case(name, f"{n_experts} experts, T = {T}", (T, n_experts), settings, play, ratios, extras)


def halving() -> Case:
    def bound(settings, mistakes):
        return bounds.halving(4, mistakes)

    return votes("halving", lambda settings: Halving(), lambda extras: {}, bound, 0)


def weighted_majority() -> Case:
    def bound(settings, mistakes):
        return bounds.weighted_majority(4, float(settings["beta"]), mistakes)

    def settings(extras):
        return {"beta": float(0.01 + 0.98 * extras[0])}

    return votes("weighted_majority", lambda settings: WeightedMajority(settings["beta"]), settings, bound, 1)


def separable(name: str, learner: Any, bound: Any, p: float = 2.0, dimension: int = 4, squared: bool = False) -> Case:
    """Labels are 1; instances are margin times u plus a part orthogonal to u, |x|_p = 1, u the first unit vector."""
    shape = (SHORT, dimension - 1)

    def instances(table, margin):
        sides = 2 * table - 1
        length = (jnp.abs(sides) ** p).sum(axis=-1, keepdims=True) ** (1 / p)
        sides = (1 - margin**p) ** (1 / p) * sides / jnp.maximum(length, 1e-6)
        return jnp.concatenate([margin * jnp.ones_like(sides[..., :1]), sides], axis=-1)

    def settings(extras):
        margin = 0.2 + 0.7 * float(extras[0])
        return {"margin": margin, "bound": bound(margin)}

    def play(table, settings, key):
        X = instances(table, settings["margin"])
        history = play_rows(X, jnp.ones(len(X), X.dtype), FULL, ZeroOne(), learner, key)
        return jnp.maximum(1 - history.y_hat, 0) ** 2 if squared else history.loss

    def ratios(losses, tables, settings):
        return losses.sum(axis=-1) / settings["bound"][:, None]

    game = f"d = {dimension}, any margin from 0.2 to 0.9, T = {SHORT}"
    return Case(name, game, shape, settings, play, ratios, 1)


def perceptron() -> Case:
    return separable("perceptron", Perceptron(), lambda margin: bounds.perceptron(1.0, margin))


def p_norm_perceptron() -> Case:
    return separable(
        "p_norm_perceptron", PNormPerceptron(3.0), lambda margin: bounds.p_norm_perceptron(3.0, 1.0, margin), 3.0
    )


def passive_aggressive() -> Case:
    """PA: the sum of squared hinge losses; the comparator u / margin has no hinge loss."""

    def bound(margin):
        return bounds.passive_aggressive("PA", 1.0, 1 / margin, [0.0])

    return separable("passive_aggressive", PassiveAggressive("PA"), bound, squared=True)


def winnow() -> Case:
    dimension, relevant = 4, 1

    def play(table, settings, key):
        X = (table > 0.5).astype(table.dtype)
        y = 2 * X[:, :relevant].max(axis=1) - 1
        return play_rows(X, y, FULL, ZeroOne(), Winnow(), key).loss

    def ratios(losses, tables, settings):
        return losses.sum(axis=-1) / settings["bound"][:, None]

    return Case("winnow", f"1 of {dimension} attributes, T = {T}", (T, dimension),
                lambda extras: {"bound": bounds.winnow(dimension, relevant)}, play, ratios)  # fmt: skip


CASES = (halving, weighted_majority, perceptron, p_norm_perceptron, passive_aggressive, winnow)
