"""Jobs of every form, how each of their pods ends, and what is done to them meanwhile."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from fleetqueue.api.scheme import Manifest

Question = Callable[[Manifest, Sequence[Manifest]], bool]
"""Asked of a Job and its pods, as they are now."""
FOREVER = None
"""The end of a pod that runs on."""


@dataclass(frozen=True)
class Step:
    """Something that is done once, when a question is answered with yes."""

    when: Question
    patch: Manifest | None = None
    """Merged into the Job."""
    delete_pod: bool = False
    pod_status: Manifest | None = None
    """Merged into the status of the first pod."""


def has(kind: str, status: str = "True") -> Question:
    def ask(job: Manifest, pods: Sequence[Manifest]) -> bool:
        conditions = job.get("status", {}).get("conditions") or ()
        return any((one["type"], one["status"]) == (kind, status) for one in conditions)

    return ask


def says(**fields: Any) -> Question:
    """The status has these values; an absent number is 0."""
    return lambda job, pods: all(job.get("status", {}).get(name, 0) == value for name, value in fields.items())


def has_ended(job: Manifest, pods: Sequence[Manifest]) -> bool:
    return has("Complete")(job, pods) or has("Failed")(job, pods)


def is_gone(job: Manifest, pods: Sequence[Manifest]) -> bool:
    return not job


def all_of(*questions: Question) -> Question:
    return lambda job, pods: all(ask(job, pods) for ask in questions)


@dataclass(frozen=True)
class Case:
    name: str
    spec: Manifest
    ends: Mapping[str, Sequence[int | None]] = field(default_factory=lambda: {"*": (0,)})
    """By index, or for all: the exit code of the first pod, the second, ...; the last one counts for all further."""
    steps: Sequence[Step] = ()
    until: Question = has_ended
    pod: Manifest = field(default_factory=dict)
    """More of the pods' spec."""
    container: Manifest = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def manifest(self) -> Manifest:
        """The Job; its pods run for an hour unless somebody ends them."""
        container = {"name": "main", "image": "example.com/work", **self.container}
        template = {
            "metadata": {"annotations": {"fleetqueue.dev/run-for": "1h"}, "labels": dict(self.labels)},
            "spec": {"restartPolicy": "Never", "containers": [container], **self.pod},
        }
        spec = {"template": template, **self.spec}
        return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": self.name}, "spec": spec}


def indexed(completions: int, parallelism: int = 0, **more: Any) -> Manifest:
    sizes = {"completions": completions, "parallelism": parallelism or completions}
    return {"completionMode": "Indexed", **sizes, **more}


def on_exit(action: str, *values: int) -> Manifest:
    return {"action": action, "onExitCodes": {"operator": "In", "values": list(values)}}


def on_condition(action: str, kind: str) -> Manifest:
    return {"action": action, "onPodConditions": [{"type": kind, "status": "True"}]}


SUSPENDED, RESUMED = {"spec": {"suspend": True}}, {"spec": {"suspend": False}}
DISRUPTED = {
    "conditions": [{"type": "DisruptionTarget", "status": "True", "reason": "Test"}],
}

CASES = [
    # Sizes
    Case("one-pod", {}),
    Case("three-by-two", {"completions": 3, "parallelism": 2}),
    Case("work-queue", {"parallelism": 3}),
    Case("work-queue-with-a-late-failure", {"parallelism": 2}, {"*": (0, 1)}),
    Case("twelve-at-once", {"completions": 12, "parallelism": 12}),
    Case("no-parallelism", {"parallelism": 0}, until=says(ready=0, terminating=0)),
    Case("no-completions", {"completions": 0}),
    Case(
        "grows-while-it-runs",
        {"parallelism": 1, "completions": 3},
        {"*": (FOREVER,)},
        [Step(says(active=1, ready=1), {"spec": {"parallelism": 3}})],
        until=says(active=3, ready=3),
    ),
    Case(
        "shrinks-while-it-runs",
        {"parallelism": 3, "completions": 3},
        {"*": (FOREVER,)},
        [Step(says(active=3, ready=3), {"spec": {"parallelism": 1}})],
        until=says(active=1, ready=1, terminating=0),
    ),
    Case("unschedulable", {}, until=says(active=1), container={"resources": {"requests": {"cpu": "1000"}}}),
    Case(
        "with-labels-and-init-container", {}, labels={"app": "a"}, pod={"initContainers": [{"name": "i", "image": "x"}]}
    ),
    # Failures
    Case("fails-at-once", {"backoffLimit": 0}, {"*": (1,)}),
    Case("fails-once", {"backoffLimit": 1}, {"*": (1, 0)}),
    Case("fails-twice", {"backoffLimit": 1}, {"*": (1,)}),
    Case("one-of-three-fails", {"backoffLimit": 0, "completions": 3, "parallelism": 3}, {"*": (1, FOREVER)}),
    Case("succeeds-and-fails", {"backoffLimit": 0, "completions": 2, "parallelism": 1}, {"*": (0, 1)}),
    Case(
        "restarts-in-place",
        {"backoffLimit": 2},
        {"*": (FOREVER,)},
        [
            Step(
                says(active=1, ready=1),
                pod_status={
                    "containerStatuses": [
                        {"name": "main", "image": "x", "imageID": "", "ready": False, "restartCount": 2, "state": {}}
                    ]
                },
            )
        ],
        pod={"restartPolicy": "OnFailure"},
    ),
    Case("deadline", {"activeDeadlineSeconds": 3}, {"*": (FOREVER,)}),
    Case("is-kept-for-a-second", {"ttlSecondsAfterFinished": 1}, until=is_gone),
    Case("pod-is-deleted", {}, {"*": (FOREVER, 0)}, [Step(says(active=1, ready=1), delete_pod=True)]),
    Case(
        "pod-is-deleted-and-only-failed-are-replaced",
        {"podReplacementPolicy": "Failed"},
        {"*": (FOREVER, 0)},
        [Step(says(active=1, ready=1), delete_pod=True)],
    ),
    # Suspension
    Case("begins-suspended", {"suspend": True}, until=has("Suspended")),
    Case("begins-suspended-and-resumes", {"suspend": True}, steps=[Step(has("Suspended"), RESUMED)]),
    Case(
        "is-suspended",
        {"parallelism": 2, "completions": 2},
        {"*": (FOREVER,)},
        [Step(says(active=2, ready=2), SUSPENDED)],
        until=all_of(has("Suspended"), says(terminating=0)),
    ),
    Case(
        "is-suspended-and-resumes",
        {},
        {"*": (FOREVER, 0)},
        [Step(says(active=1, ready=1), SUSPENDED), Step(all_of(has("Suspended"), says(terminating=0)), RESUMED)],
    ),
    # Somebody else's
    Case("managed-elsewhere", {"managedBy": "example.com/elsewhere"}, until=lambda job, pods: True),
    Case("managed-here", {"managedBy": "kubernetes.io/job-controller"}),
    # Indexed
    Case("indexed", indexed(3)),
    Case("indexed-two-at-once", indexed(5, 2)),
    Case("indexed-with-a-failure", indexed(2), {"0": (1, 0), "*": (0,)}),
    Case(
        "indexed-middle-first", indexed(6), {"1": (0,), "3": (0,), "4": (0,), "*": (FOREVER,)}, until=says(succeeded=3)
    ),
    Case(
        "elastic",
        indexed(3),
        {"*": (FOREVER,)},
        [Step(says(active=3, ready=3), {"spec": {"completions": 2, "parallelism": 2}})],
        until=says(active=2, ready=2, terminating=0),
    ),
    Case(
        "elastic-after-success",
        indexed(3),
        {"2": (0,), "*": (FOREVER,)},
        [Step(says(succeeded=1), {"spec": {"completions": 2, "parallelism": 2}})],
        until=says(active=2, ready=2, succeeded=0),
    ),
    # A back-off limit for each index
    Case("an-index-fails", indexed(3, backoffLimitPerIndex=0), {"0": (1,), "*": (0,)}),
    Case("an-index-fails-once", indexed(2, backoffLimitPerIndex=1), {"0": (1, 0), "*": (0,)}),
    Case("an-index-fails-twice", indexed(2, backoffLimitPerIndex=1), {"0": (1,), "*": (0,)}),
    Case(
        "too-many-indexes-fail",
        indexed(3, backoffLimitPerIndex=0, maxFailedIndexes=0),
        {"0": (1,), "*": (FOREVER,)},
    ),
    # Policies
    Case("a-code-fails-the-job", {"podFailurePolicy": {"rules": [on_exit("FailJob", 42)]}}, {"*": (42,)}),
    Case(
        "a-code-is-ignored", {"backoffLimit": 0, "podFailurePolicy": {"rules": [on_exit("Ignore", 3)]}}, {"*": (3, 0)}
    ),
    Case("a-code-is-counted", {"backoffLimit": 0, "podFailurePolicy": {"rules": [on_exit("Count", 3)]}}, {"*": (3,)}),
    Case(
        "a-disruption-is-ignored",
        {"backoffLimit": 0, "podFailurePolicy": {"rules": [on_condition("Ignore", "DisruptionTarget")]}},
        {"*": (FOREVER, 0)},
        [Step(says(active=1, ready=1), pod_status={"phase": "Failed", **DISRUPTED})],
    ),
    Case(
        "a-code-fails-the-index",
        indexed(2, backoffLimitPerIndex=3, podFailurePolicy={"rules": [on_exit("FailIndex", 9)]}),
        {"1": (9,), "*": (0,)},
    ),
    Case(
        "one-index-is-enough",
        indexed(3, successPolicy={"rules": [{"succeededIndexes": "1"}]}),
        {"1": (0,), "*": (FOREVER,)},
    ),
    Case(
        "two-of-some-are-enough",
        indexed(4, successPolicy={"rules": [{"succeededIndexes": "0-2", "succeededCount": 2}]}),
        {"0": (0,), "2": (0,), "*": (FOREVER,)},
    ),
]
