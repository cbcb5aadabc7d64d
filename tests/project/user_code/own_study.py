"""Own components, studies, tuning, saving and live data of a user, which a type checker accepts in its strict mode."""

import sys
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

import jaxonline as jo
from jaxonline.parameters.types import Number
from jaxonline.results.report.tables import Table
from jaxonline.study import Report

rng = np.random.default_rng(0)
X = rng.normal(size=(100, 3))
y = X @ np.array([0.5, 0.2, 0.1])
GAME = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation())
BALL = jo.L2Ball(1.0)


class Info(NamedTuple):
    error: jax.Array


@jo.struct
class NLMS(jo.Learner):
    step_size: Annotated[Number, Interval(gt=0, lt=2)]
    power: int = jo.static(default=2)

    def init(self, key: jax.Array, specs: jo.game.Specs) -> jax.Array:
        return jax.lax.full(specs.instance.shape, 0.0, specs.instance.dtype)

    def predict(self, key: jax.Array, state: jax.Array, x: jax.Array) -> jax.Array:
        return state @ x

    def update(self, key: jax.Array, state: jax.Array, oracle: Any) -> tuple[jax.Array, Info]:
        x: jax.Array = oracle.x
        error: jax.Array = oracle.y - state @ x
        return state + self.step_size * error * x / (abs(x) ** self.power).sum(), Info(error)


@jo.struct
class LargestLoss:
    name = "largest_loss"

    def init(self, record: jo.game.Round) -> jax.Array:
        return jax.lax.full((), 0.0, record.loss.dtype)

    def add(self, carry: jax.Array, t: jax.Array, record: jo.game.Round) -> jax.Array:
        return jnp.maximum(carry, record.loss)

    def read(self, carry: jax.Array) -> jax.Array:
        return carry


def make_learner(eta: float, radius: float = 1.0) -> jo.GradientLearner:
    return jo.GradientLearner(jo.estimators.FullGradient(), jo.InverseSqrt(eta), radius=radius)


def compare_steps(context: jo.Context) -> Report:
    game = jo.Game(jo.environments.LinearModel(np.array([0.6, -0.3])), jo.NoisyCopies(jo.noise.gaussian(0.2)))
    learner = jo.GradientLearner(jo.estimators.TwoCopies(), jo.InverseSqrt(0.1), radius=1.0)
    result = context.simulate(game, {"0.1": learner}, n_runs=4, n_rounds=50, comparator=BALL, measures=[LargestLoss()])
    return Report({"table": Table("Regret.", result.table({"0.1": 100.0}))}, results={"result": result})


def simulate_and_save(folder: Path) -> None:
    learners = {"own": NLMS(0.5), "swept": jo.sweep({eta: NLMS(eta) for eta in (0.1, 0.2)})}
    result = jo.simulate(
        GAME, learners, n_runs=4, n_rounds=50, comparator=BALL, measures=[LargestLoss(), jo.OfInfo("error")],
        record_at=[10, 20, 50], checkpoint=jo.Checkpoint(folder / "store", every=10.0),
        progress=lambda done, total, what: print(f"{done:g} of {total:g}: {what.upper()}"),
    )  # fmt: skip
    single = jo.simulate(GAME, NLMS(0.5), n_runs=4, n_rounds=50, runs=range(2), spacing="log")
    print(single.learners, float(result.measures["largest_loss"][0, :, -1].max()))
    print(result.mean("largest_loss").mean[0, -1], result.table()[0]["learner"], result.to_pandas().shape)
    print([growth.exponent for growth in result.growth(10).values()], result.to_latex())
    print(result.ranking(interval=jo.intervals.Student()).letters)
    loaded = jo.load_result(result.save(folder / "result.npz"))
    difference = loaded.paired_difference("own", "swept[0.1]")
    print(difference.low[-1], loaded.select("own", runs=slice(4)).regret.mean(), loaded.meta["key"])
    print(loaded.quantiles([0.05, 0.95]).shape, loaded.quantile_interval(0.9).value, loaded.failed.tolist())
    state, rounds = jo.play(GAME, NLMS(0.5), jax.random.key(0), 20)
    print(state, rounds.loss, rounds.info, jo.cite(loaded).keys, jo.replace(make_learner(0.1), radius=2.0).radius)


def compare_and_verify(folder: Path) -> None:
    report = compare_steps(jo.Context(seed=1))
    print(report.json(), [path.name for path in report.save(str(folder))], len(report.html()))
    verification = jo.verify.unbiased(lambda key: jax.random.uniform(key) ** 6, 1 / 7, range=(0, 1))
    print(verification.verdict, verification.bias, jo.verify.bound(17.0, limit=34.0).verdict)
    print(jo.verify.queries(lambda key: jax.random.geometric(key, 0.5) - 1, 1.0, kurtosis=10.0, seed=1))
    print(jo.verify.second_moment(lambda key: jax.random.normal(key, (3,)), limit=4.0, kurtosis=3.0).verdict)
    standings = jo.benchmark(
        {"a": jo.Task(GAME, BALL), "b": jo.Task(GAME, BALL, n_rounds=20)},
        {"own": NLMS(0.5), "shorter": lambda task: NLMS(1.0 / (task.n_rounds or 1))},
        n_runs=4, n_rounds=30, measures=[LargestLoss()], record_at=5,
    )  # fmt: skip
    print(standings.learners, standings.ranks[:, 0].tolist())
    space = {"eta": jo.Range(0.01, 3.0, log=True), "radius": [0.5, 1.0]}
    tuned = jo.tune(GAME, make_learner, space, n_runs=4, n_rounds=50, n_settings=4, comparator=BALL, key=3)
    print(f"{tuned.choice['eta']:.3g}", tuned.learner.step_size, tuned.at_edge, tuned.share, tuned.table.markdown())
    print(tuned.rows()[0]["runs"], tuned.rows()[0]["regret"])
    grid = {"step_size.eta": np.array([0.1, 0.3, 1.0])}
    entrant = jo.tune(GAME, jo.WithFeedback(make_learner(0.1), jo.FullInformation()), grid, n_runs=4, n_rounds=50)
    print(jo.tune(GAME, make_learner(0.1), grid, n_runs=4, n_rounds=50).at_edge, entrant.rungs[-1].runs)
    print(entrant.learner.feedback)
    print(jo.load_study_file("bandits", runs=3, rounds=20, record_at=[10, 20]).run(jo.Context()).json())


def learn_live(folder: Path) -> None:
    regressor = jo.OnlineRegressor(jo.learners.VAW(1.0), passes=2).fit(X, y)
    regressor.partial_fit(X[:5].tolist(), y[:5].tolist())
    print(regressor.predict(X[:10]).mean(), regressor.set_params(learner__regularizer=2.0).passes)
    classifier = jo.OnlineClassifier(random_state=0)
    classifier.partial_fit(X, np.sign(y), classes=[-1.0, 1.0])
    print(classifier.predict(X[:10]).tolist(), classifier.decision_function(X[:10]).shape, classifier.lives_[0].round)
    live = jo.Live(make_learner(0.1), jo.FullInformation(), key=1)
    prediction, record = live.predict(X[0]), live.update(X[0], y[0])
    print(float(prediction), float(record.loss), live.round, live.learn(X, y).loss.mean(), live.moves(X[:3]))
    live.save(folder / "state.npz")
    again = jo.Live(make_learner(0.1), key=1).load(folder / "state.npz")
    print(again.round, again.state)
    bandit = jo.Live(jo.learners.UCB1(), jo.Bandit(), instance=0, outcome=3)
    print(int(bandit.predict()), bandit.update(loss=0.5).loss)


if __name__ == "__main__":
    for part in (simulate_and_save, compare_and_verify, learn_live):
        part(Path(sys.argv[1]))
