"""StatefulSets, and their pods as Kubernetes makes them: where nobody does so, the test does."""

from contextlib import suppress

from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import StatefulSet
from fleetqueue.api.core_v1 import Pod
from fleetqueue.rules.workload_names import workload_name
from fleetqueue.testing.virtual_time import advance
from tests.unit.embedded.kueue.job_objects import template
from tests.unit.embedded.kueue.scheduling.objects import NAMESPACE


def stateful_set(replicas=2, *, queue="q", cpu="1", labels=None, annotations=None, template_annotations=None):
    pods = template(cpu, labels={"app": "s"}, annotations=template_annotations, restartPolicy="Always")
    spec = {
        "replicas": replicas,
        "serviceName": "s",
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": {"app": "s"}},
        "template": pods,
    }
    queued = {kueue.QUEUE_LABEL: queue} if queue else {}
    return StatefulSet.manifest("s", NAMESPACE, labels={**queued, **(labels or {})}, annotations=annotations, spec=spec)


def pod_of(made, number):
    """A pod of a StatefulSet as its controller makes it."""
    metadata, template = made["metadata"], made["spec"]["template"]
    index = {"apps.kubernetes.io/pod-index": str(number), "controller-revision-hash": "s-1"}
    pod = Pod.manifest(
        f"{metadata['name']}-{number}",
        metadata["namespace"],
        labels={**template["metadata"].get("labels", {}), **index},
        annotations=template["metadata"].get("annotations"),
        spec=template["spec"],
    )
    owner = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": metadata["name"], "uid": metadata["uid"]}
    pod["metadata"]["ownerReferences"] = [{**owner, "controller": True, "blockOwnerDeletion": True}]
    return pod


async def make_pods(world, seconds=10):
    """Let a StatefulSet have all of its pods."""
    made = await world.client.get(StatefulSet.resource, "s", NAMESPACE)
    for number in range(made["spec"]["replicas"]):
        with suppress(errors.AlreadyExists):
            await world.client.create(Pod.resource, pod_of(made, number))
    await advance(seconds)


async def the_workload(world):
    made = await world.client.get(StatefulSet.resource, "s", NAMESPACE)
    return await world.workload(workload_name("StatefulSet", "apps", "s", made["metadata"]["uid"]))
