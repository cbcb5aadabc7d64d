"""The round of online learning, written once.

`round` is the game and one round of it; `protocols` has the methods that environments, feedbacks and learners must
have, `defaults` the optional methods, `traits` the facts that they state; `specs` what an environment declares;
`oracles` how they are opened; `masks` arms that are not always available; `regret` the notions of regret; `keys` how
randomness is derived; `binding` checks a learner against a game before anything is played; `history` plays one run and
keeps everything.
"""

from jaxonline.game.binding import (
    Bound,
    as_entrant,
    bind,
    check_assumptions,
    overflow_of,
    same_loss,
    warn_of_other_losses,
)
from jaxonline.game.defaults import EnvironmentDefaults, FeedbackDefaults, ForwardsToLearner, LearnerDefaults
from jaxonline.game.history import play
from jaxonline.game.keys import StreamKeys, stream_keys
from jaxonline.game.masks import Available
from jaxonline.game.oracles import open_oracle
from jaxonline.game.protocols import Draw, Environment, Feedback, Learner, Specs
from jaxonline.game.regret import CleanRegret, NoisyLearnerRegret, NoisyRegret, PseudoRegret, Regret
from jaxonline.game.round import Entrant, Game, Round, States, play_round, start
from jaxonline.game.traits import EnvironmentTraits, FeedbackTraits, LearnerTraits

__all__ = [
    "Available",
    "Bound",
    "CleanRegret",
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
    "NoisyLearnerRegret",
    "NoisyRegret",
    "PseudoRegret",
    "Regret",
    "Round",
    "Specs",
    "States",
    "StreamKeys",
    "as_entrant",
    "bind",
    "check_assumptions",
    "open_oracle",
    "overflow_of",
    "play",
    "play_round",
    "same_loss",
    "start",
    "stream_keys",
    "warn_of_other_losses",
]
