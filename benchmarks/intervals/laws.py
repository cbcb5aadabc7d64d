"""Laws of simulated runs, and tables of the studies that are wrong, warn, or are wrong without a warning."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.results.statistics.means import LEAST_RUNS, skewed_names

STUDIES = 1000
RUNS = (5, 10, 20, 30, 50, 100, 200)
Row = dict[str, Any]


class Law(NamedTuple):
    """A law of runs: `draw(generator, shape)`, its mean and standard deviation, and the limits of its values."""

    draw: Callable[[np.random.Generator, Any], np.ndarray]
    mean: float
    deviation: float
    limits: tuple[float, float] | None = None

    def centred(self, rng: np.random.Generator, size: Any) -> np.ndarray:
        """Return runs with mean 0."""
        return self.draw(rng, size) - self.mean


def noise_and_event(cost: float, probability: float, noise: float = 1.0) -> Law:
    """Normal noise with mean 0 and the standard deviation `noise`, and an event that costs more."""
    deviation = (noise**2 + cost**2 * probability * (1 - probability)) ** 0.5
    return Law(
        lambda rng, size: noise * rng.normal(size=size) + cost * (rng.random(size) < probability),
        cost * probability, deviation,
    )  # fmt: skip


def bounded_event(cost: float, probability: float, noise: float = 3**0.5) -> Law:
    """Uniform noise on [-noise, noise], and an event that costs more."""
    deviation = (noise**2 / 3 + cost**2 * probability * (1 - probability)) ** 0.5
    return Law(
        lambda rng, size: rng.uniform(-noise, noise, size) + cost * (rng.random(size) < probability),
        cost * probability, deviation, (-noise, noise + cost),
    )  # fmt: skip


LAWS = {
    "normal": noise_and_event(0.0, 0.0),
    "bimodal": noise_and_event(6.0, 0.3),
    "Poisson": Law(lambda rng, size: rng.poisson(0.3, size).astype(float), 0.3, 0.3**0.5),
    "t": Law(lambda rng, size: rng.standard_t(3, size), 0.0, 3**0.5),
    "exponential": Law(lambda rng, size: rng.exponential(size=size), 1.0, 1.0),
    "lognormal": Law(
        lambda rng, size: rng.lognormal(sigma=1.5, size=size), np.exp(1.125), (np.exp(4.5) - np.exp(2.25)) ** 0.5
    ),
    "Pareto": Law(lambda rng, size: 1.0 + rng.pareto(2.5, size), 5 / 3, 20**0.5 / 3),
    "spikes 10%": noise_and_event(10.0, 0.1),
    "spikes 5%": noise_and_event(20.0, 0.05),
    "spikes 8%": noise_and_event(3.0, 0.08, 0.2),
    "events 2%": bounded_event(1.0, 0.02, 0.0),
    "rare 2%": bounded_event(50.0, 0.02),
}


def skewed(values: np.ndarray) -> np.ndarray:
    """Return which samples [..., R] the warnings of means and rankings name."""
    flat = values.reshape(-1, values.shape[-1])
    found = np.zeros(len(flat), bool)
    found[skewed_names(flat, range(len(flat)))] = True
    return found.reshape(values.shape[:-1])


def shares(wrong: np.ndarray, warned: np.ndarray) -> Row:
    """Return the percentages of studies that are wrong, that warn, and that are wrong without a warning."""
    parts = {"wrong": wrong, "warned": warned, "silent": wrong & ~warned}
    return {name: 100 * float(part.mean()) for name, part in parts.items()}


def errors_by_runs(rows: Sequence[Row], *keys: str, studies: int = STUDIES) -> Table:
    """Return the table of the percentages that are wrong without a warning, wrong, and warn, by number of runs.

    The first number has an exclamation mark if it is above 5 by three standard errors with at least `LEAST_RUNS` runs.
    """
    keys, lines = keys or ("law",), {}
    limit = 5.0 + 300.0 * (0.05 * 0.95 / studies) ** 0.5
    for row in rows:
        named = tuple(str(row[key]) for key in keys)
        cell = f"{row['silent']:.1f}"
        if row["runs"] >= LEAST_RUNS and row["silent"] > limit:
            cell += "!"
        if row["warned"]:
            cell += f"/{row['wrong']:.1f}/{row['warned']:.0f}"
        lines.setdefault(named, dict(zip(keys, named, strict=True)))[f"{row['runs']} runs"] = cell
    runs = list(dict.fromkeys(f"{row['runs']} runs" for row in rows))
    return Table("", list(lines.values()), [*map(Text, keys), *(Text(key, key) for key in runs)])


def coverage_table(rows: Iterable[Row], *numbers: str) -> Table:
    """Return a table of percentages: texts first, then the named numbers."""
    rows = list(rows)
    texts = [key for key in rows[0] if key not in numbers]
    return Table("", rows, [*map(Text, texts), *(Number(name, name, "{:.1f}") for name in numbers)])
