"""The facts table and the protobuf decoder against Kubernetes' own Go modules, which say what is right."""

import base64
import importlib.util
import json
import subprocess
import zlib
from pathlib import Path

import pytest
from msgspec import UNSET

from fleetqueue.api import errors
from fleetqueue.embedded.apiserver.kinds import facts, protobuf
from fleetqueue.embedded.apiserver.kinds.table import table

# From an empty Go cache, building the programs takes minutes.
pytestmark = [pytest.mark.real, pytest.mark.timeout(1800)]

TOOLS = Path(__file__).parents[3] / "tools"
WITH_THEIR_OWN_JSON = 11
"""Types in OpenAPI that the table does not describe: times, quantities and their like."""


@pytest.fixture(scope="session")
def generator(module):
    """The program that writes the table, as a module; what it needs is at hand."""
    module("k8s.io/kubernetes@v1.36.3")
    spec = importlib.util.spec_from_file_location("generate_facts", TOOLS / "generate_facts.py")
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


def test_the_table_is_what_its_generator_writes(generator):
    committed = json.loads(zlib.decompress(generator.TARGET.read_bytes()))

    assert generator.facts() == committed


def test_every_kind_of_the_upstream_test_data_decodes_to_its_json(module):
    folder = module("k8s.io/api@v0.36.3") / "testdata" / "HEAD"
    names = sorted(path.stem for path in folder.glob("*.pb"))

    wrong = [
        name for name in names if decoded(folder / f"{name}.pb") != json.loads((folder / f"{name}.json").read_text())
    ]

    assert len(names) == 185
    assert wrong == []


def decoded(path):
    return protobuf.decode(path.read_bytes(), "", "v1", "WatchEvent")  # the one kind that does not say what it is


def test_random_objects_decode_as_go_decodes_them(module):
    module("k8s.io/client-go@v0.36.3")
    command = ["go", "run", "./samples", "9", "1"]
    lines = subprocess.run(command, cwd=TOOLS / "facts", stdout=subprocess.PIPE, check=True).stdout.splitlines()

    wrong = [sample for line in lines if (sample := json.loads(line.decode(errors="replace"))) and differs(sample)]

    assert len(lines) > 6000
    assert [(sample["version"], sample["kind"], sample["body"]) for sample in wrong] == []


def differs(sample):
    """Compare with Go; of damaged objects we may refuse more, never less."""
    body = base64.b64decode(sample["body"])
    try:
        found = protobuf.decode(body, sample["group"], sample["version"], sample["kind"])
    except errors.BadRequest:
        return not sample["damaged"]
    return found != sample.get("object")


def test_schemas_say_what_the_openapi_documents_say(module):
    documents = module("k8s.io/kubernetes@v1.36.3") / "api" / "openapi-spec" / "v3"
    components = {}
    for path in documents.glob("*__v*_openapi.json"):
        components |= json.loads(path.read_text()).get("components", {}).get("schemas", {})
    described = {name for name in components if name.removeprefix("io.k8s.") in table().types}

    wrong = [name for name in sorted(described) if schema_of(name) != component_of(components[name])]

    assert len(components) - len(described) == WITH_THEIR_OWN_JSON
    assert wrong == []


def schema_of(name):
    found = facts.schema_of_type(name.removeprefix("io.k8s."))
    properties = {key: property_of(value) for key, value in found.properties.items()}
    return properties, sorted(found.required), found.is_atomic


def property_of(schema):
    """Say in one form what OpenAPI says in another."""
    more = (schema.patch_key, ",".join(schema.patch_strategies), None if schema.default is UNSET else schema.default)
    return shape(schema), schema.list_type, tuple(schema.list_keys), *more


def shape(schema):
    if schema.name:
        return schema.name
    inner = schema.items or schema.values
    return schema.type, schema.format, inner and shape(inner)


def component_of(component):
    properties = {key: published_property(value) for key, value in component.get("properties", {}).items()}
    return properties, sorted(component.get("required", ())), component.get("x-kubernetes-map-type") == "atomic"


def published_property(found):
    def extension(name, otherwise):
        return found.get(f"x-kubernetes-{name}", otherwise)

    merging = extension("list-type", "atomic"), tuple(extension("list-map-keys", ()))
    more = extension("patch-merge-key", ""), extension("patch-strategy", ""), found.get("default")
    return published_shape(found), *merging, *more


def published_shape(found):
    reference = found.get("$ref") or next((each["$ref"] for each in found.get("allOf", ())), "")
    if reference:
        return reference.rpartition("/")[2].removeprefix("io.k8s.")
    inner = found.get("items") or found.get("additionalProperties")
    return found.get("type", ""), found.get("format", ""), inner and published_shape(inner)
