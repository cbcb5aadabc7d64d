"""Studies: context, parts, report."""

import numpy as np
import pytest

import jaxonline as jo
from jaxonline.results import Result
from jaxonline.results.report.tables import Table
from jaxonline.study import Context, Report


def test_parts_report_fractions_and_have_own_checkpoints(tmp_path):
    seen = []
    with Context(checkpoint=tmp_path, progress=lambda *at: seen.append(at)).parts(2) as part:
        first = part("noise 0.1, long")
        first.progress(1, 4, "inside")
        with part("second").parts(2) as inner:
            inner("a")
            deep = inner("b")
    assert seen == [
        (0.25, 2, "noise 0.1, long: inside"), (1, 2, "noise 0.1, long"), (1.5, 2, "second: a"), (2.0, 2, "second: b"),
        (2, 2, "second"),
    ]  # fmt: skip
    assert first.checkpoint == tmp_path / "noise-0.1,-long"
    assert deep.checkpoint == tmp_path / "second" / "b"
    assert Context().parts(1).__enter__()("a").checkpoint is None
    with Context(checkpoint=jo.Checkpoint(tmp_path, "1", 5.0)).parts(1) as part:
        assert part("a").checkpoint == jo.Checkpoint(tmp_path / "a", "1", 5.0)


def test_parts_have_distinct_folders_directly_in_the_checkpoint(tmp_path):
    names = [
        "a b", "a-b", "a%2Db", "a  b", "x/../../../../escaped", "..", ".", "a/b", "/a", ".a", "a\\b", "C:a", "é",
        "a[b=1]",
    ]  # fmt: skip
    with Context(checkpoint=tmp_path).parts(len(names)) as part:
        folders = [part(name).checkpoint for name in names]
    assert {folder.resolve().parent for folder in folders} == {tmp_path}
    assert len(set(folders)) == len(names)
    assert [folder.name for folder in folders[:3]] == ["a-b", "a%2Db", "a%252Db"]
    assert not any(set(folder.name) & set('\\/:*?"<>|') for folder in folders)


@pytest.mark.long
def test_a_report_on_disk(tmp_path):
    game = jo.Game(jo.environments.DataStream(np.eye(2), np.ones(2)), jo.FullInformation())
    learner = jo.GradientLearner(jo.estimators.FullGradient(), 0.1)
    plain = jo.simulate(game, learner, n_runs=2, n_rounds=4, comparator=jo.L2Ball(1.0))
    report = Report(
        {"table": Table("", [{"a": 1.0, "b": np.nan}])},
        {"figure": lambda: plain.plot()},
        results={"result": plain, "results/noise 0.1, long": plain},
    )
    written = report.save(tmp_path / "new" / "folder")
    names = ["table.csv", "numbers.json", "figure.png", "result.npz", "results", "report.html"]
    assert [path.name for path in written] == names
    assert all(path.exists() for path in written)
    assert (tmp_path / "new" / "folder" / "results" / "noise-0.1-long.npz").exists()
    assert report.json() == '{\n "table": [\n  {\n   "a": 1.0,\n   "b": null\n  }\n ]\n}\n'
    np.testing.assert_array_equal(Result.load(written[3]).regret, plain.regret)
