"""Learners on live data: one example at a time, on the host.

`live` is the door, `jo.Live`; `inputs` checks what comes; `live_game` is what is played, and `rounds` the loop of it
that is compiled; `state_files` writes states and reads them; `estimators` makes estimators of scikit-learn of learners.
"""

from jaxonline.live.live import Live

__all__ = ["Live"]
