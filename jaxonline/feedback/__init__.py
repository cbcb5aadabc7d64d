"""What a learner may ask about a round: full information, noisy copies and laws of noise, attributes."""

from jaxonline.feedback import noise
from jaxonline.feedback.oracles import (
    AdversarialCopies,
    Attributes,
    AttributesOracle,
    CopiesOracle,
    FullInformation,
    FullOracle,
    NoisyCopies,
)

__all__ = [
    "AdversarialCopies",
    "Attributes",
    "AttributesOracle",
    "CopiesOracle",
    "FullInformation",
    "FullOracle",
    "NoisyCopies",
    "noise",
]
