"""Studies that stop in the middle."""

from small_study import learner

import jaxonline as jo

SWEEP = {"one": learner(), "two": jo.sweep([learner(0.1), learner(0.3)])}


class Stop(Exception):
    pass


def stop_after(pieces: int):
    def progress(done, total, what):
        if done >= pieces:
            raise Stop

    return progress
