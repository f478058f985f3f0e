"""What people call the job of a Workload, and which job they mean by a name."""

from collections.abc import Mapping
from typing import Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.kueue_pods import OWNER_GVK, OWNER_NAME
from fleetqueue.api.queued_kinds import QUEUED_KINDS
from fleetqueue.api.scheme import Resource

SHORT_KINDS: Final = {"deploy": "deployment", "lws": "leaderworkerset", "po": "pod", "sts": "statefulset"}
"""What may be written for a kind, as with kubectl."""
KNOWN_KINDS: Final[Mapping[str, Resource]] = {one.kind: one for one in QUEUED_KINDS.values()}
"""By their names; of others the group is not known."""


def job_name(workload: kueue.Workload) -> str:
    """Name the job of a Workload as people do: a set of pods by itself, and a group of pods by the group's name."""
    annotations, owners = workload.metadata.annotations, workload.metadata.owner_references
    _, _, kind = annotations.get(OWNER_GVK, "").partition("Kind=")
    if kind and annotations.get(OWNER_NAME):
        return f"{kind}/{annotations[OWNER_NAME]}"
    if workload.owner is not None:
        return f"{workload.owner.kind}/{workload.owner.name}"
    return f"{owners[0].kind if owners else workload.resource.kind}/{workload.name}"


def is_called(job: str, name: str) -> bool:
    """Tell whether a job, `Kind/name`, is meant by a name with its kind or without; an empty one means every job."""
    kind, _, own_name = job.partition("/")
    wanted, slash, rest = name.partition("/")
    return name in ("", own_name) or bool(slash and rest == own_name and is_kind(wanted, kind))


def is_kind(written: str, kind: str) -> bool:
    """Tell whether a kind is meant by what somebody wrote: in any case, maybe short, in the plural, or with its group.

    `kubectl get -o name` writes the group, as `job.batch`; with a version before it, kubectl reads it as well.
    """
    name, _, group = written.lower().partition(".")
    known = KNOWN_KINDS.get(kind)
    is_named = SHORT_KINDS.get(name, name) == kind.lower() or (known is not None and name == known.plural)
    return is_named and (known is None or _is_group(group, known.group))


def _is_group(written: str, group: str) -> bool:
    """Tell whether a group is meant by what stands behind a kind: nothing, the group, or a version and the group."""
    return written in ("", group) or (bool(group) and written.partition(".")[2] == group)
