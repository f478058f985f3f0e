"""Jobs of all kinds go through one fleet at the same time, and every question is asked of each."""

import asyncio
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.fields import value_at, with_value
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.lab.cluster_names import HUB
from fleetqueue.runtime.informer import Informer
from fleetqueue.testing.virtual_time import running
from tests.invariants.reasons import check_answers
from tests.job_kinds import DEPLOYMENT, POD_GROUP, JobKind

from .arranging import FAILING, HIGH, LONG, LOW, NAME, SHORT, arrange, choose
from .questions import (
    COPY,
    DELETION,
    DRAIN,
    ENDING,
    FAILURE,
    KINDS,
    NOMINATION,
    PLACEMENT,
    PRIORITY,
    REFUSED,
    STATUS,
    STAYS,
    STOP,
    SUSPENSION,
    asked,
)

SUBMISSION, NO_COPY = "submission", "no copy"
"""Asked before all others; and of kinds that Kueue refuses on workers."""
ON_THE_HUB, REJECTION = "on the hub", "rejection"
"""Of kinds that are not sent: in a queue of the hub's own, and in one of MultiKueue's."""

UNCHOSEN = "cluster3"
"""A worker that the Placement does not choose; it has room, queues and credentials like the others."""
PRIORITY_CLASS = "kueue.x-k8s.io/priority-class"
PATIENCE = 150.0
"""Seconds that anything may take."""
Holds = Callable[[], Awaitable[object]]


class NotSo(Exception):
    """Something did not come."""


class Trial:
    def __init__(self, clients: Mapping[str, Client]) -> None:
        self.hub = clients[HUB]
        self.clients = clients
        self.workers = {name: client for name, client in clients.items() if name != HUB}
        self.members = {f"{NAME}-{name}": name for name in self.workers}
        """MultiKueue's name of each worker."""
        self.chosen = {member: name for member, name in self.members.items() if name != UNCHOSEN}
        self.answers: defaultdict[JobKind, dict[str, str]] = defaultdict(dict)
        """By kind and question: what was wrong, empty where nothing was."""
        self.nominated: defaultdict[str, set[str]] = defaultdict(set)
        """Of each Workload, by its uid: the clusters that were ever nominated."""
        self.where: dict[JobKind, str] = {}

    async def begin(self) -> None:
        await arrange(self.clients)
        await choose(self.hub, *self.chosen.values())
        await self.until(self.is_ready, "the queue is ready")

    async def play(self) -> None:
        informer = Informer(self.hub, kueue.Workload)
        informer.subscribe(self._see)
        async with running(informer.run()):
            await self.begin()
            await self._live()
            await self._end()

    async def _live(self) -> None:
        await self._each(KINDS, SUBMISSION, lambda kind: self.submit(kind, kind.manifests(LONG)))
        for question, ask in (
            (PLACEMENT, self.is_placed),
            (NOMINATION, self.is_nominated),
            (COPY, self.has_one_copy),
            (STATUS, self.status_is_back),
            (PRIORITY, self.takes_priority),
            (SUSPENSION, self.runs_on_when_suspended),
            (STOP, self.stops_and_runs_again),
        ):
            await self._each(asked(question), question, ask)
        await self._each(REFUSED, NO_COPY, self.has_no_copy)
        await self._each(STAYS, ON_THE_HUB, self.runs_on_the_hub)
        await self._each(STAYS, REJECTION, self.is_rejected)
        await choose(self.hub)
        await self._each(asked(DRAIN), DRAIN, self.is_drained)
        await self._each(asked(DELETION), DELETION, self.is_deleted)
        await self.until(self._lists_nothing, "the config lists nothing")
        await choose(self.hub, *self.chosen.values())
        await self.until(self.is_ready, "the queue is ready again")

    async def _end(self) -> None:
        await asyncio.gather(
            self._each(asked(ENDING), ENDING, lambda kind: self.ends(kind, SHORT, "Succeeded")),
            self._each(asked(FAILURE), FAILURE, lambda kind: self.ends(kind, FAILING, "Failed")),
        )

    async def _each(self, kinds: Iterable[JobKind], question: str, ask: Callable[[JobKind], Awaitable[None]]) -> None:
        async def answer(kind: JobKind) -> None:
            try:
                await ask(kind)
            except (NotSo, errors.ApiError) as error:
                self.answers[kind][question] = str(error)
            else:
                self.answers[kind].setdefault(question, "")

        await asyncio.gather(*map(answer, kinds))
        await check_answers(self.hub)

    # The questions

    async def submit(self, kind: JobKind, manifests: list[Manifest]) -> None:
        for manifest in manifests:
            manifest["metadata"]["labels"][PRIORITY_CLASS] = LOW
            await self.hub.create(kind.resource, manifest)

    async def is_placed(self, kind: JobKind) -> None:
        async def holds() -> bool:
            its = await self.workloads(kind, LONG)
            states = [check.state for one in its for check in one.status.admission_checks if check.name == NAME]
            return bool(its) and states == ["Ready"] * len(its)

        await self.until(holds, "our check is Ready", kind)
        if kind in REFUSED:
            return
        await self.until(lambda: self.clusters(kind), "it has a cluster", kind)
        if not await self.clusters(kind) <= self.chosen.keys():
            raise NotSo(f"it is on {await self.clusters(kind)}")

    async def clusters(self, kind: JobKind) -> set[str]:
        """Return the clusters that have a job, by MultiKueue's names."""
        return {one.status.cluster_name for one in await self.workloads(kind, LONG)} - {""}

    async def is_nominated(self, kind: JobKind) -> None:
        async def holds() -> bool:
            its = await self.workloads(kind, LONG)
            return all(self.nominated[one.uid] for one in its)

        await self.until(holds, "it was nominated", kind)
        for one in await self.workloads(kind, LONG):
            if not self.nominated[one.uid] <= self.chosen.keys():
                raise NotSo(f"{self.nominated[one.uid]} were nominated")

    async def has_one_copy(self, kind: JobKind) -> None:
        self.where[kind] = await self.until(lambda: self.place(kind, LONG), "one worker runs it", kind)

    async def place(self, kind: JobKind, namespace: str) -> str:
        """Return the worker that runs a job, if it is one and Workload, copy and pods agree on it."""
        its = await self.workloads(kind, namespace)
        named = {self.members.get(one.status.cluster_name, "") for one in its if one.is_true(kueue.ADMITTED)}
        if kind is DEPLOYMENT and its:
            return ",".join(sorted(named)) if await self._holders(kind, namespace) == named else ""
        if len(named) != 1 or await self._holders(kind, namespace) != named:
            return ""
        whole = len(kind.names) or 1
        copies = await self.objects(self.workers[min(named)], kind, namespace)
        return min(named) if len(copies) == whole else ""

    async def _holders(self, kind: JobKind, namespace: str) -> set[str]:
        """Return the clusters on which pods of a job run; all its copies are where some of them do."""
        found = set()
        for name, client in self.clients.items():
            pods = await self.pods(client, kind, namespace)
            if any(pod["spec"].get("nodeName") and pod["status"].get("phase") == "Running" for pod in pods):
                found.add(name)
            elif name != HUB and (pods or await self.objects(client, kind, namespace)):
                found.add(f"{name} without pods")
        return found

    async def has_no_copy(self, kind: JobKind) -> None:
        for client in self.workers.values():
            if await self.objects(client, kind, LONG):
                raise NotSo("a worker has a copy")

    async def runs_on_the_hub(self, kind: JobKind) -> None:
        async def holds() -> bool:
            return await self._holders(kind, LONG) == {HUB}

        await self.until(holds, "it runs on the hub", kind)

    async def is_rejected(self, kind: JobKind) -> None:
        sent = replace(kind, called="sent", labels={})
        await self.submit(sent, sent.manifests(LONG))

        async def holds() -> bool:
            its = await self.workloads(sent, LONG)
            states = {check.name: check.state for one in its for check in one.status.admission_checks}
            return states.get(f"{NAME}-mk") == "Rejected"

        await self.until(holds, "MultiKueue rejects it", sent)
        if found := await self._holders(sent, LONG):
            raise NotSo(f"it is on {found}")

    async def status_is_back(self, kind: JobKind) -> None:
        async def holds() -> bool:
            here = [told(raw) for raw in await self.objects(self.hub, kind, LONG)]
            there = [
                told(raw)
                for name in self.where[kind].split(",")
                for raw in await self.objects(self.workers[name], kind, LONG)
            ]
            return bool(here) and told({}) not in here and sorted(here) == sorted(there)

        await self.until(holds, "its status is that of the copy", kind)

    async def takes_priority(self, kind: JobKind) -> None:
        labels = {"metadata": {"labels": {PRIORITY_CLASS: HIGH}}}
        for raw in await self.objects(self.hub, kind, LONG):
            await self.hub.merge(kind_of(kind), raw["metadata"]["name"], LONG, labels)

        async def holds() -> bool:
            its = await self.workloads(kind, LONG)
            names = {one.name for one in its}
            there = [
                raw["spec"].get("priority")
                for client in self.workers.values()
                for raw in (await client.list(kueue.Workload.resource, LONG)).items
                if raw["metadata"]["name"] in names
            ]
            return bool(its) and [one.spec.priority for one in its] == there == [1000] * len(its)

        await self.until(holds, "both Workloads have the new priority", kind)

    async def runs_on_when_suspended(self, kind: JobKind) -> None:
        worker = self.workers[self.where[kind]]
        before = await self._running_pods(worker, kind)
        for raw in await self.objects(self.hub, kind, LONG):
            patch = with_value({}, kind.suspend, True)
            await self.hub.merge(kind.resource, raw["metadata"]["name"], LONG, patch)

        async def holds() -> bool:
            return not any(value_at(raw, kind.suspend) for raw in await self.objects(self.hub, kind, LONG))

        await self.until(holds, "its suspension is taken back", kind)
        if await self._running_pods(worker, kind) != before:
            raise NotSo("other pods run")

    async def _running_pods(self, worker: Client, kind: JobKind) -> set[str]:
        found = await self.pods(worker, kind, LONG)
        return {pod["metadata"]["uid"] for pod in found if pod["status"].get("phase") == "Running"}

    async def stops_and_runs_again(self, kind: JobKind) -> None:
        for is_active in (False, True):
            for one in await self.workloads(kind, LONG):
                await self.hub.merge(kueue.Workload.resource, one.name, LONG, {"spec": {"active": is_active}})
            if not is_active:
                await self.until(lambda: self.is_gone(kind, LONG), "it goes from its worker", kind)
        self.where[kind] = await self.until(lambda: self.place(kind, LONG), "it runs again", kind)

    async def is_drained(self, kind: JobKind) -> None:
        check = kueue.AdmissionCheck

        async def says() -> bool:
            found = check.view(await self.hub.get(check.resource, NAME))
            return any(one.type == "Draining" and one.is_true for one in found.status.conditions)

        await self.until(says, "the check says Draining")
        listed = await self._listed()
        if not {f"{NAME}-{name}" for name in self.where[kind].split(",")} <= set(listed):
            raise NotSo(f"only {listed} are listed")
        if await self.place(kind, LONG) != self.where[kind]:
            raise NotSo("it does not run there any more")

    async def is_deleted(self, kind: JobKind) -> None:
        its = await self.workloads(kind, LONG)
        for name in kind.names or (kind.name,):
            await self.hub.delete(kind.resource, name, LONG)
        if kind is POD_GROUP:  # its pods alone would wait for others in their place
            await self.hub.delete(kueue.Workload.resource, its[0].name, LONG)
        await self.until(lambda: self.is_gone(kind, LONG), "it goes from its worker", kind)

    async def ends(self, kind: JobKind, namespace: str, reason: str) -> None:
        await self.submit(kind, kind.ending_manifests(namespace, fails=namespace == FAILING))

        async def has_ended() -> bool:
            its = await self.workloads(kind, namespace)
            ends = [one.reason for w in its for one in w.status.conditions if one.type == kueue.FINISHED]
            return bool(its) and ends == [reason] * len(its)

        await self.until(has_ended, f"its Workload has {reason}", kind, namespace)
        await self.until(lambda: self.is_gone(kind, namespace), "nothing of it is left on workers", kind, namespace)

    # What there is

    async def objects(self, client: Client, kind: JobKind, namespace: str) -> list[Manifest]:
        """Return what a cluster has of a job; of a Deployment, its pods are sent."""
        found = (await client.list(kind_of(kind), namespace)).items
        if kind is DEPLOYMENT:
            return [raw for raw in found if raw["metadata"]["name"].startswith(kind.name)]
        return [raw for raw in found if raw["metadata"]["name"] in (kind.names or (kind.name,))]

    async def pods(self, client: Client, kind: JobKind, namespace: str) -> list[Manifest]:
        found = (await client.list(Pod.resource, namespace)).items
        return [raw for raw in found if kind.has_pod(raw["metadata"]["name"])]

    async def workloads(self, kind: JobKind, namespace: str) -> list[kueue.Workload]:
        uids = {raw["metadata"]["uid"] for raw in await self.objects(self.hub, kind, namespace)}
        return [
            kueue.Workload.view(raw)
            for raw in (await self.hub.list(kueue.Workload.resource, namespace)).items
            if uids & {owner["uid"] for owner in raw["metadata"].get("ownerReferences", ())}
        ]

    async def is_gone(self, kind: JobKind, namespace: str) -> bool:
        """Tell whether no worker has a copy or a pod of a job."""
        for client in self.workers.values():
            if await self.objects(client, kind, namespace) or await self.pods(client, kind, namespace):
                return False
        return True

    async def is_ready(self) -> bool:
        queue = kueue.ClusterQueue.view(await self.hub.get(kueue.ClusterQueue.resource, NAME))
        is_active = any(one.type == "Active" and one.is_true for one in queue.status.conditions)
        return is_active and set(await self._listed()) == self.chosen.keys()

    async def _lists_nothing(self) -> bool:
        return not await self._listed()

    async def _listed(self) -> list[str]:
        found = await self.hub.find(kueue.MultiKueueConfig.resource, NAME)
        return list(kueue.MultiKueueConfig.view(found).spec.clusters) if found else []

    def _see(self, old: kueue.Workload | None, new: kueue.Workload | None) -> None:
        if new is not None:
            self.nominated[new.uid] |= set(new.status.nominated_cluster_names)

    async def until(self, holds: Holds, what: str, kind: JobKind | None = None, namespace: str = LONG) -> Any:
        deadline = clock.monotonic() + PATIENCE
        while not (found := await holds()):
            if clock.monotonic() > deadline:
                raise NotSo(f"not so: {what}; {await self._told(kind, namespace) if kind else ''}")
            await asyncio.sleep(0.5)
        return found

    async def _told(self, kind: JobKind, namespace: str) -> str:
        its = [(one.name, one.status) for one in await self.workloads(kind, namespace)]
        there = {
            name: [raw["metadata"]["name"] for raw in await self.pods(client, kind, namespace)]
            for name, client in self.clients.items()
        }
        return f"{its}; pods: {there}"


def told(job: Manifest) -> str:
    """Return a status as text; Go leaves out a zero, and others do not."""
    return str(sorted((name, value) for name, value in (job.get("status") or {}).items() if value != 0))


def kind_of(kind: JobKind) -> Any:
    return Pod.resource if kind is DEPLOYMENT else kind.resource
