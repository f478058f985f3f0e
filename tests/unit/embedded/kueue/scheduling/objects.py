"""Builders that speak of queues, flavors and Workloads."""

from datetime import UTC, datetime, timedelta

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.pod_limits import LimitRange
from fleetqueue.embedded.kueue.scheduling.queue_usage import FlavorResource
from fleetqueue.embedded.kueue.scheduling.workload_info import holding, waiting
from fleetqueue.embedded.kueue.settings import SchedulingSettings

NAMESPACE = "team"
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
CPU = FlavorResource("default", "cpu")


def cpu(flavor="default"):
    return FlavorResource(flavor, "cpu")


def quota(nominal, *, borrow=None, lend=None, resource="cpu"):
    limits = {"borrowingLimit": borrow, "lendingLimit": lend}
    given = {name: str(value) for name, value in limits.items() if value is not None}
    return {"name": resource, "nominalQuota": str(nominal), **given}


def group(**flavors):
    """One group of resources: what each flavor has, by its name."""
    listed = [{"name": name, "resources": [said] if isinstance(said, dict) else said} for name, said in flavors.items()]
    return {"coveredResources": [each["name"] for each in listed[0]["resources"]], "flavors": listed}


def queue_manifest(name="q", *groups, cohort="", **spec):
    spec = {"namespaceSelector": {}, "resourceGroups": [*(groups or (group(default=quota(4)),))], **spec}
    if cohort:
        spec["cohortName"] = cohort
    return kueue.ClusterQueue.manifest(name, spec=spec)


def queue(name="q", *groups, cohort="", **spec):
    return kueue.ClusterQueue.view(queue_manifest(name, *groups, cohort=cohort, **spec))


def flavor(name="default", **spec):
    return kueue.ResourceFlavor.view(kueue.ResourceFlavor.manifest(name, spec=spec))


def check(name, *, active=True, controller="example.com/check"):
    condition = {"type": "Active", "status": str(active), "reason": "R", "message": ""}
    return kueue.AdmissionCheck.view(
        kueue.AdmissionCheck.manifest(name, spec={"controllerName": controller}, status={"conditions": [condition]})
    )


def local_queue_manifest(name="q", *, to="", stop="None", **spec):
    spec = {"clusterQueue": to or name, "stopPolicy": stop, **spec}
    return kueue.LocalQueue.manifest(name, NAMESPACE, spec=spec)


def local_queue(name="q", *, to="", stop="None", **spec):
    return kueue.LocalQueue.view(local_queue_manifest(name, to=to, stop=stop, **spec))


def cohort(name, *, parent="", groups=(), **spec):
    spec = {"resourceGroups": [*groups], **({"parentName": parent} if parent else {}), **spec}
    return kueue.Cohort.view(kueue.Cohort.manifest(name, spec=spec))


def pod_set(name="main", *, count=1, least=None, requests=None, **spec):
    container = {"name": "c", "image": "i", "resources": {"requests": requests or {}}}
    sized = {} if least is None else {"minCount": least}
    template = {"spec": {"containers": [container], "restartPolicy": "Never", **spec}}
    return {"name": name, "count": count, **sized, "template": template}


def condition(kind, value, reason="R", message="m", *, at=NOON):
    said = {"type": kind, "status": value, "reason": reason, "message": message}
    return {**said, "lastTransitionTime": timestamp(at), "observedGeneration": 1}


def workload_manifest(name="w", *pod_sets, to="q", cpu="1", **spec):
    sets = pod_sets or (pod_set(requests={"cpu": str(cpu)}),)
    return kueue.Workload.manifest(name, NAMESPACE, spec={"queueName": to, "podSets": [*sets], **spec})


def workload(
    name="w", *pod_sets, to="q", cpu="1", age=0, version=1, conditions=(), status=None, annotations=None, **spec
):
    """A Workload as it was seen; `age` is for how many seconds it has existed."""
    raw = workload_manifest(name, *pod_sets, to=to, cpu=cpu, **spec)
    made = timestamp(NOON - timedelta(seconds=age))
    raw["metadata"] |= {"uid": f"uid-{name}", "resourceVersion": str(version), "creationTimestamp": made}
    raw["metadata"] |= {"generation": 1, "annotations": annotations or {}}
    raw["status"] = {"conditions": [*conditions], **(status or {})}
    return kueue.QueuedWorkload.view(raw)


def admitted(
    name="w", *, to="q", cpu="1", flavor="default", reserved=NOON, priority=0, evicted=False, version=2, local=""
):
    """A Workload that holds quota and runs."""
    given = {"name": "main", "flavors": {"cpu": flavor}, "resourceUsage": {"cpu": str(cpu)}, "count": 1}
    told = [condition("QuotaReserved", "True", at=reserved), condition("Admitted", "True", at=reserved)]
    if evicted:
        told.append(condition("Evicted", "True", "Preempted"))
    status = {"admission": {"clusterQueue": to, "podSetAssignments": [given]}}
    sent = {"cpu": cpu, "to": local or to, "priority": priority, "version": version}
    return workload(name, conditions=told, status=status, **sent)


def work(name="w", *pod_sets, to="q", cpu="1", **said):
    """A Workload that waits."""
    view = workload(name, *pod_sets, to=to, cpu=cpu, **said)
    return waiting(view, to, limits={}, overheads={}, settings=SchedulingSettings())


def holder(name="w", **said):
    """A Workload that holds quota, as the scheduler sees it."""
    view = admitted(name, **said)
    assert view.status.admission is not None
    return holding(view, view.status.admission, by_eviction=True)


def limit_range(*items):
    return LimitRange.view(LimitRange.manifest("l", "ns", spec={"limits": [*items]}))
