"""Schemas for the tests of patches and ownership: small ones made by hand, and for the recorded cases the real ones."""

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from msgspec import UNSET

from fleetqueue.embedded.apiserver.kinds import facts
from fleetqueue.embedded.apiserver.kinds.schema import ANY, ATOMIC, MAP, SET, Schema

HERE = Path(__file__).parent

TEXT = Schema(type="string")
NAME = Schema(type="string", default="")  # a key of a list that a built-in kind always writes
PROTOCOL = Schema(type="string", default="TCP")
NUMBER = Schema(type="integer")
PORT = Schema(type="integer", default=0)
FLAG = Schema(type="boolean")
QUANTITY = Schema(type="string", format="quantity")
TIME = Schema(type="string", format="date-time")


def struct(*, atomic: bool = False, **fields: Schema) -> Schema:
    """An object with named fields."""
    return Schema(type="object", properties=fields, is_atomic=atomic)


def mapping(values: Schema = TEXT) -> Schema:
    """A map from any name to values of one shape."""
    return Schema(type="object", values=values)


def atomic_list(items: Schema) -> Schema:
    """A list that is one value."""
    return Schema(type="array", items=items)


def scalar_set(items: Schema = TEXT, **marks: Any) -> Schema:
    """A list without doubles."""
    return Schema(type="array", items=items, list_type=SET, **marks)


def keyed_list(items: Schema, *keys: str, patch_key: str = "") -> Schema:
    """A list of objects that are found by their keys."""
    patch_key = patch_key or keys[0]
    return Schema(
        type="array", items=items, list_type=MAP, list_keys=keys, patch_strategies=("merge",), patch_key=patch_key
    )


OWNER_REFERENCE = struct(
    atomic=True, apiVersion=TEXT, kind=TEXT, name=TEXT, uid=NAME, controller=FLAG, blockOwnerDeletion=FLAG
)
METADATA = struct(
    name=TEXT,
    namespace=TEXT,
    generateName=TEXT,
    uid=TEXT,
    resourceVersion=TEXT,
    generation=NUMBER,
    creationTimestamp=TIME,
    deletionTimestamp=TIME,
    labels=mapping(),
    annotations=mapping(),
    finalizers=scalar_set(patch_strategies=("merge",)),
    ownerReferences=keyed_list(OWNER_REFERENCE, "uid"),
    managedFields=atomic_list(ANY),
)
OBJECT = {"apiVersion": TEXT, "kind": TEXT, "metadata": METADATA}

CONTAINER = struct(
    name=NAME,
    image=TEXT,
    imagePullPolicy=TEXT,
    args=atomic_list(TEXT),
    env=keyed_list(struct(name=NAME, value=TEXT), "name"),
    ports=keyed_list(
        struct(name=TEXT, containerPort=PORT, protocol=PROTOCOL), "containerPort", "protocol", patch_key="containerPort"
    ),
    resources=struct(requests=mapping(QUANTITY), limits=mapping(QUANTITY)),
    terminationMessagePath=TEXT,
    terminationMessagePolicy=TEXT,
)
VOLUME = struct(name=NAME, emptyDir=struct(medium=TEXT), configMap=struct(name=TEXT, defaultMode=NUMBER, optional=FLAG))
POD_SPEC = struct(
    containers=keyed_list(CONTAINER, "name"),
    volumes=Schema(
        type="array",
        items=VOLUME,
        list_type=MAP,
        list_keys=("name",),
        patch_strategies=("merge", "retainKeys"),
        patch_key="name",
    ),
    tolerations=atomic_list(struct(key=TEXT, operator=TEXT, value=TEXT, effect=TEXT, tolerationSeconds=NUMBER)),
    hostNetwork=FLAG,
    schedulerName=TEXT,
    restartPolicy=TEXT,
    dnsPolicy=TEXT,
    terminationGracePeriodSeconds=NUMBER,
    enableServiceLinks=FLAG,
    securityContext=struct(runAsUser=NUMBER),
)
CONDITION = struct(type=NAME, status=TEXT, message=TEXT, reason=TEXT, lastProbeTime=TIME, lastTransitionTime=TIME)
POD = Schema(
    type="object",
    name="api.core.v1.Pod",
    properties={
        **OBJECT,
        "spec": Schema(type="object", properties=POD_SPEC.properties, required=("containers",), default={}),
        "status": Schema(
            type="object",
            properties={"phase": TEXT, "message": TEXT, "conditions": keyed_list(CONDITION, "type")},
            default={},
        ),
    },
)
CONFIG_MAP = struct(**OBJECT, data=mapping(), binaryData=mapping(), immutable=FLAG)


class Known(NamedTuple):
    """What the registry knows of a kind."""

    api_version: str
    schema: Schema
    group: str = ""


KINDS = {
    "ConfigMap": Known("v1", facts.schema("", "v1", "ConfigMap")),
    "Pod": Known("v1", facts.schema("", "v1", "Pod")),
    "Deployment": Known("apps/v1", facts.schema("apps", "v1", "Deployment"), "apps"),
    "Service": Known("v1", facts.schema("", "v1", "Service")),
}


def schema_of(text: dict[str, Any]) -> Schema:
    """The Schema of a custom kind, from the little of OpenAPI that the cases use."""
    values = text.get("additionalProperties")
    return Schema(
        type=text.get("type", ""),
        properties={name: schema_of(field) for name, field in text.get("properties", {}).items()},
        values=None if values is None else schema_of(values),
        items=schema_of(text["items"]) if "items" in text else None,
        list_type=text.get("x-kubernetes-list-type", ATOMIC),
        list_keys=tuple(text.get("x-kubernetes-list-map-keys", ())),
        is_atomic=text.get("x-kubernetes-map-type") == "atomic",
        keeps_unknown=text.get("x-kubernetes-preserve-unknown-fields", False),
        is_int_or_string=text.get("x-kubernetes-int-or-string", False),
        default=text.get("default", UNSET),
    )


def widget() -> Known:
    crd = yaml.safe_load((HERE / "widget_crd.yaml").read_text())
    body = schema_of(crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"])
    schema = Schema(type="object", properties={**body.properties, **OBJECT})
    return Known("cases.example/v1", schema, "cases.example")


KINDS["Widget"] = widget()


@pytest.fixture(scope="session")
def kinds() -> dict[str, Known]:
    """What the registry will know of the kinds in the cases."""
    return KINDS


@pytest.fixture(scope="session")
def pod() -> Schema:
    """A pod: containers by name, ports by number and protocol, finalizers as a set, tolerations as one value."""
    return POD


@pytest.fixture(scope="session")
def config_map() -> Schema:
    return CONFIG_MAP


@pytest.fixture(scope="session")
def custom() -> Schema:
    return KINDS["Widget"].schema
