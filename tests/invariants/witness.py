"""Sees every change of all clusters at the moment at which it happens, and says what must not have happened."""

from collections import Counter, defaultdict
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from fleetqueue.api import job_kinds
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Node, Pod
from fleetqueue.api.job_kinds import JobKind
from fleetqueue.demo.story_run import SingleRunMonitor
from fleetqueue.embedded.apiserver.storage.interface import StorageChange
from fleetqueue.embedded.apiserver.storage.log import MemoryLog
from fleetqueue.embedded.nodes.settings import is_silent
from fleetqueue.lab.cluster_names import HUB
from tests import pipelines

from . import Broken, quiet
from .job_pods import JobPods
from .reasons import has_ended

JOBS = "/batch/jobs/"
NODES = "/core/nodes/"
PODS = "/core/pods/"
OTHER_KINDS: Mapping[str, JobKind] = {
    f"/{kind.kind.resource.group}/{kind.kind.resource.plural}/": kind
    for kind in (*vars(job_kinds).values(), pipelines.KIND)
    if isinstance(kind, JobKind) and kind is not job_kinds.BATCH_JOB
}
"""Jobs that operators run, or a controller of the tests' own, by where they are stored."""


class WitnessedLog(MemoryLog):
    """Tells of every change at the moment at which it is committed."""

    see: Callable[[StorageChange], None] | None = None

    def append(self, change: StorageChange) -> None:
        super().append(change)
        if self.see is not None:
            self.see(change)


class Witness:
    def __init__(
        self,
        excused: Callable[[str], bool] = lambda worker: False,
        never_twice: Callable[[str], bool] = lambda job: False,
    ) -> None:
        """`excused` tells whether a worker was lost for longer than Kueue waits: then Kueue itself starts again.

        `never_twice` tells of a job, by its name, whether it must not run twice even then; of such a job pods that are
        not bound to a node count too.
        """
        self.monitor = SingleRunMonitor()
        self.finishes: Counter[str] = Counter()
        """How often each job of the hub, by its uid, became complete."""
        self.ends: defaultdict[str, list[Mapping[str, Any]]] = defaultdict(list)
        """Of each job, by its name: what every copy of it said that ended on a worker."""
        self.broken: list[str] = []
        self.writes: list[str] = []
        """What was written since somebody last looked, without what the clock asks for."""
        self.pods = JobPods()
        self._story = sha256()
        self._excused = excused
        self._never_twice = never_twice
        self._copies: defaultdict[str, set[str]] = defaultdict(set)
        """Of each job of another kind, by its key: the workers on which it may run now."""
        self._doubles = 0
        self._switched_off: set[tuple[str, str]] = set()
        """Nodes, each with its cluster, on which nothing runs. A pod that is deleted meanwhile never runs again."""

    @property
    def story(self) -> str:
        """A mark of all that was written, in its order."""
        return self._story.hexdigest()

    def see(self, cluster: str, change: StorageChange) -> None:
        line = f"{cluster} {change.type} {change.key}"
        self._story.update(line.encode())
        if quiet.counts(change.type, change.key):
            self.writes.append(line)
        self.pods.see(change.entry.object)
        if change.key.startswith(JOBS):
            if cluster == HUB:
                self._see_hub(change)
            else:
                self._see_worker(cluster, change)
        elif change.key.startswith(NODES):
            self._see_node(cluster, change)
        elif change.key.startswith(PODS):
            self._see_pod(cluster, change)
            if cluster == HUB and change.entry.object["metadata"].get("labels", {}).get(kueue.QUEUE_LABEL):
                self._see_hub(change)
        elif (kind := OTHER_KINDS.get(_folder(change.key))) is not None:
            if cluster == HUB:
                self._see_hub(change)
            else:
                self._see_copy(cluster, change, is_live=not kind.is_suspended(change.entry.object))

    def _see_hub(self, change: StorageChange) -> None:
        is_new = change.previous is None or not has_ended(change.previous.object)
        if change.type != "DELETED" and is_new and has_ended(change.entry.object):
            self.finishes[change.entry.object["metadata"]["uid"]] += 1
        elif change.type != "DELETED" and not is_new and not has_ended(change.entry.object):
            self.broken.append(f"{change.key} had ended on the hub, and goes on")

    def _see_worker(self, cluster: str, change: StorageChange) -> None:
        new = None if change.type == "DELETED" else Job.view(change.entry.object)
        self.monitor.see(cluster, Job.view(change.entry.object), new)
        if new is not None and has_ended(change.entry.object):
            self.ends[new.name].append(change.entry.object["status"])
        if len(self.monitor.doubles) > self._doubles:
            self._doubles = len(self.monitor.doubles)
            job = Job.view(change.entry.object)
            where = self.monitor.running[job.key]
            if self._never_twice(job.name) or not any(self._excused(worker) for worker in where):
                self.broken.append(f"ran twice: {self.monitor.doubles[-1]}")

    def _see_copy(self, cluster: str, change: StorageChange, *, is_live: bool) -> None:
        """Take note of a job of another kind: it may have pods that run."""
        where = self._copies[change.key]
        where.discard(cluster)
        if change.type == "DELETED" or not is_live or has_ended(change.entry.object):
            return
        where.add(cluster)
        if len(where) > 1 and not any(self._excused(worker) for worker in where):
            self.broken.append(f"ran twice: {change.key} on {', '.join(sorted(where))}")

    def _see_node(self, cluster: str, change: StorageChange) -> None:
        node = Node.view(change.entry.object)
        is_off = change.type != "DELETED" and is_silent(node)
        (self._switched_off.add if is_off else self._switched_off.discard)((cluster, node.name))

    def _see_pod(self, cluster: str, change: StorageChange) -> None:
        """Take note of a pod that runs, for a job of whichever kind."""
        raw = change.entry.object
        pod, job = Pod.view(raw), self.pods.job_of(raw)
        is_careful = self._never_twice(job.name)
        is_gone = pod.is_deleting and (cluster, pod.spec.node_name) in self._switched_off
        is_over = change.type == "DELETED" or pod.has_ended or is_gone
        is_live = not is_over and (is_careful or bool(pod.spec.node_name))
        self.pods.note(cluster, raw, is_live=is_live)
        where = sorted(self.pods.places(job))
        if is_live and len(where) > 1 and (is_careful or not any(self._excused(place) for place in where)):
            self.broken.append(f"ran twice: pods of {job} on {', '.join(where)}")

    def check(self) -> None:
        if self.broken:
            raise Broken("\n".join(self.broken))


def _folder(key: str) -> str:
    """Return where all objects of a kind are stored: of /batch/jobs/default/j that is /batch/jobs/."""
    _, group, plural, _ = key.split("/", 3)
    return f"/{group}/{plural}/"
