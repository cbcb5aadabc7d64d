"""The game of online learning: one round, and the interfaces of environments, feedbacks and learners.

`round` has the game and one round, `protocols` the required methods, `defaults` the optional methods, `traits` the
facts that classes state, `specs` the checks of shapes and dtypes, `oracles` the opening of a round's oracle, `masks`
arms that are not always available, `keys` the random keys, `binding` the check of a learner against a game, `history`
one run with all its rounds.
"""

from jaxonline.game.binding import (
    BoundGame,
    as_entrant,
    bind,
    check_assumptions,
    check_rounds,
    overflow_flag,
    same_loss,
    warn_about_loss_mismatch,
)
from jaxonline.game.defaults import EnvironmentDefaults, FeedbackDefaults, ForwardsToLearner, LearnerDefaults
from jaxonline.game.history import play
from jaxonline.game.keys import StreamKeys, stream_keys
from jaxonline.game.oracles import open_oracle
from jaxonline.game.protocols import Draw, Environment, Feedback, Learner, Specs
from jaxonline.game.round import Entrant, Game, RewardRound, Round, States, play_round, start
from jaxonline.game.traits import EnvironmentTraits, FeedbackTraits, LearnerTraits

__all__ = [
    "BoundGame",
    "Draw",
    "Entrant",
    "Environment",
    "EnvironmentDefaults",
    "EnvironmentTraits",
    "Feedback",
    "FeedbackDefaults",
    "FeedbackTraits",
    "ForwardsToLearner",
    "Game",
    "Learner",
    "LearnerDefaults",
    "LearnerTraits",
    "RewardRound",
    "Round",
    "Specs",
    "States",
    "StreamKeys",
    "as_entrant",
    "bind",
    "check_assumptions",
    "check_rounds",
    "open_oracle",
    "overflow_flag",
    "play",
    "play_round",
    "same_loss",
    "start",
    "stream_keys",
    "warn_about_loss_mismatch",
]
