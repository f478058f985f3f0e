"""Kueue and JobSet as they are installed on every cluster of the seeds' environment."""

from collections.abc import Iterable
from typing import Final

from fleetqueue.api.core_v1 import ConfigMap, Namespace, secret
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.api.scheme import Manifest
from fleetqueue.assembly.systems.part import EVENTS, READ, STATUS, WRITE, Part, rule

CONFIG_FILE: Final = "controller_manager_config.yaml"
CONFIG: Final = """\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations:
  frameworks:
    - batch/job
    - jobset.x-k8s.io/jobset
featureGates:
  AdmissionCheckValidationRules: true
"""
"""What a manager is told; all that is not said is as Kueue ships it. The gate shows two conditions of the seeds."""

IN_PROCESS: Final = "webhooks are asked in process here"
_KUEUE: Final = "kueue.x-k8s.io"
_OF_QUEUES: Final = "admissionchecks clusterqueues resourceflavors"

KUEUE: Final = Part(
    "kueue-controller-manager",
    KUEUE_NAMESPACE,
    image="registry.k8s.io/kueue/kueue:v0.19.2",
    args=(f"--config=/etc/kueue/{CONFIG_FILE}",),
    account="kueue-controller-manager",
    role="kueue-manager-role",
    rules=(
        rule("", "limitranges namespaces", READ),
        rule("", "pods", "get list watch"),
        rule("", "podtemplates", READ),
        rule("batch", "jobs", WRITE),
        rule("batch", "jobs/status jobs/finalizers", STATUS),
        rule("jobset.x-k8s.io", "jobsets", WRITE),
        rule("jobset.x-k8s.io", "jobsets/status jobsets/finalizers", STATUS),
        rule("node.k8s.io", "runtimeclasses", READ),
        rule("scheduling.k8s.io", "priorityclasses", READ),
        rule(_KUEUE, "workloads", WRITE),
        rule(_KUEUE, _OF_QUEUES, "get list watch update patch"),
        rule(
            _KUEUE, "localqueues cohorts workloadpriorityclasses multikueueclusters multikueueconfigs topologies", READ
        ),
        rule(_KUEUE, " ".join(f"{kind}/finalizers" for kind in (*_OF_QUEUES.split(), "workloads")), "update"),
        rule(
            _KUEUE,
            "admissionchecks/status clusterqueues/status cohorts/status localqueues/status multikueueclusters/status "
            "workloads/status",
            STATUS,
        ),
        rule("multicluster.x-k8s.io", "clusterprofiles", READ),
        rule("", "secrets", READ),
        EVENTS,
    ),
    mounts={"/etc/kueue": {"configMap": {"name": "kueue-manager-config"}}},
    labels={"control-plane": "controller-manager"},
)

JOBSET: Final = Part(
    "jobset-controller-manager",
    "jobset-system",
    image="registry.k8s.io/jobset/jobset:v0.12.0",
    args=(),
    account="jobset-controller-manager",
    rules=(
        rule("jobset.x-k8s.io", "jobsets", WRITE),
        rule("jobset.x-k8s.io", "jobsets/status jobsets/finalizers", STATUS),
        rule("batch", "jobs", WRITE),
        rule("batch", "jobs/status", STATUS),
        rule("", "services", "get list watch create"),
        EVENTS,
    ),
)


def before(config: str) -> Iterable[Manifest]:
    """Build what a manager finds when it starts: its configuration, and the certificate of its webhooks."""
    yield Namespace.manifest(KUEUE_NAMESPACE)
    yield ConfigMap.manifest("kueue-manager-config", KUEUE_NAMESPACE, data={CONFIG_FILE: config})
    keys = ("ca.crt", "ca.key", "tls.crt", "tls.key")
    yield secret("kueue-webhook-server-cert", KUEUE_NAMESPACE, dict.fromkeys(keys, IN_PROCESS))
