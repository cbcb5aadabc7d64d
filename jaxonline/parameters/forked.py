"""Error in a process that was forked after JAX had started: it lacks JAX's threads, so its programs would never end."""

import os

_USERS: list[int] = []  # the process that first used JAX here


class ForkedProcessError(RuntimeError):
    """This process was forked from a process that had used JAX."""


def check_not_forked() -> None:
    """Raise a ForkedProcessError if this process was forked after its parent had called this function."""
    if not _USERS:
        _USERS.append(os.getpid())
    if _USERS[0] != os.getpid():
        raise ForkedProcessError(
            "this process was forked after jaxonline had used JAX, whose threads a forked process lacks; start "
            "processes with multiprocessing.get_context('spawn') or with joblib, or fork before jaxonline is used"
        )
