"""What a learner may ask about a round: each feedback opens one oracle a round, and the oracle keeps the meter.

`full` information, `copies` with the laws of their `noise`, `attributes`, the `bandit`'s single number, a number for
each arm of a set (`semi_bandit`), the winner of a `duel`, the `loss_of_move` where moves are points, and the outcome
`on_request`.
"""

from jaxonline.feedback import delays, noise
from jaxonline.feedback.attributes import Attributes, AttributesOracle
from jaxonline.feedback.bandit import Bandit, BanditOracle
from jaxonline.feedback.copies import AdversarialCopies, CopiesOracle, NoisyCopies
from jaxonline.feedback.delayed import Arrival, Delayed, DelayedOracle
from jaxonline.feedback.duel import Duel, DuelOracle
from jaxonline.feedback.full import FullInformation, FullOracle
from jaxonline.feedback.loss_of_move import LossOfMove, LossOfMoveOracle
from jaxonline.feedback.on_request import OnRequest, OnRequestOracle
from jaxonline.feedback.semi_bandit import SemiBandit, SemiBanditOracle

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
    "SemiBandit",
    "SemiBanditOracle",
    "delays",
    "noise",
]
