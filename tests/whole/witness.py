"""Sees every change of all clusters at the moment at which it happens, and says what must not have happened."""

from collections import Counter
from collections.abc import Callable, Mapping
from hashlib import sha256
from typing import Any

from fleetqueue.api.batch_v1 import Job
from fleetqueue.apiserver.storage.interface import Change
from fleetqueue.assembly.stories.once import Watchman
from fleetqueue.engine.cluster_names import HUB

JOBS = "/batch/jobs/"
UNTOUCHED = ("/foreign", "/foreign-job", "/kueue-admin-foreign-kubeconfig")
"""How the keys end of objects that nobody of ours has any business with."""
BY_HAND = ("multikueue-config-demo1", "multikueue-demo1-cluster1", "multikueue-demo1-cluster2")
"""Objects that a person wrote, and of which Kueue keeps the status."""


class Broken(AssertionError):
    """What must never happen did."""


class Witness:
    def __init__(self, excused: Callable[[str], bool]) -> None:
        """`excused` tells whether a worker was lost for longer than Kueue waits: then Kueue itself starts again."""
        self.watchman = Watchman()
        self.finishes: Counter[str] = Counter()
        """How often each job of the hub, by its uid, became complete."""
        self.last_status: dict[str, Mapping[str, Any]] = {}
        """Of each job that ended on a worker, by its name: what it said."""
        self.broken: list[str] = []
        self.writes: list[str] = []
        """What was written since somebody last looked."""
        self._story = sha256()
        self._excused = excused
        self._doubles = 0

    @property
    def story(self) -> str:
        """A mark of all that was written, in its order."""
        return self._story.hexdigest()

    def see(self, cluster: str, change: Change) -> None:
        key = change.key
        self.writes.append(f"{cluster} {change.type} {key}")
        self._story.update(self.writes[-1].encode())
        if key.endswith(UNTOUCHED):
            self.broken.append(f"{change.type} of {key} on {cluster}, which is not ours: {change.entry.object}")
        elif key.endswith(BY_HAND):
            self._see_by_hand(change)
        elif key.startswith(JOBS):
            if cluster == HUB:
                self._see_hub(change)
            else:
                self._see_worker(cluster, change)

    def _see_by_hand(self, change: Change) -> None:
        metadata = change.entry.object["metadata"]
        managers = {entry["manager"] for entry in metadata.get("managedFields", ())}
        if change.type == "DELETED" or metadata["generation"] != 1:
            self.broken.append(f"{change.type} of {change.key}, which a person wrote: {sorted(managers)}")

    def _see_hub(self, change: Change) -> None:
        is_new = change.previous is None or not has_ended(change.previous.object)
        if change.type != "DELETED" and is_new and has_ended(change.entry.object):
            self.finishes[change.entry.object["metadata"]["uid"]] += 1
        elif change.type != "DELETED" and not is_new and not has_ended(change.entry.object):
            self.broken.append(f"{change.key} had ended on the hub, and goes on")

    def _see_worker(self, cluster: str, change: Change) -> None:
        new = None if change.type == "DELETED" else Job.view(change.entry.object)
        self.watchman.see(cluster, Job.view(change.entry.object), new)
        if new is not None and has_ended(change.entry.object):
            self.last_status[new.name] = change.entry.object["status"]
        if len(self.watchman.doubles) > self._doubles:
            self._doubles = len(self.watchman.doubles)
            where = self.watchman.running[Job.view(change.entry.object).key]
            if not any(self._excused(worker) for worker in where):
                self.broken.append(f"ran twice: {self.watchman.doubles[-1]}")

    def check(self) -> None:
        if self.broken:
            raise Broken("\n".join(self.broken))


def has_ended(raw: Mapping[str, Any]) -> bool:
    conditions = raw.get("status", {}).get("conditions", ())
    return any(c["type"] in ("Complete", "Failed") and c["status"] == "True" for c in conditions)
