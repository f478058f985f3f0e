"""Credentials on the real engine: Kueue itself judges the kubeconfigs that we write.

The controller runs with no more rights on the hub than deploy/ gives it, and the hub has a hand-written
MultiKueueCluster as in the walkthroughs' first story. Where a test takes a right away, the hub's Kueue tells in its log
what it was refused.
"""

import asyncio
import base64
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio
import yaml

from fleetqueue import clock
from fleetqueue.api import cluster_v1 as ocm
from fleetqueue.api import conditions, errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.authorization_v1 import REVIEWS, access_review, is_allowed
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Namespace, Secret, ServiceAccount, secret
from fleetqueue.api.fleetqueue import (
    CLUSTER_LABEL,
    CREDENTIALS_ANNOTATION,
    NAMESPACE,
    admin_secret,
    credentials_secret,
)
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.rbac_v1 import ClusterRole, ClusterRoleBinding
from fleetqueue.api.scheme import Resource
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection, load, parse
from fleetqueue.client.transport import connect
from fleetqueue.controllers.credentials.accounts import ACCOUNT_NAME, WorkerAccount, grant, issue
from fleetqueue.controllers.credentials.create import create_kubeconfig
from fleetqueue.controllers.credentials.hub_apis import discover
from fleetqueue.controllers.credentials.settings import CredentialsSettings
from fleetqueue.controllers.credentials.wiring import CredentialControllers
from fleetqueue.controllers.credentials.worker_rules import JOB_KINDS, PolicyRule, rules_for
from fleetqueue.real import layout
from fleetqueue.real.fleet import RealFleet
from fleetqueue.runtime.cluster import OURS, Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.virtual_time import ShiftedClock

KUEUE = "kueue-system"
TEAM = "team"
WORKERS = ("cluster1", "cluster2")
ONE, TWO = WORKERS
DEPLOYED = Path(__file__).parents[3] / "deploy/kustomize/rbac"
SOON = 45.0
"""Seconds that anything may take on two busy cores."""


class Corner:
    """A hub with two workers, their queues, and a hand-written MultiKueue that names our secrets."""

    def __init__(self, fleet: RealFleet) -> None:
        self.fleet = fleet
        self.admin = load(fleet.clusters["hub"].kubeconfig)
        self.hub = connect(self.admin)
        self.workers = {name: connect(load(fleet.clusters[name].kubeconfig)) for name in WORKERS}
        self.account = WorkerAccount(ACCOUNT_NAME, KUEUE)
        self.controller_token = ""

    async def set_up(self) -> None:
        await self._ensure(Namespace, Namespace.manifest(NAMESPACE))
        await self._deploy_controller_rights()
        for name in WORKERS:
            await self._join(name)
            await self.create_queues(self.workers[name])
        await self.restore()
        config = {"apiGroup": kueue.GROUP, "kind": "MultiKueueConfig", "name": TEAM}
        check = {"controllerName": kueue.MULTIKUEUE_CONTROLLER, "parameters": config}
        await self._ensure(kueue.AdmissionCheck, kueue.AdmissionCheck.manifest(TEAM, spec=check))
        await self.create_queues(self.hub, [TEAM])

    async def create_queues(self, client: Client, checks: list[str] | None = None) -> None:
        await client.create(Namespace.resource, Namespace.manifest(TEAM))
        flavor = {"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "ResourceFlavor", "metadata": {"name": TEAM}}
        await client.post("/apis/kueue.x-k8s.io/v1beta2/resourceflavors", flavor)
        flavors = [{"name": TEAM, "resources": [{"name": "cpu", "nominalQuota": "4"}]}]
        spec: dict[str, Any] = {
            "namespaceSelector": {},
            "resourceGroups": [{"coveredResources": ["cpu"], "flavors": flavors}],
        }
        if checks:
            spec["admissionChecksStrategy"] = {"admissionChecks": [{"name": check} for check in checks]}
        await client.create(kueue.ClusterQueue.resource, kueue.ClusterQueue.manifest(TEAM, spec=spec))
        queue = kueue.LocalQueue.manifest("queue", TEAM, spec={"clusterQueue": TEAM})
        await client.create(kueue.LocalQueue.resource, queue)
        for name, value in (("low", 1), ("high", 100)):
            body = {
                "apiVersion": "kueue.x-k8s.io/v1beta2",
                "kind": "WorkloadPriorityClass",
                "metadata": {"name": name},
            }
            await client.post("/apis/kueue.x-k8s.io/v1beta2/workloadpriorityclasses", {**body, "value": value})

    @asynccontextmanager
    async def controller(self, **settings: Any) -> AsyncIterator[Cluster]:
        """Run our controllers as the account that deploy/ gives them; it must never be refused anything."""
        connection = Connection(self.admin.server, ca=self.admin.ca, token=self.controller_token)
        client, metrics = connect(connection), Metrics()
        hub = Cluster("hub", client, metrics=metrics)
        room = CredentialControllers(hub, metrics, CredentialsSettings(**settings), capabilities=await discover(client))
        manager = Manager(hub, room.controllers)
        working = asyncio.create_task(manager.run())
        try:
            await asyncio.wait_for(manager.ready.wait(), SOON)
            yield hub
        finally:
            working.cancel()
            await asyncio.wait({working})
            await client.close()
        codes = {sample.labels["code"] for sample in metrics.requests.collect()[0].samples if "code" in sample.labels}
        assert "403" not in codes

    # Asking

    async def until(self, question: Any, what: str, *, within: float = SOON) -> Any:
        deadline = clock.monotonic() + within
        while not (answer := await question()):
            assert clock.monotonic() < deadline, f"not within {within:g} s: {what}"
            await asyncio.sleep(0.1)
        return answer

    async def get(self, kind: Any, name: str, namespace: str = "", client: Client | None = None) -> Any:
        try:
            return kind.view(await (client or self.hub).get(kind.resource, name, namespace))
        except errors.NotFound:
            return None

    async def secret(self, cluster: str) -> Secret | None:
        found: Secret | None = await self.get(Secret, credentials_secret(cluster), KUEUE)
        return found

    async def token(self, cluster: str) -> str:
        found = await self.secret(cluster)
        return parse(found.text("kubeconfig") or "").token if found else ""

    async def active(self, member: str) -> conditions.Condition | None:
        found = await self.get(kueue.MultiKueueCluster, member)
        return conditions.find(found.status.conditions, "Active") if found else None

    async def connected(self, *members: str) -> None:
        for member in members:

            async def is_true(member: str = member) -> bool:
                condition = await self.active(member)
                return condition is not None and condition.is_true

            await self.until(is_true, f"{member} is connected")

    async def new_token(self, cluster: str, old: str) -> str:
        async def another() -> str:
            token = await self.token(cluster)
            return "" if token == old else token

        return str(await self.until(another, f"{cluster} has a new token"))

    async def copies(self, job: str) -> list[str]:
        """Return the workers that hold a Workload of a job."""
        found = []
        for name, client in self.workers.items():
            page = await client.list(kueue.Workload.resource, TEAM)
            found += [name for raw in page.items if raw["metadata"]["name"].startswith(f"job-{job}-")]
        return found

    async def runs(self, job: str) -> str:
        """Wait until a job runs on a worker and the hub has seen its pod; return the worker."""

        async def where() -> str:
            local = await self.get(Job, job, TEAM)
            if local is None or local.status.active == 0:
                return ""
            found = [name for name in WORKERS if await self.get(Job, job, TEAM, self.workers[name])]
            return found[0] if len(found) == 1 else ""

        return str(await self.until(where, f"{job} runs"))

    async def finishes(self, job: str) -> None:
        async def done() -> bool:
            found = await self.get(Job, job, TEAM)
            return found is not None and conditions.is_true(found.status.conditions, "Complete")

        async def clean() -> bool:
            return not await self.copies(job)

        await self.until(done, f"{job} is complete on the hub")
        await self.until(clean, f"no copy of {job} is left")

    async def may(self, cluster: str, token: str) -> bool:
        """Ask a worker whether whoever holds a token may create jobs; raises Unauthorized where it is not taken."""
        remote = load(self.fleet.clusters[cluster].remote_kubeconfig)
        client = connect(Connection(remote.server, ca=remote.ca, token=token))
        try:
            return is_allowed(await client.post(REVIEWS, access_review("create", "batch", "jobs")))
        finally:
            await client.close()

    async def is_dead(self, cluster: str, token: str) -> bool:
        """Tell whether a token is refused; an API server takes it for ten seconds after its account was deleted."""
        try:
            await self.may(cluster, token)
        except errors.Unauthorized:
            return True
        return False

    async def refused(self, since: int, verb: str, resource: str) -> None:
        """Wait until the hub's Kueue says that a worker refused it something."""
        said = f'cannot {verb} resource \\"{resource}\\"'

        async def told() -> bool:
            return said in self.kueue_log().read_text()[since:]

        await self.until(told, f"Kueue says: {said}")

    def kueue_log(self) -> Path:
        return self.fleet.data_dir / "hub/logs/kueue.log"

    async def notes(self, reason: str) -> list[str]:
        page = await self.hub.list(Resource("events.k8s.io", "v1", "Event", "events"), "default")
        return [event["note"] for event in page.items if event["reason"] == reason]

    # Acting

    async def submit(self, name: str, *, run_for: str = "600s", elastic: bool = False) -> str:
        container = {"name": "main", "image": "example.com/sleep", "resources": {"requests": {"cpu": "10m"}}}
        template = {
            "metadata": {"annotations": {"fleetqueue.dev/run-for": run_for}},
            "spec": {"restartPolicy": "Never", "containers": [container]},
        }
        labels = {kueue.QUEUE_LABEL: "queue", "kueue.x-k8s.io/priority-class": "low"}
        spec = {"suspend": True, "parallelism": 2 if elastic else 1, "template": template}
        annotations = {"kueue.x-k8s.io/elastic-job": "true"} if elastic else None
        manifest = Job.manifest(name, TEAM, labels=labels, annotations=annotations, spec=spec)
        await self.hub.create(Job.resource, manifest)
        return name

    async def remove(self, kind: Any, name: str, namespace: str = "", client: Client | None = None) -> None:
        with suppress(errors.NotFound):
            await (client or self.hub).delete(kind.resource, name, namespace)

    async def set_rules(self, rules: list[PolicyRule]) -> None:
        """Give the account these rights on every worker; the controller must not be running."""
        for client in self.workers.values():
            await grant(client, self.account, rules)

    async def reconnect(self) -> None:
        """Make Kueue open its connections anew, as it does when a token is renewed."""
        for name, client in self.workers.items():
            live = await self.secret(name)
            assert live is not None
            old = parse(live.text("kubeconfig") or "").token
            token = (await issue(client, self.account, 3600)).token
            text = (live.text("kubeconfig") or "").replace(old, token)
            data = {"kubeconfig": base64.b64encode(text.encode()).decode()}
            await self.hub.merge(Secret.resource, live.name, KUEUE, {"data": data})

    async def restore(self) -> None:
        """Let MultiKueue name both workers, and let both have credentials."""
        for name in WORKERS:
            asked = {"metadata": {"annotations": {CREDENTIALS_ANNOTATION: "true"}}}
            await self.hub.merge(ocm.ManagedCluster.resource, name, "", asked)
            await self._ensure(kueue.MultiKueueCluster, member_manifest(name, credentials_secret(name)))
        spec = {"clusters": list(WORKERS)}
        await self._ensure(kueue.MultiKueueConfig, kueue.MultiKueueConfig.manifest(TEAM, spec=spec))
        await self.hub.merge(kueue.MultiKueueConfig.resource, TEAM, "", {"spec": spec})

    async def clean_up(self) -> None:
        """Give everything back its rights, and leave no job."""
        await self.hub.merge(kueue.ClusterQueue.resource, TEAM, "", {"spec": {"stopPolicy": "None"}})
        for client in (self.hub, *self.workers.values()):
            for kind in (Job, kueue.Workload):
                for raw in (await client.list(kind.resource, TEAM)).items:
                    await self.remove(kind, raw["metadata"]["name"], TEAM, client)
        await self.restore()

    async def _join(self, name: str) -> None:
        remote = load(self.fleet.clusters[name].remote_kubeconfig)
        config = {"url": remote.server, "caBundle": base64.b64encode(remote.ca or b"").decode()}
        spec = {"hubAcceptsClient": True, "managedClusterClientConfigs": [config]}
        await self._ensure(
            ocm.ManagedCluster,
            ocm.ManagedCluster.manifest(name, annotations={CREDENTIALS_ANNOTATION: "true"}, spec=spec),
        )
        text = Path(self.fleet.clusters[name].kubeconfig).read_text()  # noqa: ASYNC240
        labels = {CLUSTER_LABEL: name, **OURS}
        await self._ensure(Secret, secret(admin_secret(name), NAMESPACE, {"kubeconfig": text}, labels=labels))

    async def _deploy_controller_rights(self) -> None:
        """Apply what deploy/ grants to the controller, and become it."""
        await self._ensure(ServiceAccount, ServiceAccount.manifest("fleetqueue-controller", NAMESPACE))
        for file in sorted(DEPLOYED.glob("controller_*.yaml")):
            for manifest in yaml.safe_load_all(file.read_text()):
                if manifest["metadata"].get("namespace") == "CLUSTER":
                    continue  # a template, for hubs with managed service accounts
                namespaced = "namespace" in manifest["metadata"]
                plural = f"{manifest['kind'].lower()}s"
                resource = Resource("rbac.authorization.k8s.io", "v1", manifest["kind"], plural, namespaced)
                await self.hub.create(resource, manifest)
        token = await issue(self.hub, WorkerAccount("fleetqueue-controller", NAMESPACE), 24 * 3600)
        self.controller_token = token.token

    async def _ensure(self, kind: Any, manifest: dict[str, Any]) -> None:
        with suppress(errors.AlreadyExists):
            await self.hub.create(kind.resource, manifest)

    async def close(self) -> None:
        for client in (self.hub, *self.workers.values()):
            await client.close()


def member_manifest(name: str, location: str) -> dict[str, Any]:
    source = {"kubeConfig": {"locationType": "Secret", "location": location}}
    return kueue.MultiKueueCluster.manifest(name, spec={"clusterSource": source})


def without(rules: list[PolicyRule], verb: str, resource: str) -> list[PolicyRule]:
    """Take one right out of the rules."""
    kept = []
    for rule in rules:
        if resource not in rule.resources:
            kept.append(rule)
            continue
        others = tuple(other for other in rule.resources if other != resource)
        verbs = tuple(other for other in rule.verbs if other != verb)
        kept += [replace(rule, resources=others)] if others else []
        kept += [replace(rule, resources=(resource,), verbs=verbs)] if verbs else []
    return kept


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def fleet_corner(engine: layout.Layout, tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Corner]:
    async with RealFleet(tmp_path_factory.mktemp("credentials"), workers=2, ocm="placement") as fleet:
        corner = Corner(fleet)
        await corner.set_up()
        yield corner
        await corner.close()


@pytest_asyncio.fixture(loop_scope="session")
async def corner(fleet_corner: Corner) -> AsyncIterator[Corner]:
    """The fleet with both workers connected; our controllers are not running."""
    async with fleet_corner.controller():
        await fleet_corner.connected(*WORKERS)
    yield fleet_corner
    await fleet_corner.clean_up()


@pytest.mark.checklist("ENV-7")
@pytest.mark.checklist("S1-1")
@pytest.mark.checklist("S1-5")
async def test_kueue_connects_and_a_job_runs_to_its_end(corner):
    found = await corner.secret(ONE)
    condition = await corner.active(ONE)

    await corner.submit("whole", run_for="1s")

    await corner.finishes("whole")
    assert (found.type, list(found.data)) == ("Opaque", ["kubeconfig"])
    assert (condition.reason, condition.message) == ("Active", "Connected")


@pytest.mark.checklist("C-1")
async def test_renewed_token_reaches_kueue_and_running_jobs_go_on(corner):
    await corner.submit("long")
    where = await corner.runs("long")
    old = await corner.token(where)

    with clock.use(ShiftedClock(timedelta(hours=20))):
        async with corner.controller():
            await corner.new_token(where, old)
            await corner.connected(*WORKERS)

    assert await corner.runs("long") == where
    await corner.submit("next", run_for="1s")
    await corner.finishes("next")


async def test_token_that_was_revoked_is_replaced(corner):
    old = await corner.token(ONE)
    await corner.remove(ServiceAccount, ACCOUNT_NAME, KUEUE, corner.workers[ONE])

    async with corner.controller(verify_every=1.0):
        token = await corner.new_token(ONE, old)
        await corner.connected(ONE)

    assert await corner.may(ONE, token)
    await corner.until(lambda: corner.is_dead(ONE, old), "the old token is refused")


async def test_role_that_was_cut_down_on_the_worker_is_put_right(corner):
    rules = (await corner.get(ClusterRole, ACCOUNT_NAME, client=corner.workers[ONE])).rules
    await corner.set_rules(rules_for([]))

    async with corner.controller(verify_every=1.0):

        async def is_right() -> bool:
            return (await corner.get(ClusterRole, ACCOUNT_NAME, client=corner.workers[ONE])).rules == rules

        await corner.until(is_right, "the role has its rules again")


@pytest.mark.parametrize("how", ["edited", "deleted"])
async def test_secret_that_somebody_spoiled_is_repaired(corner, how):
    async with corner.controller():
        if how == "edited":
            patch = {"data": {"kubeconfig": "YQ==", "more": "YQ=="}}
            await corner.hub.merge(Secret.resource, credentials_secret(ONE), KUEUE, patch)
        else:
            await corner.hub.delete(Secret.resource, credentials_secret(ONE), KUEUE)

        async def is_right() -> bool:
            found = await corner.secret(ONE)
            return found is not None and list(found.data) == ["kubeconfig"] and found.data["kubeconfig"] != "YQ=="

        await corner.until(is_right, "the secret is right again")
        await corner.connected(ONE)


async def test_cut_worker_keeps_its_secret_and_the_other_one_is_renewed(corner):
    old = {name: await corner.token(name) for name in WORKERS}
    await corner.fleet.cut(ONE)
    try:
        with clock.use(ShiftedClock(timedelta(hours=60))):
            async with corner.controller():
                await corner.new_token(TWO, old[TWO])

                async def said() -> bool:
                    notes = await corner.notes("CredentialsFailed")
                    return any("the worker cannot be reached" in note for note in notes)

                await corner.until(said, "an Event says why")
                assert await corner.token(ONE) == old[ONE]
    finally:
        await corner.fleet.heal(ONE)


async def test_unused_credential_is_removed_on_both_sides(corner):
    old = await corner.token(TWO)
    annotation = {"metadata": {"annotations": {CREDENTIALS_ANNOTATION: None}}}
    await corner.hub.merge(kueue.MultiKueueConfig.resource, TEAM, "", {"spec": {"clusters": [ONE]}})
    await corner.remove(kueue.MultiKueueCluster, TWO)
    await corner.hub.merge(ocm.ManagedCluster.resource, TWO, "", annotation)

    async with corner.controller(linger=0.0):

        async def is_gone() -> bool:
            worker = corner.workers[TWO]
            left = [await corner.get(kind, ACCOUNT_NAME, client=worker) for kind in (ClusterRole, ClusterRoleBinding)]
            left.append(await corner.get(ServiceAccount, ACCOUNT_NAME, KUEUE, worker))
            return not any(left) and await corner.secret(TWO) is None

        await corner.until(is_gone, "nothing is left")

    await corner.until(lambda: corner.is_dead(TWO, old), "the old token is refused")


async def test_profile_says_how_to_reach_the_cluster(corner):
    name, manager = "cluster1", {"clusterManager": {"name": "open-cluster-management"}}
    await corner.hub.create(ClusterProfile.resource, ClusterProfile.manifest(name, KUEUE, spec=manager))
    other = {"name": "other", "cluster": {"server": "https://other"}}
    await corner.hub.merge(
        ClusterProfile.resource, name, KUEUE, {"status": {"accessProviders": [other]}}, subresource="status"
    )

    async with corner.controller():

        async def providers() -> Any:
            found = (await corner.get(ClusterProfile, name, KUEUE)).status.access_providers
            return found if len(found) == 2 else None

        first, second = await corner.until(providers, "both entries are there")

    assert first == other
    assert second["cluster"]["server"] == corner.fleet.clusters[ONE].remote_server
    await corner.remove(ClusterProfile, name, KUEUE)


@pytest.mark.checklist("DOC-1")
async def test_kubeconfig_made_by_hand_is_taken_by_kueue(corner):
    admin = load(corner.fleet.clusters[ONE].kubeconfig)
    text = await create_kubeconfig(corner.workers[ONE], admin, cluster=ONE, job_kinds=JOB_KINDS)
    await corner.hub.create(Secret.resource, secret("by-hand", KUEUE, {"kubeconfig": text}))

    await corner.hub.create(kueue.MultiKueueCluster.resource, member_manifest("by-hand", "by-hand"))

    await corner.connected("by-hand")
    await corner.remove(kueue.MultiKueueCluster, "by-hand")
    await corner.remove(Secret, "by-hand", KUEUE)


# Each right is used: without it, the hub's Kueue is refused something, and what people see of that is said beside it.


async def start(corner):
    await corner.submit("start", run_for="1s")


async def delete_a_running_job(corner):
    await corner.runs(await corner.submit("deleted"))
    await corner.remove(Job, "deleted", TEAM)


async def raise_the_priority(corner):
    await corner.runs(await corner.submit("urgent"))
    labels = {"kueue.x-k8s.io/priority-class": "high"}
    await corner.hub.merge(Job.resource, "urgent", TEAM, {"metadata": {"labels": labels}})


async def drain_the_queue(corner):
    await corner.runs(await corner.submit("drained"))
    await corner.hub.merge(kueue.ClusterQueue.resource, TEAM, "", {"spec": {"stopPolicy": "HoldAndDrain"}})


async def scale_an_elastic_job(corner):
    await corner.runs(await corner.submit("elastic", elastic=True))
    await corner.hub.merge(Job.resource, "elastic", TEAM, {"spec": {"parallelism": 1}})


@pytest.mark.parametrize(
    ("verb", "resource", "act"),
    [
        pytest.param("create", "workloads", start, id="create workloads: no job starts"),
        pytest.param("get", "workloads", start, id="get workloads: no job starts"),
        pytest.param("delete", "workloads", start, id="delete workloads: the copy on the other worker stays"),
        pytest.param("create", "jobs", start, id="create jobs: no job starts"),
        pytest.param("get", "jobs", start, id="get jobs: no job starts"),
        pytest.param("delete", "jobs", delete_a_running_job, id="delete jobs: it runs on after its end on the hub"),
        pytest.param("update", "workloads", raise_the_priority, id="update workloads: priorities do not arrive"),
        pytest.param("patch", "workloads/status", drain_the_queue, id="patch workloads/status: no eviction"),
        pytest.param("patch", "jobs", scale_an_elastic_job, id="patch jobs: elastic jobs do not scale"),
    ],
)
async def test_kueue_cannot_do_without(corner, verb, resource, act):
    await corner.set_rules(without(rules_for(["batch/job"]), verb, resource))
    since = len(corner.kueue_log().read_text())

    await act(corner)

    await corner.refused(since, verb, resource)


@pytest.mark.parametrize("resource", ["workloads", "jobs"])
async def test_kueue_cannot_connect_without_a_watch(corner, resource):
    await corner.set_rules(without(rules_for(JOB_KINDS), "watch", resource))
    await corner.reconnect()

    async def said() -> Any:
        condition = await corner.active(ONE)
        return condition if condition is not None and not condition.is_true else None

    condition = await corner.until(said, "the connection is refused")
    assert condition.reason == "ClientConnectionFailed"
    assert f'cannot watch resource "{resource}"' in condition.message


async def test_kueues_collector_lists_workloads(corner):
    await corner.set_rules(without(rules_for(["batch/job"]), "list", "workloads"))
    since = len(corner.kueue_log().read_text())

    async def told() -> bool:
        return 'cannot list resource \\"workloads\\"' in corner.kueue_log().read_text()[since:]

    await corner.until(told, "the collector is refused", within=75)
