"""A study with a learner and a measure of the user's own, which a type checker accepts in its strict mode."""

import sys
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from annotated_types import Interval

import jaxonline as jo
from jaxonline.parameters.types import Number
from jaxonline.results.report.tables import Table
from jaxonline.study import Report


class NLMSState(NamedTuple):
    w: jax.Array


class NLMSInfo(NamedTuple):
    error: jax.Array


@jo.struct
class NLMS(jo.Learner):
    step_size: Annotated[Number, Interval(gt=0, lt=2)]
    power: int = jo.static(default=2)

    def init(self, key: jax.Array, specs: jo.game.Specs) -> NLMSState:
        return NLMSState(jax.lax.full(specs.instance.shape, 0.0, specs.instance.dtype))

    def predict(self, key: jax.Array, state: NLMSState, x: jax.Array) -> jax.Array:
        return state.w @ x

    def update(self, key: jax.Array, state: NLMSState, oracle: Any) -> tuple[NLMSState, NLMSInfo]:
        x: jax.Array = oracle.x
        error: jax.Array = oracle.y - state.w @ x
        return NLMSState(state.w + self.step_size * error * x / (abs(x) ** self.power).sum()), NLMSInfo(error)


@jo.struct
class LargestLoss:
    name = "largest_loss"

    def init(self, record: jo.game.Round) -> jax.Array:
        return jax.lax.full((), 0.0, record.loss.dtype)

    def add(self, carry: jax.Array, t: jax.Array, record: jo.game.Round) -> jax.Array:
        return jnp.maximum(carry, record.loss)

    def read(self, carry: jax.Array) -> jax.Array:
        return carry


def compare_steps(context: jo.Context) -> Report:
    game = jo.Game(jo.environments.LinearModel(np.array([0.6, -0.3])), jo.NoisyCopies(jo.noise.gaussian(0.2)))
    estimator = jo.estimators.TwoCopies()
    learners = {f"{eta}": jo.GradientLearner(estimator, jo.InverseSqrt(eta), radius=1.0) for eta in (0.1, 0.3)}
    result = context.simulate(
        game, learners, n_runs=4, n_rounds=50, comparator=jo.L2Ball(1.0), measures=[LargestLoss()]
    )
    table = Table("Regret with two step sizes.", result.table({"0.1": 100.0}))
    return Report({"table": table}, results={"result": result})


def main(folder: str) -> None:
    environment = jo.environments.LinearModel(np.array([0.6, -0.3]), noise_std=0.1)
    game = jo.Game(environment, jo.FullInformation())
    learner = NLMS(0.5)
    result = jo.simulate(
        game,
        {"own": learner, "swept": jo.sweep({eta: NLMS(eta) for eta in (0.1, 0.2)})},
        n_runs=4,
        n_rounds=50,
        comparator=jo.L2Ball(1.0),
        measures=[LargestLoss(), jo.OfInfo("error")],
        record_at=[10, 20, 50],
    )
    single = jo.simulate(game, learner, n_runs=4, n_rounds=50, runs=range(2), spacing="log")
    print(single.learners, float(result.measures["largest_loss"][0, :, -1].max()))
    print(result.mean("largest_loss").mean[0, -1], result.table()[0]["learner"], result.to_pandas().shape)
    for name, growth in result.growth(10).items():
        print(name, growth.exponent)
    ranking = result.ranking(interval=jo.intervals.Student())
    print(ranking.learners, ranking.letters, result.to_latex())
    state, rounds = jo.play(game, learner, jax.random.key(0), 20)
    print(state, rounds.loss, rounds.info)
    report = compare_steps(jo.Context(seed=1))
    print(report.json(), [path.name for path in report.save(folder)], len(report.html()))
    verification = jo.verify.unbiased(lambda key: jax.random.uniform(key) ** 6, 1 / 7, range=(0, 1))
    print(verification.verdict, verification.bias)
    print(jo.verify.queries(lambda key: jax.random.geometric(key, 0.5) - 1, 1.0, kurtosis=10.0, seed=1))
    print(jo.verify.second_moment(lambda key: jax.random.normal(key, (3,)), limit=4.0, kurtosis=3.0).verdict)
    print(jo.verify.bound(17.0, limit=34.0).verdict, jo.cite(jo.learners.UCB1()).keys)
    standings = jo.benchmark(
        {"a": jo.Task(game, jo.L2Ball(1.0)), "b": jo.Task(game, jo.L2Ball(1.0), n_rounds=20)},
        {"own": learner, "shorter": lambda task: NLMS(1.0 / (task.n_rounds or 1))},
        n_runs=4,
        n_rounds=30,
        measures=[LargestLoss()],
        record_at=5,
    )
    print(standings.learners, standings.ranks[:, 0].tolist())


if __name__ == "__main__":
    main(sys.argv[1])
