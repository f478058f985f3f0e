"""StatefulSets, DaemonSets, their pods, claims and nodes, as the controllers see them."""

from datetime import timedelta

from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import Node, Pod
from fleetqueue.embedded.kubernetes.daemon_set_objects import DaemonSet
from fleetqueue.embedded.kubernetes.stateful_set_claims import PersistentVolumeClaim
from fleetqueue.embedded.kubernetes.stateful_set_objects import StatefulSet
from fleetqueue.testing.virtual_time import START

NOW = START + timedelta(seconds=100)


def at(seconds):
    return timestamp(START + timedelta(seconds=seconds))


def a_set(replicas=3, *, deleting=False, status=None, **spec):
    metadata = {"name": "db", "namespace": "default", "uid": "set-uid", "generation": 2}
    if deleting:
        metadata["deletionTimestamp"] = at(0)
    return StatefulSet.view({"metadata": metadata, "spec": {"replicas": replicas, **spec}, "status": status or {}})


def a_pod(name, phase="Running", *, ready=True, since=0, deleting=False, revision="db-new", labels=None, **spec):
    """Make a pod that runs, unless something else is said, and has been ready since a moment."""
    known = {"statefulset.kubernetes.io/pod-name": name, "controller-revision-hash": revision, **(labels or {})}
    metadata = {"name": name, "namespace": "default", "uid": f"{name}-uid", "creationTimestamp": at(0)}
    metadata["labels"] = {key: value for key, value in known.items() if value is not None}
    if deleting:
        metadata["deletionTimestamp"] = at(0)
    is_ready = ready and phase == "Running"
    condition = {"type": "Ready", "status": str(is_ready), "lastTransitionTime": at(since)}
    return Pod.view({"metadata": metadata, "spec": spec, "status": {"phase": phase, "conditions": [condition]}})


def a_claim(name, *owners):
    metadata = {"name": name, "namespace": "default", "uid": f"{name}-uid", "ownerReferences": list(owners)}
    return PersistentVolumeClaim.view({"metadata": metadata})


def owner(kind, name, uid, controller=True):
    version = {"StatefulSet": "apps/v1", "Pod": "v1"}.get(kind, "example.com/v1")
    reference = {"apiVersion": version, "kind": kind, "name": name, "uid": uid}
    return {**reference, "controller": True, "blockOwnerDeletion": True} if controller else reference


def a_daemon_set(*, template=None, strategy=None, **spec):
    metadata = {"name": "agent", "namespace": "default", "uid": "ds-uid", "generation": 3}
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0, **(strategy or {})}}
    whole = {"template": {"spec": template or {}}, "updateStrategy": rolling, **spec}
    return DaemonSet.view({"metadata": metadata, "spec": whole})


def a_node(name, *taints, **labels):
    found = [{"key": key, "effect": effect} for key, effect in taints]
    return Node.view({"metadata": {"name": name, "labels": labels}, "spec": {"taints": found}})
