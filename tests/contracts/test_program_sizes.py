"""Programs do not grow with the dimension: their instructions, before compilation, are counted and not the time."""

import jax
import numpy as np
import pytest
from registry import LEARNERS

import jaxonline as jo

pytestmark = pytest.mark.long

DIMENSIONS, MAX_LINES, MAX_GROWTH = (2, 16, 40), 12_000, 1.25
LAWS = {
    "gaussian": jo.noise.gaussian,
    "laplace": jo.noise.laplace,
    "uniform": jo.noise.uniform,
    "student_t": lambda covariance: jo.noise.student_t(covariance, 10.0),
}
OF_DIMENSION_3 = ("surrogate kernel", "Fourier features")  # their entries have arrays for three coordinates
NAMES = [
    name
    for name, make in LEARNERS.items()
    if isinstance(make().feedback, jo.NoisyCopies) and not name.startswith(OF_DIMENSION_3)
]


def n_lines(name, law, d):
    """Return the number of lines of the program of `jo.play` in StableHLO, about one for each instruction."""
    entry, rng = LEARNERS[name](), np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], size=4)
    copies = jo.NoisyCopies(law(0.2), label_noise=None if entry.classes else law(0.1), reveal_covariance=True)
    game = jo.Game(jo.environments.DataStream(rng.normal(size=(4, d)), y), copies, entry.loss)
    program = jax.jit(lambda key: jo.play(game, entry.learner, key, n_rounds=4))
    with entry.promotion():
        return program.lower(jax.random.key(0)).as_text().count("\n")


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize("name", NAMES)
def test_programs_do_not_grow_with_the_dimension(name, law):
    lines = [n_lines(name, LAWS[law], d) for d in DIMENSIONS]
    assert max(lines) <= min(MAX_LINES, MAX_GROWTH * lines[0])
