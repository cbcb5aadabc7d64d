"""The rights of the superuser, given up for a while."""

import contextlib
import ctypes
import os
from collections.abc import Iterator

VERSION = 0x20080522  # of the two structs below, by linux/capability.h
WRITE_EVERYWHERE = 1 << 1  # CAP_DAC_OVERRIDE; a word has a bit for each capability
WORDS = 6  # effective, permitted, inheritable; and once more for the capabilities from 32 on


@contextlib.contextmanager
def ordinary_rights() -> Iterator[None]:
    """This thread may write only where modes of files and folders allow it, also as the superuser, who stays the owner
    of its files: another user may be unable to enter the folder of Python or of this source tree."""
    if os.geteuid() != 0:
        yield
        return
    libc = ctypes.CDLL(None, use_errno=True)
    thread, rights = (ctypes.c_uint32 * 2)(VERSION, 0), (ctypes.c_uint32 * WORDS)()

    def call(function, words) -> None:
        if function(thread, words) != 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    call(libc.capget, rights)
    fewer = (ctypes.c_uint32 * WORDS)(*rights)
    fewer[0] &= ~WRITE_EVERYWHERE
    call(libc.capset, fewer)
    try:
        yield
    finally:
        call(libc.capset, rights)
