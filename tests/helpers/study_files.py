"""Three good study files, and a folder with what they name."""

import contextlib
import json
import sys

import numpy as np

from jaxonline.study import load_study_file

BANDITS = {
    "title": "Arms", "rounds": 40, "runs": 4, "seed": 3, "record_at": [10, 20], "comparator": "BestArm",
    "measures": ["Switches", {"type": "OfInfo", "field": "loss"}],
    "game": {
        "environment": {"type": "BernoulliArms", "means": [0.2, 0.5, 0.8]}, "feedback": "Bandit", "loss": "ArmLoss",
        "pseudo": True,
    },
    "learners": {
        "UCB1": "UCB1", "MOSS": {"type": "MOSS"}, "EXP3": {"type": "EXP3.over_horizon", "n_arms": 3},
        "greedy": {"type": "EpsilonGreedy", "epsilon": [0.05, 0.1], "power": 0},
    },
    "bounds": {"UCB1": {"type": "ucb1", "gaps": [0.0, 0.3, 0.6]}},
}  # fmt: skip
COPIES = {
    "rounds": 30, "precision": {"half_width": 0.1, "relative": True, "most_runs": 64, "rarest_event": 0.375},
    "comparator": {"type": "L2Ball", "radius": 1.5}, "tune": {"best_of": [0.1, 0.3]},
    "game": {
        "environment": {"type": "LinearModel", "weights": [0.6, -0.3], "noise_std": 0.1},
        "feedback": {"type": "NoisyCopies", "noise": {"type": "gaussian", "covariance": [[0.1, 0], [0, 0.2]]}},
    },
    "learners": {
        "two copies": {"type": "GradientLearner", "estimator": "TwoCopies", "radius": 1.5},
        "clean": {
            "type": "GradientLearner", "estimator": {"type": "FullGradient", "loss": "Squared"}, "radius": 1.5,
            "feedback": "FullInformation",
        },
    },
}  # fmt: skip
DATA = {
    "rounds": 12, "runs": 2,
    "game": {"environment": {"type": "data", "file": "own.csv", "target": "y"}, "feedback": "FullInformation"},
    "learners": {
        "mine": {"type": "mine:Mine", "step_size": [0.1, 0.2]},
        "adam": {"type": "GradientLearner", "estimator": ["FullGradient", {"type": "FullGradient", "loss": "Absolute"}],
                 "step_size": {"type": "InverseSqrt", "eta": [0.1, 0.2]}, "optimizer": {"type": "adam", "b1": 0.8}},
    },
}  # fmt: skip
OWN = '''
import jax.numpy as jnp
import jaxonline as jo
import helper

@jo.struct
class Mine(jo.Learner):
    """Mine."""
    step_size: float

    def init(self, key, specs):
        return jnp.zeros(specs.instance.shape, specs.instance.dtype)

    def predict(self, key, w, x):
        return w @ x * helper.ONE

    def update(self, key, w, oracle):
        return w + self.step_size * (oracle.y - w @ oracle.x) * oracle.x, ()

law = jo.noise.gaussian(0.5)
'''


def toml(table, at=(), lines=None):
    """TOML with a key in each line, and in which line each stands: tables last, as headers."""
    lines = {} if lines is None else lines
    text: list[str] = []

    def write(table, at):
        tables = {key: each for key, each in table.items() if isinstance(each, dict) and len(at) < 2}
        for key, each in table.items():
            if key not in tables:
                text.append(f"{json.dumps(key)} = {inline(each)}")
                lines[(*at, key)] = len(text)
        for key, each in tables.items():
            text.append(f"[{'.'.join(json.dumps(part) for part in (*at, key))}]")
            lines[(*at, key)] = len(text)
            write(each, (*at, key))

    write(table, at)
    return "\n".join(text) + "\n", lines


def inline(value):
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{json.dumps(key)} = {inline(each)}" for key, each in value.items()) + " }"
    if isinstance(value, list):
        return f"[{', '.join(map(inline, value))}]"
    return json.dumps(value)


@contextlib.contextmanager
def filled(folder):
    """A folder with a file of data and two modules, which are forgotten afterwards."""
    rows = np.random.default_rng(0).normal(size=(6, 3)).round(3)
    (folder / "own.csv").write_text("a,b,y\n" + "\n".join(",".join(map(str, row)) for row in rows) + "\n")
    (folder / "mine.py").write_text(OWN)
    (folder / "helper.py").write_text("ONE = 1.0\n")
    before = set(sys.modules)
    yield
    for name in {"mine", "helper"} - before:
        sys.modules.pop(name, None)


def load(folder, table, **overrides):
    path = folder / "study.toml"
    path.write_text(toml(table)[0])
    return load_study_file(path, **overrides)
