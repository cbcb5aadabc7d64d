"""Experiments on lower bounds for few attributes, and on measurements of patients that have a price.

Source of the lower bounds: Cesa-Bianchi, Shalev-Shwartz and Shamir 2010, partially observed attributes.
"""

import itertools
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from benchmarks.papers.engines.attribute_streams import play_streams
from jaxonline import bounds
from jaxonline._xla.threads import run_parallel
from jaxonline.environments import HiddenAttribute, three_bits
from jaxonline.game.keys import ANSWER, INSTANCE, part_key
from jaxonline.results.report.tables import Interval, Number, Table, Text
from jaxonline.results.statistics import mean_over_runs
from jaxonline.simulation.halving import argmin_finite
from jaxonline.study import Context

if TYPE_CHECKING:
    from matplotlib.figure import Figure

REGULARIZERS = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0)  # for the hidden attribute, in units of d / 16
POOL = 200_000  # examples from which the runs of the hidden attribute draw


class Findings(NamedTuple):
    """Tables, figures and sentences of a part of the study."""

    tables: Mapping[str, Table]
    figures: Mapping[str, Callable[[], "Figure"]]
    sentences: list[str]


def explore(context: Context, *, quick: bool) -> Findings:
    """Run three experiments: the hidden attribute, the three bits, and the price of measurements."""
    from benchmarks.papers.studies import attributes_figures as figures

    hidden = hidden_attribute(context.seed, quick=quick)
    bits = three_bits_row(context.seed)
    price = price_of_measurements(context.seed, splits=10 if quick else 40)
    tables = {
        "hidden": Table("Theorem 3: examples until AER is within eps of the best predictor", hidden, HIDDEN_COLUMNS),
        "bits": Table("Theorem 4: squared errors on three bits", [bits]),
        "price": Table("Breast cancer: squared test error for money spent (95 % intervals)", price, PRICE_COLUMNS),
    }
    return Findings(tables, {"price": lambda: figures.price(price)}, [_winner(price)])


# ---------------------------------------------------------------------------------------------------------------------
# Theorems 3 and 4

HIDDEN_COLUMNS = (
    Number("d", "d"), Number("k", "k"), Number("eps", "eps", "{:g}"), Number("bound", "at least", "{:,.1f}"),
    Number("examples", "AER", "{:,.0f}"), Number("ratio", "AER / bound", "{:,.0f}"),
)  # fmt: skip


def hidden_attribute(seed: int, *, quick: bool) -> list[dict[str, Any]]:
    """Return how many examples AER needs until its mean excess risk is below eps, and the paper's lower bound.

    The risk is that of AER's averaged hypothesis, with the best regulariser of `REGULARIZERS`. The number of examples
    is None if `POOL` examples are not enough.
    """
    cases = [(8, 2, 0.05), (16, 2, 0.05), (16, 4, 0.05), (16, 2, 0.025)]
    cases += [] if quick else [(32, 2, 0.05), (32, 4, 0.05), (32, 8, 0.05), (16, 4, 0.025), (16, 4, 0.0125)]
    return run_parallel([partial(hidden_case, seed, *case, runs=4 if quick else 16) for case in cases])


def hidden_case(seed: int, d: int, k: int, eps: float, runs: int) -> dict[str, Any]:
    """Return one row of the table of `hidden_attribute`."""
    X, y, j = _draw_hidden(HiddenAttribute(d, eps), jax.random.key(seed))
    order = np.stack([np.random.default_rng([seed, run]).permutation(POOL) for run in range(runs)])
    ends = tuple(int(n) for n in np.unique(np.geomspace(100, POOL, 40).round()))
    radius, keys = 2 * eps**0.5, jax.random.split(jax.random.key(seed + 1), runs)
    rates = np.array(REGULARIZERS) * d / 16
    hypotheses = play_streams("aer", X, y, order, keys, rates, np.full(len(rates), radius), k, ends)
    best = np.zeros(d)
    best[int(j)] = radius
    excess = np.sum((np.asarray(hypotheses, float) - best) ** 2, axis=-1).mean(axis=1)  # [ends, rates]
    within = excess < eps
    first = [ends[int(np.argmax(column))] if column.any() else None for column in within.T]
    examples = min((n for n in first if n is not None), default=None)
    bound = bounds.hidden_attribute_examples(d, k, eps)
    ratio = examples / bound if examples and bound else None
    return {"d": d, "k": k, "eps": eps, "bound": bound, "examples": examples, "ratio": ratio}


@jax.jit
def _draw_hidden(environment: HiddenAttribute, key: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    state = environment.init(key)

    def draw(t: jax.Array) -> tuple[jax.Array, jax.Array]:
        x, _ = environment.instance(part_key(key, t, INSTANCE), state, t)
        y, _ = environment.answer(part_key(key, t, ANSWER), state, t, x, jnp.zeros_like(x[0]))
        return x, y

    return *jax.vmap(draw)(jnp.arange(1, POOL + 1, dtype=jnp.int32)), state.attribute


def three_bits_row(seed: int) -> dict[str, float]:
    """Return the least error of predictors that see two of three bits, and of AER, trained on two bits per example."""
    stream = three_bits()
    X, y = np.asarray(stream.X, float), np.asarray(stream.y, float)
    order = np.random.default_rng(seed).integers(len(y), size=(1, 200_000))
    keys = jax.random.split(jax.random.key(seed), 1)
    w = play_streams("aer", X, y, order, keys, np.array([0.02]), np.ones(1), 2)
    errors = []
    for pair in itertools.combinations(range(3), 2):
        groups: dict[tuple, list[float]] = {}
        for x, target in zip(X, y, strict=True):
            groups.setdefault(tuple(x[list(pair)]), []).append(target)
        errors.append(float(np.mean([np.var(group) for group in groups.values()])))
    return {
        "two attributes when predicting": min(errors), "the theorem": 1 / 9,
        "AER, two attributes when learning": float(np.mean((X @ np.asarray(w, float)[0, 0, 0] - y) ** 2)),
    }  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# Measurements with a price

BUDGETS = (150, 300, 600, 1200, 2400, 4800, 9600)
ATTRIBUTES_PER_VISIT = 4
PRICE_COLUMNS = (
    Number("budget", "bought", "{:,.0f}"), Number("patients", "patients", "{:,.0f}"),
    Interval("ridge", "all of fewer\npatients", "{:.3f}"),
    Interval("aer", "AER, 4 of\neach visit", "{:.3f}"), Interval("difference", "AER less\nthe other", "{:+.3f}"),
    Text("wins"),
)  # fmt: skip
PENALTIES = (0.001, 0.01, 0.1, 1.0)
RATES, RADII = (1.0, 3.0, 10.0), (0.5, 1.0, 2.0)


def price_of_measurements(seed: int, splits: int) -> list[dict[str, Any]]:
    """Return squared test errors by budget on scikit-learn's breast cancer data, where each measurement costs 1.

    The strategy "buy everything" buys all 30 measurements of as many patients as it can pay (at most the training
    part), and trains ridge on them. AER buys 4 measurements at each visit of a patient, in several passes over the
    patients. Both strategies use measurements standardised by the means and deviations of the training part, and do not
    pay for these statistics. The first half of the splits chooses the parameters, and the other half is reported.
    """
    X, y = _patients()
    n, d = X.shape
    n_train = n - n // 4
    rounds = max(BUDGETS) // ATTRIBUTES_PER_VISIT
    data, labels, orders, tests = [], [], [], []
    for split in range(splits):
        rng = np.random.default_rng([seed, split])
        order = rng.permutation(n)
        train, test = order[:n_train], order[n_train:]
        scaled = (X - X[train].mean(axis=0)) / X[train].std(axis=0)
        visits = np.concatenate([rng.permutation(n_train) for _ in range(-(-rounds // n_train))])[:rounds]
        orders.append(visits + split * n_train)
        data.append(scaled[train])
        labels.append(y[train])
        tests.append((scaled[test], y[test]))
    parameters = np.array([(rate, radius) for rate in RATES for radius in RADII])
    averages = play_streams(
        "aer", np.concatenate(data), np.concatenate(labels), np.stack(orders),
        jax.random.split(jax.random.key(seed), splits), parameters[:, 0],
        parameters[:, 1], ATTRIBUTES_PER_VISIT,
        tuple(budget // ATTRIBUTES_PER_VISIT for budget in BUDGETS),
    )  # fmt: skip

    rows = []
    for budget, hypotheses in zip(BUDGETS, np.asarray(averages, float), strict=True):
        patients = min(budget // d, n_train)
        aer = np.array([_errors(w, *test) for w, test in zip(hypotheses, tests, strict=True)])
        ridge = np.array([
            _errors(np.stack([_ridge(A[:patients], b[:patients], alpha) for alpha in PENALTIES]), *test)
            for A, b, test in zip(data, labels, tests, strict=True)
        ])  # fmt: skip
        half = splits // 2
        errors = {
            "ridge": ridge[half:, argmin_finite(ridge[:half].mean(0))],
            "aer": aer[half:, argmin_finite(aer[:half].mean(0))],
        }
        errors["difference"] = errors["aer"] - errors["ridge"]
        row: dict[str, Any] = {"budget": budget, "patients": patients}
        for name, values in errors.items():
            estimate = mean_over_runs(values[None])
            row |= {name: estimate.mean[0], f"{name}_low": estimate.low[0], f"{name}_high": estimate.high[0]}
        low, high = row["difference_low"], row["difference_high"]
        row["wins"] = "AER" if high < 0 else "all" if low > 0 else "open"
        rows.append(row)
    return rows


def _patients() -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    return np.asarray(X, float), 2.0 * np.asarray(y) - 1.0


def _ridge(X: np.ndarray, y: np.ndarray, alpha: float) -> np.ndarray:
    return np.linalg.solve(X.T @ X / len(X) + alpha * np.eye(X.shape[1]), X.T @ y / len(X))


def _errors(w: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.mean((w @ X.T - y) ** 2, axis=-1)


def _winner(rows: list[dict[str, Any]]) -> str:
    winners = [f"{row['budget']:,}: {row['wins']}" for row in rows]
    return f"Better learner by number of measurements (95 % each): {'; '.join(winners)}."
