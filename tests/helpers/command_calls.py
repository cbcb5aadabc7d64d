"""A small study file, and calls of the commands on it."""

import copy

from study_files import BANDITS, toml
from typer.testing import CliRunner

from jaxonline.cli import app

ARMS = copy.deepcopy(BANDITS) | {"runs": 8, "measures": ["Switches"]}
del ARMS["bounds"]
ARMS["learners"] = {
    "greedy": {"type": "EpsilonGreedy", "epsilon": [0.05, 0.1]},
    "best": {"type": "EpsilonGreedy", "epsilon": 0.2},
}


def call(*arguments):
    return CliRunner().invoke(app, list(map(str, arguments)), env={"COLUMNS": "80"})


def write(path, table):
    path.write_text(toml(table)[0])
    return path
