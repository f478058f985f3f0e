"""Pods of users, and what Kueue makes of them."""

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Pod
from fleetqueue.embedded.kueue.settings import KueueSettings
from fleetqueue.embedded.kueue.webhooks.hooks import hooks
from fleetqueue.embedded.kueue.wiring import INTEGRATIONS
from fleetqueue.rules.workload_names import workload_name
from tests.unit.embedded.kueue.job_objects import template
from tests.unit.embedded.kueue.scheduling.objects import NAMESPACE

GROUP, COUNT = "kueue.x-k8s.io/pod-group-name", "kueue.x-k8s.io/pod-group-total-count"
GATE = "kueue.x-k8s.io/admission"
SETTINGS = KueueSettings(frameworks=("batch/job", "pod"))


def pod_manifest(name="p", *, queue="q", labels=None, annotations=None, cpu="1", runs="1000s", **spec):
    made = template(cpu, runs=runs, annotations=annotations, **spec)
    queued = {kueue.QUEUE_LABEL: queue} if queue else {}
    return Pod.manifest(
        name,
        NAMESPACE,
        labels={**queued, **(labels or {})},
        annotations=made["metadata"]["annotations"],
        spec=made["spec"],
    )


def member(name, *, of="g", count=2, annotations=None, origin="", **said):
    """A pod of a group; with an origin, of the copy of one."""
    marks = {COUNT: str(count), **(annotations or {})}
    labels = {GROUP: of, **({kueue.ORIGIN_LABEL: origin} if origin else {})}
    return pod_manifest(name, labels=labels, annotations=marks, **said)


def ask(world, settings=SETTINGS):
    """Let Kueue have a say in writes."""
    server = world.fleet.hub.server
    server.webhooks.install("kueue", hooks(settings, INTEGRATIONS, server.find))


async def pod(world, name="p"):
    return await world.get("Pod", name, NAMESPACE)


async def pods(world):
    return {raw["metadata"]["name"]: raw for raw in (await world.client.list(Pod.resource, NAMESPACE)).items}


def workload_name_of(raw):
    return workload_name("Pod", "", raw["metadata"]["name"], raw["metadata"]["uid"])


async def workload_of(world, name="p"):
    return await world.workload(workload_name_of(await pod(world, name)))


def is_gated(raw):
    return GATE in [gate["name"] for gate in raw["spec"].get("schedulingGates", ())]
