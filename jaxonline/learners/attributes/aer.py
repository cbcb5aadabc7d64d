"""AER and AERR: gradient descent on the squared loss from k attributes of each instance.

AER and AERR differ in the distribution of the chosen attributes, the step size and the ball. Sources: Cesa-Bianchi,
Shalev-Shwartz, Shamir, "Efficient learning with partially observed attributes" (ICML 2010), Algorithm 2, with erratum
E14; Hazan and Koren, "Linear regression with limited observation" (ICML 2012), AERR.
"""

from jaxonline.estimators.attributes import AttributeGradient
from jaxonline.estimators.gradients import Regularised
from jaxonline.learners.attributes.baseline import project_l1_ball
from jaxonline.learners.gradient.gradient_learner import GradientLearner, Hypothesis
from jaxonline.learners.gradient.step_sizes import InverseTime, StepSize
from jaxonline.parameters.citations import cites
from jaxonline.parameters.types import Count, Positive
from jaxonline.parameters.validation import validate_arguments


@cites("cesabianchi2010efficient")
@validate_arguments
def aer(
    n_attributes: Count, regularizer: Positive, radius: Positive, hypothesis: Hypothesis = "average",
    n_for_prediction: Count | None = None,
) -> GradientLearner:  # fmt: skip
    """AER (paper C, Algorithm 2): w <- (1 - 1/t) w - 2 / (lambda t) (y^ - y) v, projected on the l1 ball of radius B.

    The update of AER is gradient descent on (<w, x> - y)^2 + lambda |w|^2 / 2 with step sizes 1 / (lambda t) (Pegasos).
    (Erratum E42: Eq. 5 of the paper has lambda |w|^2.)
    The hypothesis "average" is the mean of w_1 = 0, ..., w_t, with which Theorem 2 (`bounds.aer_regret`) predicts in
    round t. The paper's output after m examples omits w_1, so this output is (m + 1) / m times the average of round m +
    1.

    Args:
        n_attributes: k, at most d (the budget of `Attributes`), otherwise a game raises a ValueError. An attribute that
            is chosen twice is charged twice.
        regularizer: lambda; Theorem 2 requires the value ((B + 1) d / B_2) sqrt(log(m) / (m k)), for m > 1 examples.
        radius: B.
        hypothesis: whether to predict with the average of the hypotheses or with the last hypothesis.
        n_for_prediction: how many of the k attributes serve to estimate the prediction; by default half, as in paper C.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.LinearModel(np.array([0.5, -0.5, 0.0, 0.0])), jo.Attributes(2))
        >>> learner = jo.learners.aer(2, regularizer=1.0, radius=1.0)
        >>> jo.simulate(game, learner, n_runs=4, n_rounds=50).queries[0, :, -1].tolist()
        [100.0, 100.0, 100.0, 100.0]
    """
    return GradientLearner(
        Regularised(AttributeGradient(n_attributes, n_for_prediction=n_for_prediction), regularizer),
        InverseTime(1 / regularizer),
        radius=radius,
        projection=project_l1_ball,
        hypothesis=hypothesis,
    )


@cites("cesabianchi2010efficient", "hazan2012linear")
@validate_arguments
def aerr(
    n_attributes: Count, step_size: StepSize, radius: Positive, hypothesis: Hypothesis = "average",
    n_for_prediction: Count | None = None,
) -> GradientLearner:  # fmt: skip
    """AERR (Hazan and Koren 2012): draws attributes for y^ with probabilities w_i^2 / |w|^2, projects w on an l2 ball.

    As in AER, half of the k attributes serve to estimate the prediction y^, unless `n_for_prediction` is given. The
    paper uses one attribute for y^, and k attributes with replacement for the estimate of x. The paper's constant step
    size is proportional to sqrt(k / (d m)) (`bounds.aerr_regret`).

    Args:
        n_attributes: k, at most d.
        step_size: a step size, as for `GradientLearner`.
        radius: B.
        hypothesis: whether to predict with the average of the hypotheses or with the last hypothesis.
        n_for_prediction: how many of the k attributes serve to estimate the prediction; by default half. Hazan and
            Koren use one.

    Example:
        >>> import jaxonline as jo
        >>> entrant = jo.Entrant(jo.learners.aerr(4, step_size=0.01, radius=1.0), jo.Attributes(4))
    """
    estimator = AttributeGradient(n_attributes, "l2", n_for_prediction)
    return GradientLearner(estimator, step_size, radius=radius, hypothesis=hypothesis)
