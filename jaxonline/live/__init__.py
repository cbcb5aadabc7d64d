"""Learners on live data, one example at a time: `jo.Live`, and adapters to other libraries.

`estimators` has estimators of scikit-learn, `gymnasium` bandit games as environments of gymnasium, and bandit learners
in such environments. `decisions` has the decisions of bandits, `programs` the compiled programs, `states` the files of
saved states.
"""

from jaxonline.live.live import Live as Live
