"""The plugin in a project of somebody else, that has no configuration of ours."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SOURCES = Path(__file__).parents[3] / "src"
THEIRS = """
import asyncio
import pytest
from fleetqueue.api.core_v1 import ConfigMap

@pytest.fixture
def one_map(fleet):
    fleet.hub.add(ConfigMap.manifest("a", "default"))

@pytest.mark.fleet(parts=False)
async def test_a_day_passes(fleet, one_map):
    await fleet.advance("24h")
    assert fleet.hub.get(ConfigMap, "a", "default")

@pytest.mark.asyncio
async def test_others_have_the_loop_that_they_had():
    assert isinstance(asyncio.get_running_loop(), type(asyncio.new_event_loop()))

def test_without_async(fleet):
    pass
"""
THEIR_OWN = """
import asyncio
import pytest

@pytest.fixture
def fleet():
    return ["a ship"]

@pytest.mark.asyncio
async def test_theirs(fleet):
    assert fleet == ["a ship"]
    assert isinstance(asyncio.get_running_loop(), type(asyncio.new_event_loop()))

async def test_without_a_mark(fleet):
    pass
"""
WITHOUT_ASYNCIO = "import sys; sys.modules['pytest_asyncio'] = None; import pytest; sys.exit(pytest.main(sys.argv[1:]))"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "test_theirs.py").write_text(THEIRS)
    return tmp_path


def run_pytest(project, *program):
    options = ["-p", "fleetqueue.testing.plugin", "-p", "no:cacheprovider", "-rA", "-W", "ignore"]
    environ = {**os.environ, "PYTHONPATH": str(SOURCES), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, *program, *options]
    return subprocess.run(command, cwd=project, env=environ, capture_output=True, text=True).stdout


def test_an_async_test_just_asks_for_a_fleet(project):
    said = run_pytest(project, "-m", "pytest", "-p", "pytest_asyncio.plugin")

    assert "PASSED test_theirs.py::test_a_day_passes" in said
    assert "PASSED test_theirs.py::test_others_have_the_loop_that_they_had" in said
    assert "ERROR test_theirs.py::test_without_async" in said
    assert "a test that uses the fixture `fleet` must be `async def`" in said


def test_without_pytest_asyncio_it_says_what_to_install(project):
    said = run_pytest(project, "-c", WITHOUT_ASYNCIO, "-k", "a_day_passes")

    assert "the fixture `fleet` needs pytest-asyncio 1.4 or newer: pip install" in said


def test_a_fixture_of_the_same_name_is_left_alone(project):
    (project / "test_theirs.py").write_text(THEIR_OWN)

    said = run_pytest(project, "-m", "pytest", "-p", "pytest_asyncio.plugin")

    assert "PASSED test_theirs.py::test_theirs" in said
    assert "FAILED test_theirs.py::test_without_a_mark - Failed: async def functions are" in said
