"""Learners on dictionaries of features: each feature has an entry of the instance."""

import numbers
from collections.abc import Hashable, Mapping
from typing import Any

import jax
import numpy as np

from jaxonline.live.live import Live
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError

MAX_NAMES = 3  # in a message


class NamedFeatures:
    """The entries of instances that belong to named features.

    A feature that is missing in an example has the value 0. New features get the next free entries, in the order of
    their names. If `n_features` is None, the first example decides which features exist.

    Args:
        n_features: the number of features that can appear, or None.
        fit_intercept: whether instances get a last entry 1.
    """

    def __init__(self, n_features: int | None, fit_intercept: bool):
        self._size = None if n_features is None else check.count("n_features", n_features)
        self._intercept = int(check.flag("fit_intercept", fit_intercept))
        self._entries: dict[Hashable, int] = {}

    def instance(self, x: Mapping[Hashable, Any]) -> np.ndarray:
        """Return the instance of an example; new features are not stored."""
        return self._encode(x)[1]

    def add(self, x: Mapping[Hashable, Any]) -> None:
        """Store the features of an example."""
        self._entries, instance = self._encode(x)
        self._size = len(instance) - self._intercept

    def _encode(self, x: Mapping[Hashable, Any]) -> tuple[dict[Hashable, int], np.ndarray]:
        check.instance("x", x, Mapping, "a dictionary of features")
        size = len(x) if self._size is None else self._size
        new = sorted((name for name in x if name not in self._entries), key=repr)
        entries = self._entries | {name: len(self._entries) + i for i, name in enumerate(new)} if new else self._entries
        if len(entries) > size:
            unknown = ", ".join(check.quote(name) for name in new[:MAX_NAMES])
            raise ArgumentError(
                "x",
                f"must have at most {size} different features over all examples (got the new {unknown}); pass "
                f"n_features=, at least {len(entries)}",
            )
        instance = np.zeros(size + self._intercept)
        instance[size:] = 1.0
        for name, value in x.items():
            if not isinstance(value, numbers.Real | np.bool_):
                raise ArgumentTypeError(
                    "x",
                    f"must have numbers as values (got {check.quote(value)} for {check.quote(name)}); encode it, for "
                    "example with river.preprocessing.OneHotEncoder",
                )
            instance[entries[name]] = value
        return entries, instance


class NamedLearners:
    """Live learners in float64, all on the same dictionaries of features.

    Args:
        learner: the learner.
        feedback: the feedback, or None.
        features: the entries of the features.
        number: the number of learners, each with its own key.
        seed: the seed of the keys; None for one that differs in each object.
    """

    def __init__(self, learner: Any, feedback: Any, features: NamedFeatures, number: int, seed: int | None):
        seed = int(np.random.SeedSequence().generate_state(1)[0]) if seed is None else check.seed("seed", seed)
        self._learner, self._feedback, self._number, self._seed = learner, feedback, number, seed
        self._features = features
        self._unused_lives()  # raises for a bad learner
        self._lives: list[Live] = []  # until the first example

    def learn(self, x: Mapping[Hashable, Any], targets: list[float]) -> None:
        """Play a round of each learner with its own target."""
        instance, lives = self._features.instance(x)[None], self._lives or self._unused_lives()
        for live, target in zip(lives, targets, strict=True):
            live.learn(instance, np.array([target]))
        self._features.add(x)
        self._lives = lives

    def scores(self, x: Mapping[Hashable, Any]) -> list[float]:
        """Return the moves of the learners, as if this example came next."""
        instance = self._features.instance(x)
        return [float(live.predict(instance)) for live in self._lives or self._unused_lives()]

    def _unused_lives(self) -> list[Live]:
        with jax.enable_x64(True):
            keys = [jax.random.fold_in(jax.random.key(self._seed), i) for i in range(self._number)]
            return [Live(self._learner, self._feedback, key=key) for key in keys]
