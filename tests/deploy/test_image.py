"""The image's build steps work on exactly the files of its context, in an empty folder.

Without Docker: the instructions of the build stage are followed by hand, with the locked uv and with the image's Python
where the machine has it, else with the tests' own.
"""

import fnmatch
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests.deploy import repository
from tests.deploy.repository import ROOT

DOCKERFILE = ROOT / "deploy" / "Dockerfile"
IGNORED = DOCKERFILE.with_name("Dockerfile.dockerignore")
UV = Path(sys.executable).with_name("uv")
SECONDS = 300


def instructions(stage: str) -> Iterator[tuple[str, str]]:
    """Yield the instructions of one stage, each with its arguments."""
    inside = False
    for line in DOCKERFILE.read_text().replace("\\\n", " ").splitlines():
        word, _, rest = line.partition(" ")
        if word == "FROM":
            inside = rest.endswith(f" AS {stage}")
        elif inside and word and not word.startswith("#"):
            yield word, rest


def in_context(path: str) -> bool:
    """Tell whether a file is sent to the builder: the last pattern that names it, or a folder above it, decides."""
    sent = True
    for line in IGNORED.read_text().split():
        if any(matches(above, line.removeprefix("!")) for above in (path, *map(str, Path(path).parents))):
            sent = line.startswith("!")
    return sent


def matches(path: str, pattern: str) -> bool:
    """Tell whether a pattern names a path; a star stays within one folder, two stars are folders of any depth."""
    if pattern.startswith("**/"):
        return fnmatch.fnmatchcase(Path(path).name, pattern.removeprefix("**/"))
    return path.count("/") == pattern.count("/") and fnmatch.fnmatchcase(path, pattern)


def context() -> list[str]:
    """Return the files of the repository that are sent."""
    return [path for path in repository.files() if in_context(path)]


def copied(sources: list[str], target: str) -> Iterator[tuple[str, str]]:
    """Yield what COPY does: each file of the context that it names, and where it comes to lie."""
    for source in sources:
        found = [path for path in context() if path == source or path.startswith(f"{source}/")]
        assert found, f"COPY {source}: there is no such file in the context"
        for path in found:
            yield path, str(Path(target, path if path == source else Path(path).relative_to(source)))


@pytest.fixture(scope="module")
def python() -> str:
    """Return a Python of the version that the image has, or else the one that runs the tests."""
    wanted = re.search(r"^FROM python:([\d.]+)", DOCKERFILE.read_text(), re.MULTILINE)
    assert wanted
    pyenv = Path(os.environ.get("PYENV_ROOT") or "~/.pyenv").expanduser()
    for program in (f"python{wanted[1]}", *sorted(pyenv.glob(f"versions/{wanted[1]}.*/bin/python3"))):
        with suppress(OSError):
            known = subprocess.run([program, "-c", "import sys; print(sys.executable)"], capture_output=True, text=True)
            if known.returncode == 0:
                return known.stdout.strip()
    return sys.executable


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory, python: str) -> Path:
    """Follow the instructions of the build stage; return the environment that they make."""
    folder = tmp_path_factory.mktemp("image")
    made, source = folder / "environment", folder / "source"
    environ = dict(os.environ)
    for word, rest in instructions("build"):
        if word == "ENV":
            environ |= dict(pair.split("=", 1) for pair in shlex.split(rest))
            environ["UV_PROJECT_ENVIRONMENT"] = str(made)
        elif word == "COPY":
            *sources, target = shlex.split(rest)
            for path, place in copied(sources, target):
                (source / place).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / path, source / place)
        elif word == "RUN" and rest.startswith("uv "):
            command = [python if part == "/usr/local/bin/python3" else part for part in shlex.split(rest)[1:]]
            subprocess.run([UV, *command], cwd=source, env=environ, check=True, timeout=SECONDS)
        else:
            assert word == "WORKDIR" or rest.startswith("pip install"), f"{word} {rest}: teach this test to follow it"
    return made


def run(environment: Path, folder: Path, *command: str) -> str:
    """Run the installed command as the image would: outside every checkout."""
    program = environment / "bin" / "fleetqueue"
    return subprocess.run([program, *command], cwd=folder, capture_output=True, text=True, check=True).stdout


@pytest.mark.timeout(SECONDS)
def test_the_image_has_a_command_that_starts_and_finds_what_the_image_carries(environment, tmp_path):
    (manifests,) = environment.glob("lib/python3.*/site-packages/fleetqueue/manifests")

    assert "controller" in run(environment, tmp_path, "--help")
    assert "kind: Deployment" in run(environment, tmp_path, "manifests")
    assert "job-demo1.yaml" in run(environment, tmp_path, "examples")
    for folder in ("deploy/charts", "deploy/kustomize", "deploy/ocm", "examples"):
        shipped = {path.relative_to(manifests).as_posix() for path in (manifests / folder).rglob("*") if path.is_file()}
        assert shipped == {path for path in context() if path.startswith(f"{folder}/")}


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        pytest.param("pyproject.toml", True, id="a file that is named"),
        pytest.param("src/fleetqueue/__init__.py", True, id="a file of a folder that is named"),
        pytest.param("src/fleetqueue/__pycache__/x.pyc", False, id="what Python leaves behind"),
        pytest.param("deploy/kustomize/namespace.yaml", True, id="a folder below one that is not named"),
        pytest.param("deploy/Dockerfile", False, id="beside such a folder"),
        pytest.param("tests/real/product/conftest.py", False, id="all else"),
    ],
)
def test_the_context_is_what_the_build_needs(path, sent):
    assert in_context(path) is sent
