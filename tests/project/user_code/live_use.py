"""Learners on live data, as in scikit-learn, which a type checker accepts in its strict mode."""

import sys
from pathlib import Path

import numpy as np

import jaxonline as jo


def main(folder: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = X @ np.array([0.5, 0.2, 0.1])
    regressor = jo.OnlineRegressor(jo.learners.VAW(1.0), passes=2).fit(X, y)
    regressor.partial_fit(X[:5].tolist(), y[:5].tolist())
    predictions = regressor.predict(X[:10])
    print(predictions.mean(), regressor.score(X, y), regressor.set_params(learner__regularizer=2.0).passes)
    classifier = jo.OnlineClassifier(random_state=0)
    for first in range(0, 100, 10):
        rows = slice(first, first + 10)
        classifier.partial_fit(X[rows], np.sign(y[rows]), classes=[-1.0, 1.0])
    labels = classifier.predict(X[:10])
    scores = classifier.decision_function(X[:10])
    print(labels.tolist(), scores.shape, classifier.score(X, np.sign(y)), classifier.lives_[0].round)
    live = jo.Live(jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.25), jo.FullInformation(), key=1)
    for x, target in zip(X[:5], y[:5], strict=True):
        prediction = live.predict(x)
        record = live.update(x, target)
        print(float(prediction), float(record.loss), live.round)
    history = live.learn(X, y)
    print(history.loss.mean(), live.moves(X[:3]))
    live.save(folder / "state.npz")
    learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.25)
    again = jo.Live(learner, key=1).load(folder / "state.npz")
    print(again.round, again.state)
    bandit = jo.Live(jo.learners.UCB1(), jo.Bandit(), instance=0, outcome=3)
    arm = int(bandit.predict())
    print(arm, bandit.update(loss=0.5).loss)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
