"""What a learner may ask about a round: each feedback opens one oracle a round, and the oracle keeps the meter.

`full` information, `copies` with the laws of their `noise`, `attributes`, and the `bandit`'s single number.
"""

from jaxonline.feedback import noise
from jaxonline.feedback.attributes import Attributes, AttributesOracle
from jaxonline.feedback.bandit import Bandit, BanditOracle
from jaxonline.feedback.copies import AdversarialCopies, CopiesOracle, NoisyCopies
from jaxonline.feedback.full import FullInformation, FullOracle

__all__ = [
    "AdversarialCopies",
    "Attributes",
    "AttributesOracle",
    "Bandit",
    "BanditOracle",
    "CopiesOracle",
    "FullInformation",
    "FullOracle",
    "NoisyCopies",
    "noise",
]
