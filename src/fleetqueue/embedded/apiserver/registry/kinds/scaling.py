"""The Scale of a workload: how many replicas are wanted, how many are there, and which pods they are."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import Cause, invalid, invalid_value
from fleetqueue.embedded.apiserver.kinds.go_text import kind, text
from fleetqueue.embedded.apiserver.registry.kinds.checks import NEGATIVE
from fleetqueue.embedded.apiserver.registry.served import Served

GROUP, VERSION, KIND = "autoscaling", "v1", "Scale"
SCALED: Final = frozenset(
    {("apps", "deployments"), ("apps", "replicasets"), ("apps", "statefulsets"), ("", "replicationcontrollers")}
)
MOST: Final = 2**31 - 1
A_MAP: Final = "map[string]interface{}"
KEPT: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(served: Served, obj: Manifest) -> Manifest:
    """Return what the scale subresource shows of an object."""
    metadata = obj["metadata"]
    if served.scale is not None:
        wanted, there = (_at(obj, served.scale[f"{part}ReplicasPath"]) or 0 for part in ("spec", "status"))
        selector = _at(obj, served.scale.get("labelSelectorPath") or "") or ""
    else:
        spec, status = obj.get("spec") or {}, obj.get("status") or {}
        wanted, there, selector = spec.get("replicas"), status.get("replicas", 0), _text(spec.get("selector") or {})
    about = {"replicas": there, "selector": selector}
    return {
        "kind": KIND,
        "apiVersion": f"{GROUP}/{VERSION}",
        "metadata": {name: metadata[name] for name in KEPT if name in metadata},
        "spec": {"replicas": wanted} if wanted else {},
        "status": {name: value for name, value in about.items() if value or name == "replicas"},
    }


def scaled(served: Served, obj: Manifest, scale: Manifest) -> Manifest:
    """Return the object with the replicas that a Scale wants; refuses one that wants less than none."""
    replicas, metadata = (scale.get("spec") or {}).get("replicas", 0), obj["metadata"]
    if replicas < 0 and served.scale is not None:
        fault = invalid_value(served.scale["specReplicasPath"], replicas, "should be a non-negative integer")
        raise invalid(served.resource.kind, served.resource.group, metadata["name"], [fault])
    if replicas < 0:
        raise invalid(KIND, GROUP, metadata["name"], [invalid_value("spec.replicas", replicas, NEGATIVE)])
    given = scale.get("metadata") or {}
    kept = {name: given[name] for name in ("uid", "resourceVersion") if given.get(name)}
    versioned = {**{key: value for key, value in metadata.items() if key != "resourceVersion"}, **kept}
    path = served.scale["specReplicasPath"] if served.scale is not None else ".spec.replicas"
    return {**_with(obj, path.strip(".").split("."), replicas), "metadata": versioned}


def custom_scale_faults(obj: Manifest, scale: Mapping[str, str]) -> Iterator[Cause]:
    """Tell what is wrong with the numbers of a custom object's scale, beside its schema."""
    for part, wanted in (("specReplicasPath", int), ("statusReplicasPath", int), ("labelSelectorPath", str)):
        path = scale.get(part)
        if not path:
            continue
        value, why = _found(obj, path, wanted)
        if why:
            yield invalid_value(path, 0 if wanted is int else "", why)
        elif wanted is int and value is not None and not 0 <= value <= MOST:
            limit = "should be a non-negative integer" if value < 0 else f"should be less than or equal to {MOST}"
            yield invalid_value(path, value, limit)


def _found(obj: Manifest, path: str, wanted: type) -> tuple[Any, str]:
    """Return what stands at a path, or why it cannot be what is wanted."""
    value: Any = obj
    for name in path.strip(".").split("."):
        if not isinstance(value, dict):
            return None, f"{path} accessor error: {text(value)} is of the type {kind(value)}, expected {A_MAP}"
        if name not in value:
            return None, ""
        value = value[name]
    if type(value) is not wanted:
        needed = "int64" if wanted is int else "string"
        return None, f"{path} accessor error: {text(value)} is of the type {kind(value)}, expected {needed}"
    return value, ""


def _at(obj: Manifest, path: str) -> Any:
    """Return what stands at a path such as `.spec.replicas`; None where there is nothing."""
    value: Any = obj
    for name in filter(None, path.split(".")):
        value = value.get(name) if isinstance(value, dict) else None
    return value if path else None


def _with(obj: Manifest, path: list[str], value: Any) -> Manifest:
    name, *rest = path
    return {**obj, name: _with(obj.get(name) or {}, rest, value) if rest else value}


def _text(selector: Manifest) -> str:
    """Return a label selector as it stands in a query; that of a ReplicationController is a plain map."""
    if "matchLabels" not in selector and "matchExpressions" not in selector:
        return ",".join(f"{key}={value}" for key, value in sorted(selector.items()))
    terms = [(key, f"{key}={value}") for key, value in (selector.get("matchLabels") or {}).items()]
    terms += [(term.get("key", ""), _term(term)) for term in selector.get("matchExpressions") or ()]
    return ",".join(text for _, text in sorted(terms))


def _term(term: Manifest) -> str:
    key, operator = term.get("key", ""), term.get("operator", "")
    if operator in ("Exists", "DoesNotExist"):
        return key if operator == "Exists" else f"!{key}"
    return f"{key} {operator.lower()} ({','.join(sorted(term.get('values') or ()))})"
