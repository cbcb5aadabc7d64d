"""No store has numbers of a program that differs from the code and the globals that the store records."""

import importlib
import linecache
import sys
from pathlib import Path

import jax
import numpy as np
import pytest

import jaxonline as jo
from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.store.fingerprint import describe_inputs

pytestmark = [pytest.mark.long, pytest.mark.fast_compile]

HEAD = """
import functools, importlib, operator, os, sys
from pathlib import Path
import jax, jax.numpy as jnp, numpy as np, optax
import jaxonline as jo
"""

LEARNER = """
@jo.struct
class Learner(jo.Learner):
    law: object = jo.static()

    def init(self, key, specs):
        return jnp.zeros(())

    def predict(self, key, state, x):
        return self.law(jnp.sum(x))

    def update(self, key, state, oracle):
        return state, None

learner = Learner(law)
"""


@pytest.fixture
def load(tmp_path, monkeypatch):
    """A function that writes modules, imports them anew, and returns the module `stale_study`."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.chdir(tmp_path)

    def forget():
        for name in [name for name in sys.modules if name.startswith("stale_")]:
            del sys.modules[name]
        importlib.invalidate_caches()
        linecache.clearcache()

    def write(texts):
        forget()
        for name, text in texts.items():
            (tmp_path / name).parent.mkdir(exist_ok=True)
            (tmp_path / name).write_text(text)
        return importlib.import_module("stale_study")

    yield write
    forget()


def set_scale(study, value):
    study.SCALE = value


def set_closure(study, value):
    study.law.__closure__[0].cell_contents = value


CHANGES = {
    "plain function": ("SCALE = 2.0\ndef law(x): return SCALE * x", set_scale),
    "dictionary": ("S = {'a': 2.0}\ndef law(x): return S['a'] * x", lambda study, value: study.S.update(a=value)),
    "closure": ("def make(s):\n    def law(x): return s * x\n    return law\nlaw = make(2.0)", set_closure),
    "default": ("def law(x, s=2.0): return s * x", lambda study, value: setattr(study.law, "__defaults__", (value,))),
    "jit": ("SCALE = 2.0\n@jax.jit\ndef law(x): return SCALE * x", set_scale),
    "vmap": ("SCALE = 2.0\nmapped = jax.vmap(jax.jit(lambda x: SCALE * x))\ndef law(x): return mapped(x[None])[0]",
             set_scale),
    "custom_jvp in jit": ("SCALE = 2.0\n@jax.custom_jvp\ndef inner(x): return SCALE * x\n"
                          "@inner.defjvp\ndef law_jvp(p, t): return inner(p[0]), SCALE * t[0]\nlaw = jax.jit(inner)",
                          set_scale),
    "lru_cache of a program": ("SCALE = 2.0\n@functools.cache\ndef program():\n    s = SCALE\n"
                               "    return jax.jit(lambda x: s * x)\ndef law(x): return program()(x)", set_scale),
    "cached_property": ("SCALE = 2.0\nclass Law:\n    @functools.cached_property\n    def scale(self): return SCALE\n"
                        "    def __call__(self, x): return self.scale * x\nlaw = Law()", set_scale),
    "method": ("class Law:\n    def __call__(self, x): return 2.0 * x\nlaw = Law()\nclass Other:\n"
               "    def __call__(self, x): return 3.0 * x",
               lambda study, value: setattr(study.Law, "__call__", study.Other.__call__)),
    "library function": ("@jax.jit\ndef law(x): return 2.0 * jnp.positive(x)\n"
                         "def three_halves(x): return 1.5 * x", None),
}  # fmt: skip


def play(study, **options):
    game = jo.Game(jo.environments.DataStream(np.eye(2), np.ones(2)), jo.FullInformation())
    result = jo.simulate(game, study.learner, n_runs=2, n_rounds=2, record_at=1, **options)
    return float(result.cumulative_loss[0, 0, -1])


@pytest.mark.parametrize("name", CHANGES)
def test_changed_values_recompile(name, load, tmp_path, monkeypatch):
    """The second study has the numbers of the new value, and the third those of the first value."""
    text, change = CHANGES[name]
    study = load({"stale_study.py": HEAD + text + LEARNER})
    if change is None:
        positive = jax.numpy.positive

        def change(study, value):
            monkeypatch.setattr(jax.numpy, "positive", study.three_halves if value == 3.0 else positive)

    losses = [play(study), play(study, checkpoint=tmp_path / "first")]
    change(study, 3.0)
    losses.append(play(study, checkpoint=tmp_path / "second"))
    jax.jit(study.learner.law)(jax.numpy.float32(1.0))
    if name != "method":
        change(study, 2.0)
        losses.append(play(study, checkpoint=tmp_path / "third"))
    print(f"{name}: losses {losses}, wanted 2, 2, 8, 2")
    assert losses == pytest.approx([2.0, 2.0, 8.0, 2.0][: len(losses)])
    with pytest.raises(ValueError, match="another study"):
        play(study, checkpoint=tmp_path / ("first" if name == "method" else "second"))


MODULE = {"stale_helpers.py": "S = 2.0\nT = 1.0\n", "stale_pack/__init__.py": "", "stale_pack/inner.py": "S = 2.0\n"}


def edited(files):
    return {name: text.replace("2.0", "3.0") for name, text in files.items()}


# the file has texts of the module `stale_study`; an edit replaces 2.0 by 3.0 in all modules, in data.txt and in STALE
EDITS = dict(part.split("\n", 1) for part in (Path(__file__).parent / "stale_edits.txt").read_text().split("#### ")[1:])


def about(study):
    try:
        return describe_inputs({"law": study.law})
    except ArgumentTypeError:
        return None


@pytest.fixture
def restored():
    """Functions of libraries that the edits replace."""
    owners = [(jax.numpy, "square"), (jax.numpy.linalg, "norm"), (np, "square"), (np, "pi")]
    before = [getattr(owner, name) for owner, name in owners]

    def restore():
        for (owner, name), value in zip(owners, before, strict=True):
            setattr(owner, name, value)
        if hasattr(jo.L2Ball, "stale"):
            del jo.L2Ball.stale

    yield restore
    restore()


def test_every_edit_is_seen(load, restored, tmp_path, monkeypatch):
    seen, rejected, stale = [], [], []
    for name, text in EDITS.items():
        values, descriptions = [], []
        for change in (dict, edited):
            files = change({"stale_study.py": HEAD + text, "data.txt": "2.0", **MODULE})
            monkeypatch.setenv("STALE", files["data.txt"])
            study = load(files)
            descriptions.append(about(study))
            values.append(np.asarray(study.law(np.ones(1, np.float32)), float).item())
            assert about(study) == descriptions[-1], f"{name}: a call changes the description"
            restored()
        assert values[0] != values[1], name
        if None in descriptions:
            rejected.append(name)
        else:
            (seen if descriptions[0] != descriptions[1] else stale).append(name)
    print(f"{len(EDITS)} edits: {len(seen)} change the study, {len(rejected)} are rejected, {len(stale)} stale {stale}")
    assert not stale
    assert not {"literal", "imported module", "file read at import", "file read by __init__"}.intersection(rejected)
