"""Which papers the methods of this package are of: the one place that knows. The entries are in `references.bib`."""

import functools
import re
from importlib import resources

# by letter, as docstrings, claims and errata have it
OF_LETTER = {
    "A": "cesabianchi2010online", "B": "cesabianchi2010learning", "C": "cesabianchi2010efficient",
    "D": "rokhlin2025random",
}  # fmt: skip
_A, _B, _C, _D = OF_LETTER.values()
_GAMES = "cesabianchi2006prediction"

# by the names of classes and functions; a name with "=" is an argument as results have it in words
METHODS: dict[str, tuple[str, ...]] = {
    # learners
    "GradientLearner": ("zinkevich2003online",),
    "ExponentiatedGradient": (
        "kivinen1997exponentiated", "nemirovski1983problem", "beck2003mirror", "shalevshwartz2012online",
    ),
    "OnlineNewtonStep": ("hazan2007logarithmic", "hazan2016introduction"),
    "GradientBandit": ("flaxman2005online",),
    "KernelGradient": ("kivinen2004online", "zinkevich2003online"),
    "NoisyKernel": (_A,),
    "SurrogateKernel": (_B,),
    "WithFeatures": ("rahimi2007random",),
    "Baseline": (_C,),
    "aer": (_C,),
    "aerr": (_C, "hazan2012linear"),
    "Perceptron": ("rosenblatt1958perceptron", "novikoff1962convergence"),
    "KernelPerceptron": ("aizerman1964theoretical", "freund1999large"),
    "VotedPerceptron": ("freund1999large",),
    "PNormPerceptron": ("grove2001general", "gentile2003robustness"),
    "Winnow": ("littlestone1988learning", "blum1998online"),
    "PassiveAggressive": ("crammer2006online",),
    "VAW": ("vovk2001competitive", "azoury2001relative", _D),
    "MultiKernel": (_D,),
    "Raker": ("shen2019random", _D),
    "OMKLGF": ("ghari2020online", _D),
    "Halving": ("barzdin1972prediction", "littlestone1988learning", _GAMES),
    "WeightedMajority": ("littlestone1994weighted", _GAMES),
    "EWA": (_GAMES,),
    "Hedge": ("freund1997decision", _GAMES),
    "DrawnExpert": ("littlestone1994weighted", "freund1997decision", _GAMES),
    "FixedShare": ("herbster1998tracking", _GAMES),
    "FollowTheLeader": ("hannan1957approximation", _GAMES),
    "FollowThePerturbedLeader": ("kalai2005efficient", "hutter2005adaptive", "hannan1957approximation"),
    "FollowTheRegularizedLeader": ("shalevshwartz2012online",),
    "LabelEfficientHedge": ("cesabianchi2005minimizing", _GAMES),
    "Aggregating": ("vovk1990aggregating", _GAMES),
    "BOA": ("wintenberger2017optimal",),
    "MLPoly": ("gaillard2014second",),
    "MLProd": ("gaillard2014second",),
    "OverAdvice": (_GAMES,),
    "Truncated": (_D,),
    "Doubling": ("auer1995gambling", _GAMES),
    "online_to_batch": ("cesabianchi2004generalization",),
    "ExploreThenCommit": ("robbins1952some", "lattimore2020bandit"),
    "EpsilonGreedy": ("auer2002finite",),
    "UCB1": ("auer2002finite",),
    "KLUCB": ("garivier2011kl",),
    "MOSS": ("audibert2009minimax",),
    "BernoulliThompson": ("thompson1933likelihood", "agrawal2012analysis"),
    "GaussianThompson": ("thompson1933likelihood", "agrawal2013further"),
    "EXP3": ("auer2002nonstochastic", "bubeck2012regret"),
    "EXP3IX": ("neu2015explore",),
    "EXP3P": ("auer2002nonstochastic", "bubeck2012regret"),
    "EXP4": ("auer2002nonstochastic", "bubeck2012regret"),
    "LinUCB": ("li2010contextual", "abbasi2011improved"),
    "LinThompson": ("agrawal2013thompson",),
    # estimators
    "TwoCopies": (_B,),
    "KnownCovariance": (_B,),
    "AttributeGradient": (_C,),
    "law=l2": ("hazan2012linear",),  # of `AttributeGradient`
    "AttributePairs": (_C,),
    "SeriesEstimator": (_A,),
    "PolynomialSequenceEstimator": (_A,),
    "DotProductFeatureMap": (_A,),
    "GaussianFeatureMap": (_A,),
    "GradientLength": (_A,),
    "Surrogate": (_B,),
    "radial_surrogate": (_B,),
    "FourierFeatures": ("rahimi2007random", _D),
    # environments whose law is that of a theorem or of published experiments
    "HiddenBestArm": ("auer2002nonstochastic",),
    "HiddenAttribute": (_C,),
    "ContraryLabels": ("littlestone1994weighted", _GAMES),
    "ContraryLosses": ("littlestone1994weighted", _GAMES),
    "DriftingModel": ("herbster2001tracking",),
    "indistinguishable_pair": (_A,),
    "unavoidable_regret": (_A,),
    "three_bits": (_C,),
    # bounds
    "full_information": ("zinkevich2003online",),
    "projected_gradient": ("zinkevich2003online",),
    "gradient_descent": ("zinkevich2003online", _A, _B),
    "two_copies": (_B,),
    "known_covariance": (_B,),
    "noisy_kernel": (_A,),
    "noisy_kernel_geometric": (_A,),
    "unbiased_steps": (_A,),
    "surrogate_kernel": (_B,),
    "surrogate_radial_kernel": (_B,),
    "surrogate_radius": (_B,),
    "aer_regret": (_C,),
    "aerr_regret": (_C, "hazan2012linear"),
    "baseline_risk": (_C,),
    "hidden_attribute_examples": (_C,),
    "exponentiated_gradient": ("kivinen1997exponentiated", "shalevshwartz2012online"),
    "online_newton_step": ("hazan2007logarithmic", "hazan2016introduction"),
    "gradient_bandit": ("flaxman2005online",),
    "perceptron": ("novikoff1962convergence",),
    "p_norm_perceptron": ("gentile2003robustness",),
    "winnow": ("blum1998online",),
    "passive_aggressive": ("crammer2006online",),
    "halving": ("littlestone1988learning",),
    "weighted_majority": ("littlestone1994weighted",),
    "exponential_weights": (_GAMES,),
    "fixed_share": (_GAMES,),
    "perturbed_leader": ("kalai2005efficient", "hutter2005adaptive"),
    "regularized_leader": ("nesterov2009primal", "shalevshwartz2012online"),
    "label_efficient": ("cesabianchi2005minimizing", _GAMES),
    "doubling": (_GAMES,),
    "explore_then_commit": ("lattimore2020bandit",),
    "ucb1": ("auer2002finite",),
    "lai_robbins": ("lai1985asymptotically",),
    "moss": ("audibert2009minimax",),
    "minimax": ("auer2002nonstochastic",),
    "exp3": ("bubeck2012regret",),
    "exp3_ix": ("neu2015explore",),
    "exp3_p": ("bubeck2012regret",),
    "exp4": ("bubeck2012regret",),
    "vaw": ("vovk2001competitive", "azoury2001relative", _D),
    "vaw2": (_D,),
    "vaw_ewa": (_D,),
    "concatenated": (_D,),
    "ewa": (_D,),
    "aggregating": (_GAMES,),
}  # fmt: skip


@functools.cache
def entries() -> dict[str, str]:
    """Every entry of `references.bib` by its key.

    Example:
        >>> from jaxonline.claims.references import entries
        >>> print(entries()["agrawal2012analysis"].splitlines()[0])
        @inproceedings{agrawal2012analysis,
    """
    text = resources.files("jaxonline.claims").joinpath("references.bib").read_text(encoding="utf-8")
    found = (each.strip() for each in re.split(r"^(?=@)", text, flags=re.MULTILINE) if each.strip())
    return {each.partition("{")[2].partition(",")[0]: each for each in found}
