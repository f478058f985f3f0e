"""`fleetqueue demo` as a person runs it: it can be stopped at any moment, and nothing stays behind."""

import signal
import subprocess
import sys

import pytest

pytestmark = pytest.mark.timeout(180)


def begun(folder, *arguments):
    command = [sys.executable, "-m", "fleetqueue", "demo", *arguments, "--data-dir", str(folder)]
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=_hearing_ctrl_c
    )


def _hearing_ctrl_c():
    """What a shell starts in the background is deaf to it, and so are its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def read_until(stream, words):
    told = ""
    while words not in told:
        line = stream.readline()
        assert line, told
        told += line
    return told


@pytest.mark.parametrize(
    ("stream", "words"),
    [
        pytest.param("stderr", "have joined", id="while it is set up"),
        pytest.param("stdout", "ENV-1", id="in the middle"),
    ],
)
def test_it_can_be_interrupted(tmp_path, stream, words):
    folder = tmp_path / "fleet"
    with begun(folder, "1", "--fast") as demo:
        read_until(getattr(demo, stream), words)

        demo.send_signal(signal.SIGINT)
        _, told = demo.communicate()

    assert demo.returncode == 130
    assert "Traceback" not in told
    assert not folder.exists()
