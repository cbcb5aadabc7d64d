"""Code with wrong types: a type checker reports the rule that stands in the comment of a line."""

import numpy as np

import jaxonline as jo

game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
result = jo.simulate(game, {"a": learner, "b": learner}, n_runs=2, n_rounds=6)
grid = {"step_size.value": [0.1, 0.2]}
context = jo.Context()

jo.simulate(game, 3, n_runs=2, n_rounds=6)  # reportArgumentType
jo.simulate(game, [learner], n_runs=2, n_rounds=6)  # reportArgumentType
jo.simulate(game, learner, n_runs="2", n_rounds=6)  # reportArgumentType
jo.simulate(game, learner, n_runs=2)  # reportCallIssue
jo.simulate(game, learner, n_runs=2, n_rounds=6, spacing="square")  # reportArgumentType
jo.simulate(game, learner, n_runs=2, n_rounds=6, comparator=1.0)  # reportArgumentType
jo.simulate(game, learner, n_runs=2, n_rounds=6, measures=["mistakes"])  # reportArgumentType
jo.simulate(game, learner, n_runs=2, n_rounds=6, stop=0.1)  # reportArgumentType
jo.tune(game, 3, grid, n_runs=2, n_rounds=6)  # reportArgumentType
jo.tune(game, learner, {"step_size.value": 0.1}, n_runs=2, n_rounds=6)  # reportArgumentType
jo.tune(game, learner, grid, n_runs=2, n_rounds=6, sampler="random")  # reportCallIssue
entrant: jo.WithFeedback = jo.tune(game, learner, grid, n_runs=2, n_rounds=6).learner  # reportAssignmentType
jo.benchmark({"a": game}, {"b": 3}, n_runs=2, n_rounds=6)  # reportArgumentType
jo.benchmark({"a": game}, {"b": learner}, n_runs=2, n_rounds=6, spacing="square")  # reportArgumentType
jo.benchmark({"a": game}, {"b": learner}, n_runs=2, n_rounds=6, comparator=None)  # reportCallIssue
context.simulate(game, learner, n_runs=2, n_rounds=6, key=3)  # reportCallIssue
jo.sweep([1, 2])  # reportArgumentType
jo.play(game, 3, 0, 6)  # reportArgumentType
jo.Live(3)  # reportArgumentType
jo.OnlineRegressor(3)  # reportArgumentType
jo.verify.unbiased(lambda key: 1.0, 1.0, method="guess")  # reportArgumentType
jo.verify.queries(lambda key: 1, 1.0, samples="many")  # reportArgumentType
jo.verify.queries(lambda key: 1, 1.0, sample=3)  # reportCallIssue
jo.load_result(3)  # reportArgumentType
jo.static(3, repr=False)  # reportCallIssue
result.mean(level="high")  # reportArgumentType
result.select("a", runs="first")  # reportArgumentType
jo.Game(jo.FullInformation(), jo.FullInformation())  # reportArgumentType
jo.WithFeedback(learner, 0.1)  # reportArgumentType
jo.L2Ball("one")  # reportArgumentType
jo.learners.UCB1(exploration="much")  # reportArgumentType
jo.Task(3)  # reportArgumentType
jo.InverseSqrt()  # reportCallIssue
