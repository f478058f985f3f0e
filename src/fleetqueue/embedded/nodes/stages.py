"""The stages of pods, as data: what happens to a pod in some state, and after which time.

A file of stages is a list; of those that fit a pod, the first one applies:

    - name: runs                     what it is called in logs
      when:                          all of it must hold
        phases: [Pending]
        started: false               whether a kubelet has taken it up (it has a startTime)
        owners: [Job]                the kind of its controller
        policies: [Never]            its restartPolicy
        says_time: true              it says how long it runs
        annotations: [some/key]      or {some/key: "value"}
        deleting: false              false by default
      since: scheduled               scheduled, started, begun (its containers, again) or deleted: from when time counts
      after: 1s                      or {from: 1s, to: 5s}: the same for the same pod; or `asked`, see `asked_seconds`
      next: Running                  Creating, Running, Ended (as it is asked to), Exited (the same, but its containers
                                     begin again where its restartPolicy says so), Stopped or Gone
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Final

from fleetqueue.api.conditions import find
from fleetqueue.api.core_v1 import POD_SCHEDULED, Pod
from fleetqueue.embedded.nodes.crash_back_off import pause_after
from fleetqueue.rules import run_times
from fleetqueue.rules.run_times import duration

STAGES: Final = ("Creating", "Running", "Ended", "Exited", "Stopped", "Gone")


@dataclass(frozen=True, slots=True)
class Stage:
    name: str
    next: str
    phases: Sequence[str] = ()
    is_started: bool | None = None
    owners: Sequence[str] = ()
    policies: Sequence[str] = ()
    is_timed: bool = False
    """Whether the pod must say how long it runs."""
    annotations: Mapping[str, str | None] = field(default_factory=dict)
    is_deleting: bool = False
    since: str = "scheduled"
    shortest: float = 0.0
    longest: float = 0.0
    is_asked: bool = False
    """Whether the pod itself says how long it takes."""

    def fits(self, pod: Pod) -> bool:
        owner = pod.controller.kind if pod.controller is not None else ""
        given = pod.metadata.annotations
        return (
            pod.is_deleting == self.is_deleting
            and (not self.phases or pod.status.phase in self.phases)
            and self.is_started in (None, pod.status.start_time is not None)
            and (not self.owners or owner in self.owners)
            and (not self.policies or pod.spec.restart_policy in self.policies)
            and (not self.is_timed or said_seconds(pod) is not None)
            and all(key in given and value in (None, given[key]) for key, value in self.annotations.items())
        )

    def due(self, pod: Pod) -> datetime:
        """Return when it applies."""
        moments = {
            "scheduled": _scheduled_at(pod),
            "started": pod.status.start_time,
            "begun": _begun_at(pod),
            "deleted": pod.deleted_at,
        }
        begin = moments[self.since] or pod.metadata.creation_timestamp
        assert begin is not None
        return begin + timedelta(seconds=self._seconds(pod))

    def _seconds(self, pod: Pod) -> float:
        if self.is_asked:
            return asked_seconds(pod) + pause_after(_restarts(pod))
        chance = zlib.crc32(f"{pod.uid} {self.name}".encode()) / 2**32  # the same in every look, also after a restart
        seconds = self.shortest + chance * (self.longest - self.shortest)
        grace = pod.metadata.deletion_grace_period_seconds
        return seconds if grace is None else min(seconds, grace)


def _scheduled_at(pod: Pod) -> datetime | None:
    scheduled = find(pod.status.conditions, POD_SCHEDULED)
    moment = scheduled.last_transition_time if scheduled is not None and scheduled.is_true else None
    return moment or pod.metadata.creation_timestamp


def _begun_at(pod: Pod) -> datetime | None:
    """Return when its containers were last started."""
    running = [status.state.running for status in pod.status.container_statuses]
    return max((one.started_at for one in running if one is not None and one.started_at is not None), default=None)


def _restarts(pod: Pod) -> int:
    return max((status.restart_count for status in pod.status.container_statuses), default=0)


def asked_seconds(pod: Pod) -> float:
    """Return how long a pod runs, by its annotation or its first container."""
    return run_times.asked_seconds(*_words(pod))


def said_seconds(pod: Pod) -> float | None:
    """Return the same where the pod says it."""
    return run_times.said_seconds(*_words(pod))


def _words(pod: Pod) -> tuple[Mapping[str, str], Sequence[str], Sequence[str]]:
    first = pod.spec.containers[0] if pod.spec.containers else None
    return pod.metadata.annotations, first.command if first else (), first.args if first else ()


@cache
def load(name: str = "fast") -> tuple[Stage, ...]:
    """Read the stages that come with the package: `fast` or `general`; all clusters of a process share them."""
    import yaml  # slow to import, and not needed before the first pod

    text = (Path(__file__).parent / "stages" / f"{name}.yaml").read_text()
    return tuple(parse(one) for one in yaml.safe_load(text))


def parse(one: Mapping[str, Any]) -> Stage:
    """Read one stage; raises ValueError where it makes no sense."""
    when, after = one.get("when") or {}, one.get("after", "0s")
    if one["next"] not in STAGES:
        raise ValueError(f"stage {one['name']}: next must be one of {', '.join(STAGES)}, not {one['next']!r}")
    span = after if isinstance(after, Mapping) else {"from": after, "to": after}
    is_asked = after == "asked"
    shortest, longest = (0.0, 0.0) if is_asked else (duration(span["from"]), duration(span["to"]))
    if shortest is None or longest is None:
        raise ValueError(f"stage {one['name']}: {after!r} is no time; write it as 500ms, 5s or 2m")
    wanted = when.get("annotations") or {}
    return Stage(
        name=one["name"],
        next=one["next"],
        phases=tuple(when.get("phases") or ()),
        is_started=when.get("started"),
        owners=tuple(when.get("owners") or ()),
        policies=tuple(when.get("policies") or ()),
        is_timed=bool(when.get("says_time")),
        annotations=dict(wanted) if isinstance(wanted, Mapping) else dict.fromkeys(wanted),
        is_deleting=bool(when.get("deleting")),
        since=one.get("since", "scheduled"),
        shortest=shortest,
        longest=longest,
        is_asked=is_asked,
    )
