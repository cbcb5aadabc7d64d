"""Study files of arms with rewards."""

import copy
import io
import json

import numpy as np
import pytest
from command_calls import ARMS, call, write
from rich.console import Console
from study_files import toml

from jaxonline.study import Context, load_study_file

MEANS = [0.9, 0.6, 0.35]
WRAPPED = {"type": "Rewards", "environment": {"type": "BernoulliArms", "means": MEANS}}


def file_in(folder, comparator=True):
    table = copy.deepcopy(ARMS)
    if not comparator:
        del table["comparator"]
    table["game"]["environment"] = WRAPPED
    return write(folder / "rewards.toml", table)


def test_a_study_file_has_arms_with_rewards(tmp_path):
    study = load_study_file(file_in(tmp_path))
    study.check()
    assert study.comparison.game.rewards
    np.testing.assert_allclose(study.comparison.game.environment.environment.means, MEANS)
    assert study.resolved["game"]["environment"]["type"] == "Rewards"


def test_a_bad_reward_is_reported_at_its_key(tmp_path):
    table = copy.deepcopy(ARMS)
    table["game"]["environment"] = copy.deepcopy(WRAPPED)
    table["game"]["environment"]["environment"]["means"] = [0.9, 1.6]
    path = tmp_path / "bad.toml"
    path.write_text(toml(table)[0])
    with pytest.raises(ValueError, match=r"game.environment.*means.*at most 1"):
        load_study_file(path)


@pytest.mark.long
@pytest.mark.parametrize("comparator", [True, False])
def test_the_commands_show_rewards(tmp_path, comparator):
    """`run`, `show`, `diff` and the written tables; the page also has the text of the user's file."""
    file = file_in(tmp_path, comparator)
    done = call("run", file, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    shown, same = call("show", tmp_path / "out"), call("diff", tmp_path / "out", tmp_path / "out")
    table, numbers = ((tmp_path / "out" / name).read_text() for name in ("table.csv", "numbers.json"))
    assert json.loads(numbers)["quantity"] == ("regret" if comparator else "cumulative_reward")
    for text in (done.stdout, shown.stdout, same.stdout, table, numbers):
        assert "loss" not in text
    assert ("reward" in table) != comparator
    report = load_study_file(file).run(Context())
    text = io.StringIO()
    report.show(Console(file=text, width=80))
    assert "reward" in text.getvalue()
    assert "loss" not in text.getvalue()
