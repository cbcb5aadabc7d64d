"""Learners on live data, one example at a time: `jo.Live`, and adapters to other libraries.

`estimators` has estimators of scikit-learn, `river` models of river, `gymnasium` bandit games as environments of
gymnasium, and `environment_runs` bandit learners in such environments.
"""

from jaxonline.live.live import Live as Live
