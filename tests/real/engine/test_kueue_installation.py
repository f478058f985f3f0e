"""Kueue's configuration is found where Kueue's own manifests and its own Helm chart put it."""

import subprocess

import pytest
import yaml

from fleetqueue.api.kueue_configuration import read
from fleetqueue.api.kueue_installation import MANAGER_LABELS, KueueDeployment, key_in, source_of
from fleetqueue.real import manifests
from fleetqueue.real.parts import KUEUE_VERSION
from tests.deploy import built_tools

pytestmark = pytest.mark.real


def configuration_in(objects):
    """Return what the manager of an installation reads, found as it is found on a hub."""
    label, _, value = MANAGER_LABELS.partition("=")
    deployments = [obj for obj in objects if obj["kind"] == "Deployment"]
    managers = [d for d in deployments if d["metadata"]["labels"].get(label) == value]
    source = source_of(map(KueueDeployment.view, managers))
    pods = [d["spec"]["template"]["metadata"]["labels"] for d in managers if d["metadata"]["name"] == source.deployment]
    config_maps = {obj["metadata"]["name"]: obj["data"] for obj in objects if obj["kind"] == "ConfigMap"}
    data = config_maps[source.config_map]
    assert [pod.get(label) for pod in pods] == [value]
    assert source.selector.items() <= pods[0].items()
    return source.config_map, read(data[key_in(data, source.key)])


def test_kueues_own_manifests(layout):
    config_map, configuration = configuration_in(manifests.read(layout.kueue_manifests))

    assert config_map == "kueue-manager-config"
    assert "jobset.x-k8s.io/jobset" in configuration.frameworks


def test_kueues_own_helm_chart(module):
    chart = module(f"sigs.k8s.io/kueue@v{KUEUE_VERSION}") / "charts" / "kueue"
    command = [built_tools.helm(), "template", "batch", str(chart), "--namespace", "kueue-system"]
    rendered = subprocess.run(command, capture_output=True, text=True, check=True).stdout

    config_map, configuration = configuration_in([obj for obj in yaml.safe_load_all(rendered) if obj])

    assert config_map == "batch-kueue-manager-config"
    assert "jobset.x-k8s.io/jobset" in configuration.frameworks
