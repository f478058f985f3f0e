"""Rules of AppWrappers."""

from fleetqueue.embedded.kueue.jobs import app_wrapper
from fleetqueue.embedded.kueue.jobs.app_wrapper import AppWrapperIntegration
from fleetqueue.embedded.kueue.jobs.controller import JobReconciler
from fleetqueue.rules import app_wrappers

from .mutation import Mutation, always

pod_sets, template = AppWrapperIntegration.pod_sets, app_wrapper._template


MUTATIONS = (
    Mutation(
        "a flavor gives its labels to an AppWrapper",
        AppWrapperIntegration,
        "started",
        lambda self, job, infos: self.job_kind.with_suspension(job, suspend=False),
        ("app wrapper: it runs with what its flavor gives",),
    ),
    Mutation(
        "what was given to an AppWrapper is taken away when it stops",
        AppWrapperIntegration,
        "restored",
        lambda self, job, infos: job,
        ("app wrapper: a deactivated one is as before",),
    ),
    Mutation(
        "an AppWrapper keeps its quota while its operator does",
        AppWrapperIntegration,
        "is_active",
        always(False),
        ("app wrapper: a deactivated one keeps its quota while its operator does",),
    ),
    Mutation(
        "an AppWrapper says how it ended",
        AppWrapperIntegration,
        "ending",
        always(None),
        (
            "app wrapper: it succeeds",
            "app wrapper: it fails",
        ),
    ),
    Mutation(
        "an AppWrapper says when its pods are ready",
        AppWrapperIntegration,
        "pods_ready",
        always(False),
        ("app wrapper: its pods are ready",),
    ),
    Mutation(
        "an image with a tag is pulled once",
        app_wrapper,
        "_pull_policy",
        always("Always"),
        ("app wrapper: pod sets of known kinds need not be said",),
    ),
    Mutation(
        "pods of known kinds are found without being told",
        app_wrappers,
        "inferred",
        always([]),
        ("app wrapper: pod sets of known kinds need not be said",),
    ),
    Mutation(
        "pods are where their path leads",
        app_wrappers,
        "field_of",
        always(None),
        ("app wrapper: it runs with what its flavor gives",),
    ),
    Mutation(
        "an AppWrapper asks for the pods of all its components",
        AppWrapperIntegration,
        "pod_sets",
        lambda self, job: pod_sets(self, job)[:1],
        ("app wrapper: several components, one without pods",),
    ),
    Mutation(
        "where a path leads nowhere are no pods",
        app_wrapper,
        "_template",
        lambda component, path: template(component, path) or template(component, "template.spec.template"),
        ("app wrapper: a path that leads nowhere",),
    ),
    Mutation(
        "a job below an AppWrapper that is admitted runs",
        JobReconciler,
        "_follow_ancestor",
        lambda self, job, above: self.jobs.suspend_child(job),
        ("app wrapper: a job below one that has a queue is not admitted itself",),
    ),
)
