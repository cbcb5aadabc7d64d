"""The distribution of the regret of KL-UCB, whose bounds are found by Newton steps, against bisection in NumPy."""

import jax
import numpy as np
import pytest
from scipy import special, stats

import jaxonline as jo
from jaxonline.simulation.blocks import default_mesh

FALSE_ALARM = 1e-6
MEANS = np.array([0.1, 0.3, 0.35, 0.5, 0.9])  # of the losses
N_ROUNDS, N_RUNS = 300, 2000


def numpy_final_regrets(seed):
    """Play runs of KL-UCB side by side in float64, with 50 steps of bisection for each bound."""
    rng, runs = np.random.default_rng(seed), np.arange(N_RUNS)
    pulls, sums = np.zeros((2, N_RUNS, len(MEANS)))
    for t in range(N_ROUNDS):
        if t < len(MEANS):
            arm = np.full(N_RUNS, t)
        else:
            means, budget = sums / pulls, np.log(t) / pulls
            low, high = np.zeros_like(means), means.copy()
            for _ in range(50):
                q = (low + high) / 2
                kl = special.rel_entr(means, q) + special.rel_entr(1 - means, 1 - q)
                low, high = np.where(kl > budget, q, low), np.where(kl > budget, high, q)
            arm = high.argmin(axis=1)
        sums[runs, arm] += rng.uniform(size=N_RUNS) < MEANS[arm]
        pulls[runs, arm] += 1
    return pulls @ (MEANS - MEANS.min())


@pytest.mark.long
def test_final_regrets_of_kl_ucb_have_the_distribution_of_bisection():
    """2,000 runs each (Kolmogorov-Smirnov, false alarm 1e-6: finds a difference of .09 between the distribution
    functions). The test detects c = 1, which pulls worse arms more often."""
    game = jo.Game(jo.environments.BernoulliArms(MEANS), jo.Bandit(), loss=jo.losses.ArmLoss())
    learners = {"ours": jo.learners.KLUCB(), "other": jo.learners.KLUCB(1.0)}
    result = jo.simulate(
        game, learners, n_runs=N_RUNS, n_rounds=N_ROUNDS, key=3, record_at=1, measures=[jo.Pulls()],
        mesh=default_mesh(jax.devices()[:1]),
    )  # fmt: skip
    ours, other = result.measures["pulls"][:, :, -1] @ (MEANS - MEANS.min())
    reference = numpy_final_regrets(0)
    assert stats.ks_2samp(ours, reference).pvalue > FALSE_ALARM
    assert stats.ks_2samp(other, reference).pvalue < FALSE_ALARM
