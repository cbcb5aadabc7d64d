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
    "normal, and 6 with probability 0.3": noise_and_event(6.0, 0.3),
    "Poisson, mean 0.3": Law(lambda rng, size: rng.poisson(0.3, size).astype(float), 0.3, 0.3**0.5),
    "t, 3 degrees of freedom": Law(lambda rng, size: rng.standard_t(3, size), 0.0, 3**0.5),
    "exponential": Law(lambda rng, size: rng.exponential(size=size), 1.0, 1.0),
    "lognormal, sigma 1.5": Law(
        lambda rng, size: rng.lognormal(sigma=1.5, size=size), np.exp(1.125), (np.exp(4.5) - np.exp(2.25)) ** 0.5
    ),
    "Pareto, index 2.5": Law(lambda rng, size: 1.0 + rng.pareto(2.5, size), 5 / 3, 20**0.5 / 3),
    "normal, and 10 with probability 0.1": noise_and_event(10.0, 0.1),
    "normal, and 20 with probability 0.05": noise_and_event(20.0, 0.05),
    "0.2 normal, and 3 with probability 0.08": noise_and_event(3.0, 0.08, 0.2),
    "1 with probability 0.02, else 0": bounded_event(1.0, 0.02, 0.0),
    "uniform, and 50 with probability 0.02": bounded_event(50.0, 0.02),
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


def silent(rows: Sequence[Row], *keys: str) -> Table:
    """Return the table of the percentages that are wrong without a warning, by number of runs."""
    return _by_runs(rows, keys, lambda row: f"{row['silent']:.1f}")


def wrong(rows: Sequence[Row], *keys: str) -> Table:
    """Return the table of the percentages that are wrong, and in brackets that warn, by number of runs."""
    return _by_runs(rows, keys, lambda row: f"{row['wrong']:.1f} ({row['warned']:.0f})")


def _by_runs(rows: Sequence[Row], keys: Sequence[str], cell: Callable[[Row], str]) -> Table:
    keys, lines = keys or ("law",), {}
    for row in rows:
        named = tuple(str(row[key]) for key in keys)
        lines.setdefault(named, dict(zip(keys, named, strict=True)))[f"{row['runs']} runs"] = cell(row)
    runs = list(dict.fromkeys(f"{row['runs']} runs" for row in rows))
    return Table("", list(lines.values()), [*map(Text, keys), *(Text(key, key) for key in runs)])


def report(rows: Sequence[Row], what: str, *keys: str, studies: int = STUDIES) -> str:
    """Return the table of silent errors, a sentence about its largest numbers, and the table of all errors."""
    limit = 5.0 + 300.0 * (0.05 * 0.95 / studies) ** 0.5
    broken: dict[str, list[str]] = {}
    for row in rows:
        if row["runs"] >= LEAST_RUNS and row["silent"] > limit:
            place = ", ".join(str(row[key]) for key in keys or ("law",))
            broken.setdefault(place, []).append(f"{row['silent']:.1f} % at {row['runs']} runs")
    above = f"above {limit:.1f} (5 and three standard errors)"
    sentence = f"With at least {LEAST_RUNS} runs, no number is {above}."
    if broken:
        places = "\n".join(f"* {place}: {', '.join(cells)}" for place, cells in broken.items())
        sentence = f"With at least {LEAST_RUNS} runs, these numbers are {above}:\n\n{places}"
    return f"""\
Percentage of studies in which {what} without a warning:

{silent(rows, *keys).markdown()}
{sentence}

Percentage of studies in which {what}, and in brackets the percentage that warns:

{wrong(rows, *keys).markdown()}"""


def coverage_table(rows: Iterable[Row], *numbers: str) -> Table:
    """Return a table of percentages: texts first, then the named numbers."""
    rows = list(rows)
    texts = [key for key in rows[0] if key not in numbers]
    return Table("", rows, [*map(Text, texts), *(Number(name, name, "{:.1f}") for name in numbers)])
