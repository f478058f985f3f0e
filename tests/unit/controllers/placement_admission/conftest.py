"""A hub with a Placement, checks and Workloads, and workers in memory that hold copies."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest

from fleetqueue import clock
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import core_v1 as core
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.fleetqueue import CHECK_CONTROLLER, DISPATCHER_NAME
from fleetqueue.api.kueue_configuration import CONFIG_KEY, CONFIG_MAP
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import render
from fleetqueue.controllers.placement_admission.settings import PlacementAdmissionSettings
from fleetqueue.controllers.placement_admission.wiring import PlacementAdmission
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing import builders
from fleetqueue.testing.arranged_api import ArrangedApi
from fleetqueue.testing.builders import pod_template
from fleetqueue.testing.virtual_time import settle
from tests.invariants.second_look import managed

KUEUE = "kueue-system"
MOMENT = "2025-12-31T23:00:00Z"
"""Long before the virtual clock begins."""


def condition(kind, status="True", since=MOMENT):
    return builders.condition(kind, status, message=kind, since=since)


def workload_manifest(
    name="job",
    *,
    checks=None,
    nominated=(),
    on="",
    gpus=1,
    quota=True,
    quota_since=MOMENT,
    evicted=None,
    evicted_since=MOMENT,
    owner="",
    owner_uid="uid-of-owner",
    finished=False,
    deleting=False,
    annotations=None,
    pod_annotations=None,
    since=MOMENT,
):
    """Build a hub's Workload in namespace team-a; by default it waits for a nomination.

    `checks` is from each check's name to its state, or to (state, message).
    """
    states = {"mk": "Pending", "ac": "Ready"} if checks is None else checks
    conditions = [condition("QuotaReserved", since=quota_since)] if quota else []
    if evicted is not None:
        conditions.append(condition("Evicted", str(evicted), evicted_since))
    if finished:
        conditions.append(condition("Finished"))
    status = {"conditions": conditions, "admissionChecks": [_state(*entry, since) for entry in states.items()]}
    if quota:
        usage = {"name": "main", "count": 1, "resourceUsage": {"nvidia.com/gpu": str(gpus)}}
        status["admission"] = {"clusterQueue": "queue", "podSetAssignments": [usage]}
    if nominated:
        status["nominatedClusterNames"] = list(nominated)
    if on:
        status["clusterName"] = on
    template = {"metadata": {"annotations": pod_annotations}} if pod_annotations else {}
    spec = {"queueName": "queue", "podSets": [{"name": "main", "count": 1, "template": template}]}
    manifest = kueue.Workload.manifest(name, "team-a", annotations=annotations, spec=spec, status=status)
    if owner:
        job = {"apiVersion": "batch/v1", "kind": owner, "name": name, "uid": owner_uid, "controller": True}
        manifest["metadata"]["ownerReferences"] = [job]
    if deleting:
        manifest["metadata"] |= {"deletionTimestamp": MOMENT, "finalizers": ["kueue.x-k8s.io/resource-in-use"]}
    return manifest


def _state(name, state, since):
    state, message = (state, "") if isinstance(state, str) else state
    return {"name": name, "state": state, "message": message, "lastTransitionTime": since}


def copy_manifest(name="job", *, admitted=False, job=True, origin="multikueue"):
    """Build what the hub's Kueue puts on a worker, which may admit it; then its job is there, or `job` is False."""
    status = {"conditions": [condition("Admitted")] if admitted else []}
    manifest = kueue.Workload.manifest(name, "team-a", labels={kueue.ORIGIN_LABEL: origin}, spec={}, status=status)
    if admitted and job:
        owner = {"apiVersion": "batch/v1", "kind": "Job", "name": name, "uid": f"uid-of-{name}", "controller": True}
        manifest["metadata"]["ownerReferences"] = [owner]
    return manifest


def check_manifest(name="ac", placement="gpu", *, active=None, controller=CHECK_CONTROLLER, parameters=None):
    if parameters is None:
        parameters = {"apiGroup": cluster.GROUP, "kind": "Placement", "name": placement}
    spec = {"controllerName": controller, **({"parameters": parameters} if parameters else {})}
    manifest = kueue.AdmissionCheck.manifest(name, spec=spec)
    if active is not None:
        manifest["status"] = {"conditions": [condition("Active", str(active))]}
    return manifest


def _view(kind, manifest):
    manifest["metadata"].setdefault("uid", f"uid-of-{manifest['metadata']['name']}")
    return kind.view(kind.trim(manifest))


@pytest.fixture
def a_workload():
    """Build a Workload as controllers see it: `a_workload(nominated=["gpu-c1"])`."""
    return lambda *args, **options: _view(kueue.Workload, workload_manifest(*args, **options))


@pytest.fixture
def a_check():
    """Build an AdmissionCheck as controllers see it: `a_check("ac", active=True)`."""
    return lambda *args, **options: _view(kueue.AdmissionCheck, check_manifest(*args, **options))


class Environment:
    """What stands on the hub and the workers, in the words of the tests.

    A member is called `gpu-c1`: Placement gpu, cluster c1. Nothing here is recorded in `writes`.
    """

    def __init__(self, api: ArrangedApi, hub: Cluster, new_api: Callable[[], ArrangedApi]) -> None:
        self.api = api
        self.new_api = new_api
        self.hub = hub
        self.workers: dict[str, ArrangedApi] = {}
        self.hearts: list[PlacementAdmission] = []

    # Arranging the hub

    def fleet(self, *names, dispatcher=DISPATCHER_NAME, origin="multikueue"):
        """Set up clusters with their secrets, Kueue's configuration, and a MultiKueue check `mk` on config gpu."""
        for name in names:
            self.cluster(name)
        text = f"multiKueue: {{dispatcherName: {dispatcher}, origin: {origin}}}"
        self.api.add(core.ConfigMap.manifest(CONFIG_MAP, KUEUE, data={CONFIG_KEY: text}))
        self.multikueue_check("mk", "gpu")

    def cluster(self, name, *, secret=True, **spec):
        self.api.add(cluster.ManagedCluster.manifest(name, spec={"hubAcceptsClient": True, **spec}))
        self.workers[name] = self.new_api()
        self.workers[name].add(kueue.LocalQueue.manifest("queue", "team-a", spec={"clusterQueue": "queue"}))
        if secret:
            self.secret(name)

    def secret(self, name, **meta):
        server = f"https://{name}.example:6443"
        text = render(name, server=server, ca=b"ca", token="token", user="kueue")
        self.api.add(core.secret(f"kueue-admin-{name}-kubeconfig", KUEUE, {"kubeconfig": text}, **meta))

    def placement(self, name="gpu", *selected, scores=(), decided=True):
        """Add a Placement that has selected these clusters; `scores` are the names of its AddOn scores."""
        configurations = [
            {"scoreCoordinate": {"type": "AddOn", "addOn": {"resourceName": "resource-usage-score", "scoreName": s}}}
            for s in scores
        ]
        spec = {"prioritizerPolicy": {"mode": "Exact", "configurations": configurations}}
        self.api.add(cluster.Placement.manifest(name, KUEUE, spec=spec))
        if decided:
            labels = {cluster.PLACEMENT_LABEL: name}
            decision = cluster.PlacementDecision.manifest(f"{name}-decision-1", KUEUE, labels=labels)
            self.api.add({**decision, "status": {"decisions": _decisions(selected)}})

    def select(self, *names, placement="gpu"):
        """Let a Placement decide anew."""
        self.api.change(
            cluster.PlacementDecision, f"{placement}-decision-1", KUEUE, status={"decisions": _decisions(names)}
        )

    def score(self, name, value, score="gpuClusterAvailable"):
        score_object = self.api.get(cluster.AddOnPlacementScore, "resource-usage-score", name)
        status = {"scores": [{"name": score, "value": value}]}
        if score_object is None:
            self.api.add(cluster.AddOnPlacementScore.manifest("resource-usage-score", name, status=status))
        else:
            self.api.change(cluster.AddOnPlacementScore, "resource-usage-score", name, status=status)

    def check(self, *args, **options):
        self.api.add(check_manifest(*args, **options))

    def multikueue_check(self, name, config):
        parameters = {"apiGroup": kueue.GROUP, "kind": "MultiKueueConfig", "name": config}
        self.check(name, active=True, controller=kueue.MULTIKUEUE_CONTROLLER, parameters=parameters)

    def dispatcher(self, name):
        text = f"multiKueue: {{dispatcherName: {name}}}"
        self.api.change(core.ConfigMap, CONFIG_MAP, KUEUE, data={CONFIG_KEY: text})

    def workload(self, *args, **options):
        self.api.add(workload_manifest(*args, **options))

    def change_workload(self, name="job", **options):
        """Let Kueue change a Workload: what is not given is as in a new one."""
        status = workload_manifest(name, **options)["status"]
        absent = dict.fromkeys(("admission", "clusterName", "nominatedClusterNames"))
        self.api.change(kueue.Workload, name, "team-a", status={**absent, **status})

    def connect(self, *members, status="True", since=MOMENT):
        """Let Kueue say that it is (or is not) connected to members; all that there are where none is named."""
        for member in members or [existing.name for existing in self.api.list(kueue.MultiKueueCluster)]:
            conditions = [condition("Active", status, since)]
            self.api.change(kueue.MultiKueueCluster, member, status={"conditions": conditions})

    def disconnect(self, *members):
        self.connect(*members, status="False", since=timestamp(clock.now()))

    # Arranging the workers

    def copy(self, name, workload="job", **options):
        """Put a Workload's copy on a worker, as Kueue does."""
        self.workers[name].add(copy_manifest(workload, **options))

    def job(self, name, job="job", workload="", origin="multikueue"):
        """Put a Job on a worker, as Kueue does."""
        labels = {kueue.ORIGIN_LABEL: origin} | ({kueue.PREBUILT_WORKLOAD: workload} if workload else {})
        self.workers[name].add(Job.manifest(job, "team-a", labels=labels, spec={"template": pod_template()}))

    def remove_copy(self, name, workload="job"):
        self.workers[name].remove(kueue.Workload, workload, "team-a")

    def queue(self, name, gpus, used=0, **spec):
        """Give the LocalQueue of a worker a ClusterQueue with so many GPUs."""
        flavor = {"name": "default", "resources": [{"name": "nvidia.com/gpu", "nominalQuota": str(gpus)}]}
        groups = [{"coveredResources": ["nvidia.com/gpu"], "flavors": [flavor]}]
        reserved = [{"name": "default", "resources": [{"name": "nvidia.com/gpu", "total": str(used)}]}]
        queue = kueue.ClusterQueue.manifest("queue", spec={"resourceGroups": groups, **spec})
        self.workers[name].add({**queue, "status": {"flavorsReservation": reserved}})

    # Acting

    def heart(self, *, limit=20, hub_uid="", **settings) -> PlacementAdmission:
        """Put the room together, with these settings."""
        chosen = PlacementAdmissionSettings(**settings)
        heart = PlacementAdmission(self.hub, Metrics(), chosen, limit=limit, hub_uid=hub_uid, dial=self._dial)
        self.hearts.append(heart)
        return heart

    @asynccontextmanager
    async def beating(self, **options) -> AsyncIterator[PlacementAdmission]:
        """Run the whole room, and let it do all that needs no time."""
        heart = self.heart(**options)
        async with managed(Manager(self.hub, heart.controllers), apis=self.workers.values()):
            await settle()
            yield heart

    async def connected(self):
        """Let Kueue connect to every member, and the room see it."""
        await settle()
        self.connect()
        await settle()

    async def close(self):
        for heart in self.hearts:
            await heart.close()

    def _dial(self, connection) -> Client:
        name = connection.server.removeprefix("https://").partition(".")[0]
        return Client(self.workers[name])

    # Looking

    @property
    def writes(self):
        """What was written on the hub, without events."""
        return [write for write in self.api.writes if " events/" not in write]

    def lists(self, config="gpu"):
        listed = self.api.get(kueue.MultiKueueConfig, config)
        return list(listed.spec.clusters) if listed is not None else None

    def members(self):
        return [member.name for member in self.api.list(kueue.MultiKueueCluster)]

    def says(self, kind, check="ac"):
        """Return a condition of a check; None where it has none."""
        conditions = self.api.get(kueue.AdmissionCheck, check).status.conditions
        return next((condition for condition in conditions if condition.type == kind), None)

    def state(self, check="ac", workload="job"):
        return self.api.get(kueue.Workload, workload, "team-a").check(check).state

    def nominated(self, workload="job"):
        return list(self.api.get(kueue.Workload, workload, "team-a").status.nominated_cluster_names)

    def events(self, reason):
        """Return the notes of all events with a reason."""
        events = [self.api.raw(Event, event.name, event.namespace) for event in self.api.list(Event)]
        return [event["note"] for event in events if event["reason"] == reason]


def _decisions(names):
    return [{"clusterName": name, "reason": ""} for name in names]


@pytest.fixture
async def env(api: ArrangedApi, hub: Cluster, new_api: Callable[[], ArrangedApi]) -> AsyncIterator[Environment]:
    env = Environment(api, hub, new_api)
    yield env
    await env.close()


@pytest.fixture
def counted():
    return (kueue.AdmissionCheck, kueue.MultiKueueConfig, kueue.MultiKueueCluster)


@pytest.fixture
async def two_clusters(env: Environment) -> None:
    env.fleet("c1", "c2")
    env.placement("gpu", "c1", "c2")
    env.check()


@pytest.fixture
async def running_job(env: Environment, two_clusters: None) -> None:
    """A job runs on c1."""
    env.workload(on="gpu-c1", checks={"mk": "Ready", "ac": "Ready"})
    env.copy("c1", admitted=True)
