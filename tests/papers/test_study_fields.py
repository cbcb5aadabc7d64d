"""Fields of studies of the papers."""

from typing import ClassVar

import pytest
from pydantic import Field

from benchmarks.papers.study import Names, Numbers, Study, Words, select_by_name
from jaxonline.results.report.tables import Table
from jaxonline.study import Report


class Ranges(Study):
    title: ClassVar[str] = "A study for tests."
    runs: int = Field(3, ge=2, le=9, description="Runs.")
    rounds: int = Field(128, multiple_of=64, description="Rounds.")
    noises: Numbers = Field((0.1,), description="Noises.")
    sets: Words = Field((), description="Sets.")
    only: Names = Field((), description="Learners.")

    def run(self, context):
        return Report({"table": Table(self.title, [{"runs": self.runs}])})


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
            r"nonsense: is unknown; .*'noises'\?",
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
