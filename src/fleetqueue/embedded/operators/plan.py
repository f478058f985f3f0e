"""What an operator decides about one of its jobs, and what it decides it from. No I/O."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from fleetqueue.api.events_v1 import NORMAL, WARNING
from fleetqueue.api.scheme import Manifest


class Seen(NamedTuple):
    """What there is of a job."""

    job: Manifest
    children: Mapping[str, Sequence[Manifest]]
    """What was made for it, by kind."""
    now: datetime
    draw: Callable[[], str]
    """Draws the end of a name."""

    @property
    def name(self) -> str:
        return str(self.job["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.job["metadata"]["namespace"])

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def status(self) -> Manifest:
        return self.job.get("status") or {}

    def child(self, kind: str, name: str) -> Manifest | None:
        return next((child for child in self.children[kind] if child["metadata"]["name"] == name), None)


class Patch(NamedTuple):
    fields: Manifest
    subresource: str = ""


class EventText(NamedTuple):
    type: str
    reason: str
    note: str


@dataclass(slots=True)
class OperatorPlan:
    status: Manifest
    create: list[Manifest] = field(default_factory=list)
    change: list[tuple[Manifest, Sequence[Patch]]] = field(default_factory=list)
    """Children, and what is written into each, one after the other."""
    delete: list[Manifest] = field(default_factory=list)
    says: list[EventText] = field(default_factory=list)
    deletes_itself: bool = False
    again_in: float | None = None
    """Seconds after which time alone changes something."""

    def say(self, reason: str, note: str, *, warns: bool = False) -> None:
        self.says.append(EventText(WARNING if warns else NORMAL, reason, note))

    def remove(self, child: Manifest) -> bool:
        """Delete a child, unless it is being deleted; return whether it was not."""
        if is_deleting(child) or child in self.delete:
            return False
        self.delete.append(child)
        return True

    def wait(self, seconds: float) -> None:
        """Look again then, or earlier."""
        self.again_in = seconds if self.again_in is None else min(self.again_in, seconds)


def is_deleting(child: Manifest) -> bool:
    return "deletionTimestamp" in child["metadata"]


def phase(pod: Manifest) -> str:
    return str((pod.get("status") or {}).get("phase", ""))


def label(child: Manifest, name: str) -> str:
    return str((child["metadata"].get("labels") or {}).get(name, ""))


def seconds_since(moment: str, now: datetime) -> float:
    return (now - datetime.fromisoformat(moment)).total_seconds()
