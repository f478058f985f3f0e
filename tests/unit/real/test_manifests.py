"""Definitions, collected and made ready for a cluster."""

import pytest

from fleetqueue.lab.errors import EngineError
from fleetqueue.real import manifests


def test_definitions_are_collected_from_the_folders_of_a_module(tmp_path):
    (tmp_path / "v1").mkdir()
    (tmp_path / "v1" / "a.crd.yaml").write_text("kind: CustomResourceDefinition\n---\nkind: Other\n---\n")

    assert manifests.crds(tmp_path, ["*/*.crd.yaml"]) == [{"kind": "CustomResourceDefinition"}]


def test_a_folder_without_one_of_the_definitions_is_an_error(tmp_path):
    (tmp_path / "a.yaml").write_text("kind: CustomResourceDefinition\n")

    with pytest.raises(EngineError, match=r"has no file b\*\.yaml; engine/parts\.py names the wrong folder"):
        manifests.crds(tmp_path, ["a.yaml", "b*.yaml"])


def test_a_definition_is_served_without_prose_pods_and_its_operators_conversion():
    schema = {
        "description": "prose",
        "properties": {
            "description": {"type": "string", "description": "prose"},
            "podSpec": {"properties": {"containers": {}, "initContainers": {}}, "required": ["containers"]},
        },
        "x-kubernetes-validations": [{"rule": "self.x"}],
    }
    version = {"name": "v1", "served": True, "schema": {"openAPIV3Schema": schema}}
    conversion = {"strategy": "Webhook", "webhook": {"clientConfig": {}}}

    made = manifests.light({"kind": "C", "spec": {"group": "g", "versions": [version], "conversion": conversion}})

    bare = {
        "properties": {
            "description": {"type": "string"},
            "podSpec": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        },
        "x-kubernetes-validations": [{"rule": "self.x"}],
    }
    assert made["spec"]["versions"] == [version | {"schema": {"openAPIV3Schema": bare}}]
    assert made["spec"]["conversion"] == {"strategy": "None"}
    assert made["spec"]["group"] == "g"


def test_what_is_written_is_read_again(tmp_path):
    manifests.write(tmp_path / "list.json", [{"kind": "A"}])

    assert manifests.read(tmp_path / "list.json") == [{"kind": "A"}]
