"""Causes between a nomination and the end of a job: each is named by its code, and gone after the step that is told."""

from fnmatch import fnmatchcase
from functools import partial

import pytest

from fleetqueue.admin import cluster_draining
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.apps_v1 import Deployment
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Namespace, Node, Secret
from fleetqueue.api.core_v1 import secret as secret_manifest
from fleetqueue.api.fence import FENCE, LOST_WORKER
from fleetqueue.api.fleetqueue import KUBECONFIG_KEY, KUEUE_NAMESPACE
from fleetqueue.api.kueue_topology import Topology
from fleetqueue.api.rbac_v1 import ClusterRole
from fleetqueue.api.scheme import Manifest
from fleetqueue.client.kubeconfig import render
from fleetqueue.controllers.placement_admission.names import ALLOWED_CLUSTERS
from fleetqueue.fleets.systems.ocm import PLACEMENT
from fleetqueue.fleets.systems.parts import create_all, install_kinds
from fleetqueue.testing.builders import by_secret, condition
from fleetqueue.testing.virtual_time import advance
from tests.cause_sentences import SENTENCES as SHARED

from .agreement import BY_DISPATCHER, NOBODY_CHOSEN, TOLD_BY
from .world import LAST, ONLY_LAST, WORKERS, Place, mended, tell

# The first test plays all cases, one after the other on one fleet.
pytestmark = pytest.mark.timeout(600)

KUEUE_MANAGER = ("kueue-controller-manager", "kueue-system")
WORK_AGENT = ("klusterlet-work-agent", "open-cluster-management-agent")
"""Deployments on the worker; the second would bring rights back."""


async def drained(place: Place) -> None:
    await place.submit("first", annotations={ALLOWED_CLUSTERS: "cluster1"})
    await advance(20)
    await cluster_draining.drain(place.hub, "cluster1")
    await advance(10)
    await place.submit(annotations={ALLOWED_CLUSTERS: "cluster1"})
    await place.expect("ClusterDraining")
    await place.do_as_told()


async def all_drained(place: Place) -> None:
    for name in WORKERS:
        await cluster_draining.drain(place.hub, name)
    await place.submit()
    await place.expect("ClusterDraining")
    await place.do_as_told()
    await place.until_it_is("Admitted", within=600)
    for name in WORKERS[1:]:
        await cluster_draining.undrain(place.hub, name)


async def credential_refused(place: Place) -> None:
    last, secret = place.fleet.workers[-1], f"{place.name}-kubeconfig"
    bad = render(LAST, server=last.url, ca=last.ca, token="x.y.z", user="nobody")
    by_hand = [
        secret_manifest(secret, KUEUE_NAMESPACE, {KUBECONFIG_KEY: bad}),
        kueue.MultiKueueCluster.manifest(place.name, spec=by_secret(secret)),
        kueue.MultiKueueConfig.manifest(secret, spec={"clusters": [place.name]}),
    ]
    await create_all(place.hub, by_hand)
    await place.patch(kueue.AdmissionCheck, f"{place.name}-mk", {"spec": {"parameters": {"name": secret}}})
    await place.submit()
    await place.expect("CredentialRefused")
    good = secret_manifest(secret, KUEUE_NAMESPACE, {KUBECONFIG_KEY: last.kubeconfig})
    await place.patch(Secret, secret, {"data": good["data"]}, KUEUE_NAMESPACE)


async def check_inactive(place: Place) -> None:
    strategy = {"admissionChecks": [{"name": place.name}, {"name": f"{place.name}-mk"}, {"name": "budget"}]}
    check = kueue.AdmissionCheck.manifest("budget", spec={"controllerName": "example.com/budget"})
    await place.hub.create(kueue.AdmissionCheck.resource, check)
    said = condition(kueue.ACTIVE, False, "NoBudget", "nobody has named a budget")
    await place.hub.merge(
        kueue.AdmissionCheck.resource, "budget", "", {"status": {"conditions": [said]}}, subresource="status"
    )
    await place.patch_queue({"admissionChecksStrategy": strategy})
    await place.submit()
    await place.expect("CheckInactive")
    strategy["admissionChecks"].pop()
    await place.patch_queue({"admissionChecksStrategy": strategy})


async def nominated(place: Place) -> None:
    await place.patch_placement(ONLY_LAST)
    await place.scale(KUEUE_MANAGER, 0)
    await advance(10)
    await place.submit()
    await place.expect("Nominated")
    await place.scale(KUEUE_MANAGER, 1)


async def evicted(place: Place) -> None:
    await place.patch_placement(ONLY_LAST)
    await advance(5)
    await place.submit()
    await advance(20)
    place.fleet.cut(LAST)
    workload = await place.workload()
    await place.patch(kueue.Workload, workload.name, {"spec": {"active": False}}, place.name)
    await place.expect("Evicted", within=120)
    await place.do_as_told()
    place.fleet.heal(LAST)
    await advance(60)
    await place.patch(kueue.Workload, workload.name, {"spec": {"active": True}}, place.name)


async def waits_for_fence(place: Place) -> None:
    await place.submit(annotations={LOST_WORKER: FENCE})
    await advance(20)
    lost = (await place.workload()).status.cluster_name.removeprefix(f"{place.name}-")
    place.fleet.cut(lost)
    await place.expect("WaitsForFence", within=1500)
    await place.do_as_told()
    place.fleet.heal(lost)


def without_creation(rule: Manifest) -> Manifest:
    """Return a rule that lets nobody create anything but Workloads."""
    kept = [verb for verb in rule["verbs"] if verb != "create" or "workloads" in rule["resources"]]
    return {**rule, "verbs": kept}


async def job_refused(place: Place) -> None:
    await place.patch_placement(ONLY_LAST)
    await place.scale(WORK_AGENT, 0)
    last = place.workers[-1]
    role = await last.get(ClusterRole.resource, f"kueue-admin-{LAST}")
    await last.merge(
        ClusterRole.resource, f"kueue-admin-{LAST}", "", {"rules": [*map(without_creation, role["rules"])]}
    )
    await advance(10)
    await place.submit()
    await place.expect("JobRefused", within=600)
    await place.scale(WORK_AGENT, 1)


async def kind_not_served(place: Place) -> None:
    await place.patch_placement(ONLY_LAST)
    last = place.workers[-1]
    await last.delete(CustomResourceDefinition.resource, "jobsets.jobset.x-k8s.io")
    await advance(60)
    await place.submit()
    await place.expect("KindNotServed")
    await install_kinds(last, "jobset")


async def namespace_missing(place: Place) -> None:
    for worker in place.workers:
        await worker.delete(Namespace.resource, place.name)
    await advance(30)
    await place.submit()
    await place.expect("WorkerQueueMissing", within=120)
    gone = [one for one in place.queues(is_hub=False) if one["kind"] in ("Namespace", "LocalQueue")]
    for worker in place.workers:
        await create_all(worker, gone)


async def outscored(place: Place) -> None:
    await place.patch_placement({"numberOfClusters": 1})
    await advance(10)
    await place.submit(annotations={ALLOWED_CLUSTERS: "cluster3"})
    await place.expect("PinnedToNobody")
    await place.patch_placement({"numberOfClusters": 3})


async def succeeded(place: Place) -> None:
    await place.submit(run_for="10s")
    await place.expect("Succeeded", within=120)
    await place.submit_again()


async def failed(place: Place) -> None:
    await place.submit(run_for="10s", annotations={"fleetqueue.dev/fails": "true"})
    await place.expect("Failed", within=120)
    await place.submit_again()


async def not_checked(place: Place) -> None:
    await place.submit(cpu="")
    await place.expect("NotChecked")
    await place.submit_again()


async def check_not_looked_at(place: Place) -> None:
    await place.hub.create(
        kueue.AdmissionCheck.resource,
        kueue.AdmissionCheck.manifest("unattended", spec={"controllerName": "example.com/nobody"}),
    )
    strategy = {"admissionChecks": [{"name": place.name}, {"name": f"{place.name}-mk"}, {"name": "unattended"}]}
    await place.patch_queue({"admissionChecksStrategy": strategy})
    await place.submit()
    await place.expect("CheckNotLookedAt")
    strategy["admissionChecks"].pop()
    await place.patch_queue({"admissionChecksStrategy": strategy})


async def check_waits(place: Place) -> None:
    check = kueue.AdmissionCheck.manifest("spending", spec={"controllerName": "example.com/spending"})
    await place.hub.create(kueue.AdmissionCheck.resource, check)
    status = {"status": {"conditions": [condition(kueue.ACTIVE)]}}
    await place.hub.merge(kueue.AdmissionCheck.resource, "spending", "", status, subresource="status")
    strategy = {"admissionChecks": [{"name": place.name}, {"name": f"{place.name}-mk"}, {"name": "spending"}]}
    await place.patch_queue({"admissionChecksStrategy": strategy})
    await place.submit()
    await place.until_it_is("Nominated")
    await decide(place, "spending", kueue.PENDING, "the month is not over")
    await place.expect("CheckWaits")
    await decide(place, "spending", kueue.READY, "a new month")


async def decide(place: Place, name: str, state: str, message: str) -> None:
    """Say what a check makes of the job, as its controller would."""
    found = (await place.workload()).name
    raw = await place.hub.get(kueue.Workload.resource, found, place.name)
    states = [
        {**one, "state": state, "message": message} if one["name"] == name else one
        for one in raw["status"]["admissionChecks"]
    ]
    status = {"status": {"admissionChecks": states}}
    await place.hub.merge(kueue.Workload.resource, found, place.name, status, subresource="status")


async def placement_not_decided(place: Place) -> None:
    await place.patch(Deployment, PLACEMENT.name, {"spec": {"replicas": 0}}, PLACEMENT.namespace)
    await place.hub.delete(cluster.Placement.resource, place.name, KUEUE_NAMESPACE)
    await advance(30)
    (placement,) = [one for one in place.checks() if one["kind"] == "Placement"]
    await place.hub.create(cluster.Placement.resource, placement)
    await place.submit()
    await place.expect("PlacementNotDecided")
    await place.patch(Deployment, PLACEMENT.name, {"spec": {"replicas": 1}}, PLACEMENT.namespace)


async def topology_missing(place: Place) -> None:
    by_topology = {"topologyName": "absent", "nodeLabels": {"a": "b"}}
    await place.patch(kueue.ResourceFlavor, place.name, {"spec": by_topology})
    await place.submit()
    await place.expect("NoFlavorFits")
    levels = [{"nodeLabel": "kubernetes.io/hostname"}]
    topology = Topology.manifest("absent", spec={"levels": levels})
    await place.hub.create(Topology.resource, topology)
    found = await place.until_it_is("AboutToBeAdmitted")
    assert "its worker has not placed its pods by topology yet" in found.sentence
    for name, worker in zip(WORKERS, place.workers, strict=True):
        await worker.create(Topology.resource, topology)
        await worker.merge(Node.resource, f"{name}-control-plane", "", {"metadata": {"labels": {"a": "b"}}})
        await worker.merge(kueue.ResourceFlavor.resource, place.name, "", {"spec": by_topology})
    await place.submit_again()


async def queue_inactive(place: Place) -> None:
    (sends,) = [one for one in place.checks() if one["metadata"]["name"].endswith("-mk")]
    second = {**sends, "metadata": {"name": f"{place.name}-mk-too"}}
    await place.hub.create(kueue.AdmissionCheck.resource, second)
    names = (place.name, f"{place.name}-mk", f"{place.name}-mk-too")
    strategy = {"admissionChecks": [{"name": name} for name in names]}
    await place.patch_queue({"admissionChecksStrategy": strategy})
    await place.submit()
    await place.expect("ClusterQueueInactive")
    strategy["admissionChecks"].pop()
    await place.patch_queue({"admissionChecksStrategy": strategy})


async def queued_behind_an_equal(place: Place) -> None:
    await place.submit("first", cpu="4")
    await advance(5)
    await place.submit("second", cpu="2")
    await advance(5)
    await place.submit(cpu="2")
    await place.expect("Queued")
    for name in ("first", "second"):
        await place.hub.delete(Job.resource, name, place.name)


async def gated(place: Place) -> None:
    await place.submit(gate="example.com/budget")
    await place.expect("AdmissionGated")
    await place.patch(Job, "job", {"metadata": {"annotations": {kueue.ADMISSION_GATED_BY: None}}}, place.name)


async def deleted(place: Place) -> None:
    await place.submit()
    await advance(5)
    name = (await place.workload()).name
    await place.patch(kueue.Workload, name, {"metadata": {"finalizers": ["example.com/keeps"]}}, place.name)
    await place.hub.delete(kueue.Workload.resource, name, place.name)
    await place.expect("Deleting")
    await place.patch(kueue.Workload, name, {"metadata": {"finalizers": None}}, place.name)


CASES = {
    case.__name__: case
    for case in (
        drained,
        all_drained,
        credential_refused,
        check_inactive,
        nominated,
        evicted,
        waits_for_fence,
        job_refused,
        kind_not_served,
        namespace_missing,
        outscored,
        succeeded,
        failed,
        not_checked,
        check_not_looked_at,
        check_waits,
        placement_not_decided,
        topology_missing,
        queue_inactive,
        queued_behind_an_equal,
        gated,
        deleted,
    )
}
SENTENCES = {
    drained: (
        "no cluster can take it: {name}-cluster1: draining; {name}-cluster2: not among fleetqueue.dev/clusters;"
        " {name}-cluster3: not among fleetqueue.dev/clusters"
    ),
    all_drained: (
        "ClusterQueue {name} is inactive: Placement {name} drops cluster1, cluster2, cluster3: tainted with"
        " fleetqueue.dev/drain, to be drained; so AdmissionCheck {name} is not Active"
    ),
    credential_refused: (
        "ClusterQueue {name} is inactive: Kueue reaches no cluster of MultiKueueConfig {name}-kubeconfig: {name}: Kueue"
        " is not connected to it: ClientConnectionFailed: Unauthorized"
    ),
    check_inactive: SHARED["CheckInactive"],
    nominated: SHARED["Nominated"],
    evicted: (
        "it is being evicted: The workload is deactivated; {name}-cluster3 cannot be asked (get workloads/{name}/*:"
        " connection refused); the job may run there"
    ),
    waits_for_fence: SHARED["WaitsForFence"],
    job_refused: SHARED["JobRefused"],
    kind_not_served: SHARED["KindNotServed"],
    namespace_missing: (
        "no cluster can take it: {name}-cluster1: has no LocalQueue q in namespace {name}; {name}-cluster2: has no"
        " LocalQueue q in namespace {name}; {name}-cluster3: has no LocalQueue q in namespace {name}"
    ),
    outscored: SHARED["PinnedToNobody by score"],
    check_not_looked_at: (
        "ClusterQueue {name} is inactive: AdmissionCheck unattended was not looked at yet by example.com/nobody"
    ),
    check_waits: SHARED["CheckWaits"],
    placement_not_decided: (
        "ClusterQueue {name} is inactive: Placement {name} has no decision yet, though cluster1, cluster2, cluster3"
        " could be chosen; so AdmissionCheck {name} is not Active"
    ),
    topology_missing: (
        "failed to assign flavors to pod set main: workload requires Topology, but there is no TAS cache information"
    ),
    queue_inactive: "ClusterQueue {name} is inactive: *",
    queued_behind_an_equal: (
        "it waits in ClusterQueue {name}; Kueue has not said why: of several equal jobs, it says so of the first alone"
    ),
    gated: "Admission is gated by: example.com/budget",
    deleted: "it is being deleted",
    succeeded: "Reached expected number of succeeded pods",
    failed: SHARED["Failed"],
    not_checked: (
        "The workload is admitted; Kueue has asked no check about it, since it asks for nothing that its queue has a"
        " quota for: it is not sent"
    ),
}
"""What each cause says, with the case's own name for {name}, and * for what is another each time."""
TOLD_BY_CASE = {drained: BY_DISPATCHER, all_drained: NOBODY_CHOSEN}
"""What of ours tells of a cause that can be told in two ways."""


@pytest.fixture(scope="module")
def told():
    return tell({name: partial(mended, case) for name, case in CASES.items()})


@pytest.mark.parametrize("case", CASES)
def test_it_is_named_and_gone_after_its_step(told, case):
    seen = told[case]

    if isinstance(seen, Exception):
        raise seen
    cause, _ = seen
    assert fnmatchcase(cause.sentence, SENTENCES[CASES[case]].format(name=case.replace("_", "-")))
    assert cause.step or cause.code == "Succeeded"
    assert cause.told_by == TOLD_BY_CASE.get(CASES[case], TOLD_BY.get(cause.code, set()))
