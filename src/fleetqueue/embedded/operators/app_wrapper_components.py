"""The objects that an AppWrapper wraps: how they are made, and what their status says of them.

Mirrors: appwrapper internal/controller/appwrapper/resource_management.go
"""

from collections.abc import Mapping
from typing import Any, Final

from fleetqueue.api.condition_lists import is_true
from fleetqueue.api.fields import value_at, with_value
from fleetqueue.api.job_kinds import AppWrapper
from fleetqueue.api.meta import controller_reference
from fleetqueue.api.scheme import Manifest
from fleetqueue.rules.app_wrappers import field_of, pod_sets_of

LABEL: Final = "workload.codeflare.dev/appwrapper"
"""On every object and pod of an AppWrapper, with its name."""
FAILS: Final = (("batch/v1", "Job"), ("kubeflow.org/v1", "PyTorchJob"))
"""Kinds that say of themselves that they failed; of others only their pods tell."""


class BadComponent(Exception):
    """A component can never be made; the text says why."""


def first_statuses(wrapper: Manifest) -> list[Manifest]:
    """Return what is known of components of which nothing is made yet."""
    nothing = {"name": "", "kind": "", "apiVersion": ""}
    return [{**nothing, "podSets": pod_sets_of(component)} for component in wrapper["spec"]["components"]]


def component_object(wrapper: Manifest, number: int) -> Manifest:
    """Return a wrapped object, its pods with what Kueue gives them; raises BadComponent where that contradicts it."""
    metadata, component = wrapper["metadata"], wrapper["spec"]["components"][number]
    infos, wrapped = component.get("podSetInfos") or [], component["template"]
    own = {LABEL: metadata["name"]}
    for place, pod_set in enumerate(pod_sets_of(component)):
        field = field_of(pod_set["path"])
        template = value_at(wrapped, field) if field is not None else None
        if field is None or not isinstance(template, dict):
            raise BadComponent(f"{pod_set['path']} does not lead to a pod template")
        given = infos[place] if place < len(infos) else {}
        wrapped = with_value(wrapped, field, _with(template, given, own))
    given_metadata = wrapped.get("metadata") or {}
    owner = controller_reference(AppWrapper.resource, metadata["name"], metadata["uid"])
    made = {
        **given_metadata,
        "namespace": metadata["namespace"],
        "labels": {**own, **(given_metadata.get("labels") or {})},
        "ownerReferences": [owner],
    }
    return {**wrapped, "metadata": made}


def has_failed(component: Manifest) -> bool:
    return (component.get("apiVersion"), component.get("kind")) in FAILS and is_true(component, "Failed")


def is_owned(obj: Manifest, wrapper: Manifest) -> bool:
    owners = obj["metadata"].get("ownerReferences") or ()
    return any(owner.get("controller") and owner["uid"] == wrapper["metadata"]["uid"] for owner in owners)


def _with(template: Manifest, given: Manifest, own: Mapping[str, str]) -> Manifest:
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    labels = {**own, **(given.get("labels") or {})}
    told = {
        "labels": _joined("labels", metadata.get("labels"), labels),
        "annotations": _joined("annotations", metadata.get("annotations"), given.get("annotations")),
    }
    gates = spec.get("schedulingGates") or []
    added = {
        "nodeSelector": _joined("nodeSelector", spec.get("nodeSelector"), given.get("nodeSelector")),
        "tolerations": [*(spec.get("tolerations") or ()), *(given.get("tolerations") or ())],
        "schedulingGates": [*gates, *(gate for gate in given.get("schedulingGates") or () if gate not in gates)],
    }
    return {**template, "metadata": {**metadata, **_filled(told)}, "spec": {**spec, **_filled(added)}}


def _joined(what: str, own: Mapping[str, str] | None, given: Mapping[str, str] | None) -> dict[str, str]:
    own, given = own or {}, given or {}
    for key, value in given.items():
        if own.get(key, value) != value:
            raise BadComponent(f"conflict updating {what}: conflict for key={key}, value1={own[key]}, value2={value}")
    return {**given, **own}


def _filled(fields: Mapping[str, Any]) -> Manifest:
    return {name: value for name, value in fields.items() if value}
