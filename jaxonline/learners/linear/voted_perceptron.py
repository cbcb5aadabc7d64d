"""Voted perceptron: Freund and Schapire (1999)."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.vectors import zeros_like_vector
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count


class VotedPerceptronState(NamedTuple):
    """State of `VotedPerceptron`; unused rows are 0.

    `hypotheses` are the w after each mistake, in order; `votes` are the numbers of rounds in which each w was right,
    plus 1.
    """

    hypotheses: Float[Array, "M d"]
    votes: Int[Array, "M"]
    mistakes: Int[Array, ""]


class VotedPerceptronInfo(NamedTuple):
    """Diagnostics of one update: `mistake` (of the last hypothesis, not of the vote), `overflow` (no room left)."""

    mistake: Bool[Array, ""]
    overflow: Bool[Array, ""]


@cites("freund1999large")
@struct
class VotedPerceptron(LearnerDefaults):
    """Voted or averaged perceptron: all hypotheses of the perceptron vote. Labels are -1 or +1.

    The hypotheses are those of `Perceptron`; each mistake of the last hypothesis makes a new hypothesis. A hypothesis
    has one vote for each round that it lasted. The move is the mean of the votes sign(<w, x>), from -1 to 1; if
    `averaged`, it is the mean of the scores <w, x>. A vote of 0 counts as a mistake. A round costs 2 M d flops, for any
    number of mistakes.

    Args:
        max_mistakes: M, the largest number of mistakes of the perceptron (see `bounds.perceptron`).
        averaged: whether to average scores (averaged perceptron).

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([1.0, -1.0, 1.0])
        >>> game = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation(), loss=jo.losses.ZeroOne())
        >>> learner = jo.learners.VotedPerceptron(max_mistakes=5)
        >>> state, history = jo.play(game, learner, jax.random.key(0), n_rounds=6)
        >>> state.votes.tolist(), history.info.mistake.tolist()
        ([1, 1, 2, 2, 0], [True, True, True, False, True, False])
    """

    max_mistakes: Count = static()
    averaged: bool = static(default=False)

    @property
    def traits(self) -> LearnerTraits:
        """Declare how a user gets room for more mistakes."""
        return LearnerTraits(
            capacity_hint=f"it stores one hypothesis for each mistake and has room for {self.max_mistakes:,}: "
            "increase max_mistakes"
        )

    def prediction_range(self, instances: Float[np.ndarray, "n d"] | None) -> tuple[float, float] | None:
        """Return -1 and 1, the limits of a mean of votes; None for a mean of scores."""
        del instances
        return None if self.averaged else (-1.0, 1.0)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> VotedPerceptronState:
        """Return an empty list of hypotheses; w = 0 does not vote. Instances must be vectors."""
        del key
        hypotheses = jnp.tile(zeros_like_vector(self, specs.instance), (self.max_mistakes, 1))
        return VotedPerceptronState(hypotheses, jnp.zeros(self.max_mistakes, jnp.int32), jnp.int32(0))

    def predict(
        self, key: Key[Array, ""] | None, state: VotedPerceptronState, x: Float[Array, "d"]
    ) -> Float[Array, ""]:
        """Predict the mean vote; 0 before the first mistake."""
        del key
        scores, votes = state.hypotheses @ x, state.votes.astype(x.dtype)
        return (scores if self.averaged else jnp.sign(scores)) @ votes / jnp.maximum(jnp.sum(votes), 1.0)

    def update(
        self, key: Key[Array, ""] | None, state: VotedPerceptronState, oracle: Any
    ) -> tuple[VotedPerceptronState, VotedPerceptronInfo]:
        """Add a vote for the last hypothesis w if it is right; otherwise append w + y x with one vote."""
        del key
        x, y, last = oracle.x, oracle.y, state.mistakes - 1
        w = jnp.where(last >= 0, state.hypotheses[last], jnp.zeros_like(x))
        mistake = y * (w @ x) <= 0.0
        full = mistake & (state.mistakes >= self.max_mistakes)
        row = jnp.where(mistake & ~full, state.mistakes, self.max_mistakes)  # rows beyond the end are dropped
        votes = state.votes.at[jnp.where(mistake, row, last)].add(1, mode="drop")
        hypotheses = state.hypotheses.at[row].set(w + y * x, mode="drop")
        mistakes = state.mistakes + (mistake & ~full).astype(jnp.int32)
        return VotedPerceptronState(hypotheses, votes, mistakes), VotedPerceptronInfo(mistake, full)
