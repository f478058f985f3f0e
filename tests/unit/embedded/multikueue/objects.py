"""Objects of these tests."""

import base64

from fleetqueue import clock
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.conditions import timestamp

NAMESPACE = "team-a"
SYSTEM = "kueue-system"
CHECK, CONFIG = "mk", "mk-config"
QUEUE = "user-queue"
POD_SPEC = {
    "restartPolicy": "Never",
    "containers": [{"name": "c", "image": "busybox", "resources": {"requests": {"cpu": "1"}}}],
}


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def condition(kind, status=True, reason="", message="", since=None):
    moment = timestamp(since or clock.now())
    return {
        "type": kind,
        "status": str(status),
        "reason": reason or kind,
        "message": message,
        "lastTransitionTime": moment,
    }


def job_manifest(name="j", **spec):
    return Job.manifest(
        name,
        NAMESPACE,
        labels={kueue.QUEUE_LABEL: QUEUE},
        spec={
            "suspend": True,
            "parallelism": 1,
            "completions": 1,
            "managedBy": kueue.MULTIKUEUE_CONTROLLER,
            "template": {"spec": POD_SPEC},
            **spec,
        },
    )


def hub_workload(name, uid, **spec):
    made = kueue.Workload.manifest(
        name,
        NAMESPACE,
        labels={kueue.JOB_UID_LABEL: uid},
        spec={"queueName": QUEUE, "podSets": [{"name": "main", "count": 1, "template": {"spec": POD_SPEC}}], **spec},
    )
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": uid, "controller": True}
    made["metadata"]["ownerReferences"] = [owner]
    made["metadata"]["finalizers"] = ["kueue.x-k8s.io/resource-in-use"]
    return made


def reserved():
    usage = {"name": "main", "flavors": {"cpu": "default"}, "resourceUsage": {"cpu": "1"}, "count": 1}
    return {
        "admission": {"clusterQueue": "q", "podSetAssignments": [usage]},
        "conditions": [condition("QuotaReserved")],
    }


def admitted():
    status = reserved()
    status["conditions"].append(condition("Admitted"))
    return status
