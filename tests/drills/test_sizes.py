"""Large studies, one after the other, each in a fresh process: a number that is known in advance, and the peak memory.

The machine needs 16 GB of memory, and room for a file of 2 GB in the temporary folder.
"""

import json
import os
import subprocess
import sys

import pytest
from fresh_python import ROOT

pytestmark = pytest.mark.long

START = """
import json, os, resource, sys
import numpy as np
import jaxonline as jo

def done(count, wanted):
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20  # in KiB on Linux
    print(json.dumps({"count": count, "wanted": wanted, "peak": peak}))

def descent(step):
    return jo.GradientLearner(jo.estimators.FullGradient(), step_size=step)

def constant(dimension=1):  # <w, x> = sum of w, outcome 1
    row = np.full((1, dimension), 1.0), np.array([1.0])
    return jo.Game(jo.environments.DataStream(*row), jo.FullInformation())

def equal_arms(loss):
    stream = jo.environments.DataStream(None, np.full((1, 2), loss))
    return jo.Game(stream, jo.Bandit(), jo.losses.ArmLoss())
"""

SIZES = {
    # each run is the one that a study of this run alone gives; the mean loss of an arm is 1/2
    "10^5 runs": """
game = jo.Game(jo.environments.BernoulliArms([0.5, 0.5]), jo.Bandit(), jo.losses.ArmLoss())
study = lambda **only: jo.simulate(game, jo.learners.UCB1(2.0), n_runs=10**5, n_rounds=50, record_at=1, **only)
whole = study().cumulative_loss[0, :, -1]
assert abs(whole.mean() / 25 - 1) < 5 * np.sqrt(0.25 / 50 / 10**5) / 0.5
runs = [0, 17, 50_000, 99_999]
done(int((study(runs=runs).cumulative_loss[0, :, -1] == whole[runs]).sum()) + len(whole), 4 + 10**5)
""",
    # every arm is pulled once, and arm 1,234 has no loss; so has each of the next ten pulls
    "K = 10^4 arms": """
means = np.where(np.arange(10**4) == 1234, 0.0, 1.0)
game = jo.Game(jo.environments.BernoulliArms(means), jo.Bandit(), jo.losses.ArmLoss())
result = jo.simulate(game, jo.learners.UCB1(0.01), n_runs=4, n_rounds=10**4 + 10, record_at=[10**4, 10**4 + 10])
done(int(result.cumulative_loss.sum()), 8 * (10**4 - 1))
""",
    "3,000 recorded rounds": """
result = jo.simulate(equal_arms(1.0), jo.learners.UCB1(2.0), n_runs=64, n_rounds=3000, record_at=3000)
done(int((result.cumulative_loss == np.arange(1, 3001)).sum()), 64 * 3000)
""",
    # the error of round t is q^(t - 1) with q = 1 - 2 step
    "300 settings": """
steps = [k / 400 for k in range(1, 301)]
tuned = jo.tune(constant(), descent(0.1), {"step_size": steps}, n_runs=2, n_rounds=20, rungs=1)
losses = np.sum((1 - 2 * np.array(steps)) ** (2 * np.arange(20)[:, None]), axis=0)
assert tuned.choice == {"step_size": 0.5}
done(int(np.isclose(tuned.rungs[0].of.mean, losses, rtol=1e-4).sum()), 300)
""",
    "200 learners": """
steps = np.arange(1, 201) / 400
learners = {f"step {step}": descent(step) for step in steps}
result = jo.simulate(constant(), learners, n_runs=2, n_rounds=2, record_at=1)
right = np.isclose(result.cumulative_loss[:, 0, -1], 1 + (1 - 2 * steps) ** 2, rtol=1e-6)
done(int(right.sum()), 200)
""",
    # the step 1 / (2 d) has only the loss of round 1; the comparator w = 1 / d has none
    "d = 5,000": """
learner, sizes = descent(1 / 10_000), {"n_runs": 2, "n_rounds": 20, "record_at": 1}
result = jo.simulate(constant(5000), learner, comparator=jo.L2Ball(1.0), **sizes)
done(int(np.isclose(result.regret, 1.0, atol=1e-4).sum()), 2)
""",
    # a sum in float32 without compensation is wrong by more than 0.1 %
    "T = 10^7 rounds": """
result = jo.simulate(equal_arms(0.7), jo.learners.UCB1(2.0), n_runs=4, n_rounds=10**7, record_at=10)
right = np.isclose(result.cumulative_loss, float(np.float32(0.7)) * result.rounds, rtol=1e-7)
done(int(right.sum()), 40)
""",
    "a result of 2 GB": """
result = jo.simulate(equal_arms(1.0), jo.learners.UCB1(2.0), n_runs=62_500, n_rounds=2000, record_at=2000)
path = result.save(sys.argv[1] + "/large.npz")
assert path.stat().st_size > 2 * 10**9
del result
loaded = jo.load_result(path)
assert loaded.mean("cumulative_loss").mean[0, -1] == 2000
done(int((loaded.mean("cumulative_loss").mean[0] == np.arange(1, 2001)).sum()) + len(loaded.runs), 2000 + 62_500)
""",
}


@pytest.mark.parametrize("size", SIZES)
def test_large_study_has_the_right_numbers(size, tmp_path):
    environment = {name: value for name, value in os.environ.items() if name != "XLA_FLAGS"} | {"PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-c", START + SIZES[size], str(tmp_path)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    seen = json.loads(done.stdout)
    print(f"{size:24s}{seen['count']:10,d} of {seen['wanted']:10,d} right{seen['peak']:8.1f} GB at most")
    assert seen["count"] == seen["wanted"]
