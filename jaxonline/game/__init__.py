"""The round of online learning, written once.

`round` is the game and one round of it; `protocols` what environments, feedbacks and learners must offer, and what some
offer beyond that; `specs` what an environment declares; `oracles` how they are opened; `regret` the notions of regret;
`keys` how randomness is derived; `binding` checks a learner against a game before anything is played; `history` plays
one run and keeps everything.
"""

from jaxonline.game.binding import Bound, as_entrant, bind, check_feedback, same_loss, warn_of_other_losses
from jaxonline.game.history import play
from jaxonline.game.keys import StreamKeys, stream_keys
from jaxonline.game.oracles import open_oracle
from jaxonline.game.protocols import AdaptiveFeedback, Draw, Environment, Feedback, Learner, Specs
from jaxonline.game.regret import CleanRegret, NoisyLearnerRegret, NoisyRegret, PseudoRegret, Regret
from jaxonline.game.round import Entrant, Game, Round, States, play_round, start

__all__ = [
    "AdaptiveFeedback",
    "Bound",
    "CleanRegret",
    "Draw",
    "Entrant",
    "Environment",
    "Feedback",
    "Game",
    "Learner",
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
    "check_feedback",
    "open_oracle",
    "play",
    "play_round",
    "same_loss",
    "start",
    "stream_keys",
    "warn_of_other_losses",
]
