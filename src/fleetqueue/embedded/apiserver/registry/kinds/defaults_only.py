"""Kinds of which only the defaults are filled in: webhooks, policies, networks, devices and others."""

from collections.abc import Callable
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.registry.kinds import pod_defaults
from fleetqueue.embedded.apiserver.registry.kinds.copying import each_within, filled, within
from fleetqueue.embedded.apiserver.registry.strategy import Strategy

Change = Callable[[Any], Any]

MATCHING: Final[Manifest] = {"matchPolicy": "Equivalent", "namespaceSelector": {}, "objectSelector": {}}
CPU: Final = {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 80}}
SCALE_UP: Final = {
    "stabilizationWindowSeconds": 0,
    "selectPolicy": "Max",
    "policies": [
        {"type": "Pods", "value": 4, "periodSeconds": 15},
        {"type": "Percent", "value": 100, "periodSeconds": 15},
    ],
}
SCALE_DOWN: Final = {"selectPolicy": "Max", "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}]}
QUEUING: Final = {"handSize": 8, "queues": 64, "queueLengthLimit": 50}
DRIVER: Final = {
    "attachRequired": True,
    "podInfoOnMount": False,
    "storageCapacity": False,
    "fsGroupPolicy": "ReadWriteOnceWithFSType",
    "volumeLifecycleModes": ["Persistent"],
    "requiresRepublish": False,
    "seLinuxMount": False,
}
VOLUME: Final = {"persistentVolumeReclaimPolicy": "Retain", "volumeMode": "Filesystem"}


def _spec(change: Change) -> Change:
    return lambda obj: within(obj, "spec", change)


def _fill_zeros(obj: Manifest, defaults: Manifest) -> Manifest:
    """Fill in numbers also where they are written as none."""
    missing = {name: value for name, value in defaults.items() if not obj.get(name)}
    return {**obj, **missing} if missing else obj


# Admission


def _webhook(webhook: Manifest, **more: Any) -> Manifest:
    after = filled(webhook, {**MATCHING, "failurePolicy": "Fail", "timeoutSeconds": 10, **more})
    after = within(after, "clientConfig", _client)
    return each_within(after, "rules", _rule)


def _client(client: Manifest) -> Manifest:
    return within(client, "service", lambda service: filled(service, {"port": 443}))


def _rule(rule: Manifest) -> Manifest:
    return filled(rule, {"scope": "*"})


def _mutating(configuration: Manifest) -> Manifest:
    return each_within(configuration, "webhooks", lambda webhook: _webhook(webhook, reinvocationPolicy="Never"))


def _validating(configuration: Manifest) -> Manifest:
    return each_within(configuration, "webhooks", _webhook)


def _policy(spec: Manifest) -> Manifest:
    return within(filled(spec, {"failurePolicy": "Fail"}), "matchConstraints", _constraints)


def _policy_binding(spec: Manifest) -> Manifest:
    return within(spec, "matchResources", _constraints)


def _constraints(constraints: Manifest) -> Manifest:
    after = filled(constraints, MATCHING)
    return each_within(each_within(after, "resourceRules", _rule), "excludeResourceRules", _rule)


# Networks


def _network_policy(spec: Manifest) -> Manifest:
    types = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]
    after = filled(spec, {"policyTypes": types})
    for name in ("ingress", "egress"):
        after = each_within(after, name, lambda rule: each_within(rule, "ports", _protocol))
    return after


def _protocol(port: Manifest) -> Manifest:
    return filled(port, {"protocol": "TCP"})


def _ingress_class(spec: Manifest) -> Manifest:
    return within(spec, "parameters", lambda parameters: _fill_zeros(parameters, {"scope": "Cluster"}))


def _endpoints(endpoints: Manifest) -> Manifest:
    return each_within(endpoints, "subsets", lambda subset: each_within(subset, "ports", _protocol))


# Workloads


def _replication_controller(controller: Manifest) -> Manifest:
    after = within(controller, "spec", _controller_spec)
    labels = ((after.get("spec") or {}).get("template") or {}).get("metadata", {}).get("labels")
    if not labels:
        return after
    after = within(after, "spec", lambda spec: filled(spec, {"selector": labels}))
    return within(after, "metadata", lambda metadata: filled(metadata, {"labels": labels}))


def _controller_spec(spec: Manifest) -> Manifest:
    return within(filled(spec, {"replicas": 1}), "template", pod_defaults.template)


def _pod_template(template: Manifest) -> Manifest:
    return within(template, "template", pod_defaults.template)


def _autoscaler(spec: Manifest) -> Manifest:
    after = filled(spec, {"minReplicas": 1, "metrics": [{"type": "Resource", "resource": CPU}]})
    return within(after, "behavior", _behavior)


def _behavior(behavior: Manifest) -> Manifest:
    after = filled(behavior, {"scaleUp": {}, "scaleDown": {}})
    after = within(after, "scaleUp", lambda rules: filled(rules, SCALE_UP))
    return within(after, "scaleDown", lambda rules: filled(rules, SCALE_DOWN))


# Volumes and devices


def _volume(volume: Manifest) -> Manifest:
    after = within(volume, "spec", _volume_spec)
    return within(after, "status", lambda status: filled(status, {"phase": "Pending"}))


def _volume_spec(spec: Manifest) -> Manifest:
    return within(filled(spec, VOLUME), "hostPath", lambda source: filled(source, {"type": ""}))


def _new_volume(volume: Manifest, old: Manifest | None, user: User) -> Manifest:
    if old is not None:
        return volume
    return {**volume, "status": {"phase": "Pending", "lastPhaseTransitionTime": timestamp(clock.now())}}


def _device_claim(spec: Manifest) -> Manifest:
    return within(spec, "devices", lambda devices: each_within(devices, "requests", _device_request))


def _device_request(request: Manifest) -> Manifest:
    after = within(request, "exactly", _counted_devices)
    return each_within(after, "firstAvailable", _counted_devices)


def _counted_devices(request: Manifest) -> Manifest:
    after = filled(request, {"allocationMode": "ExactCount"})
    return filled(after, {"count": 1}) if after["allocationMode"] == "ExactCount" else after


# Flow control


def _flow_schema(spec: Manifest) -> Manifest:
    return _fill_zeros(spec, {"matchingPrecedence": 1000})


def _priority_level(spec: Manifest) -> Manifest:
    after = within(spec, "exempt", lambda part: filled(part, {"nominalConcurrencyShares": 0, "lendablePercent": 0}))
    return within(after, "limited", _limited)


def _limited(limited: Manifest) -> Manifest:
    kept = {name: value for name, value in limited.items() if value is not None}
    after = filled(kept, {"nominalConcurrencyShares": 30, "lendablePercent": 0})
    return within(after, "limitResponse", _limit_response)


def _limit_response(response: Manifest) -> Manifest:
    return within(response, "queuing", lambda queuing: _fill_zeros(queuing, QUEUING))


ADMISSION: Final = "admissionregistration.k8s.io"
NETWORKING: Final = "networking.k8s.io"
FLOW_CONTROL: Final = "flowcontrol.apiserver.k8s.io"
RESOURCE: Final = "resource.k8s.io"
STORAGE: Final = "storage.k8s.io"

DEFAULTS: Final[dict[tuple[str, str], Change]] = {
    ("", "endpoints"): _endpoints,
    ("", "persistentvolumes"): _volume,
    ("", "podtemplates"): _pod_template,
    ("", "replicationcontrollers"): _replication_controller,
    (ADMISSION, "mutatingadmissionpolicies"): _spec(_policy),
    (ADMISSION, "mutatingadmissionpolicybindings"): _spec(_policy_binding),
    (ADMISSION, "mutatingwebhookconfigurations"): _mutating,
    (ADMISSION, "validatingadmissionpolicies"): _spec(_policy),
    (ADMISSION, "validatingadmissionpolicybindings"): _spec(_policy_binding),
    (ADMISSION, "validatingwebhookconfigurations"): _validating,
    ("autoscaling", "horizontalpodautoscalers"): _spec(_autoscaler),
    (FLOW_CONTROL, "flowschemas"): _spec(_flow_schema),
    (FLOW_CONTROL, "prioritylevelconfigurations"): _spec(_priority_level),
    (NETWORKING, "ingressclasses"): _spec(_ingress_class),
    (NETWORKING, "networkpolicies"): _spec(_network_policy),
    (RESOURCE, "resourceclaims"): _spec(_device_claim),
    (RESOURCE, "resourceclaimtemplates"): _spec(_spec(_device_claim)),
    (STORAGE, "csidrivers"): _spec(lambda spec: filled(spec, DRIVER)),
}
STRATEGIES: Final[dict[tuple[str, str], Strategy]] = {
    path: Strategy(default=default) for path, default in DEFAULTS.items()
} | {("", "persistentvolumes"): Strategy(default=_volume, prepare=_new_volume)}
