"""Base class of environments with a scalar outcome."""

from typing import ClassVar

import jax
from jaxtyping import Array, Key

from jaxonline.game.defaults import EnvironmentDefaults
from jaxonline.game.traits import EnvironmentTraits
from jaxonline.parameters.types import PyTree


class ScalarOutcome(EnvironmentDefaults):
    """Base class of oblivious environments with a scalar outcome; without state unless the subclass defines `init`."""

    traits: ClassVar[EnvironmentTraits] = EnvironmentTraits(oblivious=True)

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """Shape [d] and dtype of an instance."""
        raise NotImplementedError

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an outcome: a scalar with the dtype of the instances."""
        return jax.ShapeDtypeStruct((), self.instance_spec.dtype)

    def init(self, key: Key[Array, ""]) -> PyTree:
        """Return the state before round 1; by default it is empty."""
        del key
        return ()
