"""Feedbacks: what a learner may ask in a round. A feedback opens one oracle per round, which counts the queries.

The modules have feedbacks with `full` information, noisy `copies` (with distributions of `noise`), measured copies
(`replicates`), `attributes` of the learner's choice, the loss of the pulled arm (`bandit`), the losses of a set
(`semi_bandit`), the winner of a `duel`, a part of the losses or a symbol (`partial`), `delayed` answers, the
`loss_of_move` for moves that are points, and the outcome `on_request`.
"""

from jaxonline.feedback import delays as delays
from jaxonline.feedback import noise as noise
from jaxonline.feedback.copies import AdversarialCopies as AdversarialCopies
from jaxonline.feedback.copies import Attributes as Attributes
from jaxonline.feedback.copies import AttributesOracle as AttributesOracle
from jaxonline.feedback.copies import CopiesOracle as CopiesOracle
from jaxonline.feedback.copies import NoisyCopies as NoisyCopies
from jaxonline.feedback.delayed import Arrival as Arrival
from jaxonline.feedback.delayed import Delayed as Delayed
from jaxonline.feedback.delayed import DelayedOracle as DelayedOracle
from jaxonline.feedback.moves import Bandit as Bandit
from jaxonline.feedback.moves import BanditOracle as BanditOracle
from jaxonline.feedback.moves import Duel as Duel
from jaxonline.feedback.moves import DuelOracle as DuelOracle
from jaxonline.feedback.moves import FullInformation as FullInformation
from jaxonline.feedback.moves import FullOracle as FullOracle
from jaxonline.feedback.moves import LossOfMove as LossOfMove
from jaxonline.feedback.moves import LossOfMoveOracle as LossOfMoveOracle
from jaxonline.feedback.moves import OnRequest as OnRequest
from jaxonline.feedback.moves import OnRequestOracle as OnRequestOracle
from jaxonline.feedback.moves import SemiBandit as SemiBandit
from jaxonline.feedback.moves import SemiBanditOracle as SemiBanditOracle
from jaxonline.feedback.partial import FeedbackGraph as FeedbackGraph
from jaxonline.feedback.partial import GraphOracle as GraphOracle
from jaxonline.feedback.partial import PartialMonitoring as PartialMonitoring
from jaxonline.feedback.partial import SymbolOracle as SymbolOracle
from jaxonline.feedback.replicates import Replicates as Replicates
from jaxonline.feedback.replicates import ReplicatesOracle as ReplicatesOracle
