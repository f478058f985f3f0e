"""The wheel works in an empty environment, outside every checkout, and the source distribution makes the same wheel."""

import os
import re
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from fleetqueue import __version__
from tests.deploy import repository
from tests.deploy.repository import ROOT

pytestmark = pytest.mark.timeout(300)

UV = Path(sys.executable).with_name("uv")
DATA = ("examples/", "deploy/charts/", "deploy/kustomize/", "deploy/ocm/")
"""Folders at the top of the repository that the wheel carries inside `fleetqueue/manifests`."""


def uv(*arguments: str | Path, **environ: str) -> None:
    subprocess.run([UV, *arguments], cwd=ROOT, env=os.environ | environ, check=True, capture_output=True, text=True)


def only(folder: Path, pattern: str) -> Path:
    (path,) = folder.glob(pattern)
    return path


def contents(wheel: Path) -> set[str]:
    """Return the files of a wheel, without its metadata."""
    return {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build what `make build` builds: the source distribution, and from it the wheel."""
    folder = tmp_path_factory.mktemp("dist")
    uv("build", "--out-dir", folder)
    return folder


@pytest.fixture(scope="module")
def fleetqueue(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install the wheel and the locked versions of what it needs; return its command."""
    folder = tmp_path_factory.mktemp("installed")
    environment, locked = folder / "environment", folder / "locked.txt"
    uv("venv", "--python", sys.executable, environment)
    uv("export", "--frozen", "--no-dev", "--no-emit-project", "--output-file", locked)
    uv("pip", "install", "-r", locked, VIRTUAL_ENV=str(environment))
    uv("pip", "install", "--no-deps", only(dist, "*.whl"), VIRTUAL_ENV=str(environment))
    return environment / "bin" / "fleetqueue"


def test_the_wheel_has_the_package_and_its_data_and_nothing_else(dist):
    package = {path.removeprefix("src/") for path in repository.files() if path.startswith("src/")}
    data = {f"fleetqueue/manifests/{path}" for path in repository.files() if path.startswith(DATA)}

    assert contents(only(dist, "*.whl")) == package | data


def test_the_wheel_of_the_source_distribution_is_the_wheel_of_the_checkout(dist, tmp_path):
    uv("build", "--wheel", "--out-dir", tmp_path)

    assert contents(only(dist, "*.whl")) == contents(only(tmp_path, "*.whl"))


def test_the_source_distribution_has_every_file_of_the_repository(dist):
    with tarfile.open(only(dist, "*.tar.gz")) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}

    assert names - {"PKG-INFO"} == set(repository.files())


def test_the_installed_command_tells_its_version_and_runs_a_job_on_an_embedded_fleet(fleetqueue, tmp_path):
    def run(*arguments: str | Path) -> str:
        command = [fleetqueue, *arguments]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert run("--version") == f"fleetqueue {__version__}\n"
    assert "kind: Deployment" in run("manifests")
    assert "job-demo1.yaml" in run("examples")
    assert re.search(r"All \d+ expectations held", run("demo", "1", "--fast", "--data-dir", tmp_path / "fleet"))
