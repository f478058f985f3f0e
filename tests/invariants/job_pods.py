"""Which job a pod runs for, by its owners, and on which clusters pods of the same job run."""

from collections import defaultdict
from typing import NamedTuple

from fleetqueue.api.kueue_pods import group_name
from fleetqueue.api.scheme import Manifest

SENT_ONE_BY_ONE = "ReplicaSet"
"""MultiKueue sends the pods of a Deployment, each as a job of its own."""


class JobName(NamedTuple):
    """What a job is called, on every cluster alike."""

    kind: str
    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.namespace}/{self.name}"


class JobPods:
    def __init__(self) -> None:
        self._owners: dict[str, Manifest] = {}
        """Of each object, by its uid: the reference to what it was made for."""
        self._running: defaultdict[JobName, defaultdict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
        """Of each job, by cluster: its pods that run."""

    def see(self, raw: Manifest) -> None:
        """Take note of an object that may stand between a job and its pods."""
        owner = controller_of(raw)
        if owner is not None:
            self._owners[raw["metadata"]["uid"]] = owner

    def job_of(self, pod: Manifest) -> JobName:
        """Return what somebody submitted and a pod runs for: the first of its owners, its group, or itself."""
        metadata = pod["metadata"]
        found, owner = None, controller_of(pod)
        while owner is not None and owner["kind"] != SENT_ONE_BY_ONE:
            found, owner = owner, self._owners.get(owner["uid"])
        if found is not None:
            return JobName(found["kind"], metadata["namespace"], found["name"])
        group = group_name(metadata)
        return JobName("pod group" if group else "Pod", metadata["namespace"], group or metadata["name"])

    def note(self, cluster: str, pod: Manifest, *, is_live: bool) -> None:
        """Take note of whether a pod runs."""
        pods = self._running[self.job_of(pod)][cluster]
        (pods.add if is_live else pods.discard)(pod["metadata"]["name"])

    def places(self, job: JobName) -> dict[str, set[str]]:
        """Return the clusters on which pods of a job run, and those pods."""
        return {cluster: pods for cluster, pods in self._running[job].items() if pods}


def waits_by_itself(raw: Manifest) -> bool:
    """Tell whether Kueue lets an object wait, and not one that it was made for."""
    owner = controller_of(raw)
    return owner is None or owner["kind"] == SENT_ONE_BY_ONE


def controller_of(raw: Manifest) -> Manifest | None:
    owners: list[Manifest] = raw["metadata"].get("ownerReferences") or []
    return next((owner for owner in owners if owner.get("controller")), None)
