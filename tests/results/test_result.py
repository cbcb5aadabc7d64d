"""What a study measured: differences, excluded runs, tables, labels; saving and loading."""

import json
import re

import numpy as np
import pytest
from made_up import RUNS, made_up
from scipy import stats

import jaxonline as jo
from jaxonline.results import Result


def test_paired_differences():
    """The interval of scipy's paired test, which is narrower than that of independent samples."""
    result = made_up()
    estimate = result.paired_difference("b, c", "α", level=0.9, interval=jo.intervals.Student())
    for g in range(3):
        first, second = result.regret[1, :, g], result.regret[0, :, g]
        interval = stats.ttest_rel(first, second).confidence_interval(0.9)
        np.testing.assert_allclose((estimate.low[g], estimate.high[g]), (interval.low, interval.high), rtol=1e-10)
        np.testing.assert_allclose(estimate.mean[g], np.mean(first - second), rtol=1e-12)
        apart = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.9)
        assert interval.high - interval.low < 0.9 * (apart.high - apart.low)


@pytest.mark.parametrize("kind", ["failed", "overflowed"])
def test_invalid_runs_are_left_out_and_counted(kind):
    result = made_up(**{kind: ((0, 2), (0, 5), (1, 5))})
    good = [[i for i in range(RUNS) if i not in (2, 5)], [i for i in range(RUNS) if i != 5]]
    estimate, difference = result.mean("cumulative_loss"), result.paired_difference("b, c", "α")
    for learner in range(2):
        values = result.cumulative_loss[learner, good[learner]]
        np.testing.assert_allclose(estimate.mean[learner], values.mean(axis=0), rtol=1e-13)
        np.testing.assert_allclose(estimate.standard_error[learner], stats.sem(values), rtol=1e-12)
        quantiles = result.quantiles([0.1, 0.9], "cumulative_loss")[:, learner]
        np.testing.assert_allclose(quantiles, np.quantile(values, [0.1, 0.9], axis=0), rtol=1e-13)
        regret = result.regret[learner, good[learner]]
        usual = np.quantile(regret, [0.05, 0.5, 0.95], axis=0)
        np.testing.assert_allclose(result.quantiles()[:, learner], usual, rtol=1e-12)
    assert estimate.n_runs[:, 0].tolist() == [10, 11]
    assert getattr(result, kind).tolist() == [2, 1]
    np.testing.assert_allclose(difference.mean, (result.regret[1] - result.regret[0])[good[0]].mean(axis=0), rtol=1e-13)
    assert (difference.n_runs == 10).all(), "runs in which both are there"


def test_select_keeps_the_numbers_of_the_learners():
    result = made_up(failed=((0, 2),))
    chosen = result.select("b, c")
    assert chosen.learners == ("b, c",)
    np.testing.assert_array_equal(chosen.regret[0], result.regret[1])
    assert result.select("b, c", "α").failed.tolist() == [0, 1]
    assert chosen.meta == result.meta


def test_the_table():
    rows = made_up().table({"b, c": 12.5}, level=0.8)
    estimate = made_up().mean(level=0.8)
    assert [row["learner"] for row in rows] == ["α", "b, c"]
    assert [row["queries_per_round"] for row in rows] == [2.0, 4.0]
    assert [row["bound"] for row in rows] == [None, 12.5]
    assert rows[1]["regret"] == estimate.mean[1, -1]
    assert (rows[1]["low"], rows[1]["high"]) == (estimate.low[1, -1], estimate.high[1, -1])
    assert rows[1]["regret_per_round"] == rows[1]["regret"] / 15
    assert rows[1]["failed"] == 0
    json.dumps(rows)


def test_the_dataset_is_labelled():
    result = made_up()
    dataset = result.to_xarray()
    assert dict(dataset.sizes) == {"learner": 2, "run": RUNS, "round": 3}
    assert {"cumulative_loss", "comparator_loss", "regret", "queries", "first_nonfinite"} <= set(dataset.data_vars)
    assert dataset.cumulative_loss.dims == ("learner", "run", "round")
    assert dataset.first_nonfinite.dims == ("learner", "run")
    at = {"learner": "b, c", "run": 3, "round": 10}
    assert dataset.regret.sel(at).item() == result.regret[1, 3, 1]
    assert "regret" not in made_up(comparator=False).to_xarray()


@pytest.mark.parametrize("comparator", [True, False])
def test_a_saved_result_loads_with_the_same_numbers(tmp_path, comparator):
    result = made_up(comparator, failed=((0, 2),))
    path = result.save(tmp_path / "new" / "study.npz")
    assert path == tmp_path / "new" / "study.npz"
    made_up().select("α").save(path)
    assert Result.load(path).learners == ("α",), "a store that is there is replaced"
    result.save(path)
    loaded = Result.load(str(path))
    assert (loaded.learners, loaded.meta) == (result.learners, result.meta)
    for name in ("runs", "rounds", "cumulative_loss", "queries", "first_nonfinite"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(result, name), name)
        assert getattr(loaded, name).dtype == getattr(result, name).dtype
    with np.load(path) as arrays:
        np.testing.assert_array_equal(arrays["measure cumulative_loss"], result.cumulative_loss)
    if comparator:
        np.testing.assert_array_equal(loaded.regret, result.regret)
    else:
        assert loaded.comparator_loss is None
    assert [p.name for p in path.parent.iterdir()] == ["study.npz"], "nothing unfinished is left"


def test_parts_of_other_studies_are_not_joined():
    one = made_up()
    with pytest.raises(ValueError, match="other: must have the same learners"):
        one.merge_runs(one.select("α"))
    with pytest.raises(ValueError, match="more than once"):
        one.merge_runs(one)
    with pytest.raises(ValueError, match="learners: must be distinct"):
        one.merge_learners(one)


def test_a_learner_joins_a_finished_study():
    """As if all had been simulated together; not a learner of another game or key."""
    options = {"n_runs": 6, "n_rounds": 20, "comparator": jo.BestArm(), "record_at": 3}
    policies = {"a": jo.learners.UCB1(), "b": jo.learners.EpsilonGreedy(0.3)}
    games = [jo.bandit_game([0.2, high]) for high in (0.5, 0.6)]
    both = jo.simulate(games[0], policies, **options)
    one, other = (jo.simulate(games[0], {name: policies[name]}, **options) for name in "ab")
    merged = one.merge_learners(other)
    np.testing.assert_array_equal(merged.regret, both.regret)
    assert merged.meta == both.meta | {"n_runs": 6}
    for game, key, name in ((games[1], 0, "game"), (games[0], 1, "key")):
        with pytest.raises(ValueError, match=f"other: must have the same {name}"):
            one.merge_learners(jo.simulate(game, {"b": policies["b"]}, key=key, **options))


def thesis(path):
    path.mkdir()
    (path / "thesis.tex").write_text("chapter 1")


def damaged(path):
    content = made_up().save(path).read_bytes()
    path.write_bytes(content[:-1])


def arrays_of_numpy(path):
    with path.open("wb") as file:
        np.savez(file, runs=np.arange(3))


FOREIGN = {
    "a folder": thesis, "a file": lambda path: path.write_text("results"), "an empty file": lambda path: path.touch(),
    "arrays of somebody else": arrays_of_numpy, "a damaged result": damaged,
}  # fmt: skip


def everything(folder) -> dict:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


@pytest.mark.parametrize("name", FOREIGN)
def test_only_a_result_is_replaced(tmp_path, name):
    path = tmp_path / "study.npz"
    FOREIGN[name](path)
    before = everything(tmp_path)
    with pytest.raises(FileExistsError, match=f"{re.escape(str(path))}: exists"):
        made_up().save(path)
    assert everything(tmp_path) == before
    with pytest.raises((ValueError, FileNotFoundError), match=re.escape(str(tmp_path))):
        Result.load(path)


def test_other_names_than_npz_are_rejected(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("..", "", "r.csv", "study", ".npz"):
        with pytest.raises(ValueError, match=r"^path: must end in \.npz .*to_pandas.*to_xarray"):
            made_up().save(name)
    assert everything(tmp_path) == {}


@pytest.mark.parametrize(
    ("learners", "runs", "measure", "message"),
    [
        ("αβα", (0, 1), "queries", "learners: .*got 'α' more than once"),
        ("αβγ", (0, 1), "round", "measures: .*got 'round'"),
        ("αβγ", (0, 1), "comparator_loss", "measures: .*got 'comparator_loss'"),
        ("αβγ", (3, 3), "queries", r"runs: must be distinct .* more than once"),
    ],
)
def test_reserved_names_and_repetitions_are_rejected(learners, runs, measure, message):
    """A run that counted twice would narrow the intervals."""
    made = dict.fromkeys(("cumulative_loss", measure), np.zeros((3, 2, 1)))
    with pytest.raises(ValueError, match=message):
        Result(tuple(learners), np.array(runs), np.array([1]), made)
    with pytest.raises(ValueError, match=r"runs: must be distinct .* more than once"):
        made_up().select(runs=[0, 1, 0])
