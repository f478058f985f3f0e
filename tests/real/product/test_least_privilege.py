"""The shipped roles are enough, and nothing in them can be left out.

The hub's process runs through all that it does, as the shipped account, while every request is written down. Then
each grain of each rule (one resource, one verb) must have been the only one to allow some request; and with the grain
taken out of the role, the real API server denies that request.
"""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from fleetqueue.admin.joining import Newcomer, join, wait_for_credentials
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.fence import FENCE, LEASE, LOST_WORKER, PASSED, WAIT
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.client.kubeconfig import load
from fleetqueue.client.transport import connect
from fleetqueue.controllers.credentials.settings import CredentialsSettings
from fleetqueue.controllers.placement_admission.settings import PlacementAdmissionSettings
from fleetqueue.controllers.processes.hub import HubProcess
from fleetqueue.controllers.processes.settings import HubSettings, LeaderElectionSettings
from tests.job_kinds import LEADER_WORKER_SET, STATEFUL_SET

from .fence_agents import renew_once
from .sent_jobs import delete, placed, submit

ROLES = Path(__file__).parents[3] / "deploy" / "kustomize" / "rbac"
NOT_ON_THIS_HUB = {
    "managedserviceaccounts": "OCM's managed-serviceaccount add-on is not installed here",
    "clusterpermissions": "OCM's cluster-permission add-on is not installed here",
    "managedclusteraddons managed-serviceaccount": "OCM's managed-serviceaccount add-on is not installed here",
    "configmaps kube-root-ca.crt": "read only where workers are reached through OCM's cluster-proxy",
}
ALL = {"cluster1", "cluster2", "cluster3"}


@dataclass(frozen=True)
class Grain:
    """One resource and one verb of a rule, for one name where the rule has names."""

    role: str
    namespace: str
    group: str
    resource: str
    verb: str
    name: str

    def allows(self, call: "Call") -> bool:
        return (
            self.namespace in ("", call.namespace)
            and (self.group, self.resource, self.verb) == (call.group, call.resource, call.verb)
            and self.name in ("", call.name)
        )


@dataclass(frozen=True)
class Call:
    group: str
    resource: str
    verb: str
    namespace: str
    name: str


class Recorder:
    """A door that writes down who asked for what."""

    def __init__(self, door: Any, calls: set[Call]) -> None:
        self.door = door
        self.calls = calls

    async def request(self, request: Any, *, timeout: float) -> Any:
        self.calls.add(call_of(request.method, request.path, request.query))
        return await self.door.request(request, timeout=timeout)

    def stream(self, request: Any, *, silence: float) -> Any:
        if "sendInitialEvents" in request.query:
            raise errors.BadRequest("as older API servers answer, so that lists are asked for too")
        self.calls.add(call_of("GET", request.path, request.query))
        return self.door.stream(request, silence=silence)

    async def close(self) -> None:
        await self.door.close()


def call_of(method, path, query):
    """Read a request as the API server's authorizer does."""
    parts = path.strip("/").split("/")
    group, rest = ("", parts[2:]) if parts[0] == "api" else (parts[1] if len(parts) > 1 else "", parts[3:])
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces":
        namespace, rest = rest[1], rest[2:]
    resource = "/".join(rest[:1] + rest[2:3])
    name = rest[1] if len(rest) > 1 else query.get("fieldSelector", "").removeprefix("metadata.name=")
    collection = len(rest) == 1
    verbs = {"POST": "create", "PATCH": "patch", "DELETE": "delete", "PUT": "update"}
    verb = verbs.get(method, "watch" if "watch" in query else "list" if collection else "get")
    return Call(group, resource, verb, namespace, name)


def grains(path):
    role = yaml.safe_load(path.read_text())
    for rule in role["rules"]:
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                for verb in rule["verbs"]:
                    for name in rule.get("resourceNames", [""]):
                        yield Grain(path.name, role["metadata"].get("namespace", ""), group, resource, verb, name)


def without(path, grain):
    """Return the role of a file with one grain taken out."""
    role = yaml.safe_load(path.read_text())
    rules = []
    for other in grains(path):
        if other != grain:
            rule = {"apiGroups": [other.group], "resources": [other.resource], "verbs": [other.verb]}
            rules.append({**rule, "resourceNames": [other.name]} if other.name else rule)
    return {**role, "rules": rules}


async def everything(env):
    """Make the hub's process do all that it can."""
    extra = f"{env.name}-extra"
    newcomer = Newcomer(extra, load(env.world.fleet.clusters["hub"].kubeconfig), cluster_set="fleet")
    labels = {"x-k8s.io/cluster-manager": "open-cluster-management", "open-cluster-management.io/cluster-name": extra}
    spec = {"displayName": extra, "clusterManager": {"name": "open-cluster-management"}}
    profile = ClusterProfile.manifest(extra, "kueue-system", labels=labels, spec=spec)
    await env.hub.create(ClusterProfile.resource, profile)
    await join(env.hub, newcomer, lambda line: None)
    await wait_for_credentials(env.hub, newcomer, limit=45)
    await env.says("Active", "True")
    await repair(env, extra)
    await env.eventually(lambda: profiled(env, extra), "the ClusterProfile says how the cluster is reached")
    await env.submit("stopped")
    await env.counts_its_pod("stopped")
    await env.set_active("stopped", False)
    await env.eventually(lambda: stopped(env, "stopped"), "the stopped job has given its quota back")
    await sets(env)
    await fence(env)
    await env.submit("job", run_for="3s")
    place = await env.running_on("job")
    await env.select(*(ALL - {place}))
    await env.finished("job")
    await env.lists(*(ALL - {place}))
    await env.eventually(lambda: scored(env, extra), "the silent cluster has the lowest score")
    await env.hub.delete(cluster.ManagedCluster.resource, extra)
    await env.eventually(lambda: forgotten(env, extra), "the deleted cluster is forgotten")
    await env.hub.delete(kueue.ClusterQueue.resource, env.name)
    await env.hub.delete(kueue.AdmissionCheck.resource, env.name)
    # The fenced job's copy stays until Kueue has its connection again, or until it collects what is left, each minute.
    await env.eventually(lambda: gone(env), "the check and its config are gone", within=120)


async def sets(env):
    """Send sets that must not run twice: their pod templates cannot say so to Kueue, but their queue can."""
    policy = {"metadata": {"annotations": {LOST_WORKER: WAIT}}}
    await env.hub.merge(kueue.ClusterQueue.resource, env.name, "", policy)
    for kind in (STATEFUL_SET, LEADER_WORKER_SET):
        await submit(env, kind)
        await placed(env, kind)
        await delete(env, kind)
    await env.hub.merge(kueue.ClusterQueue.resource, env.name, "", {"metadata": {"annotations": {LOST_WORKER: None}}})


async def fence(env):
    """Lose the cluster of a job that asks for the fence, with an agent that renewed its Lease once."""
    for name in ALL:
        await renew_once(env.hub, name)
    await env.submit("fenced", annotations={LOST_WORKER: FENCE}, grace=1)
    place = await env.running_on("fenced")
    await env.counts_its_pod("fenced")
    await env.hub.merge(Lease.resource, LEASE, place, {"spec": {"leaseDurationSeconds": 1}})
    await env.world.fleet.cut(place)
    await env.set_active("fenced", False)
    await env.eventually(lambda: is_passed(env, place), "the Lease is marked")
    await env.world.fleet.heal(place)
    await env.hub.delete(Job.resource, "fenced", env.name)
    for name in ALL:
        await env.hub.delete(Lease.resource, LEASE, name)


async def is_passed(env, name):
    return PASSED in (await env.get(Lease, LEASE, name)).metadata.annotations


async def repair(env, extra):
    """Break what the process keeps right, by hand, and wait until it is right again."""
    member, secret = f"{env.name}-cluster1", f"kueue-admin-{extra}-kubeconfig"
    broken = {"spec": {"clusterSource": {"kubeConfig": {"location": "somewhere-else"}}}}
    await env.hub.merge(kueue.MultiKueueCluster.resource, member, "", broken)
    await env.hub.merge(Secret.resource, secret, "kueue-system", {"data": {"kubeconfig": "bm9uc2Vuc2U="}})

    async def repaired():
        found = await env.get(kueue.MultiKueueCluster, member)
        kubeconfig = await env.get(Secret, secret, "kueue-system")
        source = found.spec.cluster_source.kube_config if found else None
        return source and "cluster1" in source.location and "token" in (kubeconfig.text("kubeconfig") or "")

    await env.eventually(repaired, "the member and the secret are right again")


async def stopped(env, job):
    return not (await env.workload(job)).is_true(kueue.QUOTA_RESERVED)


async def profiled(env, name):
    raw = await env.hub.get(ClusterProfile.resource, name, "kueue-system")
    return raw.get("status", {}).get("accessProviders")


async def scored(env, name):
    found = await env.get(cluster.AddOnPlacementScore, "resource-usage-score", name)
    return found is not None and found.status.scores


async def forgotten(env, name):
    secrets = (await env.hub.read("/api/v1/namespaces/kueue-system/secrets"))["items"]
    admin = (await env.hub.read("/api/v1/namespaces/fleetqueue-system/secrets"))["items"]
    score = await env.get(cluster.AddOnPlacementScore, "resource-usage-score", name)
    return score is None and not [s for s in secrets + admin if name in s["metadata"]["name"]]


async def gone(env):
    return await env.config() is None and await env.get(kueue.AdmissionCheck, env.name) is None


async def allowed(env, call):
    resource, _, subresource = call.resource.partition("/")
    attributes = {
        "group": call.group,
        "resource": resource,
        "subresource": subresource,
        "verb": call.verb,
        "namespace": call.namespace,
        "name": call.name,
    }
    user = "system:serviceaccount:fleetqueue-system:fleetqueue-controller"
    spec = {"user": user, "resourceAttributes": attributes}
    review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
    answer = await env.hub.post("/apis/authorization.k8s.io/v1/subjectaccessreviews", review)
    return answer["status"]["allowed"]


@pytest.mark.timeout(400)
async def test_every_grain_of_the_shipped_roles_is_needed_and_together_they_are_enough(env, tmp_path):
    calls: set[Call] = set()
    connection = load(env.world.controller_kubeconfig)

    def dial(to):
        client = connect(to)
        if to.server == connection.server:
            client.door = Recorder(client.door, calls)
        return client

    settings = HubSettings(
        leader_election=LeaderElectionSettings(duration=4, renew_deadline=3, retry=0.5),
        placement_admission=PlacementAdmissionSettings(drain_poll=0.5, linger=0.5, fence_slack=1.0),
        credentials=CredentialsSettings(linger=1.0),
    )
    lease = LeaderElectionSettings()
    with suppress(errors.NotFound):
        await env.hub.delete(Lease.resource, lease.name, lease.namespace)
    process = HubProcess(connection, settings, dial=dial)
    serving = asyncio.create_task(process.serve())
    try:
        await everything(env)
    finally:
        serving.cancel()
        await asyncio.wait({serving})
        await process.client.close()

    files = [path for path in sorted(ROLES.glob("controller_*role*.yaml")) if "cluster_namespace" not in path.name]
    all_grains = [grain for path in files for grain in grains(path)]
    unneeded, still_allowed = [], []
    for grain in all_grains:
        if grain.resource in NOT_ON_THIS_HUB or f"{grain.resource} {grain.name}" in NOT_ON_THIS_HUB:
            continue
        needed_for = [c for c in calls if grain.allows(c) and not any(g.allows(c) for g in all_grains if g != grain)]
        if not needed_for:
            unneeded.append(grain)
            continue
        path = ROLES / grain.role
        await env.world.apply(without(path, grain))

        async def denied(call=needed_for[0]):
            return not await allowed(env, call)

        try:
            await env.eventually(denied, f"{needed_for[0]} is denied without {grain}", within=5)
        except AssertionError:
            still_allowed.append(grain)
        await env.world.apply_file(path)

    assert not unneeded, "\n".join(map(str, unneeded))
    assert not still_allowed, "\n".join(map(str, still_allowed))
