"""Assumptions of bounds are declared and compared with the game; adversaries that react exceed the printed theorems."""

import jax
import numpy as np
import pytest

import jaxonline as jo
from jaxonline import bounds
from jaxonline.bounds.theorem import Assumptions, unmet_assumptions
from jaxonline.parameters.signatures import exported_names

NO_THEOREMS_ON_REGRET = {  # records, quantities inside bounds, lower bounds, and numbers of rounds
    "Assumptions", "Bound", "Features", "LargestCopies", "MomentBounds",
    "factor_moment", "hidden_attribute_examples", "lai_robbins", "largest_copies", "largest_estimate", "minimax",
    "moment_bounds", "sequential_halving", "successive_elimination", "surrogate_radius", "doubling",
    "characteristic_time", "optimal_proportions", "successive_rejects",
}  # fmt: skip
T, X, SIZE, VARIANCE = 400, 0.3, 40.0, 1.0
PRINTED = bounds.two_copies(1.0, float(np.hypot(X, np.sqrt(VARIANCE))), SIZE, T)


def test_every_theorem_on_regret_declares_its_assumptions():
    functions = {name: getattr(bounds, name) for name in exported_names(bounds) if name not in NO_THEOREMS_ON_REGRET}
    assert [name for name, function in functions.items() if not hasattr(function, "assumptions")] == []
    assert {f.assumptions.environment for f in functions.values()} == {"any", "oblivious", "stochastic"}


def test_results_of_bounds_have_the_assumptions_of_their_function():
    arms = bounds.exp3(4, [100, 1000])
    assert arms[1:].assumptions == bounds.exp3.assumptions == Assumptions("oblivious", "regret", (0.0, 1.0), True)
    assert bounds.ucb1([0.0, 0.5], 1000).assumptions.environment == "stochastic"
    assert bounds.full_information(1.0, 1.0, 1.0, 10).assumptions.environment == "any"
    steps = PRINTED.at_rounds([1, 2], step_size=0.1)
    assert steps.assumptions.environment == "oblivious"
    np.testing.assert_allclose(steps, [5 + 0.05 * PRINTED.G, 5 + 0.1 * PRINTED.G])


def test_bounds_in_any_environment_add_the_cost_of_a_dependent_comparator():
    corrected = PRINTED.in_any_environment()
    assert corrected.value == 2 * PRINTED.value
    assert corrected.assumptions.environment == "any"
    assert corrected.in_any_environment() is corrected
    np.testing.assert_allclose(corrected.at_rounds(T), corrected.value)
    added = corrected.at_rounds([4, 9], eta=0.1) - PRINTED.at_rounds([4, 9], eta=0.1)
    np.testing.assert_allclose(added, np.sqrt(PRINTED.G) * np.array([2, 3]))
    deterministic = bounds.full_information(1.0, 1.0, 1.0, 10)
    assert deterministic.in_any_environment() is deterministic
    few = bounds.aer_regret(10, 4, 1.0, 0.5, 1000)
    assert few.in_any_environment().value == pytest.approx(few.value + 0.5 * np.sqrt(few.G * 1000))


def test_violated_assumptions_are_sentences_with_the_names_of_learners():
    given = {"a": PRINTED, "b": bounds.ucb1([0.0, 0.5], 10), "c": 3.0, "d": PRINTED.in_any_environment(), "e": PRINTED}
    assert unmet_assumptions(given, True) == unmet_assumptions(given, None) == []
    curves = {"x": PRINTED.at_rounds([1, T])[1:], "z": PRINTED.in_any_environment().at_rounds([1, T])}
    assert [sentence[:2] for sentence in unmet_assumptions(curves, False)] == ["x:"]
    likely = bounds.with_high_probability(PRINTED, 100.0, T, 0.1)
    for bound in (bounds.aer_regret(10, 4, 1.0, 0.5, 1000), bounds.label_efficient(2, 32, 16), likely):
        assert bound.at_rounds([1, 9]).assumptions == bound.assumptions
    first, second = unmet_assumptions(given, False)
    assert first.startswith("a, e: the bound assumes an oblivious environment")
    assert second.startswith("b: the bound assumes a stochastic environment")


def regrets(environment, feedback, n_runs):
    """The regret of each run in hindsight [R] of gradient descent on two copies, and its losses and data."""
    learner = jo.GradientLearner(jo.estimators.TwoCopies(), PRINTED.step_size, radius=1.0)
    game = jo.Game(environment, feedback)
    return jo.simulate(game, {"two": learner}, n_runs=n_runs, n_rounds=T, comparator=jo.L2Ball(1.0), record_at=2, key=3)


@pytest.mark.long
@pytest.mark.parametrize("kind", [jo.environments.OppositeLabels, jo.environments.OppositeInstances])
def test_reacting_adversaries_exceed_the_printed_theorem_but_not_the_corrected_one(kind):
    """1,000 runs, standard error 32: 2,000 is 9 standard errors above 1,714, so a false alarm has probability 1e-15."""
    copies = jo.NoisyCopies(jo.noise.gaussian(VARIANCE))
    result = regrets(kind([X], SIZE), copies, 1000)
    estimate = result.mean()
    mean, error = float(estimate.mean[0, -1]), float(estimate.standard_error[0, -1])
    assert mean - 6 * error > PRINTED.value
    assert mean + 6 * error < PRINTED.in_any_environment().value
    assert "reacts to the learner's moves" in repr(result)
    assert "assumes an oblivious environment" in result.to_markdown(bounds={"two": PRINTED})
    assert "assumes an oblivious environment" in result.to_latex(bounds={"two": PRINTED})
    assert "assumes" not in result.to_latex(bounds={"two": PRINTED.in_any_environment()})


@pytest.mark.long
def test_noise_chosen_by_an_adversary_on_oblivious_data_respects_the_printed_theorem():
    noise = jo.environments.ChasingNoise(VARIANCE, always=True, skew=1.0)
    result = regrets(jo.environments.DataStream([[X]], [SIZE], order="iid"), jo.AdversarialCopies(noise), 300)
    estimate = result.mean()
    assert estimate.mean[0, -1] + 6 * estimate.standard_error[0, -1] < PRINTED.value
    assert "reacts" not in repr(result)


def reference(kind, rounds, step):
    """Predictions of gradient descent with full information against the two adversaries, in NumPy."""
    w, sign, predictions = 0.0, -1.0, []
    for _ in range(rounds):
        x = X if kind == "labels" else sign * X
        prediction = w * x
        y = SIZE if kind == "instances" else -SIZE * (-1.0 if prediction < 0 else 1.0)
        predictions.append(prediction)
        at_x = prediction if x > 0 else -prediction
        sign = -(-1.0 if (prediction < 0) == (x > 0) and at_x != 0 else 1.0)
        if prediction == 0:
            sign = -1.0 if x > 0 else 1.0
        w = np.clip(w - step * 2 * (prediction - y) * x, -1.0, 1.0)
    return predictions


@pytest.mark.parametrize("kind", ["labels", "instances"])
def test_adversaries_equal_a_loop(kind):
    environment = getattr(jo.environments, f"Opposite{kind.capitalize()}")
    learner = jo.GradientLearner(jo.estimators.FullGradient(), 0.011, radius=1.0)
    history = jo.play(jo.Game(environment([X], SIZE), jo.FullInformation()), learner, jax.random.key(0), 30)[1]
    np.testing.assert_allclose(history.y_hat, reference(kind, 30, 0.011), rtol=1e-4, atol=1e-6)
