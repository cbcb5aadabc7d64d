"""The workloads "bandits": EXP3, UCB1 and Thompson sampling with ten Bernoulli arms, T = 10,000, 1,024 runs.

A round draws ten uniform numbers (50 random bits with threefry, 5 operations each). EXP3 and UCB1 compute ten
exponentials or roots. Thompson sampling draws ten beta variables, each with 30 more random numbers and about ten
logarithms. The plain jax programs are a vmap of a scan with `jax.random`.

    python -m benchmarks.bandits
"""

from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxonline as jo
from benchmarks._many_runs import ManyRuns, shorten_horizon
from benchmarks._timing import parallel_blocks
from benchmarks._workload import Workload, command, is_installed
from benchmarks.bandits_numba import numba_loops

K, T, RUNS = 10, 10_000, 1024
MEANS = np.linspace(0.3, 0.7, K)
ETA = float(np.sqrt(2 * np.log(K) / (T * K)))


def plain_program(start, choose, learn):
    """Return a vmap of a scan with the policy's `choose(key, state, t)` and `learn(state, choice, arm, loss)`."""

    @jax.jit
    def play(keys, rounds):
        def run(key):
            def round_(carry, t):
                state, key, total = carry
                key, coin, draw = jax.random.split(key, 3)
                losses = jax.random.bernoulli(coin, jnp.asarray(MEANS, jnp.float32)).astype(jnp.float32)
                arm, choice = choose(draw, state, t)
                return (learn(state, choice, arm, losses[arm]), key, total + losses[arm]), None

            return jax.lax.scan(round_, (start, key, 0.0), rounds)[0][2]

        return jax.vmap(run)(keys)

    return play


def exp3_choose(key, L, t):
    p = jax.nn.softmax(-ETA * L)
    return jax.random.categorical(key, jnp.log(p)), p


def update_sums(state, _, arm, loss):
    pulls, sums = state
    return pulls.at[arm].add(1.0), sums.at[arm].add(loss)


def ucb1_choose(key, state, t):
    pulls, sums = state
    n = jnp.maximum(pulls, 1.0)
    index = sums / n - jnp.sqrt(2 * jnp.log(jnp.maximum(t, 1.0)) / n)
    return jnp.argmin(jnp.where(pulls == 0, -jnp.inf, index)), None


def thompson_choose(key, state, t):
    pulls, sums = state
    return jnp.argmin(jax.random.beta(key, 1.0 + sums, 1.0 + pulls - sums)), None


ZEROS = np.zeros(K, np.float32)
PLAIN = {
    "EXP3": plain_program(ZEROS, exp3_choose, lambda L, p, arm, loss: L.at[arm].add(loss / p[arm])),
    "UCB1": plain_program((ZEROS, ZEROS), ucb1_choose, update_sums),
    "Thompson": plain_program((ZEROS, ZEROS), thompson_choose, update_sums),
}
OURS = {
    "EXP3": {"jaxonline": jo.learners.EXP3IX(ETA, 0.0), "jaxonline, EXP3": jo.learners.EXP3(ETA)},
    "UCB1": {"jaxonline": jo.learners.UCB1()},
    "Thompson": {"jaxonline": jo.learners.BernoulliThompson()},
}


def river_loop(name: str, n_rounds: int) -> float:
    """One run of river's policies."""
    from river import bandit, proba

    make = {
        "EXP3": lambda: bandit.Exp3(gamma=0.05, seed=0),
        "UCB1": lambda: bandit.UCB(delta=1.0, seed=0),
        "Thompson": lambda: bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=0),
    }
    policy, rng, arms = make[name](), np.random.default_rng(0), list(range(K))
    for _ in range(n_rounds):
        rewards = rng.random(K) >= MEANS
        arm = policy.pull(arms)
        policy.update(arm, int(rewards[arm]))
    return n_rounds


GAME = jo.Game(jo.environments.BernoulliArms(MEANS), jo.Bandit(), loss=jo.losses.ArmLoss())


def ours(learner: Any, runs: int, rounds: int, **options: Any) -> Callable[[], float]:
    """Return a contender: a study of this package."""

    def play() -> float:
        jo.simulate(GAME, learner, n_runs=runs, n_rounds=rounds, **options)
        return runs * rounds

    return play


def plain(name: str, runs: int, rounds: int) -> Callable[[], float]:
    """Return a contender: plain jax, on the first device."""
    rounds //= 16 if name == "Thompson" else 1  # jax.random.beta is slow
    keys, steps = jax.random.split(jax.random.key(0), runs), jnp.arange(rounds, dtype=jnp.float32)

    def play() -> float:
        PLAIN[name](keys, steps).block_until_ready()
        return runs * rounds

    return play


def contenders(name: str, runs: int, rounds: int) -> dict[str, Callable[[], float]]:
    """Return all contenders of one of the three policies."""
    functions = {"plain jax vmap(scan)": plain(name, runs, rounds)}
    if is_installed("numba"):
        play = numba_loops()[name]
        functions["numba, parallel"] = lambda: play(MEANS, ETA, rounds, runs).size * rounds
    if is_installed("river"):
        functions["river"] = lambda: river_loop(name, 2000)
    width = -(-runs // parallel_blocks())
    return functions | {label: ours(learner, runs, rounds, block_size=width) for label, learner in OURS[name].items()}


def many_runs(name: str) -> ManyRuns:
    """Return this package and plain jax for many runs."""

    def play(runs: int, width: int) -> dict[str, Callable[[], float]]:
        rounds = shorten_horizon(T, runs)
        study = ours(OURS[name]["jaxonline"], runs, rounds, block_size=width, record_at=1)
        return {"jaxonline": study, "plain jax vmap(scan)": plain(name, runs, rounds)}

    return ManyRuns(f"bandits, {name}, K={K}", play)


def workloads(quick: bool) -> Iterator[Workload]:
    """Yield a workload for each policy."""
    runs, rounds = (64, 500) if quick else (RUNS, T)
    words = {"EXP3": K + 1, "UCB1": K, "Thompson": 4 * K}
    for name in OURS:
        title, needs = f"bandits, {name}, K={K}, T={rounds:,}, {runs:,} runs", {"words": words[name]}
        yield Workload(title, "round", contenders(name, runs, rounds), needs=needs, many=many_runs(name))


if __name__ == "__main__":
    command(__doc__, workloads)
