"""What the guide to testing shows works as it stands there, in both languages."""

import configparser
import os
import re
from pathlib import Path

import pytest
import yaml

from tests.deploy import built_tools

ROOT = Path(__file__).parents[3]
SAMPLE = ROOT / "samples" / "testing-your-operator"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)

pytestmark = pytest.mark.timeout(300)


def blocks(language, kind):
    page = (ROOT / "docs" / language / "guides" / "testing.md").read_text()
    return [body for found, body in BLOCK.findall(page) if found == kind]


def code(language):
    return "\n\n".join(blocks(language, "python"))


names: dict[str, object] = {"__name__": "guide"}
exec(compile(code("en"), "docs/en/guides/testing.md", "exec"), names)
globals().update({name: found for name, found in names.items() if name.startswith("test_")})


@pytest.fixture(autouse=True)
def beside_the_sample(monkeypatch, request):
    """Let tests of the guide find the files of the sample project, and kubectl where they call it."""
    monkeypatch.chdir(SAMPLE)
    if request.node.name == "test_a_program_in_any_language":
        monkeypatch.setenv("PATH", f"{built_tools.kubectl().parent}{os.pathsep}{os.environ['PATH']}")


def test_both_languages_show_the_same_code():
    for kind in ("python", "console", "ini", "yaml"):
        assert blocks("en", kind) == blocks("zh", kind)


def test_the_guide_has_no_block_that_no_test_reads():
    page = (ROOT / "docs" / "en" / "guides" / "testing.md").read_text()

    assert {kind for kind, _ in BLOCK.findall(page)} == {"python", "console", "ini", "yaml"}
    assert "test_a_job_takes_its_time" in names


def test_tox_installs_what_a_first_test_needs():
    (text,) = blocks("en", "ini")
    tox = configparser.ConfigParser()
    tox.read_string(text)
    (install,) = blocks("en", "console")

    asked = tox["testenv"]["deps"].split()
    assert asked[0] == "fleetqueue"
    assert asked[2] in install
    assert tox["testenv"]["commands"] == "pytest {posargs}"


def test_the_workflow_uses_the_actions_as_they_are():
    (text,) = blocks("en", "yaml")
    steps = [step for step in yaml.safe_load(text)["jobs"]["e2e"]["steps"] if "fleetqueue" in step.get("uses", "")]

    for step in steps:
        folder = re.fullmatch(r"example-org/fleetqueue/(\S+)@main", step["uses"])[1]
        action = yaml.safe_load((ROOT / folder / "action.yml").read_text())
        assert step.get("with", {}).keys() <= action.get("inputs", {}).keys()
    assert len(steps) == 2
