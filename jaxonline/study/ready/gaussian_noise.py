"""Kernel learners under Gaussian noise, as the noise grows: Algorithms 1 and 2, averages of copies, clean instances.

Instances on a disc, a target in the RKHS of the Gaussian kernel exp(-|x - x'|^2), squared loss. Algorithm 2 (paper B,
section 6) and Algorithm 1 (paper A) are unbiased; those that take a copy, or a mean of copies, for the instance are
not. Steps are eta / sqrt(t); every learner's eta is chosen from one grid, on runs of its own.
"""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxonline._util import check
from jaxonline.comparators import RKHSBall
from jaxonline.environments import DataStream
from jaxonline.feedback import FullInformation, NoisyCopies, noise
from jaxonline.game import Entrant, Game
from jaxonline.learners import InverseSqrt
from jaxonline.results import Result
from jaxonline.simulation import simulate
from jaxonline.study.ready.gaussian_noise_learners import (
    ALGORITHM_1,
    ALGORITHM_2,
    CLEAN,
    DISC,
    LABEL_NOISE,
    MEANS,
    N_FREQUENCIES,
    NAIVE,
    NOISES,
    NOISY,
    PASSES,
    RADIUS,
    SET_NOISES,
    SET_RADIUS,
    SET_WIDTH,
    WIDTH,
    Problem,
    disc,
    geometry,
    makers,
    real_set,
    target_losses,
    theorems,
)

SHOWN = 0.3
ETAS = (0.006, 0.02, 0.06, 0.2, 0.6, 2.0)
PIECES = 32  # of a pass: programs of one length
SETS = ("Airfoil", "Concrete")
TWO_FEATURES = "Fourier, 2 copies"
Progress = bool | Callable[[int, int, str], None]


class Played(NamedTuple):
    """Learners that were played on one problem with one noise.

    Attributes:
        noise: standard deviation of each coordinate's noise.
        result: the numbers, regret against the best predictor of the ball on the clean data.
        etas: of the steps eta / sqrt(t), by learner.
        bounds: what the theorems promise at each recorded round [G], by learner.

    Example:
        >>> from jaxonline.study.ready.gaussian_noise import Played
        >>> Played._fields
        ('noise', 'result', 'etas', 'bounds')
    """

    noise: float
    result: Result
    etas: dict[str, float]
    bounds: dict[str, np.ndarray]


class Study(NamedTuple):
    """What the study brings.

    Attributes:
        problem: the disc.
        settings: of the study.
        geometry: numbers of the target in the surrogate RKHS, by noise.
        zero: the regret of the predictor 0 after the rounds of `by_noise`, and after those of each real set.
        by_noise: all learners, a row for each noise.
        shown: all learners at one noise, for more rounds.
        long: Algorithm 1, and Fourier features, at that noise for many passes.
        real: real data, by set.

    Example:
        >>> from jaxonline.study.ready.gaussian_noise import Study
        >>> Study._fields[-1]
        'real'
    """

    problem: Problem
    settings: dict[str, Any]
    geometry: list[dict[str, float]]
    zero: dict[str, float]
    by_noise: list[Played]
    shown: Played
    long: Played
    real: dict[str, list[Played]]


def play(
    problem: Problem,
    noise_std: float,
    names: Sequence[str],
    *,
    n_runs: int,
    n_rounds: int,
    seed: int = 0,
    etas: dict[str, float] | None = None,
    progress: Progress = False,
) -> Played:
    """Choose every learner's step, then play.

    The steps are compared over a quarter of the rounds, in other runs. All noises and numbers of rounds are played by
    the same compiled programs.

    Args:
        problem: what is to be learned; rounds beyond its rows are further passes over them.
        noise_std: of each coordinate of a copy, one of the problem's.
        names: of learners: `CLEAN` and those of `NOISY`.
        n_runs: at least 2.
        n_rounds: up to the number of rows; or, for learners that do not store a point a round, a multiple of it.
        seed: of all randomness.
        etas: of the steps, by learner; chosen when None.
        progress: as in `simulate`.

    Raises:
        ValueError: fewer than 2 runs, rounds that end inside a further pass, noise for which there is no surrogate.

    Example:
        >>> from jaxonline.study.ready.gaussian_noise import play
        >>> from jaxonline.study.ready.gaussian_noise_learners import disc
        >>> found = play(disc(64), 0.2, ["one copy"], n_runs=2, n_rounds=64)
        >>> found.result.rounds.tolist(), found.etas["one copy"]
        ([2, 4, 6, 8, 12, 16, 22, 32, 46, 64], 0.6)
    """
    check.count("n_runs", n_runs, ge=2)
    _record_at(len(problem.y), n_rounds)  # raises before anything is played
    make = makers(problem, noise_std)
    game = Game(DataStream(problem.X, problem.y), NoisyCopies(noise.gaussian(noise_std**2)))

    def entrants(etas: dict[str, float]) -> dict[str, Entrant]:
        feedbacks = {name: FullInformation() if name == CLEAN else game.feedback for name in names}
        return {name: Entrant(make[name](InverseSqrt(etas[name])), feedbacks[name]) for name in names}

    def numbers(etas: dict[str, float], horizon: int, key: int) -> Result:
        rounds = _record_at(len(problem.y), horizon)
        return simulate(
            game, entrants(etas), n_runs=n_runs, n_rounds=horizon, key=key, record_at=rounds, progress=progress
        )

    if etas is None:
        quarter = max(n_rounds // 4, 1)
        pilots = [numbers(dict.fromkeys(names, eta), quarter, seed + 1).mean("cumulative_loss") for eta in ETAS]
        losses = np.array([pilot.mean[:, -1] for pilot in pilots])
        etas = {name: ETAS[int(np.nanargmin(losses[:, i]))] for i, name in enumerate(names)}
    result = numbers(etas, n_rounds, seed)
    best = _best_losses(problem, result.rounds)
    result = dataclasses.replace(result, comparator_loss=np.broadcast_to(best, result.cumulative_loss.shape))
    return Played(
        noise_std,
        result,
        {name: etas[name] for name in names},
        _promises(problem, noise_std, result.rounds, best, etas),
    )


def gaussian_noise(
    n_runs: int = 24,
    n_rounds: int = 4096,
    seed: int = 0,
    data: str | Path | None = None,
    progress: Progress = False,
    say: Callable[[str], Any] = lambda line: None,
) -> Study:
    """Play the study.

    Args:
        n_runs: runs of each learner, at least 2.
        n_rounds: of the learners that store a point a round, a multiple of 128; Algorithm 1 makes `PASSES` passes.
        seed: of all randomness.
        data: a folder with the real sets, before the one that the environment variable JAXONLINE_DATA names.
        progress: as in `simulate`.
        say: is told what is played, and which real set is not there.

    Raises:
        ValueError: numbers that are too small or no multiple, a folder that does not exist.

    Example:
        >>> from jaxonline.study.ready.gaussian_noise import gaussian_noise
        >>> gaussian_noise(n_runs=1)
        Traceback (most recent call last):
        ValueError: n_runs must be at least 2, got 1
    """
    check.count("n_runs", n_runs, ge=2)
    if check.count("n_rounds", n_rounds) % (4 * PIECES):
        raise ValueError(f"n_rounds must be a multiple of {4 * PIECES}, got {n_rounds}")
    problem = disc(n_rounds, seed)
    sets = _real_sets(data, seed, say)
    common: dict[str, Any] = {"n_runs": n_runs, "seed": seed, "progress": progress}
    short = n_rounds // 4
    by_noise = []
    for noise_std in NOISES:
        say(f"noise {noise_std:g}: {short:,} rounds")
        names = (CLEAN, *NOISY) if noise_std == 0.0 else NOISY
        by_noise.append(play(problem, noise_std, names, n_rounds=short, **common))
    say(f"noise {SHOWN:g}: {n_rounds:,} rounds, and {problem.passes * n_rounds:,} for Algorithm 1")
    shown = play(problem, SHOWN, (CLEAN, *NOISY), n_rounds=n_rounds, **common)
    longer, step = (ALGORITHM_1, TWO_FEATURES), shown.etas[ALGORITHM_1]
    risk = makers(problem, SHOWN)[ALGORITHM_1](step).overflow_probability(problem.passes * n_rounds)
    say(f"Algorithm 1 runs out of storage with probability {risk:.1g} in a run")
    long = play(problem, SHOWN, longer, n_rounds=problem.passes * n_rounds, etas=shown.etas, **common)
    real: dict[str, list[Played]] = {}
    for own in sets:
        rows = min(len(own.y), n_rounds)
        say(f"{own.name}: {rows:,} rounds")
        names = (CLEAN, ALGORITHM_2, ALGORITHM_1, NAIVE, *MEANS, TWO_FEATURES)
        real[own.name] = [play(own, each, names, n_rounds=rows, **common) for each in own.noises]
    settings = {
        "runs": n_runs, "rounds": n_rounds, "rounds_by_noise": short, "passes_of_algorithm_1": PASSES, "seed": seed,
        "noises": NOISES, "shown_noise": SHOWN, "width": WIDTH, "disc": DISC, "radius": RADIUS,
        "label_noise": LABEL_NOISE, "etas": ETAS, "frequencies": N_FREQUENCIES,
        "real_noises_in_deviations": SET_NOISES, "real_width": SET_WIDTH, "real_radius": SET_RADIUS,
    }  # fmt: skip
    zero = {problem.name: _regret_of_zero(problem, short)} | {
        own.name: _regret_of_zero(own, min(len(own.y), n_rounds)) for own in sets
    }
    geometries = [geometry(problem, each) for each in NOISES]
    return Study(problem, settings, geometries, zero, by_noise, shown, long, real)


def _real_sets(data: str | Path | None, seed: int, say: Callable[[str], Any]) -> list[Problem]:
    found = []
    for name in SETS:
        try:
            found.append(real_set(name, data, seed))
        except OSError as error:
            say(f"{name} is skipped: {error}")
    return found


def _record_at(n_rows: int, n_rounds: int) -> list[int]:
    """About ten rounds of the first pass, multiples of a thirty-second of the rows, and ends of passes."""
    if n_rounds > n_rows and n_rounds % n_rows:
        raise ValueError(f"n_rounds must be a multiple of the {n_rows} rows, got {n_rounds}")
    piece, first = max(n_rows // PIECES, 1), min(n_rounds, n_rows)
    within = piece * np.round(np.geomspace(1, first // piece, 11)).astype(int)
    passes = n_rows * np.round(np.geomspace(1, max(n_rounds // n_rows, 1), 8)).astype(int)
    return np.unique([piece, *within[:-1], *(passes if n_rounds > n_rows else ()), n_rounds]).tolist()


def _regret_of_zero(problem: Problem, n_rounds: int) -> float:
    return float((problem.y[:n_rounds] ** 2).sum() - _best_losses(problem, np.array([n_rounds]))[0])


def _best_losses(problem: Problem, rounds: np.ndarray) -> np.ndarray:
    """Of the best predictor of the ball, in hindsight: in one pass, and at ends of passes, which are all alike."""
    n = len(problem.y)
    own = np.unique(np.minimum(rounds, n))
    losses = RKHSBall(problem.kernel, problem.radius).best_losses(problem.X[: own[-1]], problem.y[: own[-1]], own)
    table = dict(zip(own.tolist(), losses.tolist(), strict=True))
    return np.array([table[min(t, n)] * max(1, t // n) for t in rounds.tolist()])


def _promises(
    problem: Problem, noise_std: float, rounds: np.ndarray, best: np.ndarray, etas: dict[str, float]
) -> dict[str, np.ndarray]:
    """The theorems speak of the target; the best in hindsight is a little better than that, which is added."""
    if problem.points is None:
        return {}
    better = target_losses(problem, rounds) - best
    promised = theorems(problem, noise_std, int(rounds[-1]))
    return {
        name: bound.inverse_sqrt_step(etas[name], rounds) + better for name, bound in promised.items() if name in etas
    }
