"""Tuning, saving, loading and live data, which a type checker accepts in its strict mode."""

import sys
from pathlib import Path

import numpy as np

import jaxonline as jo

STUDY = """
rounds = 20
runs = 4
comparator = "BestArm"
[game]
environment = { type = "BernoulliArms", means = [0.2, 0.8] }
feedback = "Bandit"
loss = "ArmLoss"
[learners.explore]
type = "EpsilonGreedy"
epsilon = 0.1
"""


def make_learner(eta: float, radius: float = 1.0) -> jo.GradientLearner:
    return jo.GradientLearner(jo.estimators.FullGradient(), jo.InverseSqrt(eta), radius=radius)


def learn_live(folder: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    y = X @ np.array([0.5, 0.2, 0.1])
    regressor = jo.OnlineRegressor(jo.learners.VAW(1.0), passes=2).fit(X, y)
    regressor.partial_fit(X[:5].tolist(), y[:5].tolist())
    predictions = regressor.predict(X[:10])
    print(predictions.mean(), regressor.set_params(learner__regularizer=2.0).passes)
    classifier = jo.OnlineClassifier(random_state=0)
    for first in range(0, 100, 10):
        rows = slice(first, first + 10)
        classifier.partial_fit(X[rows], np.sign(y[rows]), classes=[-1.0, 1.0])
    labels = classifier.predict(X[:10])
    scores = classifier.decision_function(X[:10])
    print(labels.tolist(), scores.shape, classifier.lives_[0].round)
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


def main(folder: Path) -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    game = jo.Game(jo.environments.DataStream(X, X @ np.array([0.5, 0.2, 0.1])), jo.FullInformation())
    tuned = jo.tune(
        game,
        make_learner,
        {"eta": jo.Range(0.01, 3.0, log=True), "radius": [0.5, 1.0]},
        n_runs=4,
        n_rounds=50,
        n_settings=4,
        comparator=jo.L2Ball(1.0),
        key=3,
    )
    grid = {"step_size.eta": np.array([0.1, 0.3, 1.0])}
    again = jo.tune(game, make_learner(0.1), grid, n_runs=4, n_rounds=50)
    entrant = jo.tune(game, jo.WithFeedback(make_learner(0.1), jo.FullInformation()), grid, n_runs=4, n_rounds=50)
    print(f"{tuned.choice['eta']:.3g}", tuned.learner.step_size, tuned.at_edge, tuned.share)
    print(again.table.markdown(), entrant.rungs[-1].runs, entrant.learner.feedback)
    for row in tuned.rows():
        print(row["runs"], row["regret"])
    result = jo.simulate(
        game,
        {"tuned": tuned.learner, "fixed": make_learner(1.0)},
        n_runs=8,
        n_rounds=50,
        key=3,
        comparator=jo.L2Ball(1.0),
        checkpoint=jo.Checkpoint(folder / "store", every=10.0),
        progress=lambda done, total, what: print(f"{done:g} of {total:g}: {what.upper()}"),
    )
    path = result.save(folder / "result.npz")
    loaded = jo.load_result(path)
    part = loaded.select("tuned", runs=slice(4))
    difference = loaded.paired_difference("tuned", "fixed")
    print(difference.low[-1], difference.high[-1], part.regret.mean(), loaded.meta["key"])
    print(loaded.quantiles([0.05, 0.95]).shape, loaded.quantile_interval(0.9).value, loaded.failed.tolist())
    print(jo.cite(loaded).keys, jo.replace(make_learner(0.1), radius=2.0).radius)
    (folder / "study.toml").write_text(STUDY)
    study = jo.load_study_file(folder / "study.toml", runs=3, record_at=[10, 20])
    print(study.run(jo.Context()).json())


if __name__ == "__main__":
    main(Path(sys.argv[1]))
    learn_live(Path(sys.argv[1]))
