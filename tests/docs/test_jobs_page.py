"""docs/en/guides/jobs.md is typed as a person would, on an embedded fleet, with the real kubectl."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.deploy import built_tools

ROOT = Path(__file__).parents[2]
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def typed(language: str) -> list[str]:
    return BLOCK.findall((ROOT / "docs" / language / "guides" / "jobs.md").read_text())


def test_both_languages_type_the_same():
    assert typed("en") == typed("zh")


@pytest.fixture
def shell(tmp_path):
    """Run lines in a shell with a folder and a state of its own; whatever fleet it started is ended."""
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "kubectl").symlink_to(built_tools.kubectl())
    environ = {**os.environ, "XDG_STATE_HOME": str(tmp_path / "state"), "HOME": str(tmp_path)}
    environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), str(programs), environ["PATH"]])
    environ.pop("KUBECONFIG", None)

    def run(script: str) -> subprocess.CompletedProcess[str]:
        command = ["bash", "-euo", "pipefail", "-c", script]
        return subprocess.run(command, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False)

    yield run
    run("fleetqueue down --delete")


@pytest.mark.timeout(300)
def test_the_page_works_as_it_is_printed(shell):
    result = shell("".join(typed("en")))

    assert result.returncode == 0, result.stdout + result.stderr
    assert "Job/train would be submitted in namespace default, queue user-queue-demo2" in result.stdout
    assert "Job/train, not submitted: Open" in result.stdout
    assert re.search(r"default +Job/train +user-queue-demo2", result.stdout)
    assert re.search(r"succeeded on cluster[23] after", result.stdout)
    assert re.search(r"second-\w+  ended with code 0", result.stdout)
