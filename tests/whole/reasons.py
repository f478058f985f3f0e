"""Why a job waits: every job that waits for longer than a moment says it, or stands behind one that does.

A reason is the message of a condition or check of its Workload, or an Event about the Workload or the job. Kueue says
nothing of a Workload that it has not tried yet, since an equal one before it in the same queue did not fit: such a one
is excused while another Workload of its queue waits with a reason or holds quota.
"""

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.events_v1 import Event
from fleetqueue.api.scheme import Manifest

from .witness import has_ended
from .world import World

MOMENT = 60.0
"""Seconds for which a job may wait without a word."""


def unexplained(world: World, since: dict[str, float], now: float) -> list[str]:
    """Name the jobs that have waited for a moment and do not say why; `since` remembers how long each has."""
    silent = {raw["metadata"]["uid"]: raw for raw in waiting(world) if not reason(world, raw)}
    for uid in list(since):
        if uid not in silent:
            del since[uid]
    return [
        raw["metadata"]["name"]
        for uid, raw in silent.items()
        if now - since.setdefault(uid, now) > MOMENT and not others_explain(world, raw)
    ]


def waiting(world: World) -> list[Manifest]:
    return [
        raw for raw in world.objects("hub", Job) if raw["metadata"]["name"].startswith("job-") and not has_ended(raw)
    ]


def reason(world: World, job: Manifest) -> str:
    """Return one reason why a job is where it is; one that runs needs none."""
    workload = workload_of(world, job)
    if workload is None:
        return told(world, job)
    if workload.is_true(kueue.ADMITTED):
        return "it is admitted"
    said = [c.message for c in workload.status.conditions if c.type != "PodsReady"]
    said += [check.message for check in workload.status.admission_checks]
    return next(filter(None, said), "") or told(world, job) or told(world, {"metadata": {"name": workload.name}})


def told(world: World, about: Manifest) -> str:
    """Return what the last Event about an object says."""
    name = about["metadata"]["name"]
    events = world.objects("hub", Event)
    return next((raw["message"] for raw in events if raw["involvedObject"].get("name") == name), "")


def others_explain(world: World, job: Manifest) -> bool:
    queue = job["metadata"]["labels"][kueue.QUEUE_LABEL]
    return any(
        reason(world, other)
        for other in waiting(world)
        if other is not job and other["metadata"]["labels"][kueue.QUEUE_LABEL] == queue
    )


def workload_of(world: World, job: Manifest) -> kueue.Workload | None:
    uid = job["metadata"]["uid"]
    found = (kueue.Workload.view(raw) for raw in world.objects("hub", kueue.Workload))
    return next((w for w in found if any(owner.uid == uid for owner in w.metadata.owner_references)), None)
