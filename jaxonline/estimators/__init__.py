"""Unbiased estimators from limited information, as pure functions and small frozen classes."""

from jaxonline.estimators.gradients import FullGradient, KnownCovariance, MeanOfCopies, NaiveCopy, TwoCopies

__all__ = ["FullGradient", "KnownCovariance", "MeanOfCopies", "NaiveCopy", "TwoCopies"]
