"""Run the programs of a kubelet's pods: start them with their pod, stop them with it, and say how they are.

Mirrors: kubernetes pkg/kubelet/pod_workers.go, pkg/kubelet/kuberuntime
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Final

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.core_v1 import ConfigMap, Pod, Secret
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.nodes import pod_statuses
from fleetqueue.embedded.nodes.mounted_files import MountedFiles
from fleetqueue.embedded.nodes.pod_environment import NotThere, PodEnvironment, all_expanded
from fleetqueue.embedded.nodes.program_life import ProgramLife
from fleetqueue.embedded.nodes.program_statuses import wanted_status
from fleetqueue.embedded.nodes.programs import ProgramAccount, ProgramContext, Programs
from fleetqueue.runtime.cluster import Cluster
from fleetqueue.runtime.counted_events import CountingRecorder
from fleetqueue.runtime.logs import Log

FIRST_RETRY, LAST_RETRY = 0.5, 122.0
"""Seconds until a missing object that a pod refers to is looked for again, longer each time."""
STOP_SECONDS: Final = 30.0

log = Log("programs")


@dataclass(frozen=True, slots=True)
class RunningPod:
    uid: str
    lives: Sequence[ProgramLife]
    task: "asyncio.Task[None]"


class ProgramPods:
    def __init__(self, cluster: Cluster, programs: Programs, wake: Callable[[str], None]) -> None:
        """`wake` is called with the key of a pod of which there is something new to say."""
        self.cluster = cluster
        self.programs = programs
        self.wake = wake
        self._running: dict[str, RunningPod] = {}
        self._files: dict[str, MountedFiles] = {}
        self._stopping: set[asyncio.Task[None]] = set()
        self._tries: dict[str, int] = {}
        self._recorders: dict[str, CountingRecorder] = {}

    def knows(self, pod: Pod) -> bool:
        return self.programs.knows(pod)

    def follow_mounted(self) -> None:
        """See what becomes of objects that pods mount; to be called before the cluster is followed."""
        if self.programs.by_image:
            for kind in (Secret, ConfigMap):
                self.cluster.informer(kind).subscribe(self._object_changed)

    def _object_changed(self, old: Object | None, new: Object | None) -> None:
        if new is not None:
            for files in self._files.values():
                if files.account.namespace == new.namespace:
                    files.see(new)

    async def keep(self, pod: Pod, *, host: str, address: str) -> None:
        """Start the programs of a pod unless they run, and write how they are where that is news."""
        raw = self.cluster.raw(pod)
        live = raw.get("status") or {}
        try:
            running = await self._still_running(pod) or await self._start(pod, raw)
        except NotThere as error:
            if not live.get("startTime"):
                await self._write(pod, live, pod_statuses.creating(pod, live, host, clock.now()))
            await self._events(pod).warning(pod, error.reason, str(error))
            tries = self._tries.get(pod.key, 0)
            self._tries[pod.key] = min(tries + 1, 10)
            raise errors.RetryLater(min(FIRST_RETRY * 2**tries, LAST_RETRY), str(error)) from error
        states = [life.state for life in running.lives]
        wanted = wanted_status(pod, live, states, host=host, address=address, now=clock.now())
        await self._write(pod, live, wanted)

    async def _write(self, pod: Pod, live: Manifest, wanted: Manifest) -> None:
        if any(live.get(field) != value for field, value in wanted.items()):
            patch = {"metadata": {"uid": pod.uid}, "status": wanted}
            await self.cluster.client.merge(Pod.resource, pod.name, pod.namespace, patch, subresource="status")

    def _events(self, pod: Pod) -> CountingRecorder:
        return self._recorders.setdefault(
            pod.spec.node_name, CountingRecorder(self.cluster.client, "kubelet", pod.spec.node_name)
        )

    async def _still_running(self, pod: Pod) -> RunningPod | None:
        running = self._running.get(pod.key)
        if running is None:
            return None
        is_lost = running.task.done() and not all(life.state.has_ended for life in running.lives)
        if running.uid != pod.uid or is_lost:
            await self.stop(pod.key)
            return None
        return running

    async def stop(self, key: str, *, within: float = STOP_SECONDS) -> None:
        """Tell the programs of a pod to stop, and wait until they have."""
        self._tries.pop(key, None)
        self._files.pop(key, None)
        running = self._running.pop(key, None)
        if running is None:
            return
        self._stopping.add(running.task)
        running.task.add_done_callback(self._stopping.discard)
        running.task.cancel()
        _, late = await asyncio.wait({running.task}, timeout=within)
        if late:
            log.warning("program does not stop", pod=key)
        elif not running.task.cancelled() and (error := running.task.exception()):
            log.warning("program was lost", pod=key, error=error)
        else:
            log.info("program stopped", pod=key)

    async def close(self) -> None:
        """Stop all programs, and wait also for those whose stop was interrupted."""
        for key in list(self._running):
            await self.stop(key)
        if self._stopping:
            await asyncio.wait(self._stopping, timeout=STOP_SECONDS)

    async def _start(self, pod: Pod, raw: Manifest) -> RunningPod:
        environment = PodEnvironment(self.cluster.client, raw)
        account = ProgramAccount(pod.namespace, environment.account, await environment.token())
        files = self._files[pod.key] = MountedFiles(environment, account)
        places = await self._places(pod, raw, files)
        lives = [
            ProgramLife(
                pod,
                spec,
                self.programs.of(spec["image"]),
                places[spec["name"]],
                restarts=_restarts(raw, spec["name"]),
                events=self._events(pod),
                renew=partial(files.renew, spec, places[spec["name"]]),
                changed=partial(self.wake, pod.key),
            )
            for spec in raw["spec"]["containers"]
        ]
        task = asyncio.create_task(_live(lives, files, places), name=f"programs of {pod.key}")
        running = self._running[pod.key] = RunningPod(pod.uid, lives, task)
        task.add_done_callback(partial(self._ended, pod.key))
        log.info("programs started", cluster=self.cluster.name, pod=pod.key, node=pod.spec.node_name)
        return running

    def _ended(self, key: str, task: "asyncio.Task[None]") -> None:
        """Look at a pod whose programs ended without being told to: nobody else may notice that they are lost."""
        running = self._running.get(key)
        if running is not None and running.task is task:
            self.wake(key)

    async def _places(self, pod: Pod, raw: Manifest, mounted: MountedFiles) -> dict[str, ProgramContext]:
        account, client = mounted.account, self.programs.reach(mounted.account)
        places = {}
        for spec in raw["spec"]["containers"]:
            files, env = await mounted.read(spec), await mounted.environment.env(spec)
            command, args = (all_expanded(spec.get(part), env) for part in ("command", "args"))
            context = ProgramContext(pod.namespace, pod.name, spec["name"], command, args, env, files, account, client)
            places[spec["name"]] = context
        return places


async def _live(lives: Sequence[ProgramLife], files: MountedFiles, places: Mapping[str, ProgramContext]) -> None:
    """Let all containers of a pod live until the last has ended, or until cancelled; meanwhile keep their files.

    Where anything is lost that should go on, all of it ends, and the pod is started anew.
    """
    async with asyncio.TaskGroup() as beside:
        keeping = beside.create_task(files.keep(places))
        async with asyncio.TaskGroup() as containers:
            for life in lives:
                containers.create_task(life.run())
        keeping.cancel()


def _restarts(pod: Manifest, container: str) -> int:
    """Return how often a container was started again: once more where it ran before we knew of it."""
    for status in (pod.get("status") or {}).get("containerStatuses") or ():
        if status["name"] == container and "waiting" not in (status.get("state") or {}):
            return int(status.get("restartCount", 0)) + 1
    return 0
