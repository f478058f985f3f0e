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
from tests.system.asking import check_answers_at

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / ".github" / "actions" / "fleet"
ACTIONS = {"fleet": FOLDER / "action.yml", "down": FOLDER / "down" / "action.yml"}
STEP_SECONDS = 300
EXPRESSION = re.compile(r"\$\{\{ *([\w.-]+) *\}\}")

pytestmark = pytest.mark.timeout(4 * STEP_SECONDS)


def action(name):
    return yaml.safe_load(ACTIONS[name].read_text())


def refusal(schema, file):
    """Return what the schema that GitHub's own editors use finds wrong with a file; empty where it is right."""
    command = (sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.github-{schema}", str(file))
    done = subprocess.run(command, timeout=STEP_SECONDS, capture_output=True, text=True)
    return done.stdout + done.stderr if done.returncode else ""


def test_every_action_and_workflow_is_what_github_asks_for():
    folder = ROOT / ".github"
    found = sorted(folder.rglob("action.y*ml"))
    workflows = sorted((folder / "workflows").glob("*.y*ml"))

    assert found == sorted(ACTIONS.values())
    assert {path: why for path in found if (why := refusal("actions", path))} == {}
    assert {path: why for path in workflows if (why := refusal("workflows", path))} == {}


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_workflow_in_the_guide_is_what_github_asks_for(language, tmp_path):
    page = (ROOT / "docs" / language / "guides" / "testing.md").read_text()
    (workflow,) = re.findall(r"^```yaml\n(.*?)^```$", page, re.MULTILINE | re.DOTALL)
    (tmp_path / "e2e.yml").write_text(workflow)

    assert refusal("workflows", tmp_path / "e2e.yml") == ""


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("description: How many", "descripton: How many", id="a field of an input"),
        pytest.param("      shell: bash\n", "", id="a step without a shell"),
        pytest.param("using: composite", "using: composit", id="a kind of action that there is not"),
        pytest.param("      id: start", "      ident: start", id="a field of a step"),
        pytest.param("steps:", "stages:", id="no steps"),
    ],
)
def test_a_mistake_in_an_action_is_found(tmp_path, before, after):
    text = ACTIONS["fleet"].read_text()
    (tmp_path / "action.yml").write_text(text.replace(before, after))

    assert before in text
    assert refusal("actions", tmp_path / "action.yml") != ""


@pytest.mark.parametrize("name", ACTIONS)
def test_an_input_has_a_text_for_what_is_not_given(name):
    assert all(isinstance(one["default"], str) for one in action(name).get("inputs", {}).values())


@pytest.mark.parametrize("name", ACTIONS)
def test_a_step_runs_a_named_shell_or_uses_a_fixed_version(name):
    assert action(name)["runs"]["using"] == "composite"
    for step in action(name)["runs"]["steps"]:
        assert step.get("shell", "bash") == "bash"
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
        check_answers_at(Path(runner.told("GITHUB_ENV")["KUBECONFIG"]))
    finally:
        runner.use("down")

    kubeconfig = Path(runner.told("GITHUB_ENV")["KUBECONFIG"])
    assert nodes == ["cluster1-control-plane"]
    assert (clusters, queues is None) == (members, members is None)
    assert runner.told("GITHUB_OUTPUT") == {"kubeconfig": str(kubeconfig)}
    assert not kubeconfig.parent.exists()
