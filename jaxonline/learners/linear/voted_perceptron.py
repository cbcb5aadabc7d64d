"""The voted perceptron: Freund and Schapire (1999)."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count


class VotedPerceptronState(NamedTuple):
    """State of `VotedPerceptron`, with room for M mistakes.

    Attributes:
        hypotheses: w after each mistake, in their order [M, d]; zeros where there is none yet.
        votes: in how many rounds each was right, and 1 more [M]; zeros where there is none yet.
        mistakes: their number, so that the last hypothesis is the one before.
    """

    hypotheses: Float[Array, "M d"]
    votes: Int[Array, "M"]
    mistakes: Int[Array, ""]


class VotedPerceptronInfo(NamedTuple):
    """Diagnostics of one update.

    Attributes:
        mistake: whether the last hypothesis, and not the vote, had the wrong sign, or none.
        overflow: True where there was a mistake, and no room for another hypothesis.
    """

    mistake: Bool[Array, ""]
    overflow: Bool[Array, ""]


@cites("freund1999large")
@struct
class VotedPerceptron(LearnerDefaults):
    """All hypotheses of the perceptron vote, each as often as it has survived. Labels are -1 or +1.

    The hypotheses are those of `Perceptron`, and each mistake of the last one makes a new one; the move is the mean of
    the votes sign(<w, x>), from -1 to 1, or with `averaged` the mean of the scores <w, x> themselves. A vote of 0
    counts as a mistake. A round costs 2 M d flops, for any number of mistakes.

    Args:
        max_mistakes: M, the largest number of mistakes of the perceptron; see `bounds.perceptron`.
        averaged: the averaged perceptron.

    Example:
        >>> import jax, numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.learners import VotedPerceptron
        >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([1.0, -1.0, 1.0])
        >>> game = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation(), loss=jo.losses.ZeroOne())
        >>> state, history = jo.play(game, VotedPerceptron(max_mistakes=5), jax.random.key(0), n_rounds=6)
        >>> state.votes.tolist(), history.info.mistake.tolist()
        ([1, 1, 2, 2, 0], [True, True, True, False, True, False])
    """

    max_mistakes: Count = static()
    averaged: bool = static(default=False)

    def capacity_hint(self) -> str:
        """How to make room for more mistakes."""
        return (
            f"it stores one hypothesis a mistake and has room for {self.max_mistakes:,}: "
            "build it with a larger max_mistakes"
        )

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> VotedPerceptronState:
        """No hypothesis but w = 0, which does not vote.

        Raises:
            ValueError: if instances are not vectors.
        """
        del key
        if len(specs.instance.shape) != 1:
            raise ArgumentError(
                "instances", f"must have one dimension for VotedPerceptron (got shape {specs.instance.shape})"
            )
        hypotheses = jnp.zeros((self.max_mistakes, *specs.instance.shape), specs.instance.dtype)
        return VotedPerceptronState(hypotheses, jnp.zeros(self.max_mistakes, jnp.int32), jnp.int32(0))

    def predict(
        self, key: Key[Array, ""] | None, state: VotedPerceptronState, x: Float[Array, "d"]
    ) -> Float[Array, ""]:
        """The mean vote; 0 before the first mistake."""
        del key
        scores, votes = state.hypotheses @ x, state.votes.astype(x.dtype)
        return (scores if self.averaged else jnp.sign(scores)) @ votes / jnp.maximum(jnp.sum(votes), 1.0)

    def update(
        self, key: Key[Array, ""] | None, state: VotedPerceptronState, oracle: Any
    ) -> tuple[VotedPerceptronState, VotedPerceptronInfo]:
        """Where the last hypothesis is right it has one more vote; else w + y x is the new one, with one vote."""
        del key
        x, y, last = oracle.x, oracle.y, state.mistakes - 1
        w = jnp.where(last >= 0, state.hypotheses[last], jnp.zeros_like(x))
        mistake = y * (w @ x) <= 0.0
        full = mistake & (state.mistakes >= self.max_mistakes)
        place = jnp.where(mistake & ~full, state.mistakes, self.max_mistakes)  # beyond the end, it is dropped
        votes = state.votes.at[jnp.where(mistake, place, last)].add(1, mode="drop")
        hypotheses = state.hypotheses.at[place].set(w + y * x, mode="drop")
        mistakes = state.mistakes + (mistake & ~full).astype(jnp.int32)
        return VotedPerceptronState(hypotheses, votes, mistakes), VotedPerceptronInfo(mistake, full)
