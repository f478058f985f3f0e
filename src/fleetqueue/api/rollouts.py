"""In which order a change reaches clusters: all at once, a few at a time, or group by group.

Works for many clusters and add-ons share these rules. Each cluster has a status; what comes out is which clusters may
be changed now (or are under way), which took too long, which are no longer chosen, and when to look again.

Mirrors: OCM sdk-go pkg/apis/cluster/v1alpha1/rollout.go and v1beta1/placement.go
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

import msgspec

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api.durations import parsed
from fleetqueue.api.meta import View

TO_APPLY, UNDER_WAY, SUCCEEDED = "ToApply", "Progressing", "Succeeded"
FAILED, TIMED_OUT, SKIPPED = "Failed", "TimeOut", "Skip"
ALL, PROGRESSIVE, PER_GROUP = "All", "Progressive", "ProgressivePerGroup"


class MandatoryGroup(View):
    group_name: str = ""
    group_index: int = 0


class RolloutConfig(View):
    min_success_time: str = "0"
    progress_deadline: str = ""
    max_failures: int | str = 0
    mandatory_decision_groups: tuple[MandatoryGroup, ...] = ()
    max_concurrency: int | str = 0
    """Of `Progressive` only; 0 means all at once."""


class RolloutStrategy(View):
    type: str = ALL
    all: RolloutConfig | None = None
    progressive: RolloutConfig | None = None
    progressive_per_group: RolloutConfig | None = None

    @property
    def config(self) -> RolloutConfig:
        """The part of the strategy that its type reads."""
        parts = {ALL: self.all, PROGRESSIVE: self.progressive, PER_GROUP: self.progressive_per_group}
        return parts.get(self.type) or RolloutConfig()


def with_concurrency(strategy: RolloutStrategy, size: int | str) -> RolloutStrategy:
    """Return a progressive strategy that changes so many clusters at a time."""
    return msgspec.structs.replace(strategy, progressive=msgspec.structs.replace(strategy.config, max_concurrency=size))


@dataclass(frozen=True, slots=True)
class GroupKey:
    index: int = 0
    name: str = ""


Groups = Mapping[GroupKey, Sequence[str]]
"""The clusters of each decision group, by name."""


@dataclass(frozen=True, slots=True)
class ClusterStatus:
    cluster: str
    status: str = TO_APPLY
    since: datetime | None = None
    recheck: datetime | None = None
    """When time alone changes what is to be done."""


@dataclass(frozen=True, slots=True)
class Rollout:
    clusters: Sequence[ClusterStatus] = ()
    """Those that may be changed now, and those that are under way."""
    timed_out: Sequence[ClusterStatus] = ()
    removed: Sequence[ClusterStatus] = ()
    """Those that have it but are no longer chosen."""
    recheck_after: float | None = None


def decision_groups(decisions: Iterable[cluster.PlacementDecision]) -> dict[GroupKey, list[str]]:
    """Sort the clusters of a Placement's decisions by group; raises ValueError for a decision without its number."""
    by_group: dict[GroupKey, set[str]] = {}
    for decision in decisions:
        labels = decision.metadata.labels
        index = labels.get(cluster.DECISION_GROUP_INDEX_LABEL, "")
        if not re.fullmatch(r"[+-]?\d+", index):
            raise ValueError(f'incorrect group index: strconv.Atoi: parsing "{index}": invalid syntax')
        key = GroupKey(int(index), labels.get(cluster.DECISION_GROUP_NAME_LABEL, ""))
        by_group.setdefault(key, set()).update(entry.cluster_name for entry in decision.status.decisions)
    return {key: sorted(by_group[key]) for key in sorted(by_group, key=lambda key: (key.index, key.name))}


def plan(strategy: RolloutStrategy, groups: Groups, known: Sequence[ClusterStatus], now: datetime) -> Rollout:
    """Decide which clusters are next, by what is known of those that have it; raises ValueError for a bad strategy."""
    if strategy.type not in (ALL, PROGRESSIVE, PER_GROUP):
        raise ValueError(f"incorrect rollout strategy type {strategy.type}")
    config = strategy.config
    chosen = _clusters(groups)
    current = [status for status in known if status.cluster in chosen]
    removed = [status for status in known if status.cluster not in chosen]
    judge = _Judge(now, parsed(config.min_success_time), _deadline(config.progress_deadline))
    if strategy.type == ALL:
        judge = replace(judge, soak=0.0)
        rollout = _by_cluster(chosen, len(chosen), len(chosen), judge, current)
    else:
        rollout = _progressive(strategy.type, config, groups, judge, current)
    return replace(rollout, removed=removed)


def _progressive(
    kind: str, config: RolloutConfig, groups: Groups, judge: "_Judge", current: Sequence[ClusterStatus]
) -> Rollout:
    """Mandatory groups first, and no further before all of them are well; then the others."""
    chosen = _clusters(groups)
    failures = _size(config.max_failures, len(chosen), 0)
    mandatory = _mandatory(config.mandatory_decision_groups, groups)
    first = {key: groups[key] for key in groups if key in mandatory}
    if first:
        rollout = _by_group(first, 0, judge, current)
        if rollout.clusters or rollout.timed_out:
            return rollout
    rest = {key: groups[key] for key in groups if key not in mandatory}
    if kind == PER_GROUP:
        return _by_group(rest, config.max_failures, judge, current)
    left = _clusters(rest)
    return _by_cluster(left, _size(config.max_concurrency, len(left), len(left)), failures, judge, current)


@dataclass(frozen=True, slots=True)
class _Judge:
    now: datetime
    soak: float
    """Seconds for which a success must last."""
    deadline: float
    """Seconds after which what is under way counts as failed; may be infinite."""

    def take(
        self, status: ClusterStatus, rollout: list[ClusterStatus], timed_out: list[ClusterStatus]
    ) -> ClusterStatus:
        """Put a cluster where its status and the time say; return it as it is judged."""
        if status.status == TO_APPLY:
            rollout.append(status)
        elif status.status == SUCCEEDED:
            status = replace(status, recheck=self._after(status, self.soak))
            if status.recheck is not None and self.now < status.recheck:
                rollout.append(status)
        elif status.status not in (TIMED_OUT, SKIPPED):
            status = replace(status, recheck=self._after(status, self.deadline))
            if status.recheck is None or self.now < status.recheck:
                rollout.append(status)
            else:
                status = replace(status, status=TIMED_OUT)
                timed_out.append(status)
        return status

    def _after(self, status: ClusterStatus, seconds: float) -> datetime | None:
        return None if math.isinf(seconds) else (status.since or self.now) + timedelta(seconds=seconds)

    def result(self, rollout: Sequence[ClusterStatus], timed_out: Sequence[ClusterStatus]) -> Rollout:
        left = [(status.recheck - self.now).total_seconds() for status in rollout if status.recheck is not None]
        return Rollout(rollout, timed_out, recheck_after=min((s for s in left if s > 0), default=None))


def _by_cluster(
    chosen: Sequence[str], size: int, failures: int, judge: _Judge, current: Sequence[ClusterStatus]
) -> Rollout:
    rollout: list[ClusterStatus] = []
    timed_out: list[ClusterStatus] = []
    failed, is_breached = 0, False
    for status in sorted(current, key=lambda one: one.cluster):
        judged = status
        if not is_breached or status.status != TO_APPLY:
            judged = judge.take(status, rollout, timed_out)
        if judged.status in (TIMED_OUT, FAILED):
            failed += 1
            is_breached = failed > failures
        if len(rollout) >= size:
            return judge.result(rollout, timed_out)
    if is_breached:
        return judge.result(rollout, timed_out)
    known = {status.cluster for status in current}
    for name in chosen:
        if name not in known:
            rollout.append(ClusterStatus(name))
            if len(rollout) >= size:
                break
    return judge.result(rollout, timed_out)


def _by_group(groups: Groups, max_failures: int | str, judge: _Judge, current: Sequence[ClusterStatus]) -> Rollout:
    rollout: list[ClusterStatus] = []
    timed_out: list[ClusterStatus] = []
    known = {
        status.cluster: judge.take(status, rollout, timed_out).status for status in current if status.status != TO_APPLY
    }
    failed_in_all = 0
    for key in sorted(groups, key=lambda key: key.index):
        clusters = groups[key]
        failed = sum(known.get(name) in (TIMED_OUT, FAILED) for name in clusters)
        rollout += [ClusterStatus(name) for name in sorted(clusters) if name not in known]
        failed_in_all += failed
        if len(rollout) > failed_in_all or failed > _size(max_failures, len(clusters), 0):
            break
    return judge.result(rollout, timed_out)


def _mandatory(wanted: Iterable[MandatoryGroup], groups: Groups) -> set[GroupKey]:
    """Groups are named by name, which may be that of several, or else by number."""
    keys: set[GroupKey] = set()
    for group in wanted:
        keys |= {
            key
            for key in groups
            if (key.name == group.group_name if group.group_name else key.index == group.group_index)
        }
    return keys


def _clusters(groups: Groups) -> list[str]:
    return sorted({name for names in groups.values() for name in names})


def _size(threshold: int | str, total: int, default: int) -> int:
    """Read a number or a share of all; what makes no sense for so many counts as not said."""
    if isinstance(threshold, str):
        if not threshold.endswith("%"):
            raise ValueError(f"'{threshold}' is an invalid maximum threshold value: string is not a percentage")
        threshold = math.ceil(float(threshold[:-1]) / 100 * total)
    return default if threshold <= 0 or threshold > total else threshold


def _deadline(text: str) -> float:
    return math.inf if text in ("", "None") else parsed(text)
