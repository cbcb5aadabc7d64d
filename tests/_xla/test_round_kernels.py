"""The number of kernels that XLA launches in a round, which decides how small a block can be."""

import pytest
from tiers import some

from benchmarks.kernels import GAMES, compile_rounds, compile_rounds_of_other_devices, kernels_per_round

LIMITS = {  # of the CPU's program, and of the one of other devices
    "gradient descent, file": (14, 14),
    "gradient descent, iid": (18, 20),
    "gradient descent, shuffled": (28, 28),
    "noisy linear": (30, 26),
    "EXP3": (32, 26),
    "UCB1": (25, 25),  # ten arms: an update of one entry has 7 more kernels than one of all arms, and takes less time
}


@pytest.mark.parametrize("name", some(LIMITS, "gradient descent, file"))
def test_a_round_has_few_kernels(name):
    own = kernels_per_round(compile_rounds(*GAMES[name]()))
    other = kernels_per_round(compile_rounds_of_other_devices(*GAMES[name]()))
    assert 5 < own <= LIMITS[name][0]
    assert 5 < other <= LIMITS[name][1]


def test_kernels_of_loops_and_conditionals_are_counted():
    """The round has an addition, a conditional with a branch of two kernels, and a loop of two kernels."""
    program = """
%few (p: f32[2]) -> f32[2] {
  ROOT %p.1 = f32[2]{0} parameter(0)
}

%many (p: f32[2]) -> f32[2] {
  %p.2 = f32[2]{0} parameter(0)
  %a = f32[2]{0} fusion(%p.2), kind=kLoop, calls=%f
  ROOT %b = f32[2]{0} sort(%a), dimensions={0}, to_apply=%less
}

%body_of_draw (p: (s32[], f32[2])) -> (s32[], f32[2]) {
  %p.3 = (s32[], /*index=1*/f32[2]{0}) parameter(0)
  ROOT %c = (s32[], /*index=1*/f32[2]{0}) fusion(%p.3), kind=kLoop, calls=%f
}

%condition_of_draw (p: (s32[], f32[2])) -> pred[] {
  %p.4 = (s32[], /*index=1*/f32[2]{0}) parameter(0)
  ROOT %d = pred[] compare(%p.4, %p.4), direction=LT
}

%round (p: (s32[], f32[2])) -> (s32[], f32[2]) {
  %p.5 = (s32[], /*index=1*/f32[2]{0}) parameter(0)
  %e = f32[2]{0} get-tuple-element(%p.5), index=1
  %g = f32[2]{0} add(%e, %e)
  %h = (f32[2]{0}) conditional(%i, %g, %g), branch_computations={%few, %many}
  %k = (s32[], /*index=1*/f32[2]{0}) while(%p.5), condition=%condition_of_draw, body=%body_of_draw
  ROOT %m = (s32[], /*index=1*/f32[2]{0}) tuple(%e, %g)
}

ENTRY %main (p: (s32[], f32[2])) -> (s32[], f32[2]) {
  %p.6 = (s32[], /*index=1*/f32[2]{0}) parameter(0)
  ROOT %n = (s32[], /*index=1*/f32[2]{0}) while(%p.6), condition=%condition_of_draw, body=%round
}
"""
    assert kernels_per_round(program) == 1 + (1 + 2) + (1 + 2)
