"""Become another program that the kernel ends when the one who asked for it ends.

Usage: launcher.py <pid of the parent> <watch|no-watch> <program> <argument>...

This file runs on its own, in a bare interpreter, and replaces itself by the program: nothing of it stays. It exists
because the wish to die with the parent has to be spoken inside the child, and code between fork and exec is not safe in
a Python that has threads. The wish survives exec. On systems without it the next start ends what was left behind.

`no-watch` hides inotify from the program. Kubernetes' programs watch their certificate files with up to five instances
each and look once a minute where they cannot; ours never change. Most systems allow a user 128 instances, which three
fleets and an editor use up, and then programs that cannot do without end.
"""

import ctypes
import os
import platform
import signal
import struct
import sys

PR_SET_PDEATHSIG = 1
PR_SET_SECCOMP = 22
PR_SET_NO_NEW_PRIVS = 38
SECCOMP_MODE_FILTER = 2

# By machine: the kernel's name for its system calls, and the number of inotify_init1 among them.
INOTIFY = {"x86_64": (0xC000003E, 294), "aarch64": (0xC00000B7, 26)}
LOAD, JUMP_IF_EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, REFUSE_AS_NOT_IMPLEMENTED = 0x7FFF0000, 0x00050000 | 38


class SeccompProgram(ctypes.Structure):
    """A filter as the kernel takes it."""

    _fields_ = [("length", ctypes.c_ushort), ("instructions", ctypes.c_void_p)]


def hide_inotify() -> None:
    """Make inotify look as if this kernel had none; where filters are not allowed everything stays as it is."""
    known = INOTIFY.get(platform.machine())
    if known is None:
        return
    machine, number = known
    code = b"".join(
        struct.pack("HBBI", *instruction)
        for instruction in (
            (LOAD, 0, 0, 4),  # which machine the call is for
            (JUMP_IF_EQUAL, 0, 3, machine),
            (LOAD, 0, 0, 0),  # which call it is
            (JUMP_IF_EQUAL, 0, 1, number),
            (RETURN, 0, 0, REFUSE_AS_NOT_IMPLEMENTED),
            (RETURN, 0, 0, ALLOW),
        )
    )
    buffer = ctypes.create_string_buffer(code, len(code))
    program = SeccompProgram(len(code) // 8, ctypes.addressof(buffer))
    kernel = ctypes.CDLL(None)
    kernel.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    kernel.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.byref(program), 0, 0)


def main() -> None:
    """Ask to die with the parent, then become the program."""
    parent, watch, program = int(sys.argv[1]), sys.argv[2] == "watch", sys.argv[3]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
        if not watch:
            hide_inotify()
    if os.getppid() != parent:
        sys.exit(f"process {parent} ended before {program} started")
    # Python ignores these two; a program must not inherit that.
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
    os.execv(program, sys.argv[3:])


if __name__ == "__main__":
    main()
