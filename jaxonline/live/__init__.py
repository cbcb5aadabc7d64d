"""Learners on live data: one example at a time, on the host.

`live` is the door, `jo.Live`; `rounds` the loop that is compiled, which is that of `jo.play`; `saving` writes states
and reads them; `estimators` makes estimators of scikit-learn of learners.
"""

from jaxonline.live.live import Live

__all__ = ["Live"]
