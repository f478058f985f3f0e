"""Whatever a Placement decides, and whatever fails meanwhile, no job ever runs twice, and every drain ends.

A stand-in plays Kueue: the hub's MultiKueue as pkg/controller/admissionchecks/multikueue of 0.19 does it (what it
reads is old by the time it acts), the workers' admission, and the Jobs. Chance moves the Placement, cuts workers off,
lets workers refuse Jobs, writes fail and watches fall behind, edits and deletes what is ours, and kills our own
process. A witness counts the live Jobs of one name on all workers.
"""

import asyncio
import random
from collections import Counter
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from fleetqueue import clock
from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.client import Client
from fleetqueue.controllers.placement_admission.settings import PlacementAdmissionSettings
from fleetqueue.controllers.placement_admission.wiring import PlacementAdmission
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.manager import Manager
from fleetqueue.runtime.metrics import Metrics
from fleetqueue.testing.builders import pod_template
from fleetqueue.testing.virtual_time import running
from tests.invariants import strangers

NAMESPACE = "team-a"
ORIGIN = {kueue.ORIGIN_LABEL: "multikueue"}
NAMES = ("c1", "c2", "c3")
JOBS = tuple(f"job-{number}" for number in range(6))
ONCE_IS_ENOUGH = pytest.mark.embedded_only("a real server takes half a minute for each")


def condition(kind, status):
    moment = clock.now().strftime("%Y-%m-%dT%H:%M:%S.%fZ")
    return {"type": kind, "status": str(status), "reason": kind, "message": "", "lastTransitionTime": moment}


def is_true(raw, kind):
    return any(c["type"] == kind and c["status"] == "True" for c in raw.get("status", {}).get("conditions", []))


def with_condition(raw, kind, status):
    others = [c for c in raw.get("status", {}).get("conditions", []) if c["type"] != kind]
    return [*others, condition(kind, status)]


class StandIn:
    """Kueue on the hub and on the workers."""

    def __init__(self, env, chance, *, run_for):
        self.env = env
        self.chance = chance
        self.run_for = run_for
        self.hub = Client(env.api)
        self.remote = {name: Client(env.workers[name], timeout=3.0) for name in env.workers}
        self.connected = {}
        self.failing_since = {}
        self.started = {}
        self.most = Counter()

    async def run(self):
        async with asyncio.TaskGroup() as tasks:
            for part in (self.connect, self.schedule, self.evict, self.dispatch):
                tasks.create_task(self.repeat(part, 1.0))
            for name in self.env.workers:
                tasks.create_task(self.repeat(lambda name=name: self.work(name), 0.7))

    async def repeat(self, part, seconds):
        while True:
            await asyncio.sleep(seconds * self.chance.uniform(0.2, 1.8))
            try:
                await part()
            except (errors.ApiError, errors.Unreachable):
                pass  # its cache was old, or nobody answered: it comes again

    # The hub

    async def schedule(self):
        for raw in await self.workloads():
            if not (is_true(raw, "QuotaReserved") or is_true(raw, "Finished")):
                conditions = with_condition(raw, "QuotaReserved", True)
                if any(c["type"] == "Evicted" for c in conditions):
                    conditions = [*(c for c in conditions if c["type"] != "Evicted"), condition("Evicted", False)]
                usage = {"name": "main", "count": 1, "resourceUsage": {"nvidia.com/gpu": "1"}}
                admission = {"clusterQueue": "queue", "podSetAssignments": [usage]}
                await self.status(raw, conditions=conditions, admission=admission)

    async def evict(self):
        for raw in await self.workloads():
            if is_true(raw, "Finished") or not is_true(raw, "QuotaReserved"):
                continue
            if is_true(raw, "Evicted"):
                await self.status(raw, conditions=with_condition(raw, "QuotaReserved", False), admission=None)
            elif any(check["state"] == "Retry" for check in raw["status"]["admissionChecks"]):
                checks = [{**check, "state": "Pending", "message": ""} for check in raw["status"]["admissionChecks"]]
                await self.status(
                    raw,
                    conditions=with_condition(raw, "Evicted", True),
                    admissionChecks=checks,
                    clusterName=None,
                    nominatedClusterNames=None,
                )

    async def connect(self):
        for member in self.env.api.list(kueue.MultiKueueCluster):
            name = member.metadata.labels["fleetqueue.dev/cluster"]
            try:
                await self.remote[name].list(kueue.Workload.resource)
            except errors.Unreachable as error:
                since = self.failing_since.setdefault(member.name, clock.monotonic())
                if "timed out" in str(error) and clock.monotonic() - since < 20:
                    continue  # half-open: nobody has noticed yet
                reached = False
            else:
                self.failing_since.pop(member.name, None)
                reached = True
            if self.connected.get(member.name) is not reached or not member.status.conditions:
                self.connected[member.name] = reached
                self.env.connect(member.name, status=str(reached))

    async def dispatch(self):
        for raw in await self.workloads():
            try:
                await self.reconcile(raw)
            except (errors.ApiError, errors.Unreachable):
                continue

    async def reconcile(self, local):
        """Do what the reconciler of one Workload does, by its numbers; what it read may be old."""
        config = self.env.api.get(kueue.MultiKueueConfig, "gpu")
        if config is None:
            return
        listed = config.spec.clusters
        remotes = {m: await self.copy(m, local) for m in listed if self.connected.get(m)}
        status = local["status"]
        if is_true(local, "Finished") or not is_true(local, "QuotaReserved"):  # 2
            for member in remotes:
                await self.remove(member, local)
            return
        if any(copy and is_true(copy, "Finished") for copy in remotes.values()):  # 3
            await self.status(local, conditions=with_condition(local, "Finished", True))
            return
        for member, copy in remotes.items():  # 5: a deactivated copy is out of sync
            if copy and copy.get("status", {}).get("conditions") and not is_true(copy, "Admitted"):
                await self.remove(member, local)
                remotes[member] = None
        admitted = [member for member, copy in remotes.items() if copy and is_true(copy, "Admitted")]
        mk = next(check for check in status["admissionChecks"] if check["name"] == "mk")
        if not admitted and mk["state"] == "Ready":  # 6a
            if status.get("clusterName") in listed and not self.connected.get(status.get("clusterName")):
                return
            await self.check(local, "Retry")
            return
        if admitted:  # 6b
            await self.converge(local, remotes, min(admitted, key=lambda m: since(remotes[m])))
            return
        others = [check for check in status["admissionChecks"] if check["name"] != "mk"]
        if mk["state"] != "Pending" or status.get("clusterName") or any(c["state"] != "Ready" for c in others):  # 8
            return
        for member, copy in remotes.items():
            if copy is None and member in status.get("nominatedClusterNames", ()):
                name = local["metadata"]["name"]
                manifest = kueue.Workload.manifest(name, NAMESPACE, labels=dict(ORIGIN), spec={})
                await self.remote_of(member).create(kueue.Workload.resource, manifest)
            elif copy is not None and member not in status.get("nominatedClusterNames", ()):
                await self.remove(member, local)

    async def converge(self, local, remotes, winner):
        for member, copy in remotes.items():
            if copy is not None and member != winner:
                await self.remove(member, local)
        if is_true(local, "Evicted"):
            await self.deactivate(winner, local, remotes[winner])
            return
        await self.start(winner, local)
        status = local["status"]
        if winner not in (status.get("clusterName"), *status.get("nominatedClusterNames", ())):
            return  # the webhook refuses to record it
        await self.check(local, "Ready", clusterName=winner, nominatedClusterNames=None)

    async def check(self, local, state, **fields):
        if state == next(c["state"] for c in local["status"]["admissionChecks"] if c["name"] == "mk"):
            return
        checks = [{**c, "state": state} if c["name"] == "mk" else c for c in local["status"]["admissionChecks"]]
        await self.status(local, admissionChecks=checks, **fields)

    async def workloads(self):
        workloads = (await self.hub.list(kueue.Workload.resource)).items
        self.chance.shuffle(workloads)
        return workloads

    async def status(self, raw, **fields):
        metadata = {"resourceVersion": raw["metadata"]["resourceVersion"]}
        name = raw["metadata"]["name"]
        patch = {"metadata": metadata, "status": fields}
        await self.hub.merge(kueue.Workload.resource, name, NAMESPACE, patch, subresource="status")

    # What the hub does on a worker

    def remote_of(self, member):
        return self.remote[member.removeprefix("gpu-")]

    async def copy(self, member, local):
        try:
            return await self.remote_of(member).get(kueue.Workload.resource, local["metadata"]["name"], NAMESPACE)
        except errors.NotFound:
            return None

    async def remove(self, member, local):
        await self.stop(member, local)
        try:
            await self.remote_of(member).delete(kueue.Workload.resource, local["metadata"]["name"], NAMESPACE)
        except errors.NotFound:
            pass

    async def deactivate(self, member, local, copy):
        await self.stop(member, local)
        patch = {"status": {"conditions": with_condition(copy, "Admitted", False)}}
        name = local["metadata"]["name"]
        await self.remote_of(member).merge(kueue.Workload.resource, name, NAMESPACE, patch, subresource="status")

    async def stop(self, member, local):
        try:
            await self.remote_of(member).delete(Job.resource, local["metadata"]["name"], NAMESPACE)
        except errors.NotFound:
            pass

    async def start(self, member, local):
        name = local["metadata"]["name"]
        labels = {**ORIGIN, kueue.PREBUILT_WORKLOAD: name}
        try:
            job = Job.manifest(name, NAMESPACE, labels=labels, spec={"template": pod_template()})
            await self.remote_of(member).create(Job.resource, job)
        except errors.AlreadyExists:
            return
        self.started[member.removeprefix("gpu-"), name] = clock.monotonic()
        self.most[name] = max(self.most[name], len(self.live(name)))

    # The workers

    async def work(self, name):
        """Admit, one after the other, give copies the Job that has come, and let Jobs end."""
        api = self.env.workers[name]
        copies = api.list(kueue.Workload)
        running = [c for c in copies if c.is_true("Admitted") and not c.is_finished]
        for copy in copies:
            started = self.started.get((name, copy.name))
            if copy in running and (job := api.get(Job, copy.name, NAMESPACE)) is not None:
                if copy.owner is None:
                    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": job.name, "uid": job.uid}
                    owners = {"ownerReferences": [{**owner, "controller": True}]}
                    api.change(kueue.Workload, copy.name, NAMESPACE, metadata=owners)
                if clock.monotonic() - started > self.run_for:
                    self.say(api, copy, "Finished")
            elif not copy.status.conditions and len(running) < 3 and self.chance.random() < 0.5:
                self.say(api, copy, "Admitted")
                running.append(copy)

    def say(self, api, copy, kind):
        raw = api.raw(kueue.Workload, copy.name, NAMESPACE)
        api.change(kueue.Workload, copy.name, NAMESPACE, status={"conditions": with_condition(raw, kind, True)})

    def live(self, name):
        """Return the workers on which a Job is there and has not ended."""
        return [
            worker
            for worker, api in self.env.workers.items()
            if api.get(Job, name, NAMESPACE) is not None
            and not ((copy := api.get(kueue.Workload, name, NAMESPACE)) and copy.is_finished)
        ]


def since(copy):
    return next(c["lastTransitionTime"] for c in copy["status"]["conditions"] if c["type"] == "Admitted")


class LateDoor:
    """A hub whose watches may fall behind while its writes go through: what our process knows of it is then old."""

    def __init__(self, api):
        self.api = api
        self.late_until = 0.0
        self.request = api.request
        self.close = api.close

    @asynccontextmanager
    async def stream(self, request, *, silence):
        async with self.api.stream(request, silence=silence) as stream:
            yield LateStream(stream, self)


class LateStream:
    def __init__(self, stream, door):
        self.stream = stream
        self.door = door
        self.status = stream.status
        self.body = stream.body

    async def lines(self):
        async for line in self.stream.lines():
            await asyncio.sleep(self.door.late_until - clock.monotonic())
            yield line


class Chaos:
    """What may happen to the fleet, by chance."""

    def __init__(self, env, chance, settings):
        self.env = env
        self.chance = chance
        self.settings = settings
        self.process = AsyncExitStack()
        self.door = LateDoor(env.api)
        self.selected = list(NAMES)

    async def start(self):
        """Start our own process, with nothing in its memory."""
        hub = Cluster("hub", Client(self.door))
        heart = PlacementAdmission(hub, Metrics(), self.settings, dial=self.env._dial)
        self.process.push_async_callback(heart.close)
        await self.process.enter_async_context(running(Manager(hub, heart.controllers).run()))

    async def kill(self):
        process, self.process = self.process, AsyncExitStack()
        await process.aclose()

    async def strike(self):
        events = ["select", "select", "cut", "hang", "heal", "fail", "kill", "slow", "hand", "late", "leave", "return"]
        events += ["refuse"]
        event, name = self.chance.choice(events), self.chance.choice(NAMES)
        worker = self.env.workers[name]
        if event == "select":
            self.select(*self.chance.sample(NAMES, self.chance.randint(0, len(NAMES))))
        elif event in ("cut", "hang"):
            worker.cut(silently=event == "hang")
        elif event == "heal":
            worker.heal()
        elif event == "refuse":
            worker.fail_on("create jobs/*", errors.Forbidden("a webhook of this worker says no"))
        elif event == "slow":
            worker.seconds_per_request = self.chance.choice([0.0, 0.5, 2.0])
        elif event == "fail":
            what = self.chance.choice(
                ["patch multikueueconfigs/*", "apply workloads/*", "apply admissionchecks/*", "*"]
            )
            error = self.chance.choice([errors.ServerError("boom"), errors.Unreachable("lost"), errors.Conflict("old")])
            applied = self.chance.random() < 0.5 and not isinstance(error, errors.Conflict)
            self.env.api.fail_on(what, error, times=self.chance.randint(1, 3), applied=applied)
        elif event == "hand":
            self.meddle()
        elif event == "leave" and self.env.api.get(cluster.ManagedCluster, name) is not None:
            self.env.api.remove(cluster.ManagedCluster, name)
        elif event == "return":
            self.return_all()
        elif event == "late":
            self.door.late_until = clock.monotonic() + self.chance.choice([2.0, 10.0, 90.0])
        elif event == "kill":
            await self.kill()
            await asyncio.sleep(self.chance.uniform(0, 10))
            await self.start()

    def meddle(self):
        """Be somebody who deletes what is ours, or edits it."""
        api = self.env.api
        members = api.list(kueue.MultiKueueCluster)
        config = api.get(kueue.MultiKueueConfig, "gpu")
        what = self.chance.choice(["config", "member", "mark", "list"])
        if what == "member" and members:
            api.remove(kueue.MultiKueueCluster, self.chance.choice(members).name)
        elif config is not None and what == "config":
            api.remove(kueue.MultiKueueConfig, "gpu")
        elif config is not None and what == "mark":
            api.change(kueue.MultiKueueConfig, "gpu", metadata={"annotations": None})
        elif config is not None and what == "list" and len(config.spec.clusters) > 1:  # none is refused
            api.change(kueue.MultiKueueConfig, "gpu", spec={"clusters": list(config.spec.clusters[1:])})

    def return_all(self):
        """Register the clusters again whose ManagedCluster was deleted."""
        for name in NAMES:
            if self.env.api.get(cluster.ManagedCluster, name) is None:
                self.env.api.add(cluster.ManagedCluster.manifest(name, spec={"hubAcceptsClient": True}))

    def select(self, *names):
        self.selected = sorted(names)
        self.env.select(*names)

    def end(self):
        self.door.late_until = 0.0
        for api in (self.env.api, *self.env.workers.values()):
            api.heal()
            api.seconds_per_request = 0.0


async def play(env, seed, **settings):
    chance = random.Random(seed)
    env.fleet(*NAMES)
    env.placement("gpu", *NAMES)
    env.check()
    stand_in = StandIn(env, chance, run_for=chance.choice([20.0, 120.0]))
    chaos = Chaos(env, chance, PlacementAdmissionSettings(lost_timeout=1e9, nomination_timeout=20.0, **settings))
    async with running(stand_in.run()):
        await chaos.start()
        for job in JOBS:
            env.workload(job, quota=False, checks={"mk": "Pending", "ac": "Pending"})
            for _ in range(6):
                await asyncio.sleep(chance.uniform(0, 8))
                await chaos.strike()
        chaos.end()
        await asyncio.sleep(60)
        chaos.select("c2")
        for _ in range(60):
            await asyncio.sleep(20)
            if all(workload.is_finished for workload in env.api.list(kueue.Workload)):
                break
        await asyncio.sleep(60)
        await chaos.kill()
    return stand_in, chaos


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=ONCE_IS_ENOUGH) for seed in range(1, 5))])
@pytest.mark.parametrize(
    "settings",
    [
        pytest.param({}, id="jobs end where they run", marks=ONCE_IS_ENOUGH),
        pytest.param({"drain_timeout": 15.0}, id="jobs are taken back"),
        pytest.param(
            {"drain_timeout": 15.0, "naming": "cluster"},
            id="jobs are taken back, one member per cluster",
            marks=ONCE_IS_ENOUGH,
        ),
    ],
)
async def test_a_job_runs_once_at_a_time_and_every_drain_ends(env, seed, settings):
    stand_in, chaos = await play(env, seed, **settings)

    assert {job: stand_in.most[job] for job in JOBS} == dict.fromkeys(JOBS, 1)
    assert [workload.name for workload in env.api.list(kueue.Workload) if not workload.is_finished] == []
    assert env.lists() == [chaos.settings.member("gpu", name) for name in chaos.selected]
    assert env.members() == env.lists()
    assert env.says("Draining") is None
    for worker in env.workers.values():
        assert worker.list(kueue.Workload) == []
        assert [job.name for job in worker.list(Job) if job.name != strangers.NAME] == []
