"""What Kueue refuses in pods, and what a new pod gets that it manages: the gate, a finalizer, a label and its role.

Mirrors: Kueue pkg/controller/jobs/pod/pod_webhook.go
Left out: nobody is warned of the label below a managed job.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from fleetqueue.api import kueue_pods as pods
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import names
from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.pods.roles import role_of
from fleetqueue.embedded.kueue.pods.single_pods import GATES, SinglePods
from fleetqueue.embedded.kueue.webhooks import job_rules, topology_rules
from fleetqueue.embedded.kueue.webhooks.field_errors import forbidden, invalid, not_subdomain, required, unchanged
from fleetqueue.embedded.kueue.webhooks.job_defaults import JobContext
from fleetqueue.embedded.kueue.webhooks.job_rules import ANNOTATIONS, LABELS

COUNT: Final = f"{ANNOTATIONS}[{pods.GROUP_TOTAL_COUNT}]"


@dataclass(frozen=True, slots=True)
class PodDefaults:
    context: JobContext

    def completed(self, pod: Manifest) -> Manifest:
        """Return a new pod with all that Kueue gives it; one that is not Kueue's as it is."""
        if pods.SUSPENDING_PARENT in job_fields.annotations(pod):
            return _gated(pod)
        namespace = pod["metadata"]["namespace"]
        if not self.context.is_managed(namespace) or self.context.has_managed_ancestor(pod):
            return pod
        if not job_fields.queue_name(pod) and self.context.has_default_queue(namespace):
            pod = _with_labels(pod, {kueue.QUEUE_LABEL: names.DEFAULT_QUEUE})
        if not job_fields.queue_name(pod) and not self.context.settings.manages_jobs_without_queue:
            return pod
        return _gated(_held(_with_labels(pod, {pods.MANAGED: "true"})))


def faults(pod: Manifest) -> list[str]:
    return [*job_rules.faults(pod), *_common_faults(pod)]


def change_faults(old: Manifest, new: Manifest, *, has_default_queue: bool) -> list[str]:
    problems = job_rules.change_faults(SinglePods(), old, new, has_default_queue=has_default_queue)
    problems += _common_faults(new)
    group, old_group = pods.group_name(new["metadata"]), pods.group_name(old["metadata"])
    if group and is_unretriable(old) and not is_unretriable(new):
        path = f"{ANNOTATIONS}[{pods.RETRIABLE_IN_GROUP}]"
        problems.append(forbidden(path, "unretriable pod group can't be converted to retriable"))
    return [*problems, *(unchanged(_group_path(new), group, old_group) if old_group else ())]


def is_unretriable(pod: Manifest) -> bool:
    """Tell whether a pod's group ends with its pods, also with those that failed."""
    return job_fields.annotations(pod).get(pods.RETRIABLE_IN_GROUP) == "false"


def _common_faults(pod: Manifest) -> Iterable[str]:
    label = job_fields.labels(pod).get(pods.MANAGED, "true")
    if label != "true":
        yield forbidden(f"{LABELS}[{pods.MANAGED}]", "managed label value can only be 'true'")
    yield from _group_faults(pod)
    yield from topology_rules.request_faults(ANNOTATIONS, job_fields.annotations(pod))
    group, prebuilt = pods.group_name(pod["metadata"]), job_fields.prebuilt_workload(pod)
    if group and prebuilt and prebuilt != group:
        yield invalid(job_rules.prebuilt_path(pod), prebuilt, "prebuilt workload and pod group should be equal")


def _group_faults(pod: Manifest) -> Iterable[str]:
    group, count = pods.group_name(pod["metadata"]), job_fields.annotations(pod).get(pods.GROUP_TOTAL_COUNT)
    where = "annotation" if _is_in_annotations(pod) else "label"
    both = f"both the '{pods.GROUP_TOTAL_COUNT}' annotation and the '{pods.GROUP_NAME}' {where} should be set"
    if not group:
        if count is not None:
            yield required(_group_path(pod), both)
        return
    if why := not_subdomain(group):
        yield invalid(_group_path(pod), group, why)
    if count is None:
        yield required(COUNT, both)
    elif why := not_a_count(count):
        yield invalid(COUNT, count, why)


def not_a_count(text: str) -> str:
    """Say why a text is not how many pods a group has; nothing where it is."""
    number = job_rules.integer(text)
    if number is None:
        return job_rules.no_integer(text)
    if number < 1:
        value = f"{pods.GROUP_TOTAL_COUNT}={text}"
        return f"incorrect annotation value '{value}': group total count should be greater than zero"
    return ""


def _group_path(pod: Manifest) -> str:
    return f"{ANNOTATIONS if _is_in_annotations(pod) else LABELS}[{pods.GROUP_NAME}]"


def _is_in_annotations(pod: Manifest) -> bool:
    return bool(job_fields.annotations(pod).get(pods.GROUP_NAME))


def _gated(pod: Manifest) -> Manifest:
    """Return a pod at the gates, with its role noted."""
    gates = pod["spec"].get("schedulingGates") or []
    more = [{"name": gate} for gate in GATES if not pods.is_gated(pod, gate)]
    annotations = {**job_fields.annotations(pod), pods.ROLE_HASH: role_of(pod)}
    labels = job_fields.labels(pod)
    if (index_label := annotations.get(pods.POD_INDEX_LABEL)) is not None:
        labels = {**labels, pods.POD_INDEX: labels.get(index_label, "")}
    metadata = {**pod["metadata"], "annotations": annotations, **({"labels": labels} if labels else {})}
    return {**pod, "metadata": metadata, "spec": {**pod["spec"], "schedulingGates": [*gates, *more]}}


def _held(pod: Manifest) -> Manifest:
    finalizers = pod["metadata"].get("finalizers") or []
    if pods.MANAGED in finalizers:
        return pod
    return {**pod, "metadata": {**pod["metadata"], "finalizers": [*finalizers, pods.MANAGED]}}


def _with_labels(pod: Manifest, more: dict[str, str]) -> Manifest:
    return {**pod, "metadata": {**pod["metadata"], "labels": {**job_fields.labels(pod), **more}}}
