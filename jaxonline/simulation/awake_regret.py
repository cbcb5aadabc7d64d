"""Measure of the regret to each expert over the rounds in which the expert is awake (available)."""

from typing import Annotated, Any

import jax
import jax.numpy as jnp

from jaxonline.game import Available, Round
from jaxonline.numerics.elementwise import Compensated
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Ge


@struct
class AwakeRegret:
    """Regret to each expert (or arm) over the rounds in which the expert is awake [K], in games with masks.

    The regret to expert k (Freund, Schapire, Singer and Warmuth 1997) is the sum of (loss of the learner - loss of
    expert k) over the rounds in which expert k is available. The learner's loss in the other rounds does not count.
    This measure is not the regret to a comparator of the game, since the rounds that count differ from expert to
    expert.

    Args:
        expert: the index k = 0, 1, ... of the only expert to measure; the name of the measure is then "awake_regret_k".

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

    expert: Annotated[int | None, Ge(0)] = static(default=None)

    @property
    def name(self) -> str:
        """The name "awake_regret", or "awake_regret_k" if only expert k is measured."""
        return "awake_regret" if self.expert is None else f"awake_regret_{self.expert}"

    def init(self, record: Round) -> Compensated:
        """Return sums before round 1; raise a TypeError if the game has no masks, or outcomes are not vectors."""
        if not isinstance(record.x, Available) or getattr(record.y_comparator, "ndim", None) != 1:
            raise TypeError("AwakeRegret needs masks (environments.Sleeping) and losses of arms as outcomes")
        n_experts = len(record.y_comparator)
        if self.expert is not None and self.expert >= n_experts:
            raise ArgumentError("expert", f"must be less than the number of experts {n_experts} (got {self.expert})")
        return Compensated.zeros(self._select(record.y_comparator))

    def add(self, carry: Compensated, t: jax.Array, record: Round) -> Compensated:
        """Add the learner's loss minus the expert's loss in round t for each expert that is awake."""
        return carry.add(self._select(jnp.where(record.x.mask, record.loss - record.y_comparator, 0.0)))

    def read(self, carry: Compensated) -> Compensated:
        """Return the sums over the rounds so far."""
        return carry

    def _select(self, terms: Any) -> Any:
        if self.expert is None:
            return terms
        shape_only = isinstance(terms, jax.ShapeDtypeStruct)
        return jax.ShapeDtypeStruct((), terms.dtype) if shape_only else terms[self.expert]
