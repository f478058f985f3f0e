"""Rules of SparkApplications."""

from fleetqueue.embedded.kueue.jobs import spark_application
from fleetqueue.embedded.kueue.jobs.spark_application import SparkApplicationIntegration
from fleetqueue.embedded.kueue.webhooks import job_rules
from fleetqueue.rules import spark_pods

from .mutation import Mutation, always, first

MUTATIONS = (
    Mutation(
        "a flavor gives its labels to driver and executors",
        spark_application,
        "_changed",
        lambda job, infos, change: job,
        (
            "spark application: it runs with what its flavor gives",
            "spark application: a selector for all becomes each one's",
        ),
    ),
    Mutation(
        "what was given to a SparkApplication is taken away when it stops",
        SparkApplicationIntegration,
        "restored",
        lambda self, job, infos: job,
        ("spark application: a deactivated one is as before",),
    ),
    Mutation(
        "a SparkApplication that runs keeps its quota",
        SparkApplicationIntegration,
        "is_active",
        always(False),
        ("spark application: a deactivated one keeps its quota while it runs",),
    ),
    Mutation(
        "a SparkApplication says how it ended",
        SparkApplicationIntegration,
        "ending",
        always(None),
        (
            "spark application: it is completed",
            "spark application: it fails",
        ),
    ),
    Mutation(
        "executors have to be ready, too",
        SparkApplicationIntegration,
        "pods_ready",
        lambda self, job: self.is_active(job),
        ("spark application: an executor is missing",),
    ),
    Mutation(
        "a SparkApplication is run by the cluster, at one size",
        job_rules,
        "spark_application_faults",
        always([]),
        ("spark application: what is refused",),
    ),
    Mutation(
        "memory is written as Java does",
        spark_pods,
        "_memory",
        first,
        ("spark application: what its pods are made of",),
    ),
    Mutation(
        "a SparkApplication has all of its executors",
        spark_pods,
        "pods_of",
        always(1),
        ("spark application: it runs with what its flavor gives",),
    ),
    Mutation(
        "volumes for local files are not mounted twice",
        spark_pods,
        "LOCAL_DIR",
        "no-such-",
        ("spark application: what its pods are made of",),
    ),
    Mutation(
        "a SparkApplication says when its pods are ready",
        SparkApplicationIntegration,
        "pods_ready",
        always(False),
        ("spark application: its pods are ready",),
    ),
)
