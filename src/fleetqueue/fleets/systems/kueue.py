"""Kueue and JobSet as they are installed on every cluster of the walkthroughs' environment."""

from collections.abc import Iterable
from typing import Final

from fleetqueue.api.core_v1 import ConfigMap, Namespace, secret
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.api.scheme import Manifest
from fleetqueue.fleets.systems.parts import EVENTS, FOLLOW, SystemPart, rule

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
"""What a manager is told; all else is as Kueue ships it. The gate shows two conditions of the walkthroughs."""

IN_PROCESS: Final = "webhooks are asked in process here"
_KUEUE: Final = "kueue.x-k8s.io"

KUEUE: Final = SystemPart(
    "kueue-controller-manager",
    KUEUE_NAMESPACE,
    image="registry.k8s.io/kueue/kueue:v0.19.2",
    args=(f"--config=/etc/kueue/{CONFIG_FILE}",),
    account="kueue-controller-manager",
    role="kueue-manager-role",
    rules=(
        rule("", "limitranges namespaces", FOLLOW),
        rule("node.k8s.io", "runtimeclasses", FOLLOW),
        rule("scheduling.k8s.io", "priorityclasses", FOLLOW),
        rule("batch", "jobs", f"get {FOLLOW} patch delete"),
        rule("batch", "jobs/status", "patch"),
        rule("jobset.x-k8s.io", "jobsets", f"get {FOLLOW} patch delete"),
        rule("jobset.x-k8s.io", "jobsets/status", "patch"),
        rule(_KUEUE, "workloads", f"get {FOLLOW} create patch delete"),
        rule(_KUEUE, "admissionchecks", f"get {FOLLOW} patch"),
        rule(_KUEUE, "clusterqueues resourceflavors", f"{FOLLOW} patch"),
        rule(_KUEUE, "multikueueclusters", f"get {FOLLOW}"),
        rule(_KUEUE, "localqueues cohorts workloadpriorityclasses multikueueconfigs", FOLLOW),
        rule(
            _KUEUE,
            "admissionchecks/status clusterqueues/status localqueues/status multikueueclusters/status workloads/status",
            "patch",
        ),
        EVENTS,
    ),
    rules_at_home=(
        rule("", "secrets", f"get {FOLLOW}"),
        rule("multicluster.x-k8s.io", "clusterprofiles", FOLLOW),
    ),
    mounts={"/etc/kueue": {"configMap": {"name": "kueue-manager-config"}}},
    labels={"app.kubernetes.io/name": "kueue", "control-plane": "controller-manager"},
)

JOBSET: Final = SystemPart(
    "jobset-controller-manager",
    "jobset-system",
    image="registry.k8s.io/jobset/jobset:v0.12.0",
    args=(),
    account="jobset-controller-manager",
    rules=(
        rule("jobset.x-k8s.io", "jobsets", f"{FOLLOW} delete"),
        rule("jobset.x-k8s.io", "jobsets/status", "patch"),
        rule("batch", "jobs", f"{FOLLOW} create patch delete"),
        rule("batch", "jobs/status", "patch"),
        rule("", "services", f"{FOLLOW} create"),
        EVENTS,
    ),
)


def before(config: str) -> Iterable[Manifest]:
    """Build what a manager finds when it starts: its configuration, and the certificate of its webhooks."""
    yield Namespace.manifest(KUEUE_NAMESPACE)
    yield ConfigMap.manifest("kueue-manager-config", KUEUE_NAMESPACE, data={CONFIG_FILE: config})
    keys = ("ca.crt", "ca.key", "tls.crt", "tls.key")
    yield secret("kueue-webhook-server-cert", KUEUE_NAMESPACE, dict.fromkeys(keys, IN_PROCESS))
