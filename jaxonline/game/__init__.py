"""One round of the game of online learning: its protocols, keys, and the round itself."""

from jaxonline.game.protocols import AdaptiveFeedback, Environment, Feedback, Learner, Specs
from jaxonline.game.round import (
    REGRETS,
    Entrant,
    Game,
    Round,
    States,
    StreamKeys,
    as_entrant,
    open_oracle,
    play,
    play_round,
    start,
    stream_keys,
)

__all__ = [
    "REGRETS",
    "AdaptiveFeedback",
    "Entrant",
    "Environment",
    "Feedback",
    "Game",
    "Learner",
    "Round",
    "Specs",
    "States",
    "StreamKeys",
    "as_entrant",
    "open_oracle",
    "play",
    "play_round",
    "start",
    "stream_keys",
]
