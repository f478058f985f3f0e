"""Rules of the topologies that jobs ask for."""

from fleetqueue.embedded.kueue.jobs import topology_requests
from fleetqueue.embedded.kueue.webhooks import job_topology_rules, topology_rules

from .mutation import Mutation, always

MUTATIONS = (
    Mutation(
        "annotations of pods say which topology they ask for",
        topology_requests,
        "topology_request",
        always({"required": "another"}),
        ("jobs ask for a topology", "a * asks for a topology"),
    ),
    Mutation(
        "only what is wrong with a topology is refused",
        topology_rules,
        "request_faults",
        always(("whatever",)),
        ("jobs ask for a topology that cannot be", "a job that waits asks for another topology"),
    ),
    Mutation(
        "an elastic Job asks for no level",
        job_topology_rules,
        "is_elastic",
        always(False),
        ("elastic jobs ask for a topology",),
    ),
)
