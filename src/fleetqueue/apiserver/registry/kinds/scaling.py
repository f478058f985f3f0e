"""The Scale of a workload: how many replicas are wanted, how many are there, and which pods they are."""

from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.apiserver.kinds.causes import invalid, invalid_value
from fleetqueue.apiserver.registry.kinds.checks import NEGATIVE

GROUP, VERSION, KIND = "autoscaling", "v1", "Scale"
SCALED: Final = frozenset(
    {("apps", "deployments"), ("apps", "replicasets"), ("apps", "statefulsets"), ("", "replicationcontrollers")}
)
KEPT: Final = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")


def scale_of(obj: Manifest) -> Manifest:
    """Return what the scale subresource shows of an object."""
    metadata, spec, status = obj["metadata"], obj.get("spec") or {}, obj.get("status") or {}
    about = {"replicas": status.get("replicas", 0), "selector": _text(spec.get("selector") or {})}
    return {
        "kind": KIND,
        "apiVersion": f"{GROUP}/{VERSION}",
        "metadata": {name: metadata[name] for name in KEPT if name in metadata},
        "spec": {"replicas": spec["replicas"]} if spec.get("replicas") else {},
        "status": {name: value for name, value in about.items() if value or name == "replicas"},
    }


def scaled(obj: Manifest, scale: Manifest) -> Manifest:
    """Return the object with the replicas that a Scale wants; refuses one that wants less than none."""
    replicas = (scale.get("spec") or {}).get("replicas", 0)
    if replicas < 0:
        name = obj["metadata"]["name"]
        raise invalid(KIND, GROUP, name, [invalid_value("spec.replicas", replicas, NEGATIVE)])
    metadata = obj["metadata"]
    given = scale.get("metadata") or {}
    kept = {name: given[name] for name in ("uid", "resourceVersion") if given.get(name)}
    versioned = {**{key: value for key, value in metadata.items() if key != "resourceVersion"}, **kept}
    return {**obj, "metadata": versioned, "spec": {**obj["spec"], "replicas": replicas}}


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
