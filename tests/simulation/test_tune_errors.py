"""`tune`: bad arguments, HTML, and the code of its documentation page."""

import re

import numpy as np
import pytest
from fresh_python import ROOT
from tuned_game import GAME, SIZES, make

import jaxonline as jo
from jaxonline.results.statistics import Estimate
from jaxonline.results.tuned import Rung, Tuned, at_edge

pytestmark = pytest.mark.fast_compile


def test_only_numbers_have_an_edge():
    tried = [{"a": a, "kind": kind, "flag": True, "one": 1} for a in (3, 1, 2) for kind in ("x", "y")]
    assert [at_edge(tried, i) for i in range(6)] == [("a",), ("a",), ("a",), ("a",), (), ()]


def test_html_escapes_names():
    of = Estimate(*(np.zeros(2) for _ in Estimate._fields))
    rung = Rung(np.arange(2), 2, 2, of, np.zeros(2, int))
    found = Tuned(({"<b>a": 1}, {"<b>a": 2}), 0, (rung,), None, "<i>", 5, 20, 1.0)
    assert found.at_edge == ("<b>a",)
    assert "<b>" not in found._repr_html_()
    assert "&lt;b&gt;a = 1 is the smallest" in found._repr_html_()


BAD = [
    ({"grid": {}}, ValueError, "grid: .*got none"),
    ({"grid": [0.1]}, TypeError, "grid: must be a dictionary of lists or ranges by name"),
    ({"grid": {"step": []}}, ValueError, r"grid\['step'\]: .*got none"),
    ({"grid": {"step": 0.1}}, TypeError, r"grid\['step'\]: .*got 0.1"),
    ({"grid": {"step": [0.1, np.nan]}}, ValueError, r"grid\['step'\]: .*got nan"),
    ({"grid": {"step": [0.1, 0.1]}}, ValueError, r"grid\['step'\]: .*got 0.1 twice"),
    ({"grid": {"step": [0.1, -0.2]}}, ValueError, ".*got -0.2|.*got -0.2"),
    ({"grid": {"stop": [0.1]}}, TypeError, "grid: must .*got stop.; missing"),
    ({"grid": {"runs": [0.1]}}, ValueError, "grid: .*got 'runs'"),
    ({"grid": {"cumulative_loss": [1]}}, ValueError, "grid: .*got 'cumulative_loss'"),
    ({"learner": make(0.1), "grid": {"raduis": [1.0]}}, ValueError,
     "grid: a field of GradientLearner: .*got 'raduis'.; did you mean 'radius'?"),
    ({"learner": make(0.1), "grid": {"step_size.eta": [1.0]}}, ValueError, "grid: a field of Constant: must be one of"),
    ({"learner": jo.GradientLearner(jo.estimators.FullGradient(), jo.InverseSqrt(0.5)), "grid": {"step_size": [0.1]}},
     ValueError, r"grid: must name a field of InverseSqrt\(eta=0.5\), 'step_size.eta' .got 'step_size'"),
    ({"learner": 3}, TypeError, "learner: .*got 3"),
    ({"learner": lambda step: step}, TypeError, ".*got 0.1"),
    ({"game": 3}, TypeError, "game: must be a Game"),
    ({"n_settings": 3}, ValueError, "n_settings: .*got 3"),
    ({"grid": {"step": jo.Range(0.1, 1.0)}}, ValueError, "n_settings: .*got None"),
    ({"rungs": 7}, ValueError, "rungs: must .*got 7 for n_runs=32"),
    ({"rungs": 0}, ValueError, "rungs: .*got 0"),
    ({"factor": 1}, ValueError, "factor: .*got 1"),
    ({"quantity": "regret"}, ValueError, "quantity: .*got 'regret'"),
    ({"runs_key": 0}, ValueError, "runs_key: must "),
    ({"n_runs": 0}, ValueError, "n_runs: .*got 0"),
]  # fmt: skip


@pytest.mark.parametrize(("wrong", "error", "message"), BAD, ids=[message for _, _, message in BAD])
def test_tune_rejects_bad_arguments(wrong, error, message):
    arguments = {"game": GAME, "learner": make, "grid": {"step": [0.1, 0.2]}} | SIZES | wrong
    with pytest.raises(error, match=message):
        jo.tune(**arguments)


@pytest.mark.parametrize("ends", [(1.0, 1.0), (2.0, 1.0), (np.nan, 1.0), (0.0, np.inf)])
def test_range_rejects_bad_ends(ends):
    with pytest.raises(ValueError, match=r"low: must|high: must"):
        jo.Range(*ends)
    with pytest.raises(ValueError, match=r"low: .*got 0"):
        jo.Range(0.0, 1.0, log=True)


@pytest.mark.long
def test_code_of_the_tuning_page_runs():
    """From top to bottom: nine steps, of which the best is none at the edge; then a range, and Optuna."""
    names, found = {}, []
    for block in re.findall(r"^```python\n(.*?)^```", (ROOT / "docs/tuning.md").read_text(), re.MULTILINE | re.DOTALL):
        exec(compile(block, "docs/tuning.md", "exec"), names)
        found.append(names["tuned"])
    plain, ranged, _ = found
    assert [(len(rung.settings), rung.runs) for rung in plain.rungs] == [(9, 18), (3, 54)]
    assert round(100 * plain.share) == 56
    assert 0.1 < ranged.choice["eta"] < 1.0
    assert 0.1 < names["study"].best_params["eta"] < 1.0
