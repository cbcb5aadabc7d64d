"""Parts that tests of bad calls are made of."""

import numpy as np

from jaxonline import estimators, kernels, losses

X, Y = np.arange(6.0).reshape(3, 2) / 6, np.array([1.0, -1.0, 1.0])
GAUSS, EXP = kernels.Gaussian(2.0), kernels.ExponentialKernel()
LAW = estimators.Geometric(2.0)
MAP = estimators.DotProductFeatureMap(EXP, LAW)
LENGTH = estimators.GradientLength.for_loss(losses.Squared(), LAW, 1.0)
