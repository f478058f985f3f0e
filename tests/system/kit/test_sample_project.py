"""The sample project is tested as its author would test it: the built wheel in a fresh environment, with kopf."""

import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "samples" / "testing-your-operator"
UV = Path(sys.executable).with_name("uv")
INSTALL_SECONDS = 300
"""A tenth of it is enough where the packages are near."""
TEST_SECONDS = 240
"""It took two minutes on two cores with ten other programs at work, and much less where there are none."""

A_PROJECT = """
[project]
name = "sample"
version = "0"
[build-system]
requires = ["setuptools"]
build-backend = "setuptools.build_meta"
[tool.setuptools]
packages = []
"""

pytestmark = pytest.mark.timeout(2 * INSTALL_SECONDS + 4 * TEST_SECONDS)


def run(*command, seconds, cwd=ROOT, **environ):
    left_out = ("PYTHONPATH", "PYTHONDONTWRITEBYTECODE")
    environment = {name: value for name, value in os.environ.items() if name not in left_out} | environ
    return subprocess.run(
        command, cwd=cwd, env=environment, timeout=seconds, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """Copy the sample, with an environment of its own that has our wheel and what the sample asks for."""
    folder = tmp_path_factory.mktemp("sample")
    shutil.copytree(SAMPLE, folder / "project", ignore=shutil.ignore_patterns("__pycache__", ".pytest_cache"))
    built = run(UV, "build", "--wheel", "--out-dir", folder, seconds=INSTALL_SECONDS)
    assert built.returncode == 0, built.stdout
    (wheel,) = folder.glob("fleetqueue-*.whl")
    environment = str(folder / "environment")
    run(UV, "venv", "--python", sys.executable, environment, seconds=INSTALL_SECONDS)
    install = (UV, "pip", "install", "--compile-bytecode", wheel, *asked_for())
    installed = run(*install, seconds=INSTALL_SECONDS, VIRTUAL_ENV=environment)
    if installed.returncode != 0:
        reason = f"kopf and what else the sample needs cannot be installed here: {installed.stdout[-300:]}"
        pytest.fail(reason) if os.environ.get("FLEETQUEUE_CI") else pytest.skip(reason)
    return folder / "project"


def asked_for():
    asked = tomllib.loads((SAMPLE / "pyproject.toml").read_text())
    return [
        one for one in (*asked["project"]["dependencies"], *asked["dependency-groups"]["test"]) if one != "fleetqueue"
    ]


def outcome_of(project, *options):
    python = project.parent / "environment" / "bin" / "python"
    return run(python, "-m", "pytest", "-p", "no:cacheprovider", *options, seconds=TEST_SECONDS, cwd=project).stdout


def test_its_tests_pass_in_both_kinds_of_time(project):
    said = outcome_of(project, "-q", "--durations=12")

    assert re.search(r"^6 passed in", said, re.MULTILINE), said


def shown(kind):
    """Return the first example of a kind that the guide to testing shows."""
    page = (ROOT / "docs" / "en" / "guides" / "testing.md").read_text()
    return re.search(rf"^```{kind}\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)[1]


def test_tox_runs_the_first_test_of_the_guide_with_the_settings_of_the_guide(project, tmp_path):
    """The project is one that is installed from nothing, and tox is in an environment of its own."""
    (tmp_path / "pyproject.toml").write_text(A_PROJECT)
    (tmp_path / "tox.ini").write_text(shown("ini"))
    (tmp_path / "test_job.py").write_text(shown("python"))
    environment = tmp_path / ".tox-itself"
    run(UV, "venv", "--python", sys.executable, environment, seconds=INSTALL_SECONDS)
    installed = run(UV, "pip", "install", "tox", seconds=INSTALL_SECONDS, VIRTUAL_ENV=str(environment))
    if installed.returncode != 0:
        pytest.skip(f"tox cannot be installed here: {installed.stdout[-300:]}")

    tox = environment / "bin" / "tox"
    ended = run(tox, seconds=INSTALL_SECONDS + TEST_SECONDS, cwd=tmp_path, PIP_FIND_LINKS=str(project.parent))

    assert ended.returncode == 0, ended.stdout
    assert re.search(r"1 passed in", ended.stdout), ended.stdout


def test_its_readme_names_what_it_asks_for():
    groups = tomllib.loads((SAMPLE / "pyproject.toml").read_text())["dependency-groups"]

    assert list(groups) == ["test"]
    assert "pip install -e . --group test\npytest\n" in (SAMPLE / "README.md").read_text()
