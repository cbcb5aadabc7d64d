"""Figures of the study `attributes` (learning from few attributes)."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxonline.results.report.plotting import COLOURS, set_log_scales, style_axes

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ALL_PIXELS = "ridge", "Lasso", "gradient descent"


def images(X: np.ndarray, y: np.ndarray, n_attributes: int, seed: int) -> "Figure":
    """Draw the paper's Fig. 1: six images of threes and fives, and below them only the pixels that a learner sees."""
    from matplotlib.figure import Figure

    rng = np.random.default_rng([seed, 35])
    chosen = rng.permutation(np.flatnonzero((y == 3) | (y == 5)))[:6]
    figure = Figure(figsize=(9.0, 3.4), layout="constrained")
    for column, panels in zip(chosen, figure.subplots(2, 6).T, strict=True):
        whole = X[column].astype(float)
        seen = np.full(X.shape[1], np.nan)
        pixels = rng.choice(X.shape[1], size=n_attributes, replace=False)
        seen[pixels] = whole[pixels]
        for axes, image in zip(panels, (whole, seen), strict=True):
            axes.set_facecolor("#c8d4e0")
            axes.imshow(image.reshape(28, 28), cmap="gray", vmin=0, vmax=255, interpolation="nearest")
            axes.set(xticks=[], yticks=[])
    figure.suptitle(f"Six images, and the {n_attributes} pixels of each that a learner sees")
    return figure


def prefixes(curves: dict[str, np.ndarray], n_attributes: int) -> "Figure":
    """Draw the paper's Fig. 2: mean and deviation of the squared test error on "3 vs 5" by examples and attributes."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11.0, 4.4), layout="constrained")
    for axes, unit in zip(figure.subplots(1, 2, sharey=True), ("examples", "attributes seen"), strict=True):
        for colour, (name, errors) in zip(
            COLOURS, ((n, e) for n, e in curves.items() if n != "examples"), strict=False
        ):
            n_pixels = 784 if name in ALL_PIXELS else n_attributes
            n = curves["examples"] * (1 if unit == "examples" else n_pixels)
            mean, spread = errors.mean(axis=0), errors.std(axis=0)
            axes.plot(n, mean, "o-", ms=3, color=colour, label=name)
            axes.fill_between(n, mean - spread, mean + spread, color=colour, alpha=0.2, lw=0)
        set_log_scales(axes, linear_y=True)
        axes.set_ylim(0, 1.6)
        style_axes(axes, unit, "squared test error" if unit == "examples" else "", "3 vs 5, centred pixels")
    axes.legend(frameon=False)
    return figure


def price(rows: Sequence[dict[str, Any]]) -> "Figure":
    """Plot squared test error against money spent: AER, and ridge with all measurements of fewer patients."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.4), layout="constrained")
    axes = figure.subplots()
    budgets = [row["budget"] for row in rows]
    for colour, (key, name) in zip(COLOURS, (("ridge", "everything of fewer patients"), ("aer", "AER")), strict=False):
        axes.plot(budgets, [row[key] for row in rows], "o-", color=colour, label=name)
        low, high = ([row[f"{key}_{end}"] for row in rows] for end in ("low", "high"))
        axes.fill_between(budgets, low, high, color=colour, alpha=0.2, lw=0)
    set_log_scales(axes, linear_y=True)
    axes.set_ylim(bottom=0.0)
    style_axes(axes, "measurements bought", "squared test error", "Breast cancer: error for money")
    axes.legend(frameon=False)
    return figure
