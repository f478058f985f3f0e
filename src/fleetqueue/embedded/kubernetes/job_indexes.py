"""The indexes of an Indexed Job: those that succeeded, as the status writes them (`1,3-5,7`), failed, or are to come.

Where each index has a back-off limit of its own (`backoffLimitPerIndex`), its failures are counted in annotations of
its pods: a new pod carries the failures of those before it. So the last failed pod of an index is kept, by its
finalizer, until the next one has been made.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from datetime import datetime
from typing import Final

from fleetqueue.api.batch_v1 import INDEX, Job
from fleetqueue.api.core_v1 import Pod
from fleetqueue.embedded.kubernetes.job_policies import counts, fails_index
from fleetqueue.embedded.kubernetes.pods import ended_at

FAILURES: Final = "batch.kubernetes.io/job-index-failure-count"
IGNORED: Final = "batch.kubernetes.io/job-index-ignored-failure-count"
"""Those that a Job's policy does not count; they make the next pod wait, too."""


def index_of(pod: Pod) -> int | None:
    text = pod.metadata.annotations.get(INDEX, "")
    return int(text) if text.isdecimal() else None


def valid_index(pod: Pod, job: Job) -> bool:
    """Tell whether a pod has a place in its Job; without indexes every pod has."""
    if not job.is_indexed:
        return True
    index = index_of(pod)
    return index is not None and index < (job.completions or 0)


def parse(text: str, completions: int) -> frozenset[int]:
    """Read intervals; what is no interval, or beyond the last index, is left out."""
    indexes: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (not last or last.isdecimal()):
            indexes.update(range(int(first), min(int(last or first), completions - 1) + 1))
    return frozenset(indexes)


def render(indexes: Iterable[int]) -> str:
    """Write intervals; two neighbours stay apart, as Kubernetes writes them."""
    spans: list[tuple[int, int]] = []
    for index in sorted(indexes):
        if spans and spans[-1][1] == index - 1:
            spans[-1] = (spans[-1][0], index)
        else:
            spans.append((index, index))
    return ",".join(_span(*span) for span in spans)


def first_pending(taken: Set[int], completions: int, count: int) -> Sequence[int]:
    """Return the lowest indexes that nobody has."""
    indexes: list[int] = []
    for index in range(completions):
        if len(indexes) == count:
            break
        if index not in taken:
            indexes.append(index)
    return indexes


def _span(first: int, last: int) -> str:
    if first == last:
        return str(first)
    return f"{first},{last}" if last == first + 1 else f"{first}-{last}"


def failed_indexes(job: Job, failed: Sequence[Pod]) -> frozenset[int]:
    """Return the indexes that are given up, before and by these failed pods."""
    limit = job.spec.backoff_limit_per_index
    if limit is None:
        return frozenset()
    before = parse(job.status.failed_indexes or "", job.completions or 0)
    new = (index_of(pod) for pod in failed if _is_last(job, pod, limit))
    return before | {index for index in new if index is not None}


def kept_pods(failed: Sequence[Pod], active: Sequence[Pod], settled: Set[int]) -> dict[int, Pod]:
    """Return, by index, the failed pod that has to wait for its successor."""
    running = {index_of(pod) for pod in active}
    kept: dict[int, Pod] = {}
    for pod in failed:
        index = index_of(pod)
        if index is None or index in settled or index in running:
            continue
        if index not in kept or _order(kept[index]) <= _order(pod):
            kept[index] = pod
    return kept


def count_of(pod: Pod) -> int:
    """Return how many pods of its index have failed before it, counted or not."""
    return _number(pod, FAILURES) + _number(pod, IGNORED)


def annotations(job: Job, replaced: Pod | None) -> Mapping[str, str]:
    """Return the annotations of a new pod of an index: the failures before it."""
    if job.spec.backoff_limit_per_index is None:
        return {}
    if replaced is None:
        return {FAILURES: "0"}
    is_counted = counts(job, replaced)
    failures, ignored = _number(replaced, FAILURES) + is_counted, _number(replaced, IGNORED) + (not is_counted)
    return {FAILURES: str(failures), **({IGNORED: str(ignored)} if ignored else {})}


def _is_last(job: Job, pod: Pod, limit: int) -> bool:
    if fails_index(job, pod):
        return True
    return counts(job, pod) and _number(pod, FAILURES) >= limit


def _order(pod: Pod) -> tuple[int, datetime]:
    return count_of(pod), ended_at(pod)


def _number(pod: Pod, annotation: str) -> int:
    text = pod.metadata.annotations.get(annotation, "")
    return int(text) if text.isdecimal() else 0
