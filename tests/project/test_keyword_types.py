"""Types of keyword arguments that a function passes on: they have the names of the arguments, and their types."""

import inspect
import typing

import pytest

import jaxonline as jo
from jaxonline.estimators.series import SeriesOptions
from jaxonline.simulation.options import StudyOptions
from jaxonline.verify.bias import UnbiasedOptions

OF_CONTEXT = {"n_runs", "n_rounds", "key", "mesh", "progress", "checkpoint", "cluster"}  # not options of a study


def keywords(function) -> dict[str, typing.Any]:
    """The keyword-only arguments of a function, with their types."""
    hints = typing.get_type_hints(function)
    parameters = inspect.signature(function).parameters.values()
    return {p.name: hints[p.name] for p in parameters if p.kind is p.KEYWORD_ONLY}


@pytest.mark.parametrize(
    ("options", "function", "others"),
    [
        (StudyOptions, jo.simulate, OF_CONTEXT),
        (UnbiasedOptions, jo.verify.unbiased, set()),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_options_have_the_names_and_types_of_the_keywords(options, function, others):
    assert others | set(options.__annotations__) == set(keywords(function))
    hints = typing.get_type_hints(options)
    assert hints == {name: hint for name, hint in keywords(function).items() if name in hints}


def test_options_of_a_series_estimator_have_the_names_of_its_keywords():
    assert set(SeriesOptions.__annotations__) == set(keywords(jo.estimators.SeriesEstimator.for_loss))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda game, learner: jo.benchmark({"a": game}, {"b": learner}, n_runs=2, n_rounds=6, blocks=3), "blocks"),
        (lambda game, learner: jo.Context().simulate(game, learner, n_runs=2, n_rounds=6, blocks=3), "blocks"),
        (lambda game, learner: jo.verify.queries(lambda key: 1, 1.0, sample=3), "sample"),
        (lambda game, learner: jo.static(3, repr=False), "repr"),
    ],
)
def test_an_unknown_keyword_raises(call, message):
    game = jo.Game(jo.environments.BernoulliArms([0.2, 0.8]), jo.Bandit(), loss=jo.losses.ArmLoss())
    with pytest.raises(TypeError, match=f"unexpected keyword argument '{message}'"):
        call(game, jo.learners.UCB1())


def test_fields_with_the_options_of_static():
    @jo.struct
    class Fields:
        degree: int = jo.static(default=3)
        derived: int = jo.static(default=0, init=False)

    assert list(inspect.signature(Fields).parameters) == ["degree"]
    assert (Fields().degree, Fields().derived) == (3, 0)
