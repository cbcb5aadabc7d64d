"""The catalogue of the names in study files is complete and correct."""

import dataclasses
import inspect
import math
import typing
from pathlib import Path

import jax
import pytest
from tiers import some

import jaxonline as jo
from jaxonline.parameters.check import Limits
from jaxonline.parameters.signatures import Parameter, exported_names
from jaxonline.study.files.builder import Builder
from jaxonline.study.files.catalogue import PACKAGES as KINDS
from jaxonline.study.files.catalogue import catalogue, first_line
from jaxonline.study.files.source import SourceFile

PACKAGES = ("learners", "environments", "feedback", "losses", "estimators", "kernels", "comparators", "bounds")
HORIZON = 64
# Arguments of constructors that check several arguments together; for others the first fitting value is enough.
PAIRS = {"preferences": [[0.5, 0.8], [0.2, 0.5]]}
GAME = {"game": {"type": "PartialMonitoring", "losses": [[0, 1], [1, 0]], "signals": [[0, 1], [0, 0]]}}
OWN_ARGUMENTS = {
    "Autoregressive": {"coefficients": [0.5]}, "data": {"set": "diabetes"}, "DataStream": {"X": [[1.0], [2.0]]},
    "ClassificationArms": {"X": [[1.0], [2.0]], "y": [0, 1]},
    "ContextualLinearArms": {"weights": [0.5], "n_arms": 2}, "ContextualLogisticArms": {"weights": [0.5], "n_arms": 2},
    "explore_then_commit": {"gaps": [0.0, 0.5]}, "ucb1": {"gaps": [0.0, 0.5]},
    "delayed_ucb1": {"gaps": [0.0, 0.5]}, "sequential_halving": {"gaps": [0.0, 0.5]},
    "successive_rejects": {"gaps": [0.0, 0.5]}, "characteristic_time": {"means": [0.2, 0.5]},
    "optimal_proportions": {"means": [0.2, 0.5]}, "LilUCB": {"delta": 0.001},
    "successive_elimination": {"gaps": [0.0, 0.5]}, "delayed_exp3": {"eta": 0.01},
    "PreferenceArms": PAIRS, "CondorcetWinner": PAIRS, "rucb": PAIRS, "cucb": {"m": 2},
    "GivenDelays": {"rounds": [1, 0]}, "Replicates": {"X": [[[1.0], [2.0]]]},
    "Rewards": {"environment": {"type": "BernoulliArms", "means": [0.2, 0.4]}},
    "FiniteDistribution": {"probabilities": [0.5, 0.5]},
    "SwitchingArms": {"means": [[0.2, 0.4], [0.4, 0.2]], "starts": [5]}, "GradientBandit": {"delta": 0.5},
    "RestlessArms": {"means": [[0.2, 0.4], [0.4, 0.2]], "transitions": [[0.5, 0.5], [0.5, 0.5]]},
    "MonitoredUCB": {"window": 10},
    "hidden_attribute_examples": {"dimension": 8}, "noisy_kernel": {
        "y_bound": 1.0,
        "feature_map": {
            "type": "GaussianFeatureMap", "kernel": {"type": "Gaussian", "width": 1.0},
            "law": {"type": "Geometric", "p": 4.0},
        },
    },
    "with_high_probability": {"bound": {"type": "two_copies", "radius": 1.0, "x_bound": 1.0, "y_bound": 1.0}},
    "noisy_kernel_geometric": {"y_bound": 1.0, "copy_moment": 0.1, "loss": "Squared"},
    "surrogate_radial_kernel": {"variance": 0.1}, "radial_surrogate": {"covariance": 0.1, "dimension": 2},
    "Surrogate": {"covariance": 0.1, "dimension": 2},
    "Sum": {"kernels": [{"type": "Gaussian", "width": 1.0}]},
    "EWA.over_range": {"low": 0.0}, "best_feature_map": {"kernel": "ExponentialKernel"},
    "Scaled": {"kernel": {"type": "Gaussian", "width": 1.0}},
    "KernelGradient": {"estimator": "FullGradient"},
    "NoisyKernel": {
        "radius": 1.0,
        "storage": {
            "type": "Storage", "tensor_levels": 1, "deepest": 6, "most_pairs": 4, "most_fresh": 12, "n_chunks": 20,
        },
    },
    "SparseBooleans": {"dimension": 4}, "FeedbackGraph": {"adjacency": [[0, 1], [1, 1]]},
    "FeedExp3": GAME, "FeedExp3.over_horizon": GAME,
    "passive_aggressive": {"variant": "PA-I"}, "warmup_cosine_decay_schedule": {"decay_steps": 10},
    "piecewise_interpolate_schedule": {"interpolate_type": "linear"},
}  # fmt: skip


def is_struct(value):
    return inspect.isclass(value) and dataclasses.is_dataclass(value) and value.__module__.startswith("jaxonline")


def test_catalogue_has_every_struct_of_the_facade():
    modules = [*(getattr(jo, package) for package in PACKAGES), jo.noise]
    public = [(name, getattr(m, name)) for m in modules for name in exported_names(m)]
    public += [(name, getattr(jo, name)) for name in jo.__all__]
    abstract = {value.__name__ for _, value in public if inspect.isclass(value) and inspect.isabstract(value)}
    annotations = "jaxonline.parameters.types"
    structs = {name for name, value in public if is_struct(value) and value.__module__ != annotations} - abstract
    # returned by functions (`best_in_rkhs_ball`, `simulate`), or not a part of a game
    results = {"Result", "RKHSPredictor", "Checkpoint", "Precision", "Context", "WithFeedback", "Game"}
    results |= {"Log", "Range", "Task", "UntilDecided"}
    assert structs - set(catalogue()) == results & structs
    makers = {name for name in exported_names(jo.bounds) if inspect.isfunction(getattr(jo.bounds, name))}
    assert makers <= set(catalogue())
    assert {"gaussian", "laplace", "uniform", "student_t", "AER", "AERR", "three_bits", "cost_aware"} <= set(
        catalogue()
    )


def test_every_name_has_a_kind_and_a_description():
    kinds = {component.kind for component in catalogue().values()}
    assert kinds == {*KINDS, "optimizers", "schedules", "projections"}
    assert all(first_line(one.function) or one.kind == "schedules" for one in catalogue().values())
    assert catalogue()["AttributeGradient"].kind == "estimators"


def test_parameters_that_are_python_functions_are_marked():
    ours = {name: entry for name, entry in catalogue().items() if entry.kind in KINDS}
    names = {f"{n}.{p.name}" for n, entry in ours.items() for p in entry.parameters.values() if p.in_python_only}
    noise = {"CustomNoise.covariance", "CustomNoise.draw"}
    assert names == {*noise, "Doubling.learner_for", "MultilevelEstimator.function", "bold.bound"}  # a number or a list


# ---------------------------------------------------------------------------------------------------------------------
# Entries

BUILD = Builder(SourceFile(Path("study.toml"), {}), HORIZON)


def inside(limits: Limits) -> float:
    low = next((limit for limit in (limits.gt, limits.ge) if limit is not None), None)
    high = next((limit for limit in (limits.lt, limits.le) if limit is not None), None)
    if low is not None and high is not None:
        return (low + high) / 2
    return low + 1 if low is not None else high - 1 if high is not None else 1.0


def value_for(parameter: Parameter):
    if parameter.choices:
        return parameter.choices[0]
    if "seed" in parameter.takes:
        return 0
    if "integer" in parameter.takes:
        number = math.ceil(inside(parameter.limits))
        return number + number % 2 if parameter.name == "n_attributes" else number
    if "number" in parameter.takes:
        return inside(parameter.limits)
    if "array" in parameter.takes:
        value = [inside(parameter.limits)] * 2
        for _ in range((parameter.dimensions or 1) - 1):
            value = [value, value]
        return value
    if not parameter.kinds:
        return "text"
    table = table_for(fitting(parameter.kinds[0]))
    return [table] if "components" in parameter.takes else table


def table_for(name: str) -> dict:
    own = OWN_ARGUMENTS.get(name, {})
    parameters = catalogue()[name].parameters
    needed = {item.name: value_for(item) for item in parameters.values() if item.required and item.name not in own}
    return {"type": name, **needed, **own}


NAMES = {  # of kinds that are texts, and of protocols
    "estimator": "FullGradient", "combiner": "FollowTheLeader", "learner": "UCB1", "environment": "LinearModel",
    "schedule": "constant_schedule", "adversary": "ChasingNoise", "noise": "gaussian", "feedback": "Bandit",
    "delay": "GivenDelays", "loss": "Squared", "SmallestArms": "SmallestArms", "Entropy": "Entropy",
    "Dictionary": "Dictionary.draw", "FourierFeatures": "FourierFeatures.draw", "FeatureMap": "GaussianFeatureMap",
    "NoiseSurrogate": "Surrogate", "SeriesLoss": "Squared", "CountDistribution": "Geometric",
}  # fmt: skip


def fitting(kind):
    name = kind.strip("`") if isinstance(kind, str) else kind.__name__
    return NAMES.get(name) or next(one.name for one in catalogue().values() if makes(one.function, kind))


def makes(function, kind):
    owner = function if inspect.isclass(function) else getattr(function, "__self__", None)
    ours = function.__module__.startswith("jaxonline")
    product = owner or (ours and typing.get_type_hints(function).get("return"))
    product = next(iter(typing.get_args(product)), product)
    return inspect.isclass(product) and issubclass(product, kind)


PYTHON_ONLY = {"optimistic_adam", "noisy_sgd"} | {  # which warn of options that change
    name
    for name, entry in catalogue().items()
    if any(p.in_python_only and p.required for p in entry.parameters.values() if name != "GivenDelays")
}
ENTRIES = [name for name in catalogue() if name not in PYTHON_ONLY]
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")


SLOW = {"Dictionary.draw", "FourierFeatures.draw", "NoisyKernel", "Storage.for_horizon", "data"}  # they compile, read


@pytest.mark.parametrize("name", some(ENTRIES, *(name for name in ENTRIES if name not in SLOW)))
def test_entry_is_built(name):
    entry, table = catalogue()[name], table_for(name)
    with jax.numpy_dtype_promotion("standard"):
        built = BUILD.build(table, ())
    assert not inspect.isclass(entry.function) or isinstance(built, entry.function)
