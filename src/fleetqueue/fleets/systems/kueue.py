"""Kueue and JobSet as they are installed on every cluster of the walkthroughs' environment, and other operators."""

import re
from collections.abc import Iterable
from typing import Final, NamedTuple

from fleetqueue.api import kueue_configuration
from fleetqueue.api.core_v1 import ConfigMap, Namespace, secret
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.api.job_kinds import APP_WRAPPER, SPARK_APPLICATION, TRAIN_JOB
from fleetqueue.api.kueue_configuration import CONFIG_MAP
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.fleets.pods.kueue import OLD_CONDITIONS
from fleetqueue.fleets.systems.parts import DEPLOYMENTS, EVENTS, FOLLOW, SystemPart, rule

CONFIG_FILE: Final = "controller_manager_config.yaml"
CONFIG: Final = """\
apiVersion: config.kueue.x-k8s.io/v1beta2
kind: Configuration
integrations:
  frameworks:
    - batch/job
    - jobset.x-k8s.io/jobset
"""
"""What a manager is told; all else is as it is by default."""

_OLD_GATE: Final = re.compile(r"^ +AdmissionCheckValidationRules:.*\n", re.MULTILINE)
IN_PROCESS: Final = "webhooks are asked in process here"
_KUEUE: Final = "kueue.x-k8s.io"
_TRAINER: Final = "trainer.kubeflow.org"
_WRAPPERS: Final = "workload.codeflare.dev"
_SPARK: Final = "sparkoperator.k8s.io"
_SAYS: Final = rule("events.k8s.io", "events", "create")

KUEUE: Final = SystemPart(
    "kueue-controller-manager",
    KUEUE_NAMESPACE,
    image="registry.k8s.io/kueue/kueue:v0.19.2",
    args=(f"--config=/etc/kueue/{CONFIG_FILE}", f"--{OLD_CONDITIONS}"),
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
        rule(_TRAINER, "trainjobs", f"get {FOLLOW} patch delete"),
        rule(_TRAINER, "trainjobs/status", "patch"),
        rule(_TRAINER, "clustertrainingruntimes trainingruntimes", FOLLOW),
        rule(_WRAPPERS, "appwrappers", f"get {FOLLOW} patch delete"),
        rule(_WRAPPERS, "appwrappers/status", "patch"),
        rule(_SPARK, "sparkapplications", f"get {FOLLOW} patch delete"),
        rule("", "pods", f"get {FOLLOW} patch delete"),
        rule("", "pods/status", "patch"),
        rule("apps", "statefulsets", FOLLOW),
        rule("leaderworkerset.x-k8s.io", "leaderworkersets", FOLLOW),
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
        rule("coordination.k8s.io", "leases", "get create patch"),
    ),
    mounts={"/etc/kueue": {"configMap": {"name": CONFIG_MAP}}},
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


TRAINER: Final = SystemPart(
    "kubeflow-trainer-controller-manager",
    "kubeflow-system",
    image="ghcr.io/kubeflow/trainer/trainer-controller-manager:v2.2.1",
    args=(),
    account="kubeflow-trainer-controller-manager",
    rules=(
        rule(_TRAINER, "trainjobs clustertrainingruntimes trainingruntimes", FOLLOW),
        rule(_TRAINER, "trainjobs/status", "patch"),
        rule("jobset.x-k8s.io", "jobsets", f"{FOLLOW} create patch delete"),
        _SAYS,
    ),
)

_MADE: Final = "get create delete"
APP_WRAPPERS: Final = SystemPart(
    "appwrapper-controller-manager",
    "appwrapper-system",
    image="quay.io/ibm/appwrapper:v1.2.2",
    args=(),
    account="appwrapper-controller-manager",
    rules=(
        rule(_WRAPPERS, "appwrappers", f"{FOLLOW} patch"),
        rule(_WRAPPERS, "appwrappers/status", "patch"),
        rule("", "pods", f"{FOLLOW} {_MADE}"),
        rule("", "services", _MADE),
        rule("apps", "deployments statefulsets", _MADE),
        rule("batch", "jobs", _MADE),
        rule("jobset.x-k8s.io", "jobsets", _MADE),
        rule("kubeflow.org", "pytorchjobs", _MADE),
        rule("ray.io", "rayclusters rayjobs", _MADE),
        _SAYS,
    ),
)

SPARK_OPERATOR: Final = SystemPart(
    "spark-operator-controller",
    "spark-operator",
    image="ghcr.io/kubeflow/spark-operator/controller:2.5.1",
    args=(),
    account="spark-operator-controller",
    rules=(
        rule(_SPARK, "sparkapplications", FOLLOW),
        rule(_SPARK, "sparkapplications/status", "patch"),
        rule("", "pods", f"{FOLLOW} create delete"),
    ),
)


class Operator(NamedTuple):
    system: str
    """Whose kinds it needs; see `install_kinds`."""
    part: SystemPart


OPERATORS: Final = {
    TRAIN_JOB.framework: Operator("trainer", TRAINER),
    APP_WRAPPER.framework: Operator("appwrapper", APP_WRAPPERS),
    SPARK_APPLICATION.framework: Operator("spark-operator", SPARK_OPERATOR),
}
"""Who runs jobs that Kueue may be told to manage, by Kueue's names for their kinds."""


def operators(config: str) -> list[Operator]:
    """Return who runs the kinds of jobs that a configuration names, beside Kubernetes and JobSet."""
    return [OPERATORS[name] for name in kueue_configuration.read(config).frameworks if name in OPERATORS]


VISIBILITY: Final = "visibility.kueue.x-k8s.io"
VISIBILITY_SERVICE: Final = "kueue-visibility-server"


async def mend(cluster: Client) -> None:
    """Repair the Kueue of a fleet that fleetqueue 0.1.0 made: its configuration names a gate that is refused now."""
    found = await cluster.find(ConfigMap.resource, CONFIG_MAP, KUEUE_NAMESPACE)
    text = str((found or {}).get("data", {}).get(CONFIG_FILE) or "")
    if (mended := _OLD_GATE.sub("", text)) != text:
        await cluster.merge(ConfigMap.resource, CONFIG_MAP, KUEUE_NAMESPACE, {"data": {CONFIG_FILE: mended}})
        await cluster.merge(DEPLOYMENTS, KUEUE.name, KUEUE.namespace, {"spec": KUEUE.deployment()["spec"]})


def before(config: str) -> Iterable[Manifest]:
    """Build what a manager finds when it starts: its configuration, its webhooks' certificate, its own API's place."""
    yield Namespace.manifest(KUEUE_NAMESPACE)
    yield from visibility()
    yield ConfigMap.manifest(CONFIG_MAP, KUEUE_NAMESPACE, data={CONFIG_FILE: config})
    keys = ("ca.crt", "ca.key", "tls.crt", "tls.key")
    yield secret("kueue-webhook-server-cert", KUEUE_NAMESPACE, dict.fromkeys(keys, IN_PROCESS))


def visibility() -> Iterable[Manifest]:
    """Register the API that tells who waits in the queues."""
    metadata = {"name": VISIBILITY_SERVICE, "namespace": KUEUE_NAMESPACE}
    ports = [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 8082}]
    selector = {"control-plane": "controller-manager"}
    service = {"apiVersion": "v1", "kind": "Service", "metadata": metadata}
    yield {**service, "spec": {"ports": ports, "selector": selector}}
    for version in ("v1beta1", "v1beta2"):
        yield {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": f"{version}.{VISIBILITY}"},
            "spec": {
                "group": VISIBILITY,
                "groupPriorityMinimum": 100,
                "insecureSkipTLSVerify": True,
                "service": metadata,
                "version": version,
                "versionPriority": 100,
            },
        }
