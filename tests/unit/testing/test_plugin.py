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

@pytest.mark.fleet(scenario="api")
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
SCOPE = "asyncio_default_fixture_loop_scope = function"
WITHOUT_ASYNCIO = "import sys; sys.modules['pytest_asyncio'] = None; import pytest; sys.exit(pytest.main(sys.argv[1:]))"


@pytest.fixture
def project(tmp_path):
    (tmp_path / "test_theirs.py").write_text(THEIRS)
    return tmp_path


def run_pytest(project, *program, warnings="ignore"):
    options = ["-p", "fleetqueue.testing.plugin", "-p", "no:cacheprovider", "-rA", "-W", warnings]
    environ = {**os.environ, "PYTHONPATH": str(SOURCES), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [sys.executable, *program, *options]
    return subprocess.run(command, cwd=project, env=environ, capture_output=True, text=True).stdout


def test_an_async_test_just_asks_for_a_fleet(project):
    said = run_pytest(project, "-m", "pytest", "-p", "pytest_asyncio.plugin")

    assert "PASSED test_theirs.py::test_a_day_passes" in said
    assert "PASSED test_theirs.py::test_others_have_the_loop_that_they_had" in said
    assert "ERROR test_theirs.py::test_without_async" in said
    assert "a test that uses the fixture `fleet` must be `async def`" in said


@pytest.mark.parametrize("mode", ["auto", "strict"])
def test_both_modes_of_pytest_asyncio_will_do_and_nothing_warns(project, mode):
    (project / "pytest.ini").write_text(f"[pytest]\nasyncio_mode = {mode}\n{SCOPE}\nfilterwarnings = error\n")

    said = run_pytest(
        project, "-m", "pytest", "-p", "pytest_asyncio.plugin", "-k", "not without_async", warnings="error"
    )

    assert "2 passed, 1 deselected in" in said, said


def test_tests_can_be_spread_over_processes(project):
    said = run_pytest(project, "-m", "pytest", "-p", "pytest_asyncio.plugin", "-p", "xdist.plugin", "-n", "2")

    assert "PASSED test_theirs.py::test_a_day_passes" in said


@pytest.mark.parametrize(
    ("marker", "answer"),
    [
        ("worker=3", "@pytest.mark.fleet takes these options by name: workers, scenario, seed"),
        ("3", "@pytest.mark.fleet takes these options by name: workers, scenario, seed"),
        ("scenario='kueue'", "there is no scenario 'kueue' here, only api, none, multikueue"),
    ],
)
def test_what_the_marker_cannot_say_is_refused(project, marker, answer):
    (project / "test_theirs.py").write_text(THEIRS.replace('scenario="api"', marker))

    said = run_pytest(project, "-m", "pytest", "-p", "pytest_asyncio.plugin", "-k", "a_day_passes")

    assert answer in said


def test_without_pytest_asyncio_it_says_what_to_install(project):
    said = run_pytest(project, "-c", WITHOUT_ASYNCIO, "-k", "a_day_passes")

    assert "the fixture `fleet` needs pytest-asyncio 1.4 or newer: pip install" in said


def test_a_fixture_of_the_same_name_is_left_alone(project):
    (project / "test_theirs.py").write_text(THEIR_OWN)

    said = run_pytest(project, "-m", "pytest", "-p", "pytest_asyncio.plugin")

    assert "PASSED test_theirs.py::test_theirs" in said
    assert "FAILED test_theirs.py::test_without_a_mark - Failed: async def functions are" in said
