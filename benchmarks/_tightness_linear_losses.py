"""Cases of `benchmarks.tightness`: descent with linear losses, in the plane."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxonline as jo
from benchmarks._tightness_search import Case, Settings
from benchmarks._tightness_tables import directions, play_rows
from jaxonline import bounds
from jaxonline.estimators import FullGradient
from jaxonline.learners import BOLD, ExponentiatedGradient, UpdateOnArrival
from jaxonline.losses import Absolute

T, LARGE = 32, 8.0  # the loss |<w, x> - 8| is linear for |<w, x>| <= 8
FULL = jo.FullInformation()


def linear_losses(name: str, game: str, settings: Settings, learner: Any, best: Any, instances: Any = None,
                  columns: int = 1, feedback: Any = FULL) -> Case:  # fmt: skip
    """A case with losses 8 - <w, x>; `best` maps the sums of x to the largest <u, sum of x>."""
    instances = instances or (lambda table, module: directions(table[..., 0], module))

    def play(table, settings, key):
        X = instances(table, jnp)
        return play_rows(X, jnp.full(len(X), LARGE), feedback, Absolute(), learner(settings), key).y_hat

    def ratios(y_hat, tables, settings):
        largest = best(instances(tables, np).sum(axis=1))
        return (largest[:, None] - y_hat.sum(axis=-1)) / settings["bound"][:, None]

    return Case(name, game, (T, columns), lambda extras: settings, play, ratios)


def descent(step: jax.Array, radius: Any = 1.0, **options: Any) -> jo.GradientLearner:
    return jo.GradientLearner(FullGradient(Absolute()), step_size=step, radius=radius, **options)


def norms(sums: np.ndarray) -> np.ndarray:
    return np.linalg.norm(sums, axis=-1)


def gradient_descent() -> Case:
    bound = bounds.gradient_descent(1.0, 1.0, T)
    settings = {"bound": bound.value, "step": bound.step_size}
    game = f"linear losses, unit disc, T = {T}"
    return linear_losses("gradient_descent", game, settings, lambda settings: descent(settings["step"]), norms)


def _touching_disc(w: jax.Array, radius: jax.Array) -> jax.Array:
    """Project on a disc with 0 on its boundary, so that w_1 = 0 has the distance of the diameter to a point."""
    centre = jnp.stack([radius, jnp.zeros_like(radius)])
    distance = jnp.linalg.norm(w - centre)
    return centre + (w - centre) * jnp.minimum(1.0, radius / jnp.maximum(distance, 1e-9))


def projected_gradient() -> Case:
    bound = bounds.projected_gradient(2.0, 1.0, T)
    settings = {"bound": bound.value, "step": bound.step_size}
    return linear_losses(
        "projected_gradient", f"linear losses, unit disc, start on its boundary, T = {T}", settings,
        lambda settings: descent(settings["step"], projection=_touching_disc), lambda sums: norms(sums) + sums[:, 0],
    )  # fmt: skip


def delayed_gradient_descent() -> Case:
    delay = 2
    bound = bounds.delayed_gradient_descent(1.0, 1.0, delay, T)
    settings = {"bound": bound.value, "step": bound.step_size}
    return linear_losses(
        "delayed_gradient_descent", f"linear losses, unit disc, delay {delay}, T = {T}", settings,
        lambda settings: UpdateOnArrival(descent(settings["step"])), norms, feedback=jo.Delayed(FULL, delay),
    )  # fmt: skip


def bold() -> Case:
    delay = 1
    step = bounds.gradient_descent(1.0, 1.0, T // (delay + 1)).step_size
    value = bounds.bold(lambda n: np.sqrt(n), delay, T)
    return linear_losses(
        "bold", f"gradient descent, linear losses, unit disc, delay {delay}, T = {T}",
        {"bound": float(value), "step": step}, lambda settings: BOLD(descent(settings["step"]), delay), norms,
        feedback=jo.Delayed(FULL, delay),
    )  # fmt: skip


def exponentiated_gradient() -> Case:
    bound = bounds.exponentiated_gradient(2, 1.0, T)
    return linear_losses(
        "exponentiated_gradient", f"linear losses, 2 weights, T = {T}",
        {"bound": bound.value, "step": bound.step_size},
        lambda settings: ExponentiatedGradient(FullGradient(Absolute()), settings["step"]),
        lambda sums: sums.max(axis=1), lambda table, module: 2 * table - 1, 2,
    )  # fmt: skip


CASES = (gradient_descent, projected_gradient, exponentiated_gradient, delayed_gradient_descent, bold)
