"""Measure of the regret to each expert over the rounds in which it is awake."""

from typing import ClassVar

import jax
import jax.numpy as jnp

from jaxonline.game import Available, Round
from jaxonline.linalg.compensated import Compensated
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct


@cites("freund1997specialize")
@struct
class AwakeRegret:
    """Regret to each expert (or arm) over the rounds in which it is awake [K], in games with masks.

    For expert k it is the sum of (loss of the learner - loss of expert k) over the rounds in which expert k is
    available: Freund, Schapire, Singer and Warmuth (1997). The learner's loss in the other rounds does not count. It is
    no regret to a comparator of the game, since the rounds that count differ from expert to expert.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> losses = jo.environments.DataStream(None, np.array([[1.0, 0.0]]))
        >>> experts = jo.environments.Sleeping(losses, [[True, False], [True, True]])
        >>> game = jo.Game(experts, jo.FullInformation(), loss=jo.losses.ExpectedLoss())
        >>> hedge, measures = jo.learners.Hedge(jo.learners.EWA(0.1)), [jo.AwakeRegret()]
        >>> result = jo.simulate(game, hedge, n_runs=1, n_rounds=2, record_at=1, measures=measures)
        >>> result.measures["awake_regret"].tolist()
        [[[[-0.5, 0.5]]]]
    """

    name: ClassVar[str] = "awake_regret"

    def init(self, record: Round) -> Compensated:
        """Return empty sums [K]; raise a TypeError if the game has no masks, or outcomes are not vectors."""
        if not isinstance(record.x, Available) or getattr(record.y_comparator, "ndim", None) != 1:
            raise TypeError("AwakeRegret needs masks (environments.Sleeping) and losses of arms as outcomes")
        return Compensated.zeros(jax.ShapeDtypeStruct(record.y_comparator.shape, record.y_comparator.dtype))

    def add(self, carry: Compensated, t: jax.Array, record: Round) -> Compensated:
        """Add the differences of round t for the experts that are awake."""
        return carry.add(jnp.where(record.x.mask, record.loss - record.y_comparator, 0.0))

    def read(self, carry: Compensated) -> Compensated:
        """Return the sums."""
        return carry
