"""Kernels of a round: the operations that XLA launches one after the other in a round of a block of runs, on a CPU.

    python -m benchmarks.kernels

A launch takes 30 to 40 ns on a CPU, and 3 to 8 us on a GPU, however few runs a block has. Kernels are counted in two
programs that are optimised for the CPU: the CPU's own, and the one that other devices get, without the workarounds for
the CPU's compiler. A conditional counts as one kernel and those of its longer branch, a loop inside of a round as one
kernel and those of one of its turns. (Fusion for a GPU differs.)
"""

import re
from collections.abc import Callable
from typing import Any
from unittest import mock

import jax
import numpy as np

import jaxonline as jo
from jaxonline.parameters.struct import cast_leaves
from jaxonline.simulation.blocks import default_mesh
from jaxonline.simulation.measures import with_defaults
from jaxonline.simulation.segments import Matchup, traced_programs
from jaxonline.simulation.sweeps import as_team

D, K, N_ROWS, RUNS = 20, 10, 2000, 64
NO_KERNELS = ("parameter", "constant", "get-tuple-element", "tuple", "bitcast")  # operations that only name buffers


def gradient_descent(order: str) -> tuple[jo.Game, Any]:
    rng = np.random.default_rng(0)
    stream = jo.environments.DataStream(rng.normal(size=(N_ROWS, D)), rng.normal(size=N_ROWS), order=order)
    learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.1, radius=1.0)
    return jo.Game(stream, jo.FullInformation()), learner


def noisy_linear() -> tuple[jo.Game, Any]:
    environment = jo.environments.LinearModel(np.full(D, 0.1), noise_std=0.1)
    learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.1, radius=1.0)
    return jo.Game(environment, jo.NoisyCopies(jo.noise.gaussian(0.1))), learner


def bandit(learner: Any) -> tuple[jo.Game, Any]:
    arms = jo.environments.BernoulliArms(np.linspace(0.3, 0.7, K))
    return jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss()), learner


GAMES: dict[str, Callable[[], tuple[jo.Game, Any]]] = {
    "gradient descent, file": lambda: gradient_descent("file"),
    "gradient descent, iid": lambda: gradient_descent("iid"),
    "gradient descent, shuffled": lambda: gradient_descent("shuffled"),
    "noisy linear": noisy_linear,
    "EXP3": lambda: bandit(jo.learners.EXP3(0.1)),
    "UCB1": lambda: bandit(jo.learners.UCB1()),
}


def compile_rounds(game: jo.Game, learner: Any, runs: int = RUNS) -> str:
    """Return the optimised program of the rounds of a block of runs, as text."""
    team = as_team(game, "learner", learner)
    matchup = cast_leaves(Matchup(team.game, team.entrant, None, with_defaults(())), game.dtype)
    mesh = default_mesh(jax.devices()[:1])
    *_, rounds = traced_programs(matchup, jax.random.key(0), runs, mesh)
    return rounds.lower().compile().as_text()


def compile_rounds_of_other_devices(game: jo.Game, learner: Any, runs: int = RUNS) -> str:
    """Return the program that devices other than a CPU get, optimised for a CPU."""
    jax.clear_caches()
    with mock.patch("jax.lax.platform_dependent", lambda *args, default, **_: default(*args)):
        program = compile_rounds(game, learner, runs)
    jax.clear_caches()
    return program


def kernels_per_round(program: str) -> int:
    """Return the number of kernels of a round, from the text of `compile_rounds`."""
    computations = _computations(program)

    def count(name: str) -> int:
        return sum(count_operation(operation, line) for operation, line in computations[name])

    def count_operation(operation: str, line: str) -> int:
        if operation in NO_KERNELS:
            return 0
        inner = re.findall(r"(?:body|condition)=%?([\w.-]+)", line) if operation == "while" else []
        if operation == "conditional":
            branches = re.search(r"branch_computations=\{([^}]*)\}", line)
            inner = [max(re.findall(r"[\w.-]+", branches[1]), key=count)]  # type: ignore[index]
        return 1 + sum(map(count, inner))

    loops = re.findall(r" while\(.*body=%?([\w.-]+)", program)
    # the loop over rounds is the one with the most operations of its own
    rounds = max(loops, key=lambda body: sum(operation not in NO_KERNELS for operation, _ in computations[body]))
    return count(rounds)


def _computations(program: str) -> dict[str, list[tuple[str, str]]]:
    """Return the operations of each computation, as pairs of the name of the operation and its line."""
    computations: dict[str, list[tuple[str, str]]] = {}
    operations: list[tuple[str, str]] = []
    for line in re.sub(r"/\*.*?\*/", "", program).splitlines():
        if header := re.match(r"(?:ENTRY )?%?([\w.-]+) \(.*\{$", line):
            operations = computations[header[1]] = []
        elif operation := re.match(r"\s+(?:ROOT )?%?[\w.-]+ = (?:\([^=]*?\)|\S+) ([\w-]+)\(", line):
            operations.append((operation[1], line))
    return computations


def main() -> None:
    """Print a table."""
    print(f"{'':28}  CPU  other devices")
    for name, make in GAMES.items():
        own, other = (compiled(*make()) for compiled in (compile_rounds, compile_rounds_of_other_devices))
        print(f"{name:28} {kernels_per_round(own):4}  {kernels_per_round(other):4}", flush=True)


if __name__ == "__main__":
    main()
