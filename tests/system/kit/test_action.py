"""The actions for GitHub are what GitHub asks of composite actions, and their steps do what they say."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.core_v1 import Node
from fleetqueue.api.kueue_v1beta2 import ClusterQueue
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / ".github" / "actions" / "fleet"
ACTIONS = {"fleet": FOLDER / "action.yml", "down": FOLDER / "down" / "action.yml"}
STEP_SECONDS = 300
EXPRESSION = re.compile(r"\$\{\{ *([\w.-]+) *\}\}")

pytestmark = pytest.mark.timeout(4 * STEP_SECONDS)


def action(name):
    return yaml.safe_load(ACTIONS[name].read_text())


@pytest.mark.parametrize("name", ACTIONS)
def test_it_has_the_fields_of_a_composite_action(name):
    """As in https://docs.github.com/en/actions/reference/workflows-and-actions/metadata-syntax."""
    found = action(name)

    assert found.keys() <= {"name", "description", "inputs", "outputs", "runs"}
    assert {"name", "description", "runs"} <= found.keys()
    assert found["runs"].keys() == {"using", "steps"}
    assert found["runs"]["using"] == "composite"
    for one in found.get("inputs", {}).values():
        assert one.keys() == {"description", "default"}
        assert isinstance(one["default"], str)
    for one in found.get("outputs", {}).values():
        assert one.keys() == {"description", "value"}


@pytest.mark.parametrize("name", ACTIONS)
def test_a_step_runs_a_named_shell_or_uses_a_fixed_version(name):
    for step in action(name)["runs"]["steps"]:
        assert step.keys() <= {"name", "id", "if", "uses", "with", "shell", "env", "run"}
        assert ("run" in step) != ("uses" in step)
        assert step.get("shell", "bash") == "bash"
        assert ("shell" in step) == ("run" in step)
        assert "uses" not in step or re.fullmatch(r"[\w-]+/[\w-]+@v\d+", step["uses"])
        assert "${{" not in step.get("run", ""), "an input is no part of a script: it comes in the environment"


def test_every_input_is_used_and_every_expression_is_known():
    text, inputs = ACTIONS["fleet"].read_text(), action("fleet")["inputs"]
    used = set(EXPRESSION.findall(text))

    assert used == {*(f"inputs.{name}" for name in inputs), "github.action_path", "steps.start.outputs.kubeconfig"}


class Runner:
    """What a runner of GitHub gives the steps of a job."""

    def __init__(self, folder):
        self.files = {name: folder / name for name in ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT")}
        for file in self.files.values():
            file.touch()
        programs = folder / "bin"
        programs.mkdir()
        (programs / "python").symlink_to(sys.executable)
        self.environ = {
            **{name: value for name, value in os.environ.items() if name != "KUBECONFIG"},
            **{name: str(file) for name, file in self.files.items()},
            "RUNNER_TEMP": str(folder),
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        }

    def use(self, name, **inputs):
        """Run the shell steps of an action."""
        found = action(name)
        given = {name: one["default"] for name, one in found.get("inputs", {}).items()} | inputs
        known = {f"inputs.{name}": value for name, value in given.items()} | {"github.action_path": str(FOLDER)}
        for step in found["runs"]["steps"]:
            if "run" in step:
                env = {key: EXPRESSION.sub(lambda m: known[m[1]], value) for key, value in step.get("env", {}).items()}
                self._run(step["run"], env)

    def _run(self, script, env):
        shell = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)
        environ = self.environ | env
        done = subprocess.run(shell, env=environ, timeout=STEP_SECONDS, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr

    def told(self, file):
        return dict(line.partition("=")[::2] for line in self.files[file].read_text().splitlines())


@pytest.fixture(scope="module")
def runner(tmp_path_factory):
    """One runner for all: its steps install the package anew, and what that needs only once."""
    if shutil.which("bash") is None:
        pytest.skip("there is no bash")
    return Runner(tmp_path_factory.mktemp("runner"))


async def looked_at(runner, context, kind):
    """Return the names of what later steps of the job find; None where the kind is not served."""
    client = connect(load(Path(runner.told("GITHUB_ENV")["KUBECONFIG"]), context))
    try:
        if not await client.serves(kind.resource):
            return None
        return [item["metadata"]["name"] for item in (await client.list(kind.resource)).items]
    finally:
        await client.close()


@pytest.mark.parametrize(
    ("scenario", "members"),
    [
        pytest.param("none", None, id="bare clusters"),
        pytest.param("multikueue", ["cluster1"], id="with Kueue and OCM"),
    ],
)
async def test_its_steps_start_a_fleet_that_later_steps_find_and_end_it(runner, scenario, members):
    runner.use("fleet", workers="1", scenario=scenario)
    try:
        nodes = await looked_at(runner, "cluster1", Node)
        clusters = await looked_at(runner, "hub", ManagedCluster)
        queues = await looked_at(runner, "hub", ClusterQueue)
    finally:
        runner.use("down")

    kubeconfig = Path(runner.told("GITHUB_ENV")["KUBECONFIG"])
    assert nodes == ["cluster1-control-plane"]
    assert (clusters, queues is None) == (members, members is None)
    assert runner.told("GITHUB_OUTPUT") == {"kubeconfig": str(kubeconfig)}
    assert not kubeconfig.parent.exists()
