"""The game of online learning: one round, and the interfaces of environments, feedbacks and learners.

`round` has the game and one round, `protocols` the required methods, `defaults` the optional methods, `traits` the
facts that classes state, `specs` the checks of shapes and dtypes, `oracles` the opening of a round's oracle,
`loss_range` and `comparator_range` the limits of losses, `regret` the notions of regret, `keys` the random keys,
`binding` the check of a learner against a game, `history` one run with all its rounds.
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
from jaxonline.game.loss_limits import comparator_range, depends_on_predictions, loss_range
from jaxonline.game.oracles import open_oracle
from jaxonline.game.protocols import Draw, Environment, Feedback, Learner, Specs
from jaxonline.game.regret import CleanRegret, NoisyLearnerRegret, NoisyRegret, PseudoRegret, Regret
from jaxonline.game.round import Entrant, Game, RewardRound, Round, States, play_round, start
from jaxonline.game.traits import EnvironmentTraits, FeedbackTraits, LearnerTraits

__all__ = [
    "BoundGame",
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
    "RewardRound",
    "Round",
    "Specs",
    "States",
    "StreamKeys",
    "as_entrant",
    "bind",
    "check_assumptions",
    "check_rounds",
    "comparator_range",
    "depends_on_predictions",
    "loss_range",
    "open_oracle",
    "overflow_flag",
    "play",
    "play_round",
    "same_loss",
    "start",
    "stream_keys",
    "warn_about_loss_mismatch",
]
