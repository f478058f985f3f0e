"""Run the command line in this process."""

import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from fleetqueue.cli.main import main


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str


@pytest.fixture
def fleetqueue(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path) -> Callable[..., Result]:
    """`fleetqueue("get", "clusters")`, as typed by somebody without any kubeconfig or fleet."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    for name in ("KUBECONFIG", "FLEETQUEUE_DEBUG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> Result:
        monkeypatch.setattr(sys, "argv", ["fleetqueue", *arguments])
        with pytest.raises(SystemExit) as ended:
            main()
        printed = capsys.readouterr()
        return Result(ended.value.code or 0, printed.out, printed.err)

    return run
