"""Estimators of a policy's value from a log: coverage of intervals, errors, Open Bandit, time and memory.

    python -m benchmarks.logs coverage       # share of logs whose interval contains the value, and widths
    python -m benchmarks.logs errors         # error of each estimator by rows, for three mismatches
    python -m benchmarks.logs regret         # regret of learners replayed on logs, beside their true regret
    python -m benchmarks.logs open-bandit    # the value of Thompson sampling from uniform recommendations
    python -m benchmarks.logs time           # 10^6 rows, 80 arms: seconds and memory

`--quick` draws few and small logs. The tables of benchmarks/logs.md are the output of these commands.
"""

import argparse
import resource
import time
import warnings
from collections.abc import Callable, Iterable, Iterator

import numpy as np

import jaxonline as jo
from jaxonline import logs
from jaxonline.logs.values import PolicyValue

# the prior of Bernoulli Thompson sampling at the start of the log "bts", campaign "all": production_prior_for_bts of
# obp 0.5.5 (Open Bandit Pipeline, Apache 2.0), alpha and beta of 80 items
PRIOR = np.array(
    [
        [47, 8, 62, 142, 3, 14, 7, 857, 12, 15, 6, 100, 48, 23, 71, 61, 13, 16, 518, 30, 7, 4, 23, 8, 10,
         11, 11, 18, 121, 11, 11, 10, 14, 9, 204, 58, 3, 19, 42, 1013, 2, 328, 15, 31, 14, 138, 45, 55, 23,
         38, 10, 401, 52, 6, 3, 6, 5, 32, 35, 133, 52, 820, 43, 195, 8, 42, 40, 4, 32, 30, 9, 22, 6, 23, 5,
         54, 8, 22, 65, 246],
        [12198, 3566, 15993, 35522, 2367, 4609, 3171, 181745, 4372, 4951, 3100, 24665, 13210, 7061, 18061,
         17449, 5644, 6787, 111326, 8776, 3334, 2271, 7389, 2659, 3665, 4724, 3561, 5085, 27407, 4601, 4756,
         4120, 4736, 3788, 45292, 14719, 2189, 5589, 11995, 222255, 2308, 70034, 4801, 8274, 5421, 31912,
         12213, 13576, 6230, 10382, 4141, 85731, 12811, 2707, 2250, 2668, 2886, 9581, 9465, 28336, 12062,
         162793, 12107, 41240, 3162, 11604, 10818, 2923, 8897, 8654, 4000, 6580, 3174, 6766, 2602, 14506,
         3968, 7523, 16532, 51964],
    ],
    float,
)  # fmt: skip
PUBLISHED_RATIO = 1.198126  # README of obp: IPW value of Thompson sampling / mean reward of the uniform log


def world(spread: float) -> tuple[logs.FiniteWorld, np.ndarray]:
    """Return a world with 4 contexts and 5 arms, and a policy whose weights grow with `spread`."""
    rng = np.random.default_rng(1)
    means = rng.uniform(0.1, 0.9, (4, 5))
    behavior = logs.softmax(-spread * means)  # prefers the bad arms
    return logs.FiniteWorld([0.4, 0.3, 0.2, 0.1], means, behavior), logs.epsilon_greedy(means, 0.2)


def quiet(estimate: Callable[..., PolicyValue], *args: object, **options: object) -> PolicyValue:
    """Return an estimate without the warning of heavy weights."""
    with warnings.catch_warnings(action="ignore", category=RuntimeWarning):
        return estimate(*args, **options)


# ---------------------------------------------------------------------------------------------------------------------
# Coverage.


SPREADS = {"light": 0.0, "heavy": 6.0}
MAX_BOOTSTRAPS = 100  # of the logs of 20,000 rows, since one bootstrap takes a second


def coverage(quick: bool, weights: Iterable[str] = tuple(SPREADS)) -> Iterator[str]:
    """Yield the lines of the coverage table: IPS, 95 % intervals, 1,000 logs for each line."""
    kinds = ("betting", "bernstein", "bootstrap", "student")
    yield f"| weights | largest | rows | logs | {' | '.join(kinds)} |"
    yield f"| --- | ---: | ---: | ---: | {' | '.join('---' for _ in kinds)} |"
    n_logs = 10 if quick else 1000
    for name in weights:
        arms, policy = world(SPREADS[name])
        limit, target = float((policy / arms.behavior).max()), arms.value(policy)
        for n_rows in (200, 2000) if quick else (200, 2000, 20_000):
            ends = {kind: [] for kind in kinds}
            for seed in range(n_logs):
                log = arms.draw(n_rows, seed)
                for kind in ends if n_rows <= 2000 or seed < MAX_BOOTSTRAPS else [*ends][:2] + [*ends][3:]:
                    options = {"interval": kind} | ({"max_weight": limit} if kind == "bernstein" else {})
                    value = quiet(logs.ips, log, arms.rows(policy, log), **options)
                    ends[kind].append((value.low, value.high))
            cells = [describe(np.array(ends[kind]), target) for kind in kinds]
            yield f"| {name} | {limit:.3g} | {n_rows:,} | {n_logs:,} | {' | '.join(cells)} |"


def describe(ends: np.ndarray, target: float) -> str:
    """Return the share of intervals that contain the target, with the mean width."""
    share = ((ends[:, 0] <= target) & (target <= ends[:, 1])).mean()
    return f"{100 * share:.1f} % ({(ends[:, 1] - ends[:, 0]).mean():.3f})"


# ---------------------------------------------------------------------------------------------------------------------
# Errors.


def estimates(log: logs.Log, p: np.ndarray, model: object) -> dict[str, float]:
    """Return the value of each estimator."""
    options = {"interval": "student"}
    plain = {"IPS": logs.ips, "clipped IPS": logs.clipped_ips, "SNIPS": logs.snips}
    modelled = {
        "DM": logs.direct_method, "DR": logs.doubly_robust, "SWITCH-DR": logs.switch_dr,
        "DR shrinkage": logs.dr_shrinkage,
    }  # fmt: skip
    values = {name: quiet(estimate, log, p, **options) for name, estimate in plain.items()}
    values |= {name: quiet(estimate, log, p, model, **options) for name, estimate in modelled.items()}
    values["MRDR"] = quiet(logs.mrdr, log, p, **options)
    features = (log.contexts == np.arange(4)).astype(float)  # one for each context
    ridge = logs.Log(features, log.arms, log.rewards, log.propensities, log.n_arms)
    values |= {f"{name}, ridge": quiet(modelled[name], ridge, p, **options) for name in ("DM", "DR")}
    return {name: value.value for name, value in values.items()}


def errors(quick: bool) -> Iterator[str]:
    """Yield the lines of the error table: root mean square errors over 200 logs."""
    n_logs, rng = 5 if quick else 200, np.random.default_rng(2)
    shape = world(3.0)[0].means.shape
    mismatches = {  # the spread of the weights, the factor of the propensities, the error of the model
        "none": (3.0, 1.0, 0.0),
        "propensities 20 % off": (3.0, np.exp(rng.uniform(-0.2, 0.2, shape)), 0.0),
        "model 0.2 off": (3.0, 1.0, rng.choice([-0.2, 0.2], shape)),
        "model 0.2 too large": (3.0, 1.0, 0.2),
        "both": (3.0, np.exp(rng.uniform(-0.2, 0.2, shape)), rng.choice([-0.2, 0.2], shape)),
        "policy far from the log's": (6.0, 1.0, 0.0),
    }
    names = None
    for mismatch, (spread, factor, shift) in mismatches.items():
        arms, policy = world(spread)
        for n_rows in (200, 2000) if quick else (200, 2000, 20_000):
            found = []
            for seed in range(n_logs):
                log = arms.draw(n_rows, seed)
                x = log.contexts[:, 0].astype(int)
                wrong = np.broadcast_to(factor, shape)[x, log.arms] * log.propensities
                log = logs.Log(log.contexts, log.arms, log.rewards, np.minimum(wrong, 1.0), log.n_arms)
                values = estimates(log, policy[x], np.clip(arms.means + shift, 0.0, 1.0)[x])
                found.append(list(values.values()))
            if names is None:
                names = list(values)
                yield f"| mismatch | rows | {' | '.join(names)} |"
                yield f"| --- | ---: | {' | '.join('---:' for _ in names)} |"
            rms = np.sqrt(((np.array(found) - arms.value(policy)) ** 2).mean(axis=0))
            yield f"| {mismatch} | {n_rows:,} | {' | '.join(f'{error:.4f}' for error in rms)} |"


# ---------------------------------------------------------------------------------------------------------------------
# Regret of learners from logs.


ARMS = np.array([0.5, 0.6, 0.3, 0.4, 0.2])  # mean rewards
LEARNERS = {
    "UCB1": jo.learners.UCB1(), "Thompson": jo.learners.BernoulliThompson(), "KL-UCB": jo.learners.KLUCB(),
    "epsilon-greedy, 0.1": jo.learners.EpsilonGreedy(0.1),
}  # fmt: skip


def regret(quick: bool) -> Iterator[str]:
    """Yield the lines of the table of regrets: mean and standard error over logs, by replay and by simulation."""
    n_rows, n_logs = 2000, 3 if quick else 200
    arms = logs.FiniteWorld([1.0], [ARMS], [np.full(5, 0.2)])
    drawn = [
        logs.Log(None, log.arms, log.rewards, 0.2, 5) for log in (arms.draw(n_rows, seed) for seed in range(n_logs))
    ]
    game = jo.bandit_game(ARMS, rewards=True)
    sizes = {"n_runs": 10 * n_logs, "n_rounds": n_rows // 2, "record_at": n_rows // 2, "progress": False}
    true = jo.simulate(game, LEARNERS, comparator=jo.BestArm(), key=1, **sizes).values("regret").mean(axis=1)
    yield "| learner | rounds | true regret | replay, best arm known | replay, best arm of the log |"
    yield "| --- | ---: | ---: | ---: | ---: |"
    for curve, (name, learner) in zip(true, LEARNERS.items(), strict=True):
        found = []
        for seed, log in enumerate(drawn):
            played = logs.replay(log, jo.Live(learner, jo.Bandit(), outcome=5, key=seed), seed=seed)
            best = max(log.rewards[log.arms == arm].mean() for arm in range(5))
            n = played.n_rounds
            found.append((n, curve[n - 1], n * (ARMS.max() - played.value), n * (best - played.value)))
        (n, wanted, *means), spread = np.mean(found, axis=0), np.std(found, axis=0, ddof=1)[2:] / n_logs**0.5
        cells = [f"{mean:.1f} ± {1.96 * error:.1f}" for mean, error in zip(means, spread, strict=True)]
        yield f"| {name} | {n:.0f} | {wanted:.1f} | {' | '.join(cells)} |"


# ---------------------------------------------------------------------------------------------------------------------
# The Open Bandit Dataset.


def thompson_probabilities(n_draws: int = 100_000) -> np.ndarray:
    """Return the probability of each item at each position [3, 80] under the prior, by simulation as obp does."""
    rng, counts = np.random.RandomState(12345), np.zeros((3, 80))
    for _ in range(n_draws // 1000):
        best = np.argsort(rng.beta(*PRIOR, size=(1000, 80)), axis=1)[:, ::-1][:, :3]
        for place in range(3):
            counts[place] += np.bincount(best[:, place], minlength=80)
    return counts / n_draws


def open_bandit(quick: bool) -> Iterator[str]:
    """Yield the estimates, beside the mean reward of the log of the policy itself."""
    uniform, bts = logs.open_bandit("random"), logs.open_bandit("bts")
    p = thompson_probabilities(1000 if quick else 100_000)[uniform.positions - 1]
    value = quiet(logs.ips, uniform, p)
    yield f"{uniform}\n{bts}"
    yield f"IPS / mean reward: {value.value / uniform.rewards.mean():.6f} (published: {PUBLISHED_RATIO})"
    for estimate in (logs.ips, logs.snips, logs.doubly_robust, logs.clipped_ips, logs.independent_ips):
        yield str(quiet(estimate, uniform, p))
    for name, log in (("uniform", uniform), ("Thompson sampling", bts)):  # each on its own log: all weights are 1
        own = logs.ips(logs.Log(None, np.zeros(len(log)), log.rewards, 1.0), [1.0], max_weight=1.0)
        yield f"{name} on its own log, {log.rewards.sum():g} clicks:\n{own}"
    yield f"With max_weight:\n{quiet(logs.ips, uniform, p, max_weight=80 * p.max())}"
    yield "The uniform policy from the log of Thompson sampling:"
    for estimate in (logs.ips, logs.snips):
        yield str(quiet(estimate, bts, np.full(80, 1 / 80)))


# ---------------------------------------------------------------------------------------------------------------------
# Time and memory.


def timing(quick: bool) -> Iterator[str]:
    """Yield seconds and memory of IPS, SNIPS and DR with intervals."""
    n, n_arms, d = 10**4 if quick else 10**6, 80, 10
    rng = np.random.default_rng(0)
    contexts = rng.normal(size=(n, d))
    scores, p = rng.normal(size=(d, n_arms)) / 3, np.empty((n, n_arms), np.float32)
    for rows in range(0, n, 2**14):
        p[rows : rows + 2**14] = logs.softmax(contexts[rows : rows + 2**14] @ scores)
    arms, rewards = rng.integers(n_arms, size=n), rng.random(n) < 0.2
    before, total, total_cpu = memory(), 0.0, 0.0
    log = logs.Log(contexts, arms, rewards, 1 / n_arms, n_arms)
    for name, estimate in {"IPS": logs.ips, "SNIPS": logs.snips, "DR, ridge": logs.doubly_robust}.items():
        start, cpu = time.perf_counter(), time.process_time()
        value = estimate(log, p)
        total += (took := time.perf_counter() - start)
        total_cpu += (used := time.process_time() - cpu)
        found = f"{value.value:.4f} ({value.low:.4f} to {value.high:.4f})"
        yield f"{name}: {took:.2f} s ({used:.2f} s of processors), {found}"
    yield f"together {total:.2f} s ({total_cpu:.2f} s of processors)"
    yield f"memory {before:.2f} GB with the data, at most {memory():.2f} GB with the estimates"


def memory() -> float:
    """Return the largest memory of the process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


STUDIES = {"coverage": coverage, "errors": errors, "regret": regret, "open-bandit": open_bandit, "time": timing}


def main() -> None:
    """Print the chosen study, or all."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("study", nargs="?", choices=STUDIES)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    for name in [options.study] if options.study else STUDIES:
        for line in STUDIES[name](options.quick):
            print(line, flush=True)


if __name__ == "__main__":
    main()
