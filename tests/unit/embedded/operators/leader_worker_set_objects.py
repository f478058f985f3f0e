"""LeaderWorkerSets, and the pods of StatefulSets as Kubernetes makes them: where nobody does so, the test does."""

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import StatefulSet
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.leaderworkerset_v1 import LeaderWorkerSet


def pod_template(cpu="1", **spec):
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    return {"spec": {"containers": [container], **spec}}


def leader_worker_set(replicas=2, size=2, *, namespace="team", queue="", cpu="1", leader=None, **spec):
    templates = {"size": size, "workerTemplate": pod_template(cpu)}
    if leader is not None:
        templates["leaderTemplate"] = leader
    labels = {kueue.QUEUE_LABEL: queue} if queue else None
    body = {"replicas": replicas, "leaderWorkerTemplate": templates, **spec}
    return LeaderWorkerSet.manifest("l", namespace, labels=labels, spec=body)


def pods_of(stateful_set):
    """Return the pods that a StatefulSet is to have."""
    metadata, spec = stateful_set["metadata"], stateful_set["spec"]
    first = (spec.get("ordinals") or {}).get("start", 0)
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": metadata["name"], "uid": metadata["uid"]}
    for number in range(first, first + spec["replicas"]):
        name, template = f"{metadata['name']}-{number}", spec["template"]
        made = Pod.manifest(name, metadata["namespace"], **template["metadata"], spec=template["spec"])
        made["metadata"]["ownerReferences"] = [{**owner, "controller": True, "blockOwnerDeletion": True}]
        yield made


async def make_pods(client, namespace="team"):
    """Play Kubernetes, where it does not do so: every StatefulSet has its pods, and none too many."""
    there = {raw["metadata"]["name"]: raw for raw in (await client.list(Pod.resource, namespace)).items}
    wanted = {}
    for stateful_set in (await client.list(StatefulSet.resource, namespace)).items:
        if "deletionTimestamp" not in stateful_set["metadata"]:
            wanted |= {pod["metadata"]["name"]: pod for pod in pods_of(stateful_set)}
    for name, pod in wanted.items():
        if name not in there:
            await client.create(Pod.resource, pod)
    for name, raw in there.items():
        if name not in wanted and "deletionTimestamp" not in raw["metadata"]:
            await client.delete(Pod.resource, name, namespace)
