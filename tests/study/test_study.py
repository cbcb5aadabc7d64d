"""Studies: fields, context, parts."""

from typing import ClassVar

import numpy as np
import pytest
from pydantic import Field

import jaxonline as jo
from benchmarks.papers.study import Names, Numbers, Study, Words, select_by_name
from jaxonline.results.report.tables import Table
from jaxonline.study import Context, Report


class Ranges(Study):
    title: ClassVar[str] = "A study for tests."
    runs: int = Field(3, ge=2, le=9, description="Runs.")
    rounds: int = Field(128, multiple_of=64, description="Rounds.")
    noises: Numbers = Field((0.1,), description="Noises.")
    sets: Words = Field((), description="Sets.")
    only: Names = Field((), description="Learners.")

    def run(self, context):
        return Report({"table": Table(self.title, [{"runs": self.runs}])})


# ---------------------------------------------------------------------------------------------------------------------
# Fields


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"runs": 1}, "runs: .*got 1."),
        ({"runs": "10"}, "runs: .*got 10."),
        ({"runs": "many"}, "runs: .*got many."),
        ({"rounds": 100}, "rounds: .*got 100."),
        ({"noises": ["0.1,high"]}, "noises: .*got high."),
        (
            {"nonsense": 1},
            r"fields: .*got nonsense.; did you mean 'noises'\?",
        ),
    ],
)
def test_errors_of_fields_are_one_line(fields, message):
    with pytest.raises(ValueError, match=f"^{message}$"):
        Ranges(**fields)


def test_lists_split_at_commas_but_names_of_learners_do_not():
    study = Ranges(noises=["0.1,0.2", "0.3"], sets="a, b", only="one copy, averaged")
    assert study.noises == (0.1, 0.2, 0.3)
    assert study.sets == ("a", "b")
    assert study.only == ("one copy, averaged",)


def test_a_study_is_frozen():
    with pytest.raises(ValueError, match="frozen"):
        Ranges().runs = 4


def test_select_by_name_returns_the_named_entries():
    known = {"a": 1, "b": 2}
    assert select_by_name("only", (), known) == known
    assert select_by_name("only", ("b",), known) == {"b": 2}
    with pytest.raises(ValueError, match=r"only: .*got 'c'"):
        select_by_name("only", ("a", "c"), known)


def test_names_may_be_listed_with_commas():
    known = {"UCB1": 1, "EXP3": 2, "one, two": 3}
    assert list(select_by_name("only", ("EXP3,UCB1",), known)) == ["UCB1", "EXP3"]
    assert list(select_by_name("only", ("one, two", "UCB1"), known)) == ["UCB1", "one, two"]
    with pytest.raises(ValueError, match=r"only: .*got 'EXP4'"):
        select_by_name("only", ("UCB1,EXP4",), known)


def test_an_abstract_study_raises_an_error_on_construction():
    class Nothing(Study):
        title: ClassVar[str] = "Nothing."

    with pytest.raises(TypeError, match=r"Nothing.*abstract method '?run"):
        Nothing()


# ---------------------------------------------------------------------------------------------------------------------
# Context and report


def test_parts_report_fractions_and_have_own_checkpoints(tmp_path):
    seen = []
    with Context(checkpoint=tmp_path, progress=lambda *at: seen.append(at)).parts(2) as part:
        first = part("noise 0.1, long")
        first.progress(1, 4, "inside")
        with part("second").parts(2) as inner:
            inner("a")
            deep = inner("b")
    assert seen == [
        (0.25, 2, "noise 0.1, long: inside"),
        (1, 2, "noise 0.1, long"),
        (1.5, 2, "second: a"),
        (2.0, 2, "second: b"),
        (2, 2, "second"),
    ]
    assert first.checkpoint == tmp_path / "noise-0.1,-long"
    assert deep.checkpoint == tmp_path / "second" / "b"
    assert Context().parts(1).__enter__()("a").checkpoint is None
    with Context(checkpoint=jo.Checkpoint(tmp_path, "1", 5.0)).parts(1) as part:
        assert part("a").checkpoint == jo.Checkpoint(tmp_path / "a", "1", 5.0)


def test_parts_have_distinct_folders_directly_in_the_checkpoint(tmp_path):
    names = [
        "a b",
        "a-b",
        "a%2Db",
        "a  b",
        "x/../../../../escaped",
        "..",
        ".",
        "a/b",
        "/a",
        ".a",
        "a\\b",
        "C:a",
        "é",
        "a[b=1]",
    ]
    with Context(checkpoint=tmp_path).parts(len(names)) as part:
        folders = [part(name).checkpoint for name in names]
    assert {folder.resolve().parent for folder in folders} == {tmp_path}
    assert len(set(folders)) == len(names)
    assert [folder.name for folder in folders[:3]] == ["a-b", "a%2Db", "a%252Db"]
    assert not any(set(folder.name) & set('\\/:*?"<>|') for folder in folders)


def test_a_negative_seed_raises_an_error():
    with pytest.raises(ValueError, match=r"seed: .*got -1"):
        Context(seed=-1)


def test_compute_once_computes_once_per_checkpoint(tmp_path):
    context, calls = Context(checkpoint=tmp_path / "part"), []

    def compute():
        calls.append(1)
        return {"a/b": np.arange(3.0), "c": np.ones((2, 2))}

    first, second = (context.compute_once(np.arange(2), compute) for _ in range(2))
    assert len(calls) == 1
    assert list(first) == list(second) == ["a/b", "c"]
    for name, numbers in first.items():
        np.testing.assert_array_equal(numbers, second[name])
    with pytest.raises(ValueError, match="study"):
        context.compute_once(np.arange(3), compute)
    assert Context().compute_once(0, compute)
    assert len(calls) == 2
