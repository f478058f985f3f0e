"""All hooks of a Kueue manager: which writes they are asked about, and what they say."""

from collections.abc import Callable, Iterable, Sequence
from typing import Final

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.admission_hooks import AdmissionHook, Call, Find
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs.integration import Integration
from fleetqueue.embedded.kueue.names import IN_USE
from fleetqueue.embedded.kueue.settings import BATCH_JOB, SYSTEM_NAMESPACES, KueueSettings
from fleetqueue.embedded.kueue.webhooks import job_rules, queue_rules
from fleetqueue.embedded.kueue.webhooks.field_errors import refuse
from fleetqueue.embedded.kueue.webhooks.job_rules import JobDefaults
from fleetqueue.embedded.kueue.webhooks.workload_rules import workload_faults

CREATE: Final = ("CREATE",)
WRITES: Final = ("CREATE", "UPDATE")

Faults = Callable[[Manifest | None, Manifest], list[str]]


def hooks(settings: KueueSettings, integrations: Sequence[Integration], find: Find) -> list[AdmissionHook]:
    """Return the hooks of a manager with these settings."""
    enabled = [integration for integration in integrations if integration.framework in settings.frameworks]
    parents = tuple(integration.kind for integration in enabled)
    of_jobs = [hook for integration in enabled for hook in _of_jobs(JobDefaults(integration, settings, find, parents))]
    return [*_of_queues(), *of_jobs]


def _of_queues() -> Iterable[AdmissionHook]:
    yield _hook("mclusterqueue", kueue.ClusterQueue, _held, is_mutating=True)
    yield _hook("mresourceflavor", kueue.ResourceFlavor, _held, is_mutating=True)
    yield _hook("vclusterqueue", kueue.ClusterQueue, _judged(queue_rules.cluster_queue_faults))
    yield _hook("vcohort", kueue.Cohort, _judged(queue_rules.cohort_faults))
    yield _hook("vresourceflavor", kueue.ResourceFlavor, _judged(queue_rules.flavor_faults))
    resources = ("workloads", "workloads/status")
    yield _hook("vworkload", kueue.Workload, _judged(workload_faults), resources=resources)


def _of_jobs(defaults: JobDefaults) -> Iterable[AdmissionHook]:
    integration = defaults.integration
    kind, spared = integration.kind, SYSTEM_NAMESPACES
    name = kind.resource.kind.lower()

    def complete(old: Manifest | None, new: Manifest) -> Manifest:
        return defaults.completed(new)

    def faults(old: Manifest | None, new: Manifest) -> list[str]:
        problems = job_rules.faults(new)
        if integration.framework == BATCH_JOB:
            problems += job_rules.batch_job_faults(old, new)
        if old is not None:
            has_default = defaults.has_default_queue(new["metadata"].get("namespace", ""))
            problems += job_rules.change_faults(integration, old, new, has_default_queue=has_default)
        return problems

    yield _hook(f"m{name}", kind, complete, is_mutating=True, spared=spared)
    yield _hook(f"v{name}", kind, _judged(faults), spared=spared)


def _hook(
    name: str,
    kind: type[Object],
    call: Call,
    *,
    is_mutating: bool = False,
    resources: tuple[str, ...] = (),
    spared: tuple[str, ...] = (),
) -> AdmissionHook:
    resource = kind.resource
    return AdmissionHook(
        name=f"{name}.kb.io",
        group=resource.group,
        version=resource.version,
        resources=resources or (resource.plural,),
        operations=CREATE if is_mutating else WRITES,
        call=call,
        is_mutating=is_mutating,
        spared=spared,
    )


def _judged(faults: Faults) -> Call:
    """Make a hook of rules. What is not even shaped as its schema asks is left to the schema."""

    def call(old: Manifest | None, new: Manifest) -> Manifest:
        try:
            problems = faults(old, new)
        except (KeyError, TypeError, AttributeError, ValueError):
            return new
        refuse(problems)
        return new

    return call


def _held(old: Manifest | None, new: Manifest) -> Manifest:
    metadata = new["metadata"]
    finalizers = metadata.get("finalizers") or []
    if IN_USE in finalizers:
        return new
    return {**new, "metadata": {**metadata, "finalizers": [*finalizers, IN_USE]}}
