"""What annotations declare: types, ranges, choices, kinds of components, and what a user's own classes declare."""

from collections.abc import Callable
from typing import Annotated, Any, Literal

import numpy as np
import pytest
from annotated_types import Ge, Gt, Interval, Lt
from jaxtyping import Array, ArrayLike, Float, Key

import jaxonline as jo
from jaxonline.kernels import Gaussian
from jaxonline.parameters import types
from jaxonline.parameters.check import Limits
from jaxonline.parameters.signatures import fields_of, parameter_of, parameters_of
from jaxonline.parameters.types import Component, Horizon, Takes


@pytest.mark.parametrize(
    ("annotation", "takes", "limits"),
    [
        (types.Positive | None, {"number", "nothing"}, Limits(gt=0)),
        (types.Rounds, {"integer", "horizon"}, Limits(ge=1)),
        (Annotated[types.Number, Interval(gt=0, lt=2)], {"number"}, Limits(gt=0, lt=2)),
        (Annotated[types.Numbers, Ge(0), Lt(1)], {"number", "array"}, Limits(ge=0, lt=1)),
        (Annotated[int, Ge(2), Horizon()], {"integer", "horizon"}, Limits(ge=2)),
        (Float[ArrayLike, "d d"], {"array"}, Limits()),
        (Key[Array, ""], {"seed"}, Limits()),
        (Literal["a", "b"], {"text"}, Limits()),
        (list[str], {"texts"}, Limits()),
        (Callable[..., Any], {"function"}, Limits()),
        (Annotated[Callable, Takes("a round")], {"function"}, Limits()),
        (Annotated[Any, Component("loss")], {"component"}, Limits()),
        (Annotated[Any, Component("step size", number=True), Gt(0)], {"component", "number"}, Limits(gt=0)),
        (Gaussian, {"component"}, Limits()),
        (Any, {"anything"}, Limits()),
    ],
)
def test_an_annotation_declares_a_type_and_a_range(annotation, takes, limits):
    """`test_declared_ranges` has the ranges of all public parameters."""
    parameter = parameter_of("x", annotation)
    assert (parameter.takes, parameter.limits) == (takes, limits)


def test_choices_dimensions_and_kinds_are_declared():
    assert parameter_of("x", Literal["a", "b"]).choices == ("a", "b")
    assert parameter_of("x", Float[ArrayLike, "n d"]).dimensions == 2
    assert parameter_of("x", Annotated[Any, Component("loss", "noise")]).kinds == ("loss", "noise")
    assert parameter_of("x", Gaussian).kinds == (Gaussian,)


def test_limits_in_words_and_numbers_outside():
    limits = Limits(gt=0, le=100_000)
    assert limits.words == "above 0 and at most 100,000"
    assert [limits.exclude(value) for value in (-1, 0, 1, 100_000, 100_001)] == [True, True, False, False, True]


def test_the_parameters_of_a_class_a_classmethod_and_a_function():
    step = {parameter.name: parameter for parameter in fields_of(jo.GradientLearner)}
    assert step["step_size"].kinds == ("step size", "schedule")
    assert step["radius"].default is None
    assert not step["radius"].required
    horizon = {parameter.name: parameter for parameter in parameters_of(jo.Constant.over_horizon)}
    assert horizon["n_rounds"].takes == {"integer", "horizon"}
    assert not horizon["n_rounds"].required, "a study file fills in its own rounds"
    assert [parameter.name for parameter in parameters_of(jo.bounds.ucb1)] == ["gaps", "n_rounds"]


def test_a_class_of_the_user_is_read_in_the_same_way():
    @jo.struct
    class Mine:
        rate: types.Positive
        window: types.Count = jo.static(default=3)
        other: Any = None

    rate, window, other = fields_of(Mine)
    assert (rate.limits, rate.required) == (Limits(gt=0), True)
    assert (window.limits, window.default) == (Limits(ge=1), 3)
    assert other.takes == {"anything", "nothing"}
    assert Mine(np.float32(0.5)).window == 3
