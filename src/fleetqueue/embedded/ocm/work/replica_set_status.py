"""What a ManifestWorkReplicaSet says of its works: how many there are, how they are, and whether all is rolled out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Final

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import rollouts
from fleetqueue.api import work_v1 as work
from fleetqueue.api.condition_lists import with_conditions
from fleetqueue.api.conditions import FALSE, TRUE, Condition, find, is_true
from fleetqueue.api.scheme import Manifest

VERIFIED: Final = "PlacementVerified"
ROLLED_OUT: Final = "PlacementRolledOut"
WORKS_APPLIED: Final = "ManifestworkApplied"
AS_EXPECTED: Final = "AsExpected"
EMPTY: Final = "PlacementDecisionEmpty"
_COUNTED: Final = (
    ("progressing", work.PROGRESSING),
    ("available", work.AVAILABLE),
    ("degraded", work.DEGRADED),
    ("applied", work.APPLIED),
)
_NOTHING: Final = {"total": 0, "progressing": 0, "available": 0, "degraded": 0, "applied": 0}
_NO_IDENTIFIER: Final = {"group": "", "resource": "", "name": "", "namespace": ""}
_NO_MESSAGE: Final = {"message": "", "messageExpression": ""}
_NEVER_FILLED: Final = {"desiredTotal": 0, "updated": 0}


@dataclass(frozen=True, slots=True)
class Ref:
    """How it stands with one Placement."""

    name: str
    placement: cluster.Placement
    groups: int
    existing: int
    """Clusters that have the newest work."""
    succeeded: int


@dataclass(slots=True)
class ReplicaSetProgress:
    refs: list[Ref] = field(default_factory=list)
    is_placement_missing: bool = False
    is_broken: bool = False
    recheck_after: float | None = None

    def note(self, ref: Ref, recheck_after: float | None) -> None:
        self.refs.append(ref)
        if recheck_after is not None:
            self.recheck_after = min(recheck_after, self.recheck_after or recheck_after)


def is_up_to_date(this: work.ManifestWorkReplicaSet, spec: Manifest) -> bool:
    """Tell whether a work was made of the newest template."""
    return without_creation_times(work_spec(this)) == without_creation_times(spec)


def work_spec(this: work.ManifestWorkReplicaSet) -> Manifest:
    """Return what its works ask for: its template, with the fields that Go writes also where they are empty."""
    template = this.spec.manifest_work_template
    if not template.get("manifestConfigs"):
        return template
    return {**template, "manifestConfigs": [_with_empty_fields(config) for config in template["manifestConfigs"]]}


def _with_empty_fields(config: Manifest) -> Manifest:
    found = {**config, "resourceIdentifier": {**_NO_IDENTIFIER, **config.get("resourceIdentifier", {})}}
    if "conditionRules" in config:
        found["conditionRules"] = [{**_NO_MESSAGE, **rule} for rule in config["conditionRules"]]
    return found


def without_creation_times(spec: Manifest) -> Manifest:
    """Leave out the creation times of manifests, which Go writes as null, or not at all."""
    manifests = (spec.get("workload") or {}).get("manifests") or []
    return {**spec, "workload": {"manifests": [_without_creation_time(manifest) for manifest in manifests]}}


def _without_creation_time(manifest: Manifest) -> Manifest:
    metadata = manifest.get("metadata") or {}
    return {**manifest, "metadata": {name: v for name, v in metadata.items() if name != "creationTimestamp"}}


def rollout_status(manifest_work: work.ManifestWork) -> rollouts.ClusterStatus:
    """Say how far a cluster is; without a rule that says whether it progresses, it is never done."""
    conditions, generation = manifest_work.status.conditions, manifest_work.metadata.generation
    applied, progressing, degraded = (
        find(conditions, kind) for kind in (work.APPLIED, work.PROGRESSING, work.DEGRADED)
    )
    if applied is None or applied.observed_generation != generation or not applied.is_true:
        return rollouts.ClusterStatus(manifest_work.namespace)
    if progressing is None or progressing.observed_generation != generation:
        return rollouts.ClusterStatus(manifest_work.namespace)
    if degraded is not None and degraded.observed_generation != generation:
        return rollouts.ClusterStatus(manifest_work.namespace)
    if progressing.is_true and degraded is not None and degraded.is_true:
        return rollouts.ClusterStatus(manifest_work.namespace, rollouts.FAILED, degraded.last_transition_time)
    status = rollouts.SUCCEEDED if progressing.status == FALSE else rollouts.UNDER_WAY
    return rollouts.ClusterStatus(manifest_work.namespace, status, progressing.last_transition_time)


def wanted(
    live: Manifest,
    status: ReplicaSetProgress,
    works: Mapping[str, Sequence[work.ManifestWork]],
    now: datetime,
) -> Manifest:
    """Return the whole status; while a Placement is missing, all but that is left as it was."""
    before = live.get("conditions") or []
    if status.is_placement_missing:
        conditions = [_condition(VERIFIED, "PlacementDecisionNotFound")]
        return {**live, "conditions": with_conditions(before, conditions, now)}
    parts = [_placement_summary(ref, works[ref.name]) for ref in status.refs]
    summary = {name: sum(part["summary"][name] for part in parts) for name in _NOTHING}
    known = live.get("summary") or {}
    counted = {name: number for name, number in summary.items() if number or name in known}
    rest = {"summary": counted} if counted else {}
    return {"conditions": with_conditions(before, _said(status, summary), now), "placementSummary": parts, **rest}


def _placement_summary(ref: Ref, works: Sequence[work.ManifestWork]) -> Manifest:
    selected = ref.placement.status.number_of_selected_clusters
    counts = {
        name: sum(is_true(manifest_work.status.conditions, kind) for manifest_work in works) for name, kind in _COUNTED
    }
    return {
        "name": ref.name,
        "availableDecisionGroups": f"{ref.groups} ({ref.existing} / {selected} clusters applied)",
        "summary": {"total": ref.existing, **counts, **_NEVER_FILLED},
    }


def _said(status: ReplicaSetProgress, summary: Mapping[str, int]) -> list[Condition]:
    selected = sum(ref.placement.status.number_of_selected_clusters for ref in status.refs)
    is_complete = selected == sum(ref.succeeded for ref in status.refs)
    verified = AS_EXPECTED if summary["total"] else EMPTY
    return [
        _condition(VERIFIED, "NotAsExpected" if status.is_broken and not status.refs else verified),
        _condition(ROLLED_OUT, "Complete" if is_complete else "Progressing"),
        _condition(WORKS_APPLIED, _works_applied(verified, summary)),
    ]


def _works_applied(verified: str, summary: Mapping[str, int]) -> str:
    if not summary["total"]:
        return verified
    is_settled = not summary["progressing"] and not summary["degraded"]
    if is_settled and summary["available"] == summary["total"]:
        return AS_EXPECTED
    return "Processing" if summary["progressing"] and not summary["degraded"] else "NotAsExpected"


def _condition(kind: str, reason: str) -> Condition:
    status = TRUE if reason in (AS_EXPECTED, "Complete") else FALSE
    return Condition(type=kind, status=status, reason=reason)
