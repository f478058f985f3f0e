"""Rules of what is below objects that others manage."""

from fleetqueue.embedded.kueue.jobs import job_fields
from fleetqueue.embedded.kueue.jobs.ancestors import Ancestors
from fleetqueue.embedded.kueue.webhooks.job_defaults import JobContext

from .mutation import Mutation, always

managed_ancestor = job_fields.managed_ancestor


MUTATIONS = (
    Mutation(
        "what is below an object with a queue does not wait itself",
        JobContext,
        "has_managed_ancestor",
        always(False),
        (
            "external: a pod below an object with a queue is left alone",
            "external: a job below an object with a queue names one itself",
            "external: a deployment below an object with a queue is left alone",
        ),
    ),
    Mutation(
        "a StatefulSet below an object with a queue is not admitted itself",
        Ancestors,
        "is_below_managed",
        always(False),
        ("external: a stateful set below an object with a queue is left alone",),
    ),
    Mutation(
        "a job below an object of somebody else runs",
        Ancestors,
        "is_external",
        always(False),
        ("external: a job below an object with a queue is not admitted itself",),
    ),
    Mutation(
        "only what names a queue is managed",
        job_fields,
        "managed_ancestor",
        lambda job, parent, without_queue: managed_ancestor(job, parent, without_queue=True),
        (
            "external: a job below an object without a queue has its own",
            "external: a pod below an object without a queue has its own",
            "pod: below a job without a queue it has its own",
        ),
    ),
)
