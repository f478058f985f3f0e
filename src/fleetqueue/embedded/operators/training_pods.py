"""The pods and Services of a training job: how they are named and labelled, and what of its job they have.

Mirrors: training-operator pkg/controller.v1/common/{pod,service}.go, pkg/apis/kubeflow.org/v1/*_defaults.go

Left out: what only a process would read, which is the environment and the containers that wait for a master.
"""

from collections.abc import Collection
from typing import Any

from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.operators.children import Service, owned
from fleetqueue.embedded.operators.training_kinds import (
    EXIT_CODE,
    JOB_NAME,
    NEVER,
    OPERATOR,
    REPLICA_INDEX,
    REPLICA_TYPE,
    ROLE,
    WORKER,
    TrainingKind,
)


def replica_labels(kind: TrainingKind, job: Manifest, role: str) -> dict[str, str]:
    """Return what the pods of a role have in common."""
    return {OPERATOR: kind.controller, JOB_NAME: job["metadata"]["name"], REPLICA_TYPE: role.lower()}


def policy_of(kind: TrainingKind, replica: Manifest) -> str:
    return replica.get("restartPolicy") or kind.restart_policy


def pod_of(
    kind: TrainingKind, job: Manifest, roles: Collection[str], role: str, index: int, spec: Manifest
) -> Manifest:
    """Make one pod of a role of a job that has these roles."""
    template, policy = spec["template"], policy_of(kind, spec)
    given, pod_spec = template.get("metadata") or {}, template.get("spec") or {}
    labels = {**(given.get("labels") or {}), **replica_labels(kind, job, role), REPLICA_INDEX: str(index)}
    if _leads(kind, roles, role, index):
        labels[ROLE] = "master"
    made = Pod.manifest(
        _name(job, role, index),
        job["metadata"]["namespace"],
        labels=labels,
        annotations=given.get("annotations"),
        spec={
            **pod_spec,
            "containers": _with_port(kind, pod_spec["containers"]),
            "restartPolicy": NEVER if policy == EXIT_CODE else policy,
        },
    )
    return owned(job, kind.job_kind.kind, made)


def service_of(kind: TrainingKind, job: Manifest, role: str, index: int, spec: Manifest) -> Manifest:
    """Make the Service by which others find a pod, under its name."""
    labels = {**replica_labels(kind, job, role), REPLICA_INDEX: str(index)}
    containers = _with_port(kind, spec["template"]["spec"]["containers"])
    ports = {port.get("name", ""): port["containerPort"] for port in containers[_place(kind, containers)]["ports"]}
    service_spec = {
        "clusterIP": "None",
        "selector": labels,
        "ports": [{"name": name, "port": port} for name, port in ports.items()],
    }
    made = Service.manifest(_name(job, role, index), job["metadata"]["namespace"], labels=labels, spec=service_spec)
    return owned(job, kind.job_kind.kind, made)


def _leads(kind: TrainingKind, roles: Collection[str], role: str, index: int) -> bool:
    if any(leader in roles for leader in kind.leaders):
        return role in kind.leaders
    return kind.worker_0_leads and role == WORKER and index == 0


def _name(job: Manifest, role: str, index: int) -> str:
    return f"{job['metadata']['name']}-{role.lower()}-{index}"


def _with_port(kind: TrainingKind, containers: list[Manifest]) -> list[Manifest]:
    name, number = kind.port
    place = _place(kind, containers)
    ports: list[Any] = containers[place].get("ports") or []
    if any(port.get("name") == name for port in ports):
        return containers
    changed = {**containers[place], "ports": [*ports, {"name": name, "containerPort": number}]}
    return [changed if number == place else container for number, container in enumerate(containers)]


def _place(kind: TrainingKind, containers: list[Manifest]) -> int:
    """Return which container trains: the one that is called so, or else the first."""
    names = [container["name"] for container in containers]
    return names.index(kind.container) if kind.container in names else 0
