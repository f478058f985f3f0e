"""Why a job waits: every job that waits for longer than a moment says it, or stands behind one that does.

A reason is the message of a condition of its Workload or of a check that is not ready, or an Event about the Workload
or the job; what only tells how far it has come is none. Kueue says nothing of a Workload that it has not tried yet,
since an equal one before it in the same queue did not fit: such a one is excused while another Workload of its queue
waits with a reason or holds quota.

`explain` is asked as well, at the end of each test and in between where faults happen, about every job that waits, of
whatever kind and also without a Workload: it has a sentence that says something, and says what to do. Both are asked
since they fail apart: what objects say is all that kubectl shows, and `explain` knows more than one object says.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fleetqueue import clock
from fleetqueue.admin.causes import Cause
from fleetqueue.admin.hub_state import HubState, look, seen
from fleetqueue.admin.job_causes import cause_of
from fleetqueue.admin.unqueued_jobs import NOT_QUEUED, unqueued_jobs
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.conditions import Condition
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client

from . import Broken

Explained = Callable[[kueue.Workload, HubState], Cause]
MOMENT = 60.0
"""Seconds for which a job may wait without a word."""
MILESTONES = (
    "CreatedWorkload",
    "UpdatedWorkload",
    "QuotaReserved",
    "Admitted",
    "Started",
    "Suspended",
    "SuccessfulCreate",
)
"""Reasons of Events that tell how far a job has come, and not what it waits for."""


@dataclass(frozen=True)
class Hub:
    """What a hub holds."""

    jobs: Sequence[Manifest]
    workloads: Sequence[Manifest]
    events: Sequence[Manifest]

    @classmethod
    async def of(cls, client: Client) -> "Hub":
        return cls(*[(await client.list(kind.resource)).items for kind in (Job, kueue.Workload, Event)])

    def waiting(self) -> list[Manifest]:
        """Return the jobs of queues that have not ended."""
        return [raw for raw in self.jobs if queue_of(raw) and not has_ended(raw)]

    def reason(self, job: Manifest) -> str:
        """Return one reason why a job is where it is; one that runs needs none."""
        workload = self.workload_of(job)
        if workload is None:
            return self.told(job["metadata"]["name"])
        if workload.is_true(kueue.ADMITTED):
            return "it is admitted"
        said = [c.message for c in workload.status.conditions if is_reason(c)]
        said += [check.message for check in workload.status.admission_checks if check.state != kueue.READY]
        return next(filter(None, said), "") or self.told(job["metadata"]["name"]) or self.told(workload.name)

    def told(self, name: str) -> str:
        """Return what an Event about an object says, in whichever form it comes."""
        for raw in self.events:
            about = (raw.get("regarding") or raw.get("involvedObject") or {}).get("name")
            if about == name and raw["reason"] not in MILESTONES:
                return str(raw.get("note") or raw.get("message"))
        return ""

    def others_explain(self, job: Manifest) -> bool:
        return any(
            self.reason(other) for other in self.waiting() if other is not job and queue_of(other) == queue_of(job)
        )

    def workload_of(self, job: Manifest) -> kueue.Workload | None:
        uid = job["metadata"]["uid"]
        found = (kueue.Workload.view(raw) for raw in self.workloads)
        return next((w for w in found if any(owner.uid == uid for owner in w.metadata.owner_references)), None)


@dataclass
class Reasons:
    """Remembers since when each job has waited without a word."""

    moment: float = MOMENT
    since: dict[str, float] = field(default_factory=dict)

    def unexplained(self, hub: Hub) -> list[str]:
        """Name the jobs that have waited for a moment and do not say why."""
        now = clock.monotonic()
        silent = {raw["metadata"]["uid"]: raw for raw in hub.waiting() if not hub.reason(raw)}
        self.since = {uid: self.since.get(uid, now) for uid in silent}
        return [
            raw["metadata"]["name"]
            for uid, raw in silent.items()
            if now - self.since[uid] > self.moment and not hub.others_explain(raw)
        ]


async def without_an_answer(client: Client, explained: Explained = cause_of) -> list[str]:
    """Name the jobs of a hub that wait and of which `explain` says no reason or no step."""
    workloads = await seen(client, kueue.Workload)
    if workloads is None:
        return []  # no Kueue
    rows = await unqueued_jobs(client, "", workloads)
    answers = {
        f"{row['job']} in {row['namespace']}": Cause(row["cause"], row["why"], row["step"])
        for row in rows
        if row["state"] == NOT_QUEUED
    }
    waiting = [one for one in workloads if not one.is_finished and not is_on_its_way(one)]
    if waiting:
        hub = await look(client)
        answers |= {f"Workload {one.key}": explained(one, hub) for one in waiting}
    return [
        f"{job} is {cause.code}: {cause.sentence!r}, to do: {cause.step!r}"
        for job, cause in answers.items()
        if says_nothing(cause.sentence) or says_nothing(cause.step)
    ]


async def check_answers(client: Client) -> None:
    """See that `explain` answers for every job of a hub that waits; raises Broken."""
    if unanswered := await without_an_answer(client):
        raise Broken("\n".join(unanswered))


def says_nothing(text: str) -> bool:
    """Tell whether a text is empty, or ends where it was about to say something, as in `multikueue is Pending:`."""
    return any(not part.strip() or part.strip().endswith(":") for part in text.split(";"))


def is_on_its_way(workload: kueue.Workload) -> bool:
    return workload.is_true(kueue.ADMITTED) and not workload.is_leaving


def is_reason(condition: Condition) -> bool:
    """Tell whether a condition says why somebody waits; that quota is reserved, or that pods are not ready, is none."""
    return condition.type != "PodsReady" and not (condition.type == kueue.QUOTA_RESERVED and condition.is_true)


def queue_of(raw: Manifest) -> str:
    return str(raw["metadata"].get("labels", {}).get(kueue.QUEUE_LABEL, ""))


ENDS = ("Complete", "Completed", "Succeeded", "Failed")
"""What jobs of different kinds say at their end: in a condition, as their phase, or as Ray's deployment status."""


def has_ended(raw: Mapping[str, Any]) -> bool:
    status = raw.get("status", {})
    if status.get("phase") in ENDS or status.get("jobDeploymentStatus") in ENDS:
        return True
    return any(c["type"] in ENDS and c["status"] == "True" for c in status.get("conditions", ()))
