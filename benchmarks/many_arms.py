"""The workloads "many arms": bandits with 100 to 1,000 Bernoulli arms, T = 1,000 to 5,000.

numba has two loops where an algorithm can be computed in increments: "numba, parallel" computes all indices or weights
in every round, and "numba, incremental" only those that the round changes. PyMAB plays few runs, because it is slow.

    python -m benchmarks.many_arms
"""

import functools
from collections.abc import Iterator, Mapping

from benchmarks._jobs import INCREMENTAL, NUMBA, Job, Losses, studies
from benchmarks._workload import Workload, command, is_installed
from benchmarks.bandits import peers, play_numba, study_arguments

SIZES = (  # policy, number of arms, T, runs, goal
    ("UCB1", 100, 5000, 512, 1.5),
    ("UCB1", 1000, 5000, 64, 1.5),
    ("EXP3", 100, 5000, 512, 2.0),
    ("EXP3", 1000, 5000, 64, 2.0),
    ("Thompson", 100, 2000, 128, 2.0),
    ("epsilon-greedy", 100, 5000, 512, None),
    ("KL-UCB", 200, 1000, 512, None),
)


def contenders(policy: str, n_arms: int, runs: int, rounds: int, block_size: int | None = None) -> Mapping[str, Losses]:
    """Return numba and this package; each returns the cumulative losses [runs]."""
    functions = {}
    if is_installed("numba"):
        functions[NUMBA] = play_numba(policy, n_arms, runs, rounds)
        if policy in ("UCB1", "EXP3"):
            functions[INCREMENTAL] = play_numba(f"{policy}, incremental", n_arms, runs, rounds)
    return functions | studies(*study_arguments(policy, n_arms, rounds), runs, rounds, block_size)


def jobs(quick: bool) -> Iterator[Job]:
    """Yield the jobs."""
    for policy, n_arms, rounds, runs, goal in SIZES:
        if quick:
            rounds, runs = n_arms + 300, 128
        others = functools.partial(peers, policy, n_arms, runs, rounds) if n_arms < 1000 else dict
        play = functools.partial(contenders, policy, n_arms)
        yield Job(f"{policy}, K={n_arms:,}", rounds, runs, play, others, goal=goal)


def workloads(quick: bool) -> Iterator[Workload]:
    """Yield the workloads."""
    for job in jobs(quick):
        yield job.workload()


if __name__ == "__main__":
    command(__doc__, workloads)
