"""By which fields objects of built-in kinds can be selected, beside name and namespace."""

from collections.abc import Callable, Iterable, Mapping
from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.selectors import field_reader
from fleetqueue.embedded.apiserver.registry.strategy import UNKNOWN_FIELD, UNSUPPORTED_FIELD, SelectableFields

Fields = Mapping[str, Callable[[Manifest], str]]


def selectable_fields(group: str, plural: str) -> SelectableFields:
    """Return what objects of a kind can be selected by, and how another field is refused."""
    readers = FIELDS.get((group, plural), {})
    default = UNSUPPORTED_FIELD if readers else UNKNOWN_FIELD
    return SelectableFields(readers, REFUSALS.get((group, plural), default))


def _fields(*paths: str, absent: str = "") -> Fields:
    """Return what reads these fields; one that is absent reads as `absent`."""
    return {path: _reader(path, absent) for path in paths}


def _reader(path: str, absent: str) -> Callable[[Manifest], str]:
    read = field_reader(path)
    return (lambda obj: read(obj) or absent) if absent else read


def _of_pods() -> Fields:
    names = ("nodeName", "restartPolicy", "schedulerName", "serviceAccountName")
    return {
        **_fields(*(f"spec.{name}" for name in names), "status.phase", "status.podIP", "status.nominatedNodeName"),
        **_fields("spec.hostNetwork", absent="false"),
        "spec.host": field_reader("spec.nodeName"),
        # Kubernetes takes it and then finds nothing in it.
        "status.podIPs": lambda pod: "",
    }


def _of_events(about: str, component: str) -> Fields:
    parts: Iterable[str] = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
    return _fields(*(f"{about}.{part}" for part in parts), "reason", "type", component)


def _source(event: Manifest) -> str:
    return (event.get("source") or {}).get("component") or event.get("reportingComponent") or ""


FIELDS: Final[Mapping[tuple[str, str], Fields]] = {
    ("", "pods"): _of_pods(),
    ("", "events"): {**_of_events("involvedObject", "reportingComponent"), "source": _source},
    ("events.k8s.io", "events"): _of_events("regarding", "reportingController"),
    ("", "namespaces"): _fields("status.phase"),
    ("", "nodes"): _fields("spec.unschedulable", absent="false"),
    ("", "secrets"): _fields("type"),
    ("", "services"): _fields("spec.clusterIP", "spec.type"),
    ("", "replicationcontrollers"): _fields("status.replicas", absent="0"),
    ("batch", "jobs"): {"status.successful": _reader("status.succeeded", "0")},
    ("certificates.k8s.io", "certificatesigningrequests"): _fields("spec.signerName"),
    ("resource.k8s.io", "resourceslices"): _fields("spec.nodeName", "spec.driver"),
}
REFUSALS: Final = {
    ("batch", "jobs"): 'field label "{}" not supported for Job',
    ("resource.k8s.io", "resourceslices"): "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: {}",
}
