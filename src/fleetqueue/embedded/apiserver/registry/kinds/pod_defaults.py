"""What may be left out of pods and pod templates."""

import re
from collections.abc import Callable
from typing import Any, Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.registry.kinds.copying import each_within, filled, within

_SPEC: Final[Manifest] = {
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
    "schedulerName": "default-scheduler",
}
_PROBE: Final[Manifest] = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}
_HTTP: Final[Manifest] = {"path": "/", "scheme": "HTTP"}
_MODE: Final[Manifest] = {"defaultMode": 0o644}
_TCP: Final[Manifest] = {"protocol": "TCP"}
_TOKEN: Final[Manifest] = {"expirationSeconds": 3600}
_FIELD: Final[Manifest] = {"apiVersion": "v1"}
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")
_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")

_PART: Final = r"[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*"
_IMAGE: Final = re.compile(
    rf"(?:[a-zA-Z0-9.-]+(?::[0-9]+)?/)?{_PART}(?:/{_PART})*(?::(?P<tag>\w[\w.-]{{0,127}}))?(?:@(?P<digest>[\w+.-]+:[0-9a-fA-F]{{32,}}))?"
)

Change = Callable[[Any], Any]


def template(obj: Manifest) -> Manifest:
    """Fill in a pod template."""
    return within(obj, "spec", spec)


def pod(obj: Manifest) -> Manifest:
    """Fill in a pod; it gets more than a template does."""
    return within(obj, "spec", _pod_spec)


def _pod_spec(obj: Manifest) -> Manifest:
    after = filled(spec(obj), {"enableServiceLinks": True})
    for name in ("containers", "initContainers"):
        after = each_within(after, name, _requesting)
        if after.get("hostNetwork"):
            after = each_within(after, name, _on_host)
    return after


def spec(obj: Manifest) -> Manifest:
    """Fill in the spec of a pod, wherever it stands."""
    after = filled(obj, _SPEC)
    if after["terminationGracePeriodSeconds"] < 0:
        after = {**after, "terminationGracePeriodSeconds": 1}
    after = _with_account(after)
    for name in _LISTS:
        if name in after:
            after = each_within(after, name, container)
    return each_within(after, "volumes", volume)


def _with_account(obj: Manifest) -> Manifest:
    """The account has two names; the old one follows the other."""
    account = obj.get("serviceAccountName") or obj.get("serviceAccount")
    if not account or obj.get("serviceAccount") == obj.get("serviceAccountName") == account:
        return obj
    return {**obj, "serviceAccountName": account, "serviceAccount": account}


def container(obj: Manifest) -> Manifest:
    defaults = {
        "imagePullPolicy": "Always" if _is_latest(obj.get("image", "")) else "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    after = filled(obj, defaults)
    if "ports" in after:
        after = each_within(after, "ports", lambda port: filled(port, _TCP))
    if "env" in after:
        after = each_within(after, "env", _variable)
    for name in _PROBES:
        if name in after:
            after = within(after, name, _probe)
    return within(after, "lifecycle", _lifecycle) if "lifecycle" in after else after


def _is_latest(image: str) -> bool:
    """Tell whether an image names no version, or the newest; what is no name of an image does neither."""
    match = _IMAGE.fullmatch(image)
    if match is None:
        return False
    return match["tag"] == "latest" if match["tag"] else not match["digest"]


def _variable(obj: Manifest) -> Manifest:
    return within(obj, "valueFrom", _source)


def _source(obj: Manifest) -> Manifest:
    after = within(obj, "fieldRef", lambda field: filled(field, _FIELD))
    return within(after, "fileKeyRef", lambda key: filled(key, {"optional": False}))


def _probe(obj: Manifest) -> Manifest:
    after = within(_handler(obj), "grpc", lambda grpc: {**grpc, "service": ""} if grpc.get("service") is None else grpc)
    return filled(after, _PROBE)


def _handler(obj: Manifest) -> Manifest:
    return within(obj, "httpGet", lambda action: filled(action, _HTTP))


def _lifecycle(obj: Manifest) -> Manifest:
    return within(within(obj, "postStart", _handler), "preStop", _handler)


def volume(obj: Manifest) -> Manifest:
    if (len(obj) == 1 and "name" in obj) or not obj:
        return {**obj, "emptyDir": {}}
    after = obj
    for name, change in _VOLUMES:
        if name in after:
            after = within(after, name, change)
    return after


def _with_mode(obj: Manifest) -> Manifest:
    return filled(obj, _MODE)


def _downward(obj: Manifest) -> Manifest:
    return each_within(obj, "items", _source)


def _projected(obj: Manifest) -> Manifest:
    return each_within(filled(obj, _MODE), "sources", _projection)


def _projection(obj: Manifest) -> Manifest:
    after = within(obj, "serviceAccountToken", lambda token: filled(token, _TOKEN))
    return within(after, "downwardAPI", _downward)


def claim_template(obj: Manifest) -> Manifest:
    return within(obj, "spec", lambda claim: filled(claim, {"volumeMode": "Filesystem"}))


_VOLUMES: Final[tuple[tuple[str, Change], ...]] = (
    ("secret", _with_mode),
    ("configMap", _with_mode),
    ("downwardAPI", lambda source: _downward(filled(source, _MODE))),
    ("projected", _projected),
    ("hostPath", lambda source: filled(source, {"type": ""})),
    ("iscsi", lambda source: filled(source, {"iscsiInterface": "default"})),
    ("rbd", lambda source: filled(source, {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"})),
    ("scaleIO", lambda source: filled(source, {"storageMode": "ThinProvisioned", "fsType": "xfs"})),
    (
        "azureDisk",
        lambda source: filled(
            source, {"cachingMode": "ReadWrite", "fsType": "ext4", "readOnly": False, "kind": "Shared"}
        ),
    ),
    ("ephemeral", lambda source: within(source, "volumeClaimTemplate", claim_template)),
    (
        "image",
        lambda source: filled(
            source, {"pullPolicy": "Always" if _is_latest(source.get("reference", "")) else "IfNotPresent"}
        ),
    ),
)


def _requesting(obj: Manifest) -> Manifest:
    """A limit is also a request, where there is no other."""
    limits = (obj.get("resources") or {}).get("limits")
    return {**obj, "resources": _with_requests(obj["resources"], limits)} if limits else obj


def _with_requests(resources: Manifest, limits: Manifest) -> Manifest:
    requests = resources.get("requests") or {}
    return (
        {**resources, "requests": filled(requests, limits)}
        if any(name not in requests for name in limits)
        else resources
    )


def _on_host(obj: Manifest) -> Manifest:
    return each_within(obj, "ports", lambda port: filled(port, {"hostPort": port.get("containerPort", 0)}))
