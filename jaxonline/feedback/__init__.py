"""What a learner may ask about a round: each feedback opens one oracle a round, and the oracle keeps the meter.

`full` information, `copies` with the laws of their `noise`, `attributes`, the `bandit`'s single number, the
`loss_of_move` where moves are points, and the outcome `on_request`.
"""

from jaxonline.feedback import delays, noise
from jaxonline.feedback.attributes import Attributes, AttributesOracle
from jaxonline.feedback.bandit import Bandit, BanditOracle
from jaxonline.feedback.copies import AdversarialCopies, CopiesOracle, NoisyCopies
from jaxonline.feedback.delayed import Arrival, Delayed, DelayedOracle
from jaxonline.feedback.full import FullInformation, FullOracle
from jaxonline.feedback.loss_of_move import LossOfMove, LossOfMoveOracle
from jaxonline.feedback.on_request import OnRequest, OnRequestOracle

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
    "FullInformation",
    "FullOracle",
    "LossOfMove",
    "LossOfMoveOracle",
    "NoisyCopies",
    "OnRequest",
    "OnRequestOracle",
    "delays",
    "noise",
]
