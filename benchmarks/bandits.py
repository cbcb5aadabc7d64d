"""The workloads "bandits": policies with ten Bernoulli arms, T = 10,000, 1,024 runs.

A round draws ten uniform numbers (50 random bits with threefry, 5 operations each). EXP3 and UCB1 compute ten
exponentials or roots. Thompson sampling draws ten beta variables, each with 30 more random numbers and about ten
logarithms. The plain jax programs are a vmap of a scan with `jax.random`. PyMAB plays few runs, because it is slow.

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
EPSILON = 0.1
SHORTER = {"EXP3": 4, "Thompson": 16}  # in plain jax, where jax.random.categorical and jax.random.beta are slow
PYMAB_RUNS, PYMAB_ROUNDS = 8, 2000


def arm_means(n_arms: int) -> np.ndarray:
    """Return the mean losses of the arms."""
    return np.linspace(0.3, 0.7, n_arms)


def rate_of_exp3(n_arms: int, rounds: int) -> float:
    """Return the rate of EXP3 that is prescribed for a horizon."""
    return float(np.sqrt(2 * np.log(n_arms) / (rounds * n_arms)))


def plain_program(name: str, n_arms: int, eta: float):
    """Return a policy as a vmap of a scan; the program takes the keys of the runs and the rounds 0, 1, ..."""

    def exp3_choose(key, L, t):
        p = jax.nn.softmax(-eta * L)
        return jax.random.categorical(key, jnp.log(p)), p

    def ucb1_choose(key, state, t):
        pulls, sums = state
        n = jnp.maximum(pulls, 1.0)
        index = sums / n - jnp.sqrt(2 * jnp.log(jnp.maximum(t, 1.0)) / n)
        return jnp.argmin(jnp.where(pulls == 0, -jnp.inf, index)), None

    def greedy_choose(key, state, t):
        pulls, sums = state
        coin, draw = jax.random.split(key)
        greedy = jnp.argmin(sums / jnp.maximum(pulls, 1.0))
        return jnp.where(jax.random.bernoulli(coin, EPSILON), jax.random.randint(draw, (), 0, n_arms), greedy), None

    def thompson_choose(key, state, t):
        pulls, sums = state
        return jnp.argmin(jax.random.beta(key, 1.0 + sums, 1.0 + pulls - sums)), None

    def update_sums(state, _, arm, loss):
        pulls, sums = state
        return pulls.at[arm].add(1.0), sums.at[arm].add(loss)

    zeros, means = jnp.zeros(n_arms), jnp.asarray(arm_means(n_arms), jnp.float32)
    start, choose, learn = {
        "EXP3": (zeros, exp3_choose, lambda L, p, arm, loss: L.at[arm].add(loss / p[arm])),
        "UCB1": ((zeros, zeros), ucb1_choose, update_sums),
        "epsilon-greedy": ((zeros, zeros), greedy_choose, update_sums),
        "Thompson": ((zeros, zeros), thompson_choose, update_sums),
    }[name]

    @jax.jit
    def play(keys, rounds):
        def run(key):
            def round_(carry, t):
                state, key, total = carry
                key, coin, draw = jax.random.split(key, 3)
                losses = jax.random.bernoulli(coin, means).astype(jnp.float32)
                arm, choice = choose(draw, state, t)
                return (learn(state, choice, arm, losses[arm]), key, total + losses[arm]), None

            return jax.lax.scan(round_, (start, key, 0.0), rounds)[0][2]

        return jax.vmap(run)(keys)

    return play


def plain(name: str, n_arms: int, runs: int, rounds: int) -> Callable[[], float]:
    """Return a contender: plain jax, on the first device."""
    play = plain_program(name, n_arms, rate_of_exp3(n_arms, rounds))
    rounds //= SHORTER.get(name, 1)
    keys, steps = jax.random.split(jax.random.key(0), runs), jnp.arange(rounds, dtype=jnp.float32)

    def count() -> float:
        play(keys, steps).block_until_ready()
        return runs * rounds

    return count


def river_loop(name: str, n_rounds: int) -> float:
    """One run of river's policies."""
    from river import bandit, proba

    make = {
        "EXP3": lambda: bandit.Exp3(gamma=0.05, seed=0),
        "UCB1": lambda: bandit.UCB(delta=1.0, seed=0),
        "epsilon-greedy": lambda: bandit.EpsilonGreedy(epsilon=EPSILON, seed=0),
        "Thompson": lambda: bandit.ThompsonSampling(reward_obj=proba.Beta(), seed=0),
    }
    policy, rng, arms, means = make[name](), np.random.default_rng(0), list(range(K)), arm_means(K)
    for _ in range(n_rounds):
        rewards = rng.random(K) >= means
        arm = policy.pull(arms)
        policy.update(arm, int(rewards[arm]))
    return n_rounds


def pymab_losses(name: str, n_arms: int, runs: int, rounds: int) -> np.ndarray:
    """Return the cumulative losses of PyMAB's policies, which play in Rust. PyMAB has rewards: 1 minus the loss."""
    from pymab import BanditEnvironment, BernoulliReward, Experiment, ExperimentConfig, policies

    policy = {
        "UCB1": lambda: policies.UCBPolicy(n_arms=n_arms, c=2.0),
        "Thompson": lambda: policies.BernoulliThompsonSamplingPolicy(n_arms=n_arms),
        "KL-UCB": lambda: policies.KLUCBPolicy(n_arms=n_arms, c=1e-9),  # 0 is not accepted
    }[name]()
    arms = BanditEnvironment(means=1.0 - arm_means(n_arms), reward_model=BernoulliReward())
    config = ExperimentConfig(horizon=rounds, n_replicates=runs, seed=0, backend="rust")
    result = Experiment(environment=arms, policies={name: policy}, config=config).run()
    return rounds - result.rewards[:, :, 0].sum(axis=1)


def study_arguments(name: str, n_arms: int, rounds: int) -> tuple[jo.Game, Any]:
    """Return the game and the learner of this package."""
    game = jo.Game(jo.environments.BernoulliArms(arm_means(n_arms)), jo.Bandit(), loss=jo.losses.ArmLoss())
    return game, {
        "EXP3": jo.learners.EXP3(rate_of_exp3(n_arms, rounds)),
        "EXP3-IX": jo.learners.EXP3IX(rate_of_exp3(n_arms, rounds), 0.0),
        "UCB1": jo.learners.UCB1(ties="first"),  # as in the other contenders
        "epsilon-greedy": jo.learners.EpsilonGreedy(EPSILON, ties="first"),
        "Thompson": jo.learners.BernoulliThompson(),
        "KL-UCB": jo.learners.KLUCB(ties="first"),
    }[name]


def play_numba(label: str, n_arms: int, runs: int, rounds: int, fastmath: bool = False) -> Callable[[], np.ndarray]:
    """Return a function that plays a loop of numba and returns the cumulative losses [runs]."""
    loop = numba_loops(fastmath)[label]
    parameter = EPSILON if label == "epsilon-greedy" else rate_of_exp3(n_arms, rounds)
    return lambda: loop(arm_means(n_arms), parameter, rounds, runs)


def peers(name: str, n_arms: int, runs: int, rounds: int) -> dict[str, Callable[[], float]]:
    """Return plain jax and PyMAB, where they have the policy."""
    functions = {}
    if name != "KL-UCB":
        functions["plain jax vmap(scan)"] = plain(name, n_arms, runs, rounds)
    if name in ("UCB1", "Thompson", "KL-UCB") and is_installed("pymab"):
        horizon = min(rounds, PYMAB_ROUNDS)
        functions["PyMAB"] = lambda: pymab_losses(name, n_arms, PYMAB_RUNS, horizon).size * horizon
    return functions


def ours(name: str, runs: int, rounds: int, **options: Any) -> Callable[[], float]:
    """Return a contender with ten arms: a study of this package."""
    game, learner = study_arguments(name, K, rounds)

    def play() -> float:
        jo.simulate(game, learner, n_runs=runs, n_rounds=rounds, **options)
        return runs * rounds

    return play


def contenders(name: str, runs: int, rounds: int) -> dict[str, Callable[[], float]]:
    """Return all contenders of a policy with ten arms."""
    functions = peers(name, K, runs, rounds)
    if is_installed("numba"):
        play = play_numba(name, K, runs, rounds, fastmath=True)
        functions["numba, parallel"] = lambda: play().size * rounds
    if is_installed("river"):
        functions["river"] = lambda: river_loop(name, 2000)
    width = -(-runs // parallel_blocks())
    labels = {"jaxonline": "EXP3-IX", "jaxonline, EXP3": "EXP3"} if name == "EXP3" else {"jaxonline": name}
    return functions | {label: ours(policy, runs, rounds, block_size=width) for label, policy in labels.items()}


def many_runs(name: str) -> ManyRuns:
    """Return this package and plain jax for many runs."""

    def play(runs: int, width: int) -> dict[str, Callable[[], float]]:
        rounds = shorten_horizon(T, runs)
        study = ours("EXP3-IX" if name == "EXP3" else name, runs, rounds, block_size=width, record_at=1)
        return {"jaxonline": study, "plain jax vmap(scan)": plain(name, K, runs, rounds)}

    return ManyRuns(f"bandits, {name}, K={K}", play)


def workloads(quick: bool) -> Iterator[Workload]:
    """Yield a workload for each policy."""
    runs, rounds = (64, 500) if quick else (RUNS, T)
    words = {"EXP3": K + 1, "UCB1": K, "epsilon-greedy": K + 1, "Thompson": 4 * K}
    for name in words:
        title, needs = f"bandits, {name}, K={K}, T={rounds:,}, {runs:,} runs", {"words": words[name]}
        yield Workload(title, "round", contenders(name, runs, rounds), needs=needs, many=many_runs(name))


if __name__ == "__main__":
    command(__doc__, workloads)
