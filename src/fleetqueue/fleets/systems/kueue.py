"""Kueue and JobSet as they are installed on every cluster of the walkthroughs' environment."""

import re
from collections.abc import Iterable
from typing import Final

from fleetqueue.api.core_v1 import ConfigMap, Namespace, secret
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
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
    - kubeflow.org/mpijob
    - ray.io/rayjob
    - ray.io/raycluster
    - ray.io/rayservice
    - jobset.x-k8s.io/jobset
    - kubeflow.org/paddlejob
    - kubeflow.org/pytorchjob
    - kubeflow.org/tfjob
    - kubeflow.org/xgboostjob
    - kubeflow.org/jaxjob
    - workload.codeflare.dev/appwrapper
    - trainer.kubeflow.org/trainjob
    - pod
    - deployment
    - statefulset
    - leaderworkerset.x-k8s.io/leaderworkerset
"""
"""What a manager is told: the kinds of Kueue's shipped list, and Kubeflow's, which stand there in comments."""

_OLD_GATE: Final = re.compile(r"^ +AdmissionCheckValidationRules:.*\n", re.MULTILINE)
IN_PROCESS: Final = "webhooks are asked in process here"
_KUEUE: Final = "kueue.x-k8s.io"
_TRAINER: Final = "trainer.kubeflow.org"
_WRAPPERS: Final = "workload.codeflare.dev"
_SPARK: Final = "sparkoperator.k8s.io"
_KUBEFLOW: Final = "jaxjobs mpijobs paddlejobs pytorchjobs tfjobs xgboostjobs"

KUEUE: Final = SystemPart(
    "kueue-controller-manager",
    KUEUE_NAMESPACE,
    image="registry.k8s.io/kueue/kueue:v0.19.2",
    args=(f"--config=/etc/kueue/{CONFIG_FILE}", f"--{OLD_CONDITIONS}"),
    account="kueue-controller-manager",
    role="kueue-manager-role",
    rules=(
        rule("", "limitranges namespaces nodes", FOLLOW),
        rule("node.k8s.io", "runtimeclasses", FOLLOW),
        rule("scheduling.k8s.io", "priorityclasses", FOLLOW),
        rule("batch", "jobs", f"get {FOLLOW} patch delete"),
        rule("batch", "jobs/status", "patch"),
        rule("jobset.x-k8s.io", "jobsets", f"get {FOLLOW} patch delete"),
        rule("jobset.x-k8s.io", "jobsets/status", "patch"),
        rule("kubeflow.org", _KUBEFLOW, f"get {FOLLOW} patch delete"),
        rule("kubeflow.org", " ".join(f"{kind}/status" for kind in _KUBEFLOW.split()), "patch"),
        rule("ray.io", "rayclusters rayjobs rayservices", f"get {FOLLOW} patch delete"),
        rule("ray.io", "rayclusters/status rayjobs/status rayservices/status", "patch"),
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
        rule(_KUEUE, "clusterqueues resourceflavors topologies", f"{FOLLOW} patch"),
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
