"""Parts of objects, as complete as a server demands them."""

from datetime import datetime

from fleetqueue import clock
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest, Resource


def condition(
    kind: str, status: bool | str = True, reason: str = "", message: str = "", since: datetime | str | None = None
) -> Manifest:
    """Build a condition: `condition("Ready")`, `condition("Active", False, "NoClusters")`; from now on, by default."""
    moment = since if isinstance(since, str) else timestamp(since or clock.now())
    details = {"reason": reason or kind, "message": message, "lastTransitionTime": moment}
    return {"type": kind, "status": str(status), **details}


def pod_template(image: str = "busybox", *, annotations: Manifest | None = None, **resources: Manifest) -> Manifest:
    """Build the template of pods with one container: `pod_template(requests={"cpu": "1"})`."""
    container = {"name": "main", "image": image, **({"resources": resources} if resources else {})}
    metadata = {"metadata": {"annotations": annotations}} if annotations else {}
    return {**metadata, "spec": {"restartPolicy": "Never", "containers": [container]}}


def custom_kind(resource: Resource) -> Manifest:
    """Build the definition of a kind whose spec and status may be anything."""
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    version = {
        "name": resource.version,
        "served": True,
        "storage": True,
        "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": anything, "status": anything}}},
    }
    names = {"kind": resource.kind, "plural": resource.plural, "singular": resource.kind.lower()}
    spec = {
        "group": resource.group,
        "names": {**names, "listKind": f"{resource.kind}List"},
        "scope": "Namespaced" if resource.namespaced else "Cluster",
        "versions": [version],
    }
    return CustomResourceDefinition.manifest(f"{resource.plural}.{resource.group}", spec=spec)


def by_secret(name: str = "kubeconfig") -> Manifest:
    """Build the spec of a MultiKueueCluster that Kueue reaches with the kubeconfig in a secret."""
    return {"clusterSource": {"kubeConfig": {"locationType": "Secret", "location": name}}}


def ended_job(kind: str = "Complete", at: str = "") -> Manifest:
    """Build the status of a Job that has ended: `Complete` or `Failed`."""
    moment = at or timestamp(clock.now())
    first = condition("SuccessCriteriaMet" if kind == "Complete" else "FailureTarget", since=moment)
    status: Manifest = {"startTime": moment, "conditions": [first, condition(kind, since=moment)]}
    return {**status, "completionTime": moment} if kind == "Complete" else status


def kueue_deployment(
    name: str = "kueue-controller-manager",
    namespace: str = "kueue-system",
    *,
    config_map: str = "kueue-manager-config",
    args: tuple[str, ...] = (),
    **labels: str,
) -> Manifest:
    """Build the Deployment of Kueue's manager as its own manifests and its Helm chart have it."""
    wanted = {"app.kubernetes.io/name": "kueue", "control-plane": "controller-manager", **labels}
    file = "controller_manager_config.yaml"
    container = {
        "name": "manager",
        "image": "registry.k8s.io/kueue/kueue:v0.19.2",
        "args": [f"--config=/{file}", *args],
        "volumeMounts": [{"name": "manager-config", "mountPath": f"/{file}", "subPath": file}],
    }
    volumes = [{"name": "manager-config", "configMap": {"name": config_map}}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "labels": wanted},
        "spec": {
            "selector": {"matchLabels": wanted},
            "template": {"metadata": {"labels": wanted}, "spec": {"containers": [container], "volumes": volumes}},
        },
    }


def kueue_pod(name: str = "kueue-controller-manager-1", namespace: str = "kueue-system") -> Manifest:
    """Build a pod of the Deployment above, in which Kueue runs from now on."""
    state = {"running": {"startedAt": timestamp(clock.now())}}
    status = {"name": "manager", "image": "kueue", "imageID": "", "ready": True, "restartCount": 0, "state": state}
    labels = {"app.kubernetes.io/name": "kueue", "control-plane": "controller-manager"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"containers": [{"name": "manager", "image": "kueue"}]},
        "status": {"phase": "Running", "containerStatuses": [status]},
    }
