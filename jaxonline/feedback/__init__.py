"""Feedbacks: what a learner may ask in a round. A feedback opens one oracle per round, which counts the queries.

The modules have feedbacks with `full` information, noisy `copies` (with distributions of `noise`), measured copies
(`replicates`), `attributes` of the learner's choice, the loss of the pulled arm (`bandit`), the losses of a set
(`semi_bandit`), the winner of a `duel`, `delayed` answers, the `loss_of_move` for moves that are points, and the
outcome `on_request`.
"""

from jaxonline.feedback import delays, noise
from jaxonline.feedback.attributes import Attributes, AttributesOracle
from jaxonline.feedback.copies import AdversarialCopies, CopiesOracle, NoisyCopies
from jaxonline.feedback.delayed import Arrival, Delayed, DelayedOracle
from jaxonline.feedback.moves import (
    Bandit,
    BanditOracle,
    Duel,
    DuelOracle,
    FullInformation,
    FullOracle,
    LossOfMove,
    LossOfMoveOracle,
    OnRequest,
    OnRequestOracle,
    SemiBandit,
    SemiBanditOracle,
)
from jaxonline.feedback.replicates import Replicates, ReplicatesOracle

__all__ = [
    "AdversarialCopies",
    "Arrival",
    "Attributes",
    "AttributesOracle",
    "Bandit",
    "BanditOracle",
    "CopiesOracle",
    "Delayed",
    "DelayedOracle",
    "Duel",
    "DuelOracle",
    "FullInformation",
    "FullOracle",
    "LossOfMove",
    "LossOfMoveOracle",
    "NoisyCopies",
    "OnRequest",
    "OnRequestOracle",
    "Replicates",
    "ReplicatesOracle",
    "SemiBandit",
    "SemiBanditOracle",
    "delays",
    "noise",
]
