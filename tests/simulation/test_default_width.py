"""Runs in blocks of the default width have the distribution of runs in blocks of 512 runs."""

import jax
import numpy as np
import pytest
from scipy import stats

import jaxonline as jo
from jaxonline.learners import EXP3, BernoulliThompson
from jaxonline.simulation import blocks
from jaxonline.simulation.blocks import default_mesh

pytestmark = pytest.mark.long

LEVEL = 1e-6  # of each test
N_RUNS = 3000


def rows():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(50, 4)) / 4
    return X, X @ np.array([0.5, -0.3, 0.2, 0.7]) + 0.2 * rng.normal(size=50)


def arms(n):
    return jo.Game(jo.environments.BernoulliArms(np.linspace(0.2, 0.6, n)), jo.Bandit(), loss=jo.losses.ArmLoss())


def gradient(estimator):
    return jo.GradientLearner(estimator, step_size=0.1, radius=1.0)


COPIES = jo.NoisyCopies(jo.noise.gaussian(0.1))
JOBS = {
    "Thompson sampling": lambda: (arms(10), BernoulliThompson()),
    "EXP3": lambda: (arms(10), EXP3(0.05)),
    "shuffled rows": lambda: (
        jo.Game(jo.environments.DataStream(*rows(), order="shuffled"), jo.FullInformation()),
        gradient(jo.estimators.FullGradient()),
    ),
    "noisy copies": lambda: (
        jo.Game(jo.environments.DataStream(*rows(), order="iid"), COPIES),
        gradient(jo.estimators.TwoCopies()),
    ),
}


def final_losses(job, **options):
    game, learner = JOBS[job]()
    result = jo.simulate(
        game, learner, n_runs=N_RUNS, n_rounds=70, record_at=1, mesh=default_mesh(jax.devices()[:1]), **options
    )
    return result.cumulative_loss[0, :, -1]


def differ(a, b):
    """Test two independent samples at level 2e-6: Kolmogorov-Smirnov and Welch's t, each at 1e-6."""
    return min(stats.ks_2samp(a, b).pvalue, stats.ttest_ind(a, b, equal_var=False).pvalue) < LEVEL


@pytest.mark.parametrize("job", JOBS)
def test_blocks_of_the_default_width_have_the_distribution_of_blocks_of_512_runs(job):
    """3,000 runs each, with other keys: finds a difference of .07 between the distribution functions, or of .13
    standard deviations between the means. The test detects losses that are .15 standard deviations larger."""
    wide, narrow = final_losses(job, key=1, block_size=512), final_losses(job, key=2)
    assert not differ(narrow, wide)
    assert differ(narrow + 0.15 * narrow.std(), wide)


@pytest.mark.parametrize("job", JOBS)
def test_runs_of_all_blocks_are_independent(job):
    """Neighbouring blocks and neighbouring runs: correlations of 3,000 runs, at level 1e-6 each (finds .09). The test
    detects blocks that repeat the runs of the first."""
    losses = final_losses(job, key=2)
    for lag in (1, blocks.MAX_CPU_WIDTH):
        assert stats.pearsonr(losses[lag:], losses[:-lag]).pvalue > LEVEL
    repeated = np.resize(losses[: blocks.MAX_CPU_WIDTH], N_RUNS)
    assert stats.pearsonr(repeated[blocks.MAX_CPU_WIDTH :], repeated[: -blocks.MAX_CPU_WIDTH]).pvalue < LEVEL
