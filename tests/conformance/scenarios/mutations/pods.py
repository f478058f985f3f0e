"""Rules of pods that stand alone."""

from typing import Any

from fleetqueue.api.fields import without_field
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.jobs import job_fields, pod_set_info
from fleetqueue.embedded.kueue.jobs.integration import StopCause
from fleetqueue.embedded.kueue.jobs.workload_matching import WorkloadMatching
from fleetqueue.embedded.kueue.pods import single_pods
from fleetqueue.embedded.kueue.pods.controller import SinglePodWriter
from fleetqueue.embedded.kueue.pods.pod_writes import PodWrites
from fleetqueue.embedded.kueue.pods.single_pods import SinglePods
from fleetqueue.embedded.kueue.webhooks import job_rules, pod_rules
from fleetqueue.embedded.kueue.webhooks.pod_rules import PodDefaults

from .mutation import Mutation, always, first, kept_job, nothing

started, gated = single_pods.started, pod_rules._gated


async def ended(self: Any, job: Manifest, workload: Manifest | None, cause: StopCause) -> Manifest:
    """End a pod, whether it runs or waits."""
    await self.pods.end(job, cause)
    return job


MUTATIONS = (
    Mutation("a pod that waits is held", pod_rules, "_held", first, ("pod: one that does not fit waits at the gate",)),
    Mutation(
        "a pod that waits is at the gate, and its role is noted",
        pod_rules,
        "_gated",
        first,
        (
            "pod: one that does not fit waits at the gate",
            "pod: one that waits for somebody above it is nobody's",
        ),
    ),
    Mutation(
        "only Kueue's gates go",
        single_pods,
        "started",
        lambda pod, info: without_field(started(pod, info), ("spec", "schedulingGates")),
        ("pod: a gate of somebody else stays",),
    ),
    Mutation(
        "a pod says how it ended",
        SinglePods,
        "ending",
        always(None),
        (
            "pod: it succeeds",
            "pod: it fails",
        ),
    ),
    Mutation(
        "a pod says when it is ready",
        SinglePods,
        "pods_ready",
        always(False),
        ("pod: it runs with the labels of its flavor",),
    ),
    Mutation(
        "a pod that is over is let go",
        PodWrites,
        "let_go",
        nothing,
        (
            "pod: one that waits and is deleted takes its Workload along",
            "pod: it succeeds",
            "pod: one that runs and is deleted takes its Workload along",
        ),
    ),
    Mutation(
        "a pod that is ended is told why",
        PodWrites,
        "end",
        lambda self, pod, cause: self.delete(pod),
        ("pod: a deactivated one is deleted",),
    ),
    Mutation("labels of a pod fit each other", pod_rules, "_common_faults", always(()), ("pod: what is refused",)),
    Mutation("how many pods a group has is a number", pod_rules, "not_a_count", always(""), ("pod: what is refused",)),
    Mutation(
        "a pod that runs keeps its queue and its time",
        job_rules,
        "change_faults",
        always([]),
        ("pod: one that runs keeps its queue and its time",),
    ),
    Mutation(
        "a pod that is not Kueue's stays as it is",
        PodDefaults,
        "completed",
        lambda self, pod: gated(pod),
        ("pod: below a job with a queue it is left alone", "pod: without a queue it is left alone"),
    ),
    Mutation(
        "a pod ends with its Workload",
        SinglePodWriter,
        "stop",
        kept_job,
        ("pod: its Workload takes it along", "pod: a higher priority preempts, and its victim is deleted"),
    ),
    Mutation(
        "only a pod that runs is ended",
        SinglePodWriter,
        "stop",
        ended,
        ("pod: one that waits stays when it is deactivated",),
    ),
    Mutation("a check gives something to pods", pod_set_info, "_updated", first, ("pod: a check gives it something",)),
    Mutation(
        "a pod takes the Workload that it names",
        WorkloadMatching,
        "_adopted",
        nothing,
        ("pod: its Workload was made beforehand",),
    ),
    Mutation(
        "a pod waits for the Workload that it names",
        job_fields,
        "prebuilt_workload",
        always(""),
        ("pod: the Workload that it names is not there",),
    ),
)
