"""Ctrl-C in the terminal of a fleet: it is ended, and the exit code says whether it had been up."""

import os
import signal
import subprocess
import sys

import pytest

COMMAND = (sys.executable, "-m", "fleetqueue", "up", "--workers", "1", "--in-memory", "--data-dir")


def listening() -> None:
    """Let Ctrl-C through also where the tests run in the background of a shell."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.parametrize(
    ("scenario", "line", "code"),
    [
        pytest.param("multikueue", "hub answers at", 130, id="while it is set up"),
        pytest.param("none", "To look at it", 0, id="when it is up"),
    ],
)
def test_an_interrupt_ends_a_fleet(tmp_path, scenario, line, code):
    fleet = subprocess.Popen(
        (*COMMAND, str(tmp_path), "--scenario", scenario),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=listening,
    )
    assert any(line in printed for printed in fleet.stdout)

    os.kill(fleet.pid, signal.SIGINT)
    rest = fleet.communicate()[0]

    assert fleet.returncode == code
    assert "Traceback" not in rest
    assert not (tmp_path / "control.sock").exists()
