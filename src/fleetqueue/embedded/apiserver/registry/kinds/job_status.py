"""What the status of a Job may say, and how it may change.

Since a Job can be managed by others (`spec.managedBy`), the server itself sees to it that a status is one that the
clients of Jobs can rely on. A rule is checked only if a write changes what it is about, so that a status which came to
break it in another way does not block all other writes.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from fleetqueue.api.condition_lists import condition_status
from fleetqueue.api.conditions import FALSE, TRUE
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.kinds.causes import Cause, duplicate, invalid_omitted, invalid_value, required
from fleetqueue.embedded.apiserver.registry.kinds import checks
from fleetqueue.embedded.apiserver.registry.kinds.checks import Faults


def is_true(status: Manifest, condition: str) -> bool:
    return condition_status(status, condition) == TRUE


def faults(job: Manifest, old: Manifest | None) -> Sequence[Cause]:
    """Return what is wrong with the status of a Job, or with the change that led to it."""
    spec, status, before = job.get("spec") or {}, job.get("status") or {}, (old or {}).get("status") or {}
    change = _Change(spec, status, before)
    return checks.all_of(
        checks.non_negative(status, "status", "active", "succeeded", "failed", "ready", "terminating"),
        _uncounted_faults(status),
        change.end_faults(),
        change.index_faults(),
        change.count_faults(),
        change.success_faults(),
        change.step_faults(),
    )


def _uncounted_faults(status: Manifest) -> Faults:
    uncounted, seen = status.get("uncountedTerminatedPods") or {}, set()
    for name in ("succeeded", "failed"):
        for position, uid in enumerate(uncounted.get(name) or ()):
            field = f"status.uncountedTerminatedPods.{name}[{position}]"
            if not uid:
                yield invalid_value(field, uid, "must not be empty")
            elif uid in seen:
                yield duplicate(field, uid)
            seen.add(uid)


class _Change:
    """A Job's status before and after a write."""

    def __init__(self, spec: Manifest, new: Manifest, old: Manifest) -> None:
        self.spec, self.new, self.old = spec, new, old
        self.is_complete, self.was_complete = is_true(new, "Complete"), is_true(old, "Complete")
        self.is_failed, self.was_failed = is_true(new, "Failed"), is_true(old, "Failed")
        self.is_finished = self.is_complete or self.is_failed
        self.is_met, self.was_met = is_true(new, "SuccessCriteriaMet"), is_true(old, "SuccessCriteriaMet")
        self.is_lost, self.was_lost = is_true(new, "FailureTarget"), is_true(old, "FailureTarget")
        self.completes = self.is_complete != self.was_complete
        self.fails = self.is_failed != self.was_failed
        self.finishes = self.is_finished != (self.was_complete or self.was_failed)

    def differs(self, *names: str, empty: Any = None) -> bool:
        return any(self.new.get(name, empty) != self.old.get(name, empty) for name in names)

    def end_faults(self) -> Faults:
        """How a Job ends: one way only, and with its times."""
        new, both = self.new, "status.conditions"
        start, end = new.get("startTime"), new.get("completionTime")
        if (self.completes or self.fails) and self.is_complete and self.is_failed:
            yield invalid_omitted(both, "cannot set Complete=True and Failed=true conditions")
        if (self.completes or self.is_lost != self.was_lost) and self.is_complete and self.is_lost:
            yield invalid_omitted(both, "cannot set Complete=True and FailureTarget=true conditions")
        if self.completes or self.differs("completionTime"):
            if end and not self.is_complete:
                detail = "cannot set completionTime when there is no Complete=True condition"
                yield invalid_value("status.completionTime", end, detail)
            if not end and self.is_complete:
                yield required("status.completionTime", "completionTime is required for Complete jobs")
        if self.differs("startTime", "completionTime") and start and end and end < start:
            yield invalid_value("status.completionTime", end, "must be equal to or after `startTime`")
        if (self.fails or self.differs("failedIndexes")) and self.is_failed and not self.is_lost:
            yield invalid_omitted(both, "cannot set Failed=True condition without the FailureTarget=true condition")
        if (self.completes or self.is_met != self.was_met) and self.is_complete and not self.is_met:
            detail = "cannot set Complete=True condition without the SuccessCriteriaMet=true condition"
            yield invalid_omitted(both, detail)
        yield from self._finished_faults()

    def _finished_faults(self) -> Faults:
        if not self.is_finished:
            return
        active, uncounted = self.new.get("active", 0), self.new.get("uncountedTerminatedPods") or {}
        if (self.finishes or self.differs("active", empty=0)) and active > 0:
            yield invalid_value("status.active", active, "active>0 is invalid for finished job")
        needs_no_start = self.spec.get("suspend") and self.spec.get("completions") == 0
        if (self.finishes or self.differs("startTime")) and not needs_no_start and not self.new.get("startTime"):
            yield required("status.startTime", "startTime is required for finished job")
        if (self.finishes or self.differs("uncountedTerminatedPods")) and any(uncounted.values()):
            yield invalid_value("status.uncountedTerminatedPods", uncounted, "must be empty for finished job")

    def index_faults(self) -> Faults:
        """Which indexes are done and which are lost."""
        completed, failed = self.new.get("completedIndexes", ""), self.new.get("failedIndexes")
        completions = self.spec.get("completions")
        if self.differs("completedIndexes", empty=""):
            yield from self._format_faults("completedIndexes", completed, completions)
        if self.differs("failedIndexes") and failed is not None and "backoffLimitPerIndex" in self.spec:
            yield from self._format_faults("failedIndexes", failed, completions)
        is_indexed = self.spec.get("completionMode") == "Indexed"
        if self.differs("completedIndexes", empty="") and completed and not is_indexed:
            detail = "cannot set non-empty completedIndexes when non-indexed completion mode"
            yield invalid_value("status.completedIndexes", completed, detail)
        if self.differs("failedIndexes") and failed is not None and "backoffLimitPerIndex" not in self.spec:
            detail = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
            yield invalid_value("status.failedIndexes", failed, detail)
        if self.differs("failedIndexes", "completedIndexes") and completions is not None and failed is not None:
            common = overlap(completed, failed, completions)
            if common is not None:
                detail = f"failedIndexes and completedIndexes overlap at index: {common}"
                yield invalid_value("status.failedIndexes", failed, detail)

    def _format_faults(self, name: str, text: str, completions: int | None) -> Faults:
        try:
            if completions is not None:
                count(text, completions)
        except BadIndexes as error:
            yield invalid_value(f"status.{name}", text, f"error parsing {name}: {error}")

    def count_faults(self) -> Faults:
        """How many pods there are."""
        new, terminating = self.new, self.new.get("terminating", 0)
        if (self.finishes or self.differs("terminating")) and terminating > 0 and self.is_finished:
            yield invalid_value("status.terminating", terminating, "terminating>0 is invalid for finished job")
        if self.differs("ready") or self.differs("active", empty=0):
            ready = new.get("ready")
            if ready is not None and ready > new.get("active", 0):
                yield invalid_value("status.ready", ready, "cannot set more ready pods than active")

    def success_faults(self) -> Faults:
        """What does not go together with success."""
        field = "status.conditions"
        if self.is_met and self.is_failed:
            yield invalid_omitted(field, "cannot set SuccessCriteriaMet=True and Failed=true conditions")
        if self.is_met and self.is_lost:
            yield invalid_omitted(field, "cannot set SuccessCriteriaMet=True and FailureTarget=true conditions")
        if "successPolicy" in self.spec and not self.is_met and self.is_complete:
            detail = "cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"
            yield invalid_omitted(field, detail)

    def step_faults(self) -> Faults:
        """What cannot be undone."""
        new, old, field = self.new, self.old, "status.conditions"
        for name in ("Failed", "Complete", "FailureTarget"):
            if is_true(old, name) and not is_true(new, name):
                yield invalid_omitted(field, f"cannot disable the terminal {name}=True condition")
        if new.get("failed", 0) < old.get("failed", 0):
            yield invalid_value("status.failed", new.get("failed", 0), "cannot decrease the failed counter")
        may_shrink = self.spec.get("completionMode") == "Indexed" and (
            self.spec.get("completions") == self.spec.get("parallelism")
        )
        if not may_shrink and new.get("succeeded", 0) < old.get("succeeded", 0):
            yield invalid_value("status.succeeded", new.get("succeeded", 0), "cannot decrease the succeeded counter")
        yield from self._time_faults()
        if self.was_met and not self.is_met:
            yield invalid_omitted(field, "cannot disable the SuccessCriteriaMet=True condition")
        if self.was_complete and not self.was_met and self.is_met:
            detail = "cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"
            yield invalid_omitted(field, detail)

    def _time_faults(self) -> Faults:
        new, old = self.new, self.old
        if new.get("completionTime") and old.get("completionTime") and self.differs("completionTime"):
            yield invalid_value("status.completionTime", new["completionTime"], checks.IMMUTABLE)
        resumes = is_true(old, "Suspended") and condition_status(new, "Suspended") == FALSE
        if old.get("startTime") and self.differs("startTime") and not resumes and not self.spec.get("suspend"):
            detail = "field is immutable for unsuspended job once set"
            yield invalid_value("status.startTime", new.get("startTime"), detail)


class BadIndexes(Exception):
    """Not a set of indexes, or one with an index that the Job does not have; the text is Kubernetes'."""


def count(text: str, completions: int) -> int:
    """Return how many indexes a text names; raises BadIndexes."""
    return sum(last - first + 1 for first, last in intervals(text, completions))


def overlap(completed: str, failed: str, completions: int) -> int | None:
    """Return the first index that is in both sets; None where there is none before a part that cannot be read."""
    done, lost = _readable(completed, completions), _readable(failed, completions)
    common = [max(a, c) for a, b in done for c, d in lost if max(a, c) <= min(b, d)]
    return min(common, default=None)


def _readable(text: str, completions: int) -> list[tuple[int, int]]:
    ranges: list[tuple[int, int]] = []
    try:
        for interval in intervals(text, completions):
            ranges.append(interval)
    except BadIndexes:
        pass  # reported elsewhere, with the text
    return ranges


def intervals(text: str, completions: int) -> Iterator[tuple[int, int]]:
    """Yield the first and last index of each part."""
    previous: int | None = None
    for part in text.split(",") if text else ():
        first, last = _interval(part, completions)
        if previous is not None and previous >= first:
            raise BadIndexes(f"non-increasing order, previous: {previous}, current: {first}")
        yield first, last
        previous = last


def _interval(part: str, completions: int) -> tuple[int, int]:
    limits = part.split("-")
    if len(limits) > 2:
        why = "violates the requirement that an index interval can have at most two parts separated by '-'"
        raise BadIndexes(f'the fragment "{part}" {why}')
    first = _index(limits[0], completions)
    if len(limits) == 1:
        return first, first
    last = _index(limits[1], completions)
    if first >= last:
        raise BadIndexes(f"non-increasing order, previous: {first}, current: {last}")
    return first, last


def _index(text: str, completions: int) -> int:
    if not text.isascii() or not text.isdigit():
        raise BadIndexes(f'cannot convert string to integer for index: "{text}"')
    if int(text) >= completions:
        raise BadIndexes(f'too large index: "{text}"')
    return int(text)
