"""`simulate(stop=...)`: a study stops when its pairs are decided, and resumes from its store."""

import numpy as np
import pytest
from stopping import Stop

import jaxonline as jo
from jaxonline.parameters.errors import PrecisionWarning, UnfinishedStudyWarning

Q = "cumulative_loss"
LEARNERS = {name: jo.learners.EpsilonGreedy(c) for name, c in (("greedy", 0.1), ("similar", 0.15), ("random", 1.0))}
RULE = jo.UntilDecided(margin=0.1, quantity=Q, rarest_event=0.09375, interval=jo.intervals.Betting(0.0, 1.0))


def study(learners=LEARNERS, n_runs: int = 4096, **options) -> jo.Result:
    game = jo.Game(jo.environments.BernoulliArms([0.2, 0.8]), jo.Bandit(), loss=jo.losses.ArmLoss())
    return jo.simulate(game, learners, n_runs=n_runs, n_rounds=8, block_size=32, key=3, record_at=1, **options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"stop": 0.1}, "stop: must be a Precision or an UntilDecided"),
        ({"stop": RULE, "runs": [1]}, "runs: must be None if stop decides"),
        ({"stop": RULE, "learners": LEARNERS["random"]}, "learners: must be at least two"),
        ({"stop": RULE, "n_runs": 16}, "n_runs: must be at least 32"),
        ({"stop": jo.UntilDecided(0.1, "wins")}, "stop"),
    ],
)
def test_bad_arguments(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        study(**options)


@pytest.mark.long
def test_a_study_stops_when_its_pairs_are_decided(tmp_path):
    found = study(stop=RULE)
    decisions, n = found.decisions, len(found.runs)
    assert decisions.complete
    assert decisions.between("similar", "random") == decisions.between("greedy", "random") == "better"
    assert (decisions.runs, decisions.saved) == (n, 4096 - n)
    assert 32 < n < 4096
    fixed = study(n_runs=4096, runs=list(range(n)))
    np.testing.assert_array_equal(found.cumulative_loss, fixed.cumulative_loss)


@pytest.mark.long
def test_an_interrupted_study_resumes_from_its_store(tmp_path):
    whole, calls = study(stop=RULE), iter(range(8))

    def stop(*_):
        if next(calls) == 7:  # in the third block
            raise Stop

    with pytest.raises(Stop):
        study(stop=RULE, checkpoint=tmp_path / "study", progress=stop)
    with pytest.warns(UnfinishedStudyWarning):
        unfinished = jo.load_result(tmp_path / "study")
    assert unfinished.interval == jo.intervals.Betting(0.0, 1.0, Q), "recorded from the start"
    with pytest.raises(ValueError, match="stop: must be an UntilDecided"):
        _ = unfinished.decisions
    resumed = study(stop=RULE, checkpoint=tmp_path / "study")
    loaded = jo.load_result(tmp_path / "study")
    for other in (resumed, loaded):
        np.testing.assert_array_equal(other.cumulative_loss, whole.cumulative_loss)
        assert repr(other.decisions) == repr(whole.decisions)
    assert "decisions" not in study(n_runs=len(whole.runs), checkpoint=tmp_path / "study").meta


@pytest.mark.long
def test_more_runs_continue_an_undecided_study(tmp_path):
    strict = jo.UntilDecided(margin=0.0, quantity=Q, rarest_event=0.09375)
    with pytest.warns(PrecisionWarning, match="1 of 3 pairs undecided after n_runs=64"):
        short = study(stop=strict, n_runs=64, checkpoint=tmp_path / "study")
    assert not short.decisions.complete
    assert short.decisions.saved == 0
    with pytest.warns(PrecisionWarning, match="n_runs=128"):
        longer = study(stop=strict, n_runs=128, checkpoint=tmp_path / "study")
    np.testing.assert_array_equal(longer.cumulative_loss[:, :64], short.cumulative_loss)
