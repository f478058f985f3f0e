"""What Kueue must know about a kind of job. All functions are pure: they take and return objects."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs.pod_set_info import PodSetInfo


class Ending(NamedTuple):
    """How a job has ended."""

    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class StopWrite:
    """One write on the way to a job that is stopped and as it was before it was started."""

    wanted: Manifest
    subresource: str = ""


class Integration(Protocol):
    @property
    def kind(self) -> type[Object]:
        """The kind that is managed."""
        ...

    @property
    def framework(self) -> str:
        """How the configuration calls it."""
        ...

    @property
    def own_controller(self) -> str:
        """What `spec.managedBy` is by default."""
        ...

    def is_suspended(self, job: Manifest) -> bool: ...

    def is_active(self, job: Manifest) -> bool:
        """Tell whether pods of it are left."""
        ...

    def suspended(self, job: Manifest) -> Manifest: ...

    def pod_sets(self, job: Manifest) -> list[Manifest]: ...

    def started(self, job: Manifest, infos: Sequence[PodSetInfo]) -> Manifest:
        """Return a job that runs with what it was given; raises CannotStart."""
        ...

    def next_stop(self, job: Manifest, infos: Sequence[PodSetInfo]) -> StopWrite | None:
        """Return what is to be written next to stop a job; None where nothing is left. No infos: it is not restored."""
        ...

    def ending(self, job: Manifest) -> Ending | None: ...

    def reclaimable(self, job: Manifest) -> list[Manifest]:
        """Return how many pods of each set will not come again."""
        ...

    def pods_ready(self, job: Manifest) -> bool: ...
