"""The program itself: how it ends when somebody presses Ctrl-C before any command runs."""

import subprocess
import sys

import pytest

# Presses Ctrl-C in the very moment in which a module is imported.
INTERRUPTED = """
import os, sys
import _signal as signal

signal.signal(signal.SIGINT, signal.default_int_handler)

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            os.kill(os.getpid(), signal.SIGINT)

sys.meta_path.insert(0, Interrupt())
sys.argv = ["fleetqueue", "get", "clusters"]
from fleetqueue.__main__ import main
main()
"""


@pytest.mark.parametrize(
    "module",
    [
        pytest.param("enum", id="while the first of the standard library is imported"),
        pytest.param("typer", id="while the commands are imported"),
        pytest.param("fleetqueue.admin.listings", id="while a command runs"),
    ],
)
def test_an_interrupt_is_quiet(module):
    ended = subprocess.run([sys.executable, "-c", INTERRUPTED.format(module=module)], capture_output=True, text=True)

    assert ended.returncode == 130
    assert (ended.stdout, ended.stderr) == ("", "")
