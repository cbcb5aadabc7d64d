"""Notions of regret: the instances on which learner and comparator predict, and the outcomes that define losses.

The first three notions are from Cesa-Bianchi, Shalev-Shwartz and Shamir (COLT 2010), Appendix A. A noisy copy is always
`copy(0)` of the game's feedback, the first copy that a learner may query. A notion of your own is a struct with the
same attributes.
"""

from typing import ClassVar, Protocol, runtime_checkable

from jaxonline.parameters.struct import struct


@runtime_checkable
class Regret(Protocol):
    """A notion of regret.

    Attributes:
        learner_on_copies: whether the learner predicts on a noisy copy instead of the clean instance.
        comparator_on_copies: whether the comparator is judged on the noisy copy instead of the clean instance.
        on_expected_outcomes: whether losses are computed with the mean outcome given the past.
    """

    @property
    def learner_on_copies(self) -> bool: ...

    @property
    def comparator_on_copies(self) -> bool: ...

    @property
    def on_expected_outcomes(self) -> bool: ...


@struct
class CleanRegret:
    """Ordinary regret: learner and comparator are judged on the clean instances (Eq. 1 of paper A).

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation()).regret
        CleanRegret()
    """

    label: ClassVar[str] = "regret"
    learner_on_copies: ClassVar[bool] = False
    comparator_on_copies: ClassVar[bool] = False
    on_expected_outcomes: ClassVar[bool] = False


@struct
class NoisyRegret:
    """Regret with learner and comparator on the same noisy copy.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> copies = jo.NoisyCopies(jo.noise.gaussian(0.1))
        >>> game = jo.Game(jo.environments.LinearModel(np.ones(3)), copies, regret=jo.game.NoisyRegret())
        >>> game.regret.comparator_on_copies
        True
    """

    label: ClassVar[str] = "regret on noisy copies"
    learner_on_copies: ClassVar[bool] = True
    comparator_on_copies: ClassVar[bool] = True
    on_expected_outcomes: ClassVar[bool] = False


@struct
class NoisyLearnerRegret:
    """Regret of the learner on a noisy copy, the comparator on the clean instance (Eq. 5): linear for all learners.

    Example:
        >>> import jaxonline as jo
        >>> notion = jo.game.NoisyLearnerRegret()
        >>> notion.learner_on_copies, notion.comparator_on_copies
        (True, False)
    """

    label: ClassVar[str] = "regret of predictions on noisy copies"
    learner_on_copies: ClassVar[bool] = True
    comparator_on_copies: ClassVar[bool] = False
    on_expected_outcomes: ClassVar[bool] = False


@struct
class PseudoRegret:
    """Pseudo-regret: losses of the mean outcome given the past, for learner and comparator; the regret of bandits.

    The environment must have a method `expected_outcome`. The loss must be linear in the outcome, as `losses.ArmLoss`
    is: only then the loss of the mean outcome is the mean of the loss.

    Example:
        >>> import jaxonline as jo
        >>> arms = jo.environments.BernoulliArms([0.2, 0.8])
        >>> game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss(), regret=jo.game.PseudoRegret())
        >>> learner = jo.learners.EXP3(0.1)
        >>> result = jo.simulate(game, learner, n_runs=2, n_rounds=9, record_at=1, comparator=jo.BestArm())
        >>> result.comparator_loss[0, :, -1].round(5).tolist()
        [1.8, 1.8]
    """

    label: ClassVar[str] = "pseudo-regret"
    learner_on_copies: ClassVar[bool] = False
    comparator_on_copies: ClassVar[bool] = False
    on_expected_outcomes: ClassVar[bool] = True
