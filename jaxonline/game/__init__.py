"""The game of online learning: one round, and the base classes of environments, feedbacks and learners.

`round` has the game and one round, `roles` the base classes, `keys` the random keys, `binding` the check of a learner
against a game, and `play`.
"""

from jaxonline.game.binding import BoundGame as BoundGame
from jaxonline.game.binding import as_entrant as as_entrant
from jaxonline.game.binding import bind as bind
from jaxonline.game.binding import check_assumptions as check_assumptions
from jaxonline.game.binding import check_rounds as check_rounds
from jaxonline.game.binding import overflow_flag as overflow_flag
from jaxonline.game.binding import play as play
from jaxonline.game.binding import same_loss as same_loss
from jaxonline.game.binding import warn_about_loss_mismatch as warn_about_loss_mismatch
from jaxonline.game.keys import StreamKeys as StreamKeys
from jaxonline.game.keys import stream_keys as stream_keys
from jaxonline.game.roles import Comparator as Comparator
from jaxonline.game.roles import Draw as Draw
from jaxonline.game.roles import Environment as Environment
from jaxonline.game.roles import EnvironmentWrapper as EnvironmentWrapper
from jaxonline.game.roles import Feedback as Feedback
from jaxonline.game.roles import HindsightComparator as HindsightComparator
from jaxonline.game.roles import Learner as Learner
from jaxonline.game.roles import LearnerWrapper as LearnerWrapper
from jaxonline.game.roles import Measure as Measure
from jaxonline.game.roles import Oracle as Oracle
from jaxonline.game.roles import Specs as Specs
from jaxonline.game.round import Game as Game
from jaxonline.game.round import RewardRound as RewardRound
from jaxonline.game.round import Round as Round
from jaxonline.game.round import States as States
from jaxonline.game.round import WithFeedback as WithFeedback
from jaxonline.game.round import play_round as play_round
from jaxonline.game.round import start as start
