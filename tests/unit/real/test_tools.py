"""Tools beside the engine: each in a folder of its own, found when it is whole, built once."""

import asyncio

import pytest

from fleetqueue.real import parts, tools


@pytest.fixture
def environ(tmp_path):
    return {"FLEETQUEUE_CACHE": str(tmp_path)}


def test_a_tool_is_not_part_of_the_engine(environ):
    root = tools.planned(tools.HELM, environ).root

    assert root.name == f"helm-v{tools.HELM_VERSION}"
    assert tools.HELM not in parts.PROJECTS
    assert "helm" not in {binary.name for binary in parts.binaries()}


@pytest.mark.parametrize("tool", tools.TOOLS.values(), ids=lambda tool: tool.name)
def test_a_tool_is_found_once_it_is_there(environ, tool):
    before = tools.find(tool, environ)
    program = tools.planned(tool, environ).binary(tool.name)
    program.parent.mkdir(parents=True)
    program.touch()

    assert before is None
    assert tools.find(tool, environ) == program


def test_helm_knows_which_kubernetes_it_renders_for():
    flags = " ".join(tools.HELM.version_flags)

    assert f"chartutil.k8sVersionMinor={parts.KUBERNETES_VERSION.split('.')[1]}" in flags


def test_a_tool_that_is_there_is_not_built_again(environ, monkeypatch):
    monkeypatch.setenv("FLEETQUEUE_CACHE", environ["FLEETQUEUE_CACHE"])
    monkeypatch.setenv("PATH", "")
    program = tools.planned(tools.HELM).binary("helm")
    program.parent.mkdir(parents=True)
    program.touch()
    said = []

    assert asyncio.run(tools.build(tools.HELM, said.append)) == program
    assert said == []
