"""Diagnostics of learners that identify the best arm: whether the learner has stopped, and the recommended arm."""

from typing import NamedTuple

from jaxtyping import Array, Bool, Int


class Recommendation(NamedTuple):
    """Diagnostics of a learner that stops. The simulator freezes a run after the round in which `stopped` is True.

    Attributes:
        stopped: whether the learner has stopped.
        recommendation: the arm that the learner recommends now.
    """

    stopped: Bool[Array, ""]
    recommendation: Int[Array, ""]
