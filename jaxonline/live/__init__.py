"""Learners on live data, one example at a time: `jo.Live`, and estimators of scikit-learn (`live.estimators`)."""

from jaxonline.live.live import Live

__all__ = ["Live"]
