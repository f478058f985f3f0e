"""The stages that kwok plays: those that the stories rely on are there and touch only what they may."""

from importlib.resources import files

import pytest
import yaml


@pytest.fixture
def stages():
    text = (files("fleetqueue.real") / "stages.yaml").read_text()
    return {stage["metadata"]["name"]: stage["spec"] for stage in yaml.safe_load_all(text)}


def test_every_life_has_a_beginning_and_an_end(stages):
    assert set(stages) == {"node-comes-up", "node-beats", "pod-runs", "pod-of-a-job-ends", "pod-goes"}


def test_nodes_keep_the_capacity_that_others_wrote(stages):
    templates = [
        patch["template"] for name in ("node-comes-up", "node-beats") for patch in stages[name]["next"]["patches"]
    ]

    assert not any("capacity" in template or "allocatable" in template for template in templates)


def test_a_pod_of_a_job_runs_as_long_as_it_asks(stages):
    expression = stages["pod-of-a-job-ends"]["delay"]["durationFrom"]["expressionFrom"]

    assert expression.index("fleetqueue.dev/run-for") < expression.index("args[0]") < expression.index("sleep")
