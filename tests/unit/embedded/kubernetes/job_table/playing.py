"""Play the Jobs of the table on any cluster, all at once, and write down what came of them."""

import asyncio
import re
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from fleetqueue import clock
from fleetqueue.api import core_v1 as core
from fleetqueue.api import errors
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client
from tests.unit.embedded.kubernetes.job_table.cases import Case

NAMESPACE = "jobs"
EVENTS = Resource("", "v1", "Event", "events")
INDEX = "batch.kubernetes.io/job-completion-index"
TICK = 0.25
SETTLED = 3.0
"""Seconds until the last events are written, and what comes of an end."""
PATIENCE = 60.0


async def play(client: Client, cases: Sequence[Case]) -> dict[str, Any]:
    """Return for each case the end of its Job, its pods and its events."""
    await client.create(core.Namespace.resource, core.Namespace.manifest(NAMESPACE))
    await asyncio.sleep(2)  # until the namespace has its account
    runs = [_Run(client, case) for case in cases]
    for run in runs:
        await client.create(
            Job.resource, {**run.case.manifest, "metadata": {"name": run.case.name, "namespace": NAMESPACE}}
        )
    deadline = clock.monotonic() + PATIENCE
    while not all(run.is_over for run in runs):
        await asyncio.sleep(TICK)
        await _tick(client, runs)
        late = [run.case.name for run in runs if not run.is_over]
        assert clock.monotonic() < deadline, f"not in time: {late}"
    events = await _settled_events(client)
    await _tick(client, runs)
    return {run.case.name: run.record(events) for run in runs}


async def _settled_events(client: Client) -> list[Manifest]:
    """Return the events once no more come: a real controller manager writes them slowly, and later."""
    version = ""
    while True:
        await asyncio.sleep(SETTLED)
        page = await client.list(EVENTS, NAMESPACE)
        versions = str(sorted(event["metadata"]["resourceVersion"] for event in page.items))
        if versions == version:
            return page.items
        version = versions


async def _tick(client: Client, runs: "Sequence[_Run]") -> None:
    jobs = {job["metadata"]["name"]: job for job in (await client.list(Job.resource, NAMESPACE)).items}
    pods = (await client.list(core.Pod.resource, NAMESPACE)).items
    for run in runs:
        name = run.case.name
        mine = [pod for pod in pods if pod["metadata"]["labels"].get("job-name") == name]
        await run.go_on(jobs.get(name, {}), sorted(mine, key=_age))


class _Run:
    """One Job, and the one who plays its pods."""

    def __init__(self, client: Client, case: Case) -> None:
        self.client = client
        self.case = case
        self.steps = list(case.steps)
        self.is_over = False
        self.job: Manifest = {}
        self.pods: Sequence[Manifest] = ()
        self._attempts: dict[str, list[str]] = {}

    async def go_on(self, job: Manifest, pods: Sequence[Manifest]) -> None:
        self.job, self.pods = job, pods
        for pod in pods:
            self._note(pod["metadata"])
        if not self.steps and self.case.until(job, pods):
            self.is_over = True
        if self.steps and self.steps[0].when(job, pods):
            await self._take_step(pods)
            return
        for pod in pods:
            await self._end(pod)

    async def _take_step(self, pods: Sequence[Manifest]) -> None:
        step = self.steps.pop(0)
        if step.patch is not None:
            await self.client.merge(Job.resource, self.case.name, NAMESPACE, step.patch)
        if step.delete_pod:
            await self.client.delete(core.Pod.resource, pods[0]["metadata"]["name"], NAMESPACE)
        if step.pod_status is not None:
            await self._write(pods[0], step.pod_status)

    async def _end(self, pod: Manifest) -> None:
        metadata = pod["metadata"]
        if pod["status"].get("phase") != "Running":
            return
        if metadata.get("deletionTimestamp"):
            await self._write(pod, _ended(pod, 137))
            return
        code = self._code(metadata)
        if code is not None:
            await self._write(pod, _ended(pod, code))

    def _note(self, metadata: Manifest) -> None:
        """Remember in which order pods came."""
        attempts = self._attempts.setdefault(_index(metadata), [])
        if metadata["uid"] not in attempts:
            attempts.append(metadata["uid"])

    def _code(self, metadata: Manifest) -> int | None:
        index = _index(metadata)
        ends = self.case.ends.get(index, self.case.ends["*"])
        return ends[min(self._attempts[index].index(metadata["uid"]), len(ends) - 1)]

    async def _write(self, pod: Manifest, status: Manifest) -> None:
        name = pod["metadata"]["name"]
        with suppress(errors.NotFound):  # it may have gone since it was listed
            await self.client.merge(core.Pod.resource, name, NAMESPACE, {"status": status}, subresource="status")

    def record(self, events: Sequence[Manifest]) -> Manifest:
        names = {self.case.name, *(pod["metadata"]["name"] for pod in self.pods)}
        mine = [one for one in events if one["involvedObject"]["name"] in names or _is_pod_of(self.case.name, one)]
        return {
            "status": without_times(self.job.get("status", {})),
            "pods": _counted([_pod(self.case.name, pod) for pod in self.pods]),
            "events": _told([_event(self.case.name, event) for event in mine]),
        }


def _index(metadata: Manifest) -> str:
    return str((metadata.get("annotations") or {}).get(INDEX, "*"))


def _ended(pod: Manifest, code: int) -> Manifest:
    """The status of a pod whose containers have ended."""
    now = timestamp(clock.now())
    end = {"exitCode": code, "reason": "Error" if code else "Completed", "startedAt": now, "finishedAt": now}
    kinds = ("Ready", "ContainersReady")
    others = [one for one in pod["status"].get("conditions") or () if one["type"] not in kinds]
    conditions = [{"type": kind, "status": "False", "lastTransitionTime": now} for kind in kinds]
    container = {"name": "main", "image": "x", "imageID": "", "ready": False, "restartCount": 0}
    return {
        "phase": "Failed" if code else "Succeeded",
        "conditions": [*others, *conditions],
        "containerStatuses": [{**container, "state": {"terminated": end}}],
    }


def without_times(value: Any) -> Any:
    """Leave of every time only that there is one."""
    if isinstance(value, dict):
        return {key: "T" if key.endswith("Time") else without_times(item) for key, item in sorted(value.items())}
    if isinstance(value, list):
        return [without_times(item) for item in value]
    return re.sub(r"(pod jobs/[a-z0-9-]+)-[a-z0-9]{5}\b", r"\1-*", value) if isinstance(value, str) else value


def _pod(job: str, pod: Manifest) -> Manifest:
    """What a Job has made of its template."""
    metadata, spec = pod["metadata"], pod["spec"]
    uid = metadata["ownerReferences"][0]["uid"]
    return {
        "name": _nameless(job, metadata["name"]),
        "generateName": metadata["generateName"],
        "labels": {key: "UID" if value == uid else value for key, value in sorted(metadata["labels"].items())},
        "annotations": metadata.get("annotations"),
        "finalizers": metadata.get("finalizers", []),
        "hostname": spec.get("hostname"),
        "env": [container.get("env") for container in spec["containers"] + spec.get("initContainers", [])],
        "owner": {key: value for key, value in sorted(metadata["ownerReferences"][0].items()) if key != "uid"},
        "phase": pod["status"]["phase"],
    }


def _counted(pods: Sequence[Manifest]) -> list[Manifest]:
    """Return pods that are alike once, with how many they are."""
    times = {str(pod): [*map(str, pods)].count(str(pod)) for pod in pods}
    alike = {str(pod): pod for pod in pods}
    return [{**alike[text], "times": times[text]} for text in sorted(alike)]


def _event(job: str, event: Manifest) -> Manifest:
    kept = ("type", "reason", "action", "reportingComponent")
    return {
        **{field: event.get(field, "") for field in kept},
        "about": event["involvedObject"]["kind"],
        "message": _nameless(job, event["message"]),
        "component": (event.get("source") or {}).get("component", ""),
        "count": event.get("count", 0),
    }


def _told(events: Sequence[Manifest]) -> list[Manifest]:
    """Return events in one order; how often a scheduler tries in vain depends on what else happens."""
    found = [event for event in events if event["reason"] != "FailedScheduling"]
    tries = {event["message"]: event for event in events if event["reason"] == "FailedScheduling"}
    return sorted([*found, *tries.values()], key=str)


def _nameless(job: str, text: str) -> str:
    found = re.sub(rf"\b({re.escape(job)}(-\d+)?)-[a-z0-9]{{5}}\b", r"\1-*", text)
    return re.sub(r" to [a-z0-9-]+-control-plane", " to NODE", found)


def _is_pod_of(job: str, event: Manifest) -> bool:
    about = event["involvedObject"]
    return about["kind"] == "Pod" and re.fullmatch(rf"{re.escape(job)}(-\d+)?-[a-z0-9]{{5}}", about["name"]) is not None


def _age(pod: Manifest) -> tuple[str, str]:
    return pod["metadata"]["creationTimestamp"], pod["metadata"]["name"]
