"""What a StatefulSet says of its pods to Kueue: they are a group that serves for ever, and one Workload.

Mirrors: Kueue pkg/controller/jobs/statefulset
"""

from typing import Final

from fleetqueue.api import kueue_pods as pods
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import StatefulSet
from fleetqueue.api.fields import value_at
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import names
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.integration import pod_set
from fleetqueue.embedded.kueue.pods.parent_pods import with_marks
from fleetqueue.embedded.kueue.pods.roles import MAIN
from fleetqueue.rules.workload_names import name_for_pods_of

POD_INDEX: Final = "apps.kubernetes.io/pod-index"


def replicas(stateful_set: Manifest) -> int:
    return int(stateful_set["spec"].get("replicas", 1))


def workload_name(stateful_set: Manifest) -> str:
    return name_for_pods_of(StatefulSet, stateful_set)


def pod_sets(stateful_set: Manifest) -> list[Manifest]:
    made = pod_set(MAIN, stateful_set["spec"]["template"], replicas(stateful_set), podIndexLabel=POD_INDEX)
    return [{**made, "template": {"spec": made["template"]["spec"]}}]


def is_of_another(stateful_set: Manifest) -> bool:
    """Tell whether the pods of a StatefulSet are admitted for what is above it."""
    parent = value_at(stateful_set, ("spec", "template", "metadata", "annotations", pods.SUSPENDING_PARENT))
    return parent not in (None, pods.STATEFUL_SET)


def marked(pod: Manifest, stateful_set: Manifest, *, without_queue: bool) -> Manifest:
    """Return a pod of a StatefulSet as a member of its group; `without_queue`: also where nobody names a queue."""
    queue, name = job_fields.queue_name(stateful_set), workload_name(stateful_set)
    if pods.group_name(pod["metadata"]) == name:
        return with_marks(pod, {kueue.QUEUE_LABEL: queue} if queue else {}, {})
    if not queue and not without_queue:
        return pod
    labels = {
        pods.MANAGED: "true",
        kueue.QUEUE_LABEL: queue,
        names.PRIORITY_CLASS: job_fields.priority_class(stateful_set),
    }
    annotations = {
        kueue.PREBUILT_WORKLOAD: name,
        pods.GROUP_NAME: name,
        pods.GROUP_TOTAL_COUNT: str(replicas(stateful_set)),
        pods.GROUP_FAST_ADMISSION: "true",
        pods.GROUP_SERVING: "true",
        pods.POD_INDEX_LABEL: POD_INDEX,
        pods.ROLE_HASH: MAIN,
    }
    return with_marks(pod, {key: value for key, value in labels.items() if value}, annotations)
