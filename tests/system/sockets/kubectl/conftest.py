"""kubectl of the engine, in a namespace of each test's own: `kubectl("get", "cm")` returns what it printed."""

import os
import subprocess
import time
from pathlib import Path

import pytest
import yaml

from fleetqueue.real import layout

LIMIT_SECONDS = 60


class Kubectl:
    def __init__(self, program: Path, kubeconfig: Path, home: Path) -> None:
        self.program = program
        self.environ = {**os.environ, "KUBECONFIG": str(kubeconfig), "HOME": str(home), "NO_COLOR": "1"}

    def __call__(self, *arguments: str, content: str | None = None, code: int = 0) -> str:
        """Run it to its end; what it prints is stdout and stderr together."""
        done = subprocess.run(
            [self.program, *arguments],
            input=content or "",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=self.environ,
            text=True,
            timeout=LIMIT_SECONDS,
            check=False,
        )
        assert done.returncode == code, done.stdout
        return done.stdout

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """Start something that takes its time."""
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "stdin": subprocess.DEVNULL}
        return subprocess.Popen([self.program, *arguments], env=self.environ, text=True, **pipes)

    def eventually(self, *arguments: str, prints: str) -> None:
        """Run it again and again until it prints just this."""
        deadline = time.monotonic() + LIMIT_SECONDS
        while (printed := self(*arguments)) != prints:
            assert time.monotonic() < deadline, printed


@pytest.fixture(scope="session")
def home(tmp_path_factory):
    """Where it keeps what it knows of servers."""
    return tmp_path_factory.mktemp("home")


@pytest.fixture
def kubectl(cluster, home, tmp_path):
    program = layout.planned().binary("kubectl")
    if not program.is_file():
        pytest.skip("kubectl is not built: run `fleetqueue engine build`")
    content = yaml.safe_load(cluster.kubeconfig.read_text())
    space = f"t{time.monotonic_ns()}"
    content["contexts"][0]["context"]["namespace"] = space
    path = tmp_path / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    kubectl = Kubectl(program, path, home)
    kubectl.space = space
    kubectl("create", "namespace", space)
    yield kubectl
    kubectl("delete", "namespace", space, "--wait=false")


@pytest.fixture
def editor(kubectl, tmp_path):
    """Let `kubectl edit` change a file with sed: `editor("s/before/after/")`."""

    def use(change: str) -> None:
        path = tmp_path / "editor"
        path.write_text(f"#!/bin/sh\nsed -i '{change}' \"$1\"\n")
        path.chmod(0o755)
        kubectl.environ["KUBE_EDITOR"] = str(path)

    return use
