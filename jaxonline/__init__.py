"""Simulation of online learning with limited information: regret with confidence intervals, on JAX.

>>> import jaxonline as jo

A game (`jo.Game`, `jo.bandit_game`) has an environment, a loss, a feedback such as `jo.Bandit()`, and a comparator such
as `jo.BestArm()`. `jo.simulate` plays it with learners (`jo.learners`) in many independent runs and returns a
`jo.Result` with tables, figures and confidence intervals. `jo.verify` checks estimators, `jo.bounds` has the bounds of
theorems, and `jo.Live` learns from one example at a time. `dir(jo)` lists all names.
"""

import importlib
from typing import Any

import lazy_loader

__version__ = "0.1.0"

_import_name, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)  # the names are in __init__.pyi


def __getattr__(name: str) -> Any:
    """Import a public name at its first use; the error for an unknown name says which package has this name."""
    try:
        return _import_name(name)
    except AttributeError as error:
        for package in ("learners", "environments", "losses", "estimators", "kernels", "comparators", "game"):
            if name[:1].isupper() and hasattr(importlib.import_module(f"jaxonline.{package}"), name):
                error.add_note(f"write jo.{package}.{name}")
        raise
