"""Jobs: their defaults, the selector and labels that the server makes for them, and what of them may change."""

from collections.abc import Sequence
from typing import Final

from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.auth.users import User
from fleetqueue.embedded.apiserver.kinds.causes import Cause, invalid_value, required
from fleetqueue.embedded.apiserver.kinds.names import label
from fleetqueue.embedded.apiserver.registry.kinds import checks, job_status, pod_defaults
from fleetqueue.embedded.apiserver.registry.kinds.checks import Faults
from fleetqueue.embedded.apiserver.registry.kinds.copying import each_within, filled, with_field_of, within, without
from fleetqueue.embedded.apiserver.registry.kinds.job_rules import job_faults
from fleetqueue.embedded.apiserver.registry.strategy import DeletionStrategy, StatusStrategy, Strategy

UID_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
NAME_LABELS: Final = ("job-name", "batch.kubernetes.io/job-name")
MOST: Final = 2**31 - 1
LONGEST_LABEL: Final = 63
DIRECTIVES: Final = ("nodeSelector", "tolerations", "schedulingGates")
"""What of a suspended Job's pods may be directed; Kueue does so when it admits a Job."""
FIXED: Final = ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy")
PODS_STAY: Final = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them or set"
    " propagationPolicy=Orphan to suppress this warning"
)


def default(job: Manifest) -> Manifest:
    after = within(job, "spec", _spec)
    labels = ((after["spec"].get("template") or {}).get("metadata") or {}).get("labels")
    if labels and not (after.get("metadata") or {}).get("labels"):
        after = {**after, "metadata": {**(after.get("metadata") or {}), "labels": labels}}
    return after


def _spec(spec: Manifest) -> Manifest:
    defaults: Manifest = {
        "parallelism": 1,
        "backoffLimit": MOST if "backoffLimitPerIndex" in spec else 6,
        "completionMode": "NonIndexed",
        "suspend": False,
        "podReplacementPolicy": "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed",
        "manualSelector": False,
    }
    if "parallelism" not in spec:
        defaults["completions"] = 1
    return template_default(filled(spec, defaults))


def template_default(spec: Manifest) -> Manifest:
    """Fill in what a Job spec has wherever it stands, also in a CronJob."""
    after = within(spec, "template", pod_defaults.template)
    return within(after, "podFailurePolicy", lambda policy: each_within(policy, "rules", _rule))


def _rule(rule: Manifest) -> Manifest:
    return each_within(rule, "onPodConditions", _pattern)


def _pattern(pattern: Manifest) -> Manifest:
    return pattern if pattern.get("status") else {**pattern, "status": "True"}


def prepare(job: Manifest, old: Manifest | None, user: User) -> Manifest:
    """Give a new Job a selector that only its own pods match."""
    spec = job["spec"]
    if old is not None or spec.get("manualSelector"):
        return job
    metadata = job["metadata"]
    made = {name: metadata["name"] for name in NAME_LABELS} | {name: metadata["uid"] for name in UID_LABELS}
    template = spec.get("template") or {}
    about = template.get("metadata") or {}
    before = about.get("labels") or {}
    labels = {**made, **before}
    selector = spec.get("selector") or {}
    matched = {UID_LABELS[1]: metadata["uid"]} | (selector.get("matchLabels") or {})
    after = {
        **spec,
        "selector": {**selector, "matchLabels": matched},
        "template": {**template, "metadata": {**about, "labels": labels}},
    }
    # A Job without labels has those of its template: the very same map, or what the real server reads again later.
    own = metadata.get("labels")
    if (not own or own is before) and len(metadata["name"]) <= LONGEST_LABEL:
        metadata = {**metadata, "labels": labels}
    return {**job, "metadata": metadata, "spec": after}


def faults(new: Manifest, old: Manifest | None) -> Sequence[Cause]:
    if old is not None and new["spec"] is old["spec"]:
        return []
    problems = [*_selector_faults(new), *job_faults(new["spec"], "spec"), *_name_faults(new)]
    return problems if old is None else [*problems, *_change_faults(new["spec"], old)]


def _selector_faults(job: Manifest) -> Faults:
    spec, metadata = job["spec"], job["metadata"]
    if spec.get("manualSelector") or "selector" not in spec:
        return
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
    wanted = {name: metadata["uid"] for name in UID_LABELS} | {name: metadata["name"] for name in NAME_LABELS}
    for name in (UID_LABELS[0], NAME_LABELS[0], UID_LABELS[1], NAME_LABELS[1]):
        yield from _label_faults(labels, name, wanted[name])
    if not checks.selects(spec["selector"], wanted):
        yield invalid_value("spec.selector", spec["selector"], "`selector` not auto-generated")


def _label_faults(labels: Manifest, name: str, wanted: str) -> Faults:
    field = "spec.template.metadata.labels"
    if name not in labels:
        yield required(field, f"must be '{wanted}'")
    elif labels[name] != wanted:
        yield invalid_value(field, labels, f"must be '{wanted}'")


def _name_faults(job: Manifest) -> Faults:
    spec, name = job["spec"], job["metadata"]["name"]
    if spec.get("completionMode") == "Indexed" and spec.get("completions", 0) > 0:
        last = f"{name}-{spec['completions'] - 1}"
        if label(last):
            detail = f"will not able to create pod with invalid DNS label: {last}"
            yield invalid_value("metadata.name", name, detail)


def _change_faults(spec: Manifest, old: Manifest) -> Faults:
    before = old["spec"]
    yield from _completion_faults(spec, before)
    yield from checks.unchanged(spec, before, "spec", "selector")
    yield from _template_faults(spec, old)
    yield from checks.unchanged(spec, before, "spec", *FIXED)


def _completion_faults(spec: Manifest, before: Manifest) -> Faults:
    if spec.get("completions") == before.get("completions"):
        return
    if spec.get("completionMode") != "Indexed":
        yield invalid_value("spec.completions", spec.get("completions"), checks.IMMUTABLE)
    elif "completions" in spec and spec["completions"] != spec.get("parallelism"):
        detail = "can only be modified in tandem with spec.parallelism"
        yield invalid_value("spec.completions", spec["completions"], detail)


def _template_faults(spec: Manifest, old: Manifest) -> Faults:
    new, before = spec.get("template") or {}, old["spec"].get("template") or {}
    if new == before:
        return
    if not may_be_directed(old):
        yield invalid_value("spec.template", new, checks.IMMUTABLE)
        return
    directed = _directed(before.get("spec") or {}, new.get("spec") or {})
    if _resized(directed, new.get("spec") or {}) != new.get("spec"):
        yield invalid_value("spec.template.spec", new.get("spec"), checks.IMMUTABLE)


def may_be_directed(job: Manifest) -> bool:
    """Tell whether the pods of a Job may get other places and resources: it is suspended, and none of them is there."""
    spec, status = job["spec"], job.get("status") or {}
    has_stopped = not status.get("startTime") or job_status.is_true(status, "Suspended")
    return bool(spec.get("suspend")) and has_stopped and not status.get("active")


def _directed(old: Manifest, new: Manifest) -> Manifest:
    """Return the old pod spec with the scheduling directives of the new one."""
    after = old
    for name in DIRECTIVES:
        after = with_field_of(after, name, new)
    affinity = with_field_of(old.get("affinity") or {}, "nodeAffinity", new.get("affinity") or {})
    return {**after, "affinity": affinity} if "affinity" in new or affinity else without(after, "affinity")


def _resized(old: Manifest, new: Manifest) -> Manifest:
    """Return the old pod spec with the resources of the new one's containers."""
    after = old
    for name in ("containers", "initContainers"):
        olds, news = old.get(name) or (), new.get(name) or ()
        if olds and len(olds) == len(news):
            after = {**after, name: [_resources_of(one, other) for one, other in zip(olds, news, strict=True)]}
    return after


def _resources_of(old: Manifest, new: Manifest) -> Manifest:
    return with_field_of(old, "resources", new) if old.get("name") == new.get("name") else old


STRATEGY: Final = Strategy(
    default=default,
    prepare=prepare,
    faults=faults,
    status=StatusStrategy(job_status.faults),
    deletion=DeletionStrategy(orphans_by_default=True, warning=PODS_STAY),
)
