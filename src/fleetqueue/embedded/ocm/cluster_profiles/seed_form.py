"""ClusterProfiles as the walkthroughs knew them: with `status.credentials`, which no release of the kind has."""

from typing import Any, Final

from fleetqueue.api.scheme import Manifest

_TEXT: Final = {"type": "string"}
CREDENTIALS: Final = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["accessRef", "consumer"],
        "properties": {
            "consumer": _TEXT,
            "accessRef": {
                "type": "object",
                "required": ["kind", "name", "namespace"],
                "properties": {"kind": _TEXT, "name": _TEXT, "namespace": _TEXT},
            },
        },
    },
}
"""`{consumer, accessRef: {kind, name, namespace}}` for each who may use the cluster."""


def with_credentials(definition: Manifest) -> Manifest:
    """Return the definition of ClusterProfiles with that field in the status; who fills it looks for it there."""
    versions = [_version(version) for version in definition["spec"]["versions"]]
    return {**definition, "spec": {**definition["spec"], "versions": versions}}


def _version(version: Manifest) -> Manifest:
    schema = version["schema"]["openAPIV3Schema"]
    status = schema["properties"]["status"]
    fields: dict[str, Any] = {**status["properties"], "credentials": CREDENTIALS}
    properties = {**schema["properties"], "status": {**status, "properties": fields}}
    return {**version, "schema": {"openAPIV3Schema": {**schema, "properties": properties}}}
