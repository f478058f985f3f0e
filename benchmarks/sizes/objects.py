"""Objects as large as people's are: Workloads with pod templates and managedFields, clusters with claims, pods."""

from typing import Any, Final

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Node, Pod
from fleetqueue.api.scheme import Manifest

WHEN: Final = "2026-01-01T00:00:00Z"
NAMESPACES: Final = 20
CHECKS: Final = ("size-placement", "size-multikueue")


def namespace(number: int) -> str:
    return f"team-{number % NAMESPACES:02}"


def uid(kind: int, number: int) -> str:
    return f"{kind:08x}-0000-4000-8000-{number:012x}"


def workload(number: int, *, is_finished: bool, checks: tuple[str, ...] = CHECKS, cluster_name: str = "") -> Manifest:
    """A Workload as the API server stores it, of about 12 kB: a training job with a launcher and workers."""
    name = f"job-train-model-{number:06}-{number % 99991:05x}"
    pod_sets = [_pod_set("launcher", 1, number), _pod_set("workers", 8, number)]
    manifest = kueue.Workload.manifest(
        name,
        namespace(number),
        labels={kueue.JOB_UID_LABEL: uid(2, number), "app.kubernetes.io/part-of": "training"},
        annotations={"example.com/owner": f"user-{number % 400}@example.com", "example.com/cost-center": "4711"},
        spec={"active": True, "priority": 0, "queueName": "training", "podSets": pod_sets},
        status=_status(number, is_finished, checks, cluster_name),
    )
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": f"train-model-{number:06}", "uid": uid(2, number)}
    manifest["metadata"] |= {
        "uid": uid(1, number),
        "creationTimestamp": WHEN,
        "generation": 1,
        "finalizers": ["kueue.x-k8s.io/resource-in-use"],
        "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        "managedFields": _managed_fields(pod_sets),
    }
    return manifest


def _status(number: int, is_finished: bool, checks: tuple[str, ...], cluster_name: str) -> Manifest:
    kinds = ["QuotaReserved", *(["Admitted", "Finished"] if is_finished else [])]
    usage = {"cpu": "16", "memory": "64Gi", "nvidia.com/gpu": "8"}
    assignments = [
        {"name": name, "count": count, "flavors": dict.fromkeys(usage, "default-flavor"), "resourceUsage": usage}
        for name, count in (("launcher", 1), ("workers", 8))
    ]
    status = {
        "admission": {"clusterQueue": "training", "podSetAssignments": assignments},
        "conditions": [_condition(kind, number) for kind in kinds],
        "admissionChecks": [
            {
                "name": check,
                "state": "Pending" if check == checks[-1] and not is_finished else "Ready",
                "message": f"The workload got reservation on cluster {number % 60}",
                "lastTransitionTime": WHEN,
            }
            for check in checks
        ],
    }
    if cluster_name:
        status["clusterName"] = cluster_name
    return status


def _condition(kind: str, number: int) -> Manifest:
    return {
        "type": kind,
        "status": "True",
        "reason": kind,
        "message": f"{kind}: job train-model-{number:06} in ClusterQueue training",
        "lastTransitionTime": WHEN,
        "observedGeneration": 1,
    }


def _pod_set(name: str, count: int, number: int) -> Manifest:
    env = [{"name": f"SETTING_{n:02}", "value": f"value-of-setting-{n:02}-of-job-{number}"} for n in range(12)]
    mounts = [{"name": f"volume-{n}", "mountPath": f"/mnt/data/{n}", "readOnly": n % 2 == 0} for n in range(6)]
    container = {
        "name": "main",
        "image": "registry.example.com/training/pytorch@sha256:" + "ab" * 32,
        "command": ["torchrun", "--nnodes=8", "--nproc-per-node=8", "train.py"],
        "args": [f"--run={number}", "--config=/mnt/data/0/config.yaml", "--checkpoints=/mnt/data/1"],
        "env": env,
        "resources": {"requests": {"cpu": "2", "memory": "8Gi", "nvidia.com/gpu": "1"}, "limits": {"memory": "8Gi"}},
        "volumeMounts": mounts,
        "imagePullPolicy": "IfNotPresent",
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    spec: dict[str, Any] = {
        "containers": [container],
        "restartPolicy": "Never",
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "securityContext": {},
        "terminationGracePeriodSeconds": 30,
        "tolerations": [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
        "volumes": [{"name": f"volume-{n}", "persistentVolumeClaim": {"claimName": f"data-{n}"}} for n in range(6)],
    }
    labels = {"job-name": f"train-model-{number:06}", "app": "training", "role": name}
    return {"name": name, "count": count, "template": {"metadata": {"labels": labels}, "spec": spec}}


def _managed_fields(pod_sets: list[Manifest]) -> list[Manifest]:
    """Managed fields name every field once more."""
    spec = {f'k:{{"name":"{one["name"]}"}}': _fields(one) for one in pod_sets}
    entries = [("kueue", "Update", "", {"f:spec": {"f:podSets": spec}})]
    status = {"f:status": {"f:admission": {}, "f:conditions": {}, "f:admissionChecks": {}}}
    entries.append((kueue.ADMISSION_MANAGER, "Apply", "status", status))
    return [
        {
            "manager": manager,
            "operation": operation,
            "apiVersion": kueue.Workload.resource.api_version,
            "time": WHEN,
            "fieldsType": "FieldsV1",
            "fieldsV1": fields,
            **({"subresource": subresource} if subresource else {}),
        }
        for manager, operation, subresource, fields in entries
    ]


def _fields(value: Any) -> Manifest:
    if isinstance(value, dict):
        return {".": {}, **{f"f:{key}": _fields(inner) for key, inner in value.items()}}
    if isinstance(value, list) and value and isinstance(value[0], dict) and "name" in value[0]:
        return {f'k:{{"name":"{item["name"]}"}}': _fields(item) for item in value}
    return {}


def managed_cluster(number: int) -> Manifest:
    """A ManagedCluster as OCM and its add-ons fill it, of about 4 kB."""
    claims = [{"name": f"claim{n}.example.com", "value": f"value-{n}-of-cluster-{number}"} for n in range(15)]
    manifest = cluster.ManagedCluster.manifest(
        cluster_name(number),
        labels={f"example.com/label-{n}": f"value-{n}" for n in range(10)},
        spec={"hubAcceptsClient": True, "leaseDurationSeconds": 60},
        status={
            "conditions": [_condition(kind, number) for kind in ("HubAcceptedManagedCluster", "ManagedClusterJoined")],
            "clusterClaims": claims,
            "capacity": {"cpu": "512", "memory": "2Ti"},
            "allocatable": {"cpu": "500", "memory": "2Ti"},
            "version": {"kubernetes": "v1.36.3"},
        },
    )
    manifest["metadata"] |= {"uid": uid(3, number), "creationTimestamp": WHEN, "generation": 1}
    return manifest


def cluster_name(number: int) -> str:
    return f"cluster-{number:04}"


def pod(number: int) -> Manifest:
    """A pod as it runs on a large worker, of about 3 kB; every tenth has ended."""
    spec = _pod_set("main", 1, number)["template"]["spec"]
    manifest = Pod.manifest(
        f"train-model-{number // 8:06}-{number % 8}-{number % 99991:05x}",
        namespace(number),
        labels={"job-name": f"train-model-{number // 8:06}", "app": "training", "role": "worker"},
        spec={**spec, "nodeName": f"node-{number % 1000:04}"},
        status={"phase": "Succeeded" if number % 10 == 0 else "Running", "podIP": "10.0.0.1", "startTime": WHEN},
    )
    manifest["metadata"] |= {"uid": uid(4, number), "creationTimestamp": WHEN}
    return manifest


def node(number: int) -> Manifest:
    size = {"cpu": "512", "memory": "4Ti", "pods": "500", "nvidia.com/gpu": "128"}
    manifest = Node.manifest(f"node-{number:04}", status={"capacity": size, "allocatable": size})
    manifest["metadata"] |= {"uid": uid(5, number), "creationTimestamp": WHEN}
    return manifest
