"""Jobs of many kinds on the real fleet at the same time, each asked what docs/en/reference/job-kinds.md has with a K.

No operator runs there, so what one would say of a copy is written into its status.
"""

import asyncio
from collections import defaultdict
from contextlib import asynccontextmanager
from functools import partial

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.fields import value_at, with_value
from fleetqueue.api.priority_classes import WorkloadPriorityClass
from fleetqueue.runtime.informer import Informer
from tests.real.engine_versions import has_kueue
from tests.system.kinds.questions import (
    COPY,
    DELETION,
    DRAIN,
    ENDING,
    FAILURE,
    MAKE_PODS,
    NOMINATION,
    PLACEMENT,
    PRIORITY,
    STATUS,
    STAY_STOPPED,
    STOP,
    SUSPENSION,
    asked_on_real_kueue,
)

from .sent_jobs import (
    delete,
    found,
    gone_from_workers,
    of,
    placed,
    running_pods,
    submit,
    workloads,
    write_status,
)

PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
CHANGES_SINCE = "0.19"
"""The Kueue that is asked what becomes of a job whose user changes it, stops it or suspends it; none before it was."""
UNCHOSEN = "cluster3"
"""A worker that the Placement does not choose; it has room, queues and credentials like the others."""
CLASSES = {"low": 10, "high": 1000}


class KindTrial:
    def __init__(self, env, kinds):
        self.env = env
        self.kinds = kinds
        self.chosen = [name for name in env.workers if name != UNCHOSEN]
        self.where = {}
        """The worker of each job."""
        self.nominated = defaultdict(set)
        """Of each Workload, by its uid: the clusters that were ever nominated."""

    async def play(self):
        await self.arrange()
        async with self.watching_nominations():
            await self.each(self.kinds, COPY, self.is_sent)
            await self.each(self.kinds, PLACEMENT, self.is_on_a_chosen_cluster)
            await self.each(self.kinds, NOMINATION, self.only_chosen_were_nominated)
            await self._live()

    async def _live(self):
        await self.ask(STATUS, self.status_is_back)
        if has_kueue(CHANGES_SINCE):
            await self.ask(PRIORITY, self.takes_priority)
            await self.ask(SUSPENSION, self.runs_on_when_suspended)
            await self.ask(STOP, self.stops_and_runs_again)
            await self.each(STAY_STOPPED, STOP, self.stops_and_is_made_anew)
        await self.drain()
        await self.ask(ENDING, partial(self.ends, fails=False))
        await self.ask(FAILURE, partial(self.ends, fails=True))

    async def arrange(self):
        env = self.env
        for client in (env.hub, *env.workers.values()):
            for name, value in CLASSES.items():
                manifest = WorkloadPriorityClass.manifest(name, value=value)
                await env.world.ensure(client, manifest, WorkloadPriorityClass)
        await env.select(*self.chosen)
        await env.lists(*self.chosen)

    @asynccontextmanager
    async def watching_nominations(self):
        informer = Informer(self.env.hub, kueue.Workload)
        informer.subscribe(self._see)
        task = asyncio.create_task(informer.run())
        await informer.synced.wait()
        try:
            yield
        finally:
            task.cancel()
            await asyncio.wait([task])

    def _see(self, old, new):
        if new is not None:
            self.nominated[new.uid] |= set(new.status.nominated_cluster_names)

    async def ask(self, question, ask):
        await self.each(asked_on_real_kueue(question), question, ask)

    async def each(self, kinds, question, ask):
        """Ask something of those kinds that are here."""
        kinds = [kind for kind in self.kinds if kind in kinds]
        answers = await asyncio.gather(*map(ask, kinds), return_exceptions=True)
        if wrong := {kind.name: answer for kind, answer in zip(kinds, answers, strict=True) if answer is not None}:
            raise AssertionError(f"{question}: {wrong}")

    async def is_sent(self, kind):
        """Our check chooses clusters, our dispatcher nominates them, and one of them has the copy."""
        await submit(self.env, kind, {PRIORITY_CLASS: "low"})
        await self.runs(kind)

    async def runs(self, kind):
        self.where[kind] = await placed(self.env, kind)
        expected = {self.where[kind]} if kind in MAKE_PODS else set()

        async def where_its_pods_run():
            running = {name: await self.running_pods(name, kind) for name in ("hub", *self.env.workers)}
            return {name for name, pods in running.items() if pods} == expected

        await self.of(kind, where_its_pods_run, "has pods that run on its worker, and nowhere else")

    async def is_on_a_chosen_cluster(self, kind):
        assert self.where[kind] in self.chosen
        for workload in await workloads(self.env, kind):
            states = [check.state for check in workload.status.admission_checks if check.name == self.env.name]
            assert states == ["Ready"]

    async def only_chosen_were_nominated(self, kind):
        members = {f"{self.env.name}-{name}" for name in self.chosen}
        for workload in await workloads(self.env, kind):
            assert set() < self.nominated[workload.uid] <= members

    async def status_is_back(self, kind):
        worker = self.where[kind]
        if kind.running:
            await write_status(self.env, kind, worker, kind.running)
        await self.of(kind, lambda: self._is_told(kind, worker), "has its status on the hub")

    async def _is_told(self, kind, worker):
        """Tell whether the hub says of a job what the worker does, and that is something."""
        there = [raw.get("status", {}) for raw in await self.found(worker, kind)]
        here = [raw.get("status", {}) for raw in await self.found("hub", kind)]
        return bool(here) and here == there and all(told and told.items() >= kind.running.items() for told in there)

    async def takes_priority(self, kind):
        labels = {"metadata": {"labels": {PRIORITY_CLASS: "high"}}}
        await self.patch(kind, labels)

        async def has_taken():
            its = await workloads(self.env, kind)
            page = await self.env.workers[self.where[kind]].list(kueue.Workload.resource, self.env.name)
            there = {raw["metadata"]["name"]: raw["spec"].get("priority") for raw in page.items}
            return its and all(one.spec.priority == there.get(one.name) == CLASSES["high"] for one in its)

        await self.of(kind, has_taken, "has the new priority in both Workloads")

    async def runs_on_when_suspended(self, kind):
        copies = await self.found(self.where[kind], kind)
        await self.patch(kind, with_value({}, kind.suspend, True))

        async def is_taken_back():
            return not any(value_at(raw, kind.suspend) for raw in await self.found("hub", kind))

        await self.of(kind, is_taken_back, "is not suspended any more")
        now = await self.found(self.where[kind], kind)
        assert [raw["metadata"]["uid"] for raw in now] == [raw["metadata"]["uid"] for raw in copies]
        assert not any(value_at(raw, kind.suspend) for raw in now)

    async def stops_and_runs_again(self, kind):
        await self.set_active(kind, False)
        await gone_from_workers(self.env, kind)
        await self.set_active(kind, True)
        await self.runs(kind)

    async def stops_and_is_made_anew(self, kind):
        """Kueue does not see that it has stopped; what the Event about that says is done."""
        await self.set_active(kind, False)
        await gone_from_workers(self.env, kind)
        await self.of(kind, lambda: self._is_said_to_be_stuck(kind), "is said to be stuck")
        await delete(self.env, kind)
        await self.is_sent(kind)

    async def _is_said_to_be_stuck(self, kind):
        said = (await self.env.hub.list(Event.resource, self.env.name)).items
        about = {raw["regarding"]["name"] for raw in said if raw["reason"] == "EvictionStuck"}
        return about & {workload.name for workload in await workloads(self.env, kind)}

    async def drain(self):
        """Drop all clusters: jobs run on there, and each cluster stays listed until the last of its jobs is deleted."""
        env = self.env
        before = {kind: await self.running_pods(worker, kind) for kind, worker in self.where.items()}
        await env.select()
        await env.says("Draining", "True")
        for worker in sorted(set(self.where.values())):
            await env.lists(*self.where.values())
            here = [kind for kind, where in self.where.items() if where == worker]
            await self.each(here, DRAIN, partial(self.runs_on, before))
            await self.each(here, DELETION, self.leaves)
        await env.lists()
        await env.select(*self.chosen)
        await env.lists(*self.chosen)

    async def runs_on(self, before, kind):
        assert len(await self.found(self.where[kind], kind)) == len(kind.manifests(self.env.name))
        assert await self.running_pods(self.where[kind], kind) == before[kind]

    async def leaves(self, kind):
        """Delete a job; one of which real Kueue would leave something on the worker ends instead."""
        if kind not in asked_on_real_kueue(DELETION):
            await self._end(kind, self.where[kind], fails=False)
        await delete(self.env, kind)
        del self.where[kind]

    async def ends(self, kind, *, fails):
        """Let a job end as its operator would, or Kubernetes itself."""
        if kind.ended:
            await submit(self.env, kind)
            await self._end(kind, await placed(self.env, kind), fails=fails)
        else:
            for manifest in kind.ending_manifests(self.env.name, fails=fails):
                await self.env.hub.create(kind.resource, manifest)
            await self._has_ended(kind, fails=fails)
        await delete(self.env, kind)

    async def _end(self, kind, worker, *, fails):
        await write_status(self.env, kind, worker, kind.failed if fails else kind.ended)
        await self._has_ended(kind, fails=fails)

    async def _has_ended(self, kind, *, fails):
        reason = "Failed" if fails else "Succeeded"

        async def has_ended():
            its = await workloads(self.env, kind)
            ends = [one.reason for w in its for one in w.status.conditions if one.type == kueue.FINISHED]
            return its and ends == [reason] * len(its)

        await self.of(kind, has_ended, f"has a Workload that has {reason}")
        await gone_from_workers(self.env, kind)

    # Shared

    def of(self, kind, question, what):
        return of(self.env, kind, question, what)

    def client(self, where):
        return self.env.hub if where == "hub" else self.env.workers[where]

    async def found(self, where, kind):
        return await found(self.client(where), kind, self.env.name)

    async def running_pods(self, where, kind):
        return await running_pods(self.client(where), kind, self.env.name)

    async def patch(self, kind, patch):
        for manifest in kind.manifests(self.env.name):
            await self.env.hub.merge(kind.resource, manifest["metadata"]["name"], self.env.name, patch)

    async def set_active(self, kind, is_active):
        for workload in await workloads(self.env, kind):
            await self.env.hub.merge(
                kueue.Workload.resource, workload.name, self.env.name, {"spec": {"active": is_active}}
            )
