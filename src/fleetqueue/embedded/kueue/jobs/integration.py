"""What Kueue must know about a kind of job. All functions are pure: they take and return objects."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol, TypeVar

from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs.pod_set_info import PodSetInfo
from fleetqueue.embedded.kueue.jobs.topology_requests import topology_request
from fleetqueue.rules.job_endings import Ending
from fleetqueue.rules.workload_slices import ELASTIC_JOB

INDEX_LABEL: Final = "batch.kubernetes.io/job-completion-index"

Lookup = Callable[[type[Object], str, str], Manifest | None]
"""Finds an object by its kind, name and namespace."""


@dataclass(frozen=True, slots=True)
class StopWrite:
    """One write on the way to a job that is stopped and as it was before it was started."""

    wanted: Manifest
    subresource: str = ""
    ends: bool = False
    """Whether the job has stopped only with it, perhaps long after it was suspended."""


class StillActive(Exception):
    """A job that stops cannot be made as it was before while pods of it are left."""


WORKLOAD_DELETED: Final = "WorkloadDeleted"
WORKLOAD_EVICTED: Final = "WorkloadEvicted"
NO_MATCHING_WORKLOAD: Final = "NoMatchingWorkload"
NOT_ADMITTED: Final = "NotAdmitted"


class StopCause(NamedTuple):
    """Why a job is stopped."""

    reason: str
    message: str


J_contra = TypeVar("J_contra", contravariant=True)


class JobFacts(Protocol[J_contra]):
    """What is asked of a job, whatever it is made of: one object, or several pods."""

    def is_on_hold(self, job: J_contra) -> bool:
        """Tell whether a job cannot run before somebody changes it: it keeps no quota."""
        ...

    def is_suspended(self, job: J_contra) -> bool: ...

    def is_elastic(self, job: J_contra) -> bool:
        """Tell whether it may grow while it runs: its pods wait at a gate for what it was not given yet."""
        ...

    def is_active(self, job: J_contra) -> bool:
        """Tell whether pods of it are left."""
        ...

    def ending(self, job: J_contra) -> Ending | None: ...

    def reclaimable(self, job: J_contra) -> list[Manifest]:
        """Return how many pods of each set will not come again."""
        ...

    def pods_ready(self, job: J_contra) -> bool: ...


class JobObjects(JobFacts[Manifest], Protocol):
    """A kind of which one object is a job, and has a Workload of its own."""

    @property
    def kind(self) -> type[Object]:
        """The kind that is managed."""
        ...

    def priority_class(self, job: Manifest) -> str:
        """Return the PriorityClass that a job names itself, before its pods do; empty where it names none."""
        ...

    def pod_sets(self, job: Manifest) -> list[Manifest]:
        """Return what a job asks for; raises NotFound where an object is missing that says so."""
        ...


class Integration(JobObjects, Protocol):
    """A kind of job that can be suspended."""

    @property
    def framework(self) -> str:
        """How the configuration calls it."""
        ...

    @property
    def reads(self) -> tuple[type[Object], ...]:
        """Further kinds, without whose objects its jobs cannot be understood."""
        ...

    @property
    def makes(self) -> tuple[type[Object], ...]:
        """Kinds that its jobs make, and of whose objects is read how large a job is by now."""
        ...

    def looking_up(self, find: Lookup) -> "Integration":
        """Return the same with a way to objects of those kinds."""
        ...

    def completed(self, job: Manifest) -> Manifest:
        """Return a new job with what only its kind needs."""
        ...

    def annotated(self, job: Manifest) -> Manifest:
        """Return a job with what Kueue notes on it of what its kind made of it."""
        ...

    def skips(self, job: Manifest) -> bool:
        """Tell whether a job is none that Kueue looks at."""
        ...

    def given_to_multikueue(self, job: Manifest) -> Manifest:
        """Return a new job that MultiKueue manages, unless it says that somebody else does."""
        ...

    def suspended(self, job: Manifest) -> Manifest: ...

    def started(self, job: Manifest, infos: Sequence[PodSetInfo]) -> Manifest:
        """Return a job that runs with what it was given; raises CannotStart."""
        ...

    def next_stop(self, job: Manifest, infos: Sequence[PodSetInfo]) -> StopWrite | None:
        """Return what is to be written next to stop a job; None where nothing is left. No infos: it is not restored.

        Raises StillActive where that has to wait.
        """
        ...


def pod_set(name: str, template: Manifest, count: int, **groups: Any) -> Manifest:
    """Make a pod set of a template; `groups` is what its topology request says of how pods are numbered and grouped.

    Raises UnreadableRequest.
    """
    metadata, spec = template.get("metadata") or {}, template.get("spec") or {}
    containers = {
        field: [_without_twins(container) for container in spec[field]] for field in _CONTAINERS if spec.get(field)
    }
    kept = {"metadata": metadata} if metadata else {}
    made = {"name": name, "count": count, "template": {**kept, "spec": {**spec, **containers}}}
    request = topology_request(metadata.get("annotations") or {}, **groups)
    return {**made, "topologyRequest": request} if request else made


def gated(template: Manifest) -> Manifest:
    """Return the pod template of an elastic job: its pods wait at the gate."""
    spec = template.get("spec") or {}
    gates = spec.get("schedulingGates") or []
    if any(gate["name"] == ELASTIC_JOB for gate in gates):
        return template
    return {**template, "spec": {**spec, "schedulingGates": [*gates, {"name": ELASTIC_JOB}]}}


_CONTAINERS: Final = ("containers", "initContainers")


def _without_twins(container: Manifest) -> Manifest:
    """Keep only the last value of a variable that is given twice."""
    env = container.get("env") or []
    last = {variable["name"]: variable for variable in env}
    return {**container, "env": [*last.values()]} if len(last) < len(env) else container
