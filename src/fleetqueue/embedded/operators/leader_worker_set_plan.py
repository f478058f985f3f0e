"""What is to do about a LeaderWorkerSet: its StatefulSets, the groups that begin anew, and its status. No I/O.

Mirrors: lws pkg/controllers, pkg/webhooks
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final

import orjson

from fleetqueue.api.apps_v1 import StatefulSet
from fleetqueue.api.condition_lists import is_true, with_conditions
from fleetqueue.api.conditions import Condition
from fleetqueue.api.core_v1 import READY, Pod
from fleetqueue.api.leaderworkerset_v1 import (
    GROUP_INDEX,
    GROUP_KEY,
    LEADER_NAME,
    REPLICAS,
    REVISION,
    SET_NAME,
    SIZE,
    WORKER_INDEX,
    LeaderWorkerSet,
)
from fleetqueue.api.meta import controller_reference
from fleetqueue.api.scheme import Manifest

AVAILABLE: Final = Condition.true("Available", "AllGroupsReady", "All replicas are ready")
PROGRESSING: Final = Condition.true("Progressing", "GroupsProgressing", "Replicas are progressing")
UPDATING: Final = Condition.true("UpdateInProgress", "GroupsUpdating", "Rolling Upgrade is in progress")
RECREATE: Final = "RecreateGroupOnPodRestart"


@dataclass(frozen=True, slots=True)
class Group:
    """A leader, and what it has."""

    leader: Manifest
    workers: Sequence[Manifest] = ()
    stateful_set: Manifest | None = None
    """Its workers'; not that of an earlier leader of the same name."""


@dataclass(frozen=True, slots=True)
class Observed:
    leader_worker_set: Manifest
    leaders: Manifest | None
    """The StatefulSet of all leaders."""
    groups: Sequence[Group]
    names: frozenset[str] = frozenset()
    """Those of all its StatefulSets, also of such as are about to go."""


@dataclass(slots=True)
class Plan:
    create: list[Manifest] = field(default_factory=list)
    """StatefulSets."""
    update: Manifest = field(default_factory=dict)
    """What is merged into the leaders' StatefulSet."""
    restart: list[Manifest] = field(default_factory=list)
    """Leaders whose groups begin anew."""
    status: Manifest = field(default_factory=dict)


def plan(observed: Observed, now: datetime) -> Plan:
    made, lws = Plan(), observed.leader_worker_set
    wanted = leaders_of(lws)
    if observed.leaders is None:
        made.create.append(wanted)
    else:
        made.update = _update(observed.leaders, wanted)
    for group in observed.groups:
        if _begins_anew(lws, group):
            made.restart.append(group.leader)
        elif _lacks_workers(lws, group) and group.leader["metadata"]["name"] not in observed.names:
            made.create.append(workers_of(lws, group.leader))
    made.status = _status(observed, now)
    return made


def leaders_of(lws: Manifest) -> Manifest:
    """Return the StatefulSet of all leaders: one pod for each group."""
    templates, name = lws["spec"]["leaderWorkerTemplate"], lws["metadata"]["name"]
    marks = {SET_NAME: name, REVISION: revision_of(lws)}
    template = templates.get("leaderTemplate") or templates["workerTemplate"]
    made = _stateful_set(
        lws,
        name,
        labels=marks,
        selector={SET_NAME: name, WORKER_INDEX: "0"},
        template=_marked(template, {**marks, WORKER_INDEX: "0"}, {SIZE: str(size(lws))}),
        replicas=replicas(lws),
    )
    made["metadata"]["annotations"] = {REPLICAS: str(replicas(lws))}
    made["metadata"]["ownerReferences"] = [_controlled_by(LeaderWorkerSet, lws)]
    return made


def workers_of(lws: Manifest, leader: Manifest) -> Manifest:
    """Return the StatefulSet of the workers of a leader; it goes with its leader."""
    labels, name = leader["metadata"]["labels"], leader["metadata"]["name"]
    own = {SET_NAME: lws["metadata"]["name"], GROUP_INDEX: labels[GROUP_INDEX], GROUP_KEY: labels[GROUP_KEY]}
    marks = {**own, REVISION: labels[REVISION]}
    template = _marked(
        lws["spec"]["leaderWorkerTemplate"]["workerTemplate"], marks, {SIZE: str(size(lws)), LEADER_NAME: name}
    )
    made = _stateful_set(lws, name, labels=marks, selector=own, template=template, replicas=size(lws) - 1)
    made["spec"]["ordinals"] = {"start": 1}
    made["metadata"]["ownerReferences"] = [_controlled_by(Pod, leader)]
    return made


def marked_pod(pod: Manifest) -> Manifest:
    """Return a new pod with its place: in which group it is, and as which worker."""
    metadata = pod["metadata"]
    labels = metadata.get("labels") or {}
    if SET_NAME not in labels or not metadata.get("name"):
        return pod
    ordinal = metadata["name"].rpartition("-")[2]
    if labels.get(WORKER_INDEX) != "0":
        return {**pod, "metadata": {**metadata, "labels": {**labels, WORKER_INDEX: ordinal}}}
    identity = f"{metadata['namespace']}/{metadata['name']}"
    key = hashlib.sha1(identity.encode(), usedforsecurity=False).hexdigest()
    return {**pod, "metadata": {**metadata, "labels": {GROUP_INDEX: ordinal, GROUP_KEY: key, **labels}}}


def revision_of(lws: Manifest) -> str:
    """Return what tells the templates of pods from earlier ones."""
    text = orjson.dumps(lws["spec"]["leaderWorkerTemplate"], option=orjson.OPT_SORT_KEYS)
    return hashlib.sha256(text).hexdigest()[:10]


def replicas(lws: Manifest) -> int:
    return int(lws["spec"].get("replicas", 1))


def size(lws: Manifest) -> int:
    return int(lws["spec"]["leaderWorkerTemplate"].get("size", 1))


def _lacks_workers(lws: Manifest, group: Group) -> bool:
    if size(lws) == 1 or group.stateful_set is not None or "deletionTimestamp" in group.leader["metadata"]:
        return False
    waits = lws["spec"].get("startupPolicy") == "LeaderReady" and not is_true(group.leader, READY)
    return not waits and GROUP_KEY in (group.leader["metadata"].get("labels") or {})


def _begins_anew(lws: Manifest, group: Group) -> bool:
    """Tell whether a group goes as a whole because one of its pods goes, or was started again."""
    if lws["spec"]["leaderWorkerTemplate"].get("restartPolicy", RECREATE) != RECREATE:
        return False
    if "deletionTimestamp" in group.leader["metadata"]:
        return False
    goes = any("deletionTimestamp" in pod["metadata"] for pod in group.workers)
    return goes or any(map(_was_restarted, (group.leader, *group.workers)))


def _was_restarted(pod: Manifest) -> bool:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    return any(status.get("restartCount") for status in statuses)


def _status(observed: Observed, now: datetime) -> Manifest:
    lws, groups = observed.leader_worker_set, observed.groups
    revision, live = revision_of(lws), lws.get("status") or {}
    ready = sum(_is_ready(lws, group) for group in groups)
    updated = sum(group.leader["metadata"]["labels"].get(REVISION) == revision for group in groups)
    name = lws["metadata"]["name"]
    return {
        **live,
        "replicas": len(groups),
        "readyReplicas": ready,
        "updatedReplicas": updated,
        "observedGeneration": lws["metadata"].get("generation", 0),
        "hpaPodSelector": f"{SET_NAME}={name},{WORKER_INDEX}=0",
        "conditions": _conditions(lws, ready=ready, updated=updated, groups=len(groups), now=now),
    }


def _is_ready(lws: Manifest, group: Group) -> bool:
    members = [group.leader, *group.workers]
    return len(members) == size(lws) and all(is_true(pod, READY) for pod in members)


def _conditions(lws: Manifest, *, ready: int, updated: int, groups: int, now: datetime) -> list[Manifest]:
    """Return the conditions: what is true, and what was and is not any more."""
    live = (lws.get("status") or {}).get("conditions") or []
    if updated < groups:
        wanted = [UPDATING, PROGRESSING]
    elif ready == replicas(lws):
        wanted = [AVAILABLE]
    else:
        wanted = [PROGRESSING]
    kinds = [condition.type for condition in wanted]
    known = [condition["type"] for condition in live]
    gone = [one for one in (AVAILABLE, PROGRESSING, UPDATING) if one.type in known and one.type not in kinds]
    ended = [Condition.false(condition.type, condition.reason, condition.message) for condition in gone]
    return with_conditions(live, [*wanted, *ended], now)


def _update(live: Manifest, wanted: Manifest) -> Manifest:
    """Return what differs: the size, and the template where it is of another revision; the server completes both."""
    metadata, spec = wanted["metadata"], wanted["spec"]
    patch: dict[str, Any] = {}
    if live["spec"].get("replicas") != spec["replicas"]:
        patch = {"metadata": {"annotations": metadata["annotations"]}, "spec": {"replicas": spec["replicas"]}}
    if (live["metadata"].get("labels") or {}).get(REVISION) != metadata["labels"][REVISION]:
        labels = {"labels": metadata["labels"]}
        patch["metadata"] = {**patch.get("metadata", {}), **labels}
        patch["spec"] = {**patch.get("spec", {}), "template": spec["template"]}
    return patch


def _stateful_set(
    lws: Manifest,
    name: str,
    *,
    labels: Mapping[str, str],
    selector: Mapping[str, str],
    template: Manifest,
    replicas: int,
) -> Manifest:
    spec = {
        "serviceName": lws["metadata"]["name"],
        "replicas": replicas,
        "podManagementPolicy": "Parallel",
        "selector": {"matchLabels": dict(selector)},
        "template": template,
    }
    return StatefulSet.manifest(name, lws["metadata"]["namespace"], labels=dict(labels), spec=spec)


def _marked(template: Manifest, labels: Mapping[str, str], annotations: Mapping[str, str]) -> Manifest:
    metadata = template.get("metadata") or {}
    more = {
        "labels": {**(metadata.get("labels") or {}), **labels},
        "annotations": {**(metadata.get("annotations") or {}), **annotations},
    }
    return {**template, "metadata": {**metadata, **more}}


def _controlled_by(kind: type[LeaderWorkerSet] | type[Pod], owner: Manifest) -> Manifest:
    return controller_reference(kind.resource, owner["metadata"]["name"], owner["metadata"]["uid"])
