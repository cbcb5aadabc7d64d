"""Golden numbers: studies must reproduce their recorded numbers.

(Digests were recorded eight times, each time because of another rounding: the losses changed by less than 1e-6, those
of EWA, truncated EWA and Aggregating, which are added with compensation since then, by less than 1e-5.)

`golden.json` holds for each study a digest of all its numbers and their means at the horizon, with the version of jax
and the processor they were made with. Other processors and versions may round otherwise: there the means are compared.
"""

import hashlib
import json
import platform
from pathlib import Path

import jax
import numpy as np
import pytest
from registry import LEARNERS

import jaxonline as jo
from jaxonline.environments import DataStream, LinearModel
from jaxonline.environments.adversaries import ChasingNoise
from jaxonline.estimators import AttributeGradient, FullGradient, KnownCovariance, NaiveCopy, TwoCopies
from jaxonline.simulation.blocks import default_mesh

pytestmark = [pytest.mark.long, pytest.mark.golden]

GOLDEN = json.loads((Path(__file__).parent / "golden.json").read_text())
BALL = jo.L2Ball(1.0)
COPIES = jo.NoisyCopies(jo.noise.laplace(0.2), label_noise=jo.noise.gaussian(0.05), reveal_covariance=True)
ADVERSARY = jo.AdversarialCopies(ChasingNoise(0.5))
MODEL = LinearModel(np.array([0.6, -0.3, 0.1]), noise_std=0.1)


def processor() -> str:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    return next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), platform.processor())


def digest(result: jo.Result) -> str:
    best = result.comparator_loss
    parts = [result.cumulative_loss, result.queries]
    parts += [np.asarray(first).astype(np.int64) for first in (result.first_nonfinite, result.first_overflow)]
    found = hashlib.sha256()
    for part in [*parts, np.zeros(1) if best is None else best]:
        array = np.ascontiguousarray(part)
        found.update(str((array.dtype, array.shape)).encode() + array.tobytes())
    return found.hexdigest()[:16]


def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, 3))
    X /= np.linalg.norm(X, axis=1).max()
    return X, X @ np.array([0.5, -0.3, 0.2]) + 0.1 * rng.normal(size=30)


def learners(*without: str) -> dict:
    def gradient(estimator, **options):
        return jo.GradientLearner(estimator, **options)

    sweep = jo.sweep({eta: gradient(TwoCopies(), step_size=jo.InverseSqrt(eta), radius=1.0) for eta in (0.1, 0.3, 1.0)})
    all_of_them = {
        "sweep": sweep,
        "cov": gradient(KnownCovariance(), step_size=0.03, radius=1.0),
        "full": jo.WithFeedback(gradient(FullGradient(), step_size=0.1), jo.FullInformation()),
        "attr": jo.WithFeedback(gradient(AttributeGradient(2), step_size=0.02), jo.Attributes(2)),
    }
    return {name: learner for name, learner in all_of_them.items() if name not in without}


def linear(n_devices: int = 1, **options) -> jo.Result:
    mesh = default_mesh(jax.devices()[:n_devices])
    options = {"n_runs": 10, "n_rounds": 60, "key": 1, "block_size": 8, "record_at": 4, "comparator": BALL} | options
    return jo.simulate(jo.Game(MODEL, COPIES), learners(), mesh=mesh, **options)


def small(game: jo.Game, *without: str, n_devices: int = 1) -> jo.Result:
    sizes = {"n_runs": 12, "n_rounds": 45, "key": 2, "block_size": 4, "record_at": 4, "comparator": BALL}
    return jo.simulate(game, learners(*without), mesh=default_mesh(jax.devices()[:n_devices]), **sizes)


def resumed(folder: Path) -> jo.Result:
    class Stop(Exception):
        pass

    def stop(done, total, what):
        if done > 12:
            raise Stop

    with pytest.raises(Stop):
        linear(n_runs=40, n_rounds=50, checkpoint=folder, progress=stop)
    return linear(n_runs=40, n_rounds=50, checkpoint=folder)


STUDIES = {
    "study/linear model, devices 1": lambda folder: linear(n_runs=40, n_rounds=50),
    "study/linear model, devices 8": lambda folder: linear(8, n_runs=40, n_rounds=50),
    "study/may overrun": lambda folder: linear(n_rounds=47, record_at=5),
    "study/rounds given": lambda folder: linear(record_at=[10, 30]),
    "study/log": lambda folder: linear(record_at=6, spacing="log", comparator=None),
    "study/runs": lambda folder: linear(n_runs=40, n_rounds=50, runs=[3, 17, 39]),
    "study/resumed": resumed,
    "study/stream file": lambda folder: small(jo.Game(DataStream(*rows(), order="file"), COPIES), n_devices=8),
    "study/stream shuffled": lambda folder: small(jo.Game(DataStream(*rows(), order="shuffled"), COPIES), n_devices=8),
    "study/stream iid": lambda folder: small(jo.Game(DataStream(*rows(), order="iid"), COPIES), n_devices=8),
    "study/adversarial clean": lambda folder: small(jo.Game(MODEL, ADVERSARY), "cov"),
    "study/rkhs file": lambda folder: kernels("file"),
    "study/rkhs shuffled": lambda folder: kernels("shuffled"),
}


def kernels(order: str) -> jo.Result:
    kernel = jo.kernels.Gaussian(1.5)
    learner = jo.learners.KernelGradient(kernel, NaiveCopy(), 0.3, n_rounds=45, radius=1.0)
    return jo.simulate(
        jo.Game(DataStream(*rows(), order=order), COPIES), {"k": learner}, n_runs=3, n_rounds=45, key=2, block_size=2,
        mesh=default_mesh(jax.devices()[:1]), comparator=jo.RKHSBall(kernel, 1.0), record_at=3,
    )  # fmt: skip


def same(name: str, result: jo.Result) -> None:
    golden = GOLDEN["studies"][name]
    best = result.comparator_loss
    np.testing.assert_allclose(result.cumulative_loss[..., -1].mean(), golden["loss"], rtol=1e-5)
    np.testing.assert_allclose(result.queries[..., -1].mean(), golden["queries"], rtol=1e-12)
    if best is not None:
        np.testing.assert_allclose(best[..., -1].mean(), golden["best"], rtol=1e-4)
    if (jax.__version__, processor()) == (GOLDEN["jax"], GOLDEN["processor"]):
        assert digest(result) == golden["bits"]


@pytest.mark.parametrize("name", STUDIES)
def test_study_matches_golden_numbers(name, tmp_path):
    same(name, STUDIES[name](tmp_path))


@pytest.mark.filterwarnings("ignore:the loss of the game is:UserWarning", "ignore:.*out of storage:RuntimeWarning")
@pytest.mark.parametrize("name", [name for name in LEARNERS if f"registry/{name}" in GOLDEN["studies"]])
def test_learner_matches_golden_numbers(name):
    entry = LEARNERS[name]()
    with entry.promotion():
        X, y = rows()
        game = jo.Game(DataStream(X, np.sign(y) if entry.classes else y, order="shuffled"), entry.feedback)
        options = {"n_runs": 10, "n_rounds": 24, "key": 5, "block_size": 4, "record_at": 4, "comparator": BALL}
        same(
            f"registry/{name}", jo.simulate(game, {"a": entry.learner}, mesh=default_mesh(jax.devices()[:1]), **options)
        )
