"""Rules of topologies that a worker assigns in the hub's place."""

from fleetqueue.embedded.kueue import workload_state
from fleetqueue.embedded.kueue.scheduling.queue_topology import QueueTopology
from fleetqueue.embedded.kueue.scheduling.topology_assigner import TopologyAssigner
from fleetqueue.embedded.multikueue import decisions, delayed_topologies
from fleetqueue.embedded.multikueue.copies import CopyController
from fleetqueue.embedded.multikueue.remote import RemoteClient
from fleetqueue.embedded.multikueue.workload_group import RemoteCopy

from .mutation import Mutation, always, nothing

PLACED = (
    "a worker places what the hub delays",
    "pods that ask for nothing are placed *",
    "one worker is full and the other is not",
    "a worker gets room in time",
    "both pod sets of a JobSet are placed",
    "one pod set of a JobSet asks and the other does not",
    "a worker evicts a placed job and another places it",
    "a worker that has placed a job is lost",
    "a worker is lost while a job waits for its place there",
    "a placed job ends",
)

MUTATIONS = (
    Mutation(
        "the hub places nothing itself",
        TopologyAssigner,
        "_is_delayed",
        always(False),
        (*PLACED, "no worker has room in one rack", "one pod set of a JobSet finds no room"),
    ),
    Mutation(
        "the hub learns that pods are placed",
        delayed_topologies,
        "placed_sets",
        always(frozenset()),
        PLACED,
    ),
    Mutation(
        "who waits for its place is not admitted",
        workload_state,
        "_waits_for_topology",
        always(False),
        ("the worker's flavor has no topology",),
    ),
    Mutation(
        "only who has room places",
        TopologyAssigner,
        "place",
        always(None),
        (
            "no worker has room in one rack",
            "one pod set of a JobSet finds no room",
            "one worker is full and the other is not",
            "a worker gets room in time",
        ),
    ),
    Mutation(
        "a flavor serves the topology that is asked for",
        QueueTopology,
        "mismatch",
        always(""),
        (
            "the hub's flavor has no topology",
            "the worker's flavor has no topology",
            "the hub's topology has another level",
        ),
    ),
    Mutation(
        "a copy goes with its job",
        CopyController,
        "_remove",
        nothing,
        (
            "a job is deleted while it waits for its place",
            "a job is deleted after it was placed",
            "a placed job ends",
        ),
    ),
    Mutation(
        "what a worker evicts is placed anew",
        RemoteCopy,
        "is_evicted",
        property(always(False)),
        ("a worker evicts a placed job and another places it",),
    ),
    Mutation(
        "who cannot be reached keeps what it has placed for a while",
        RemoteClient,
        "lost_for",
        property(always(86400.0)),
        ("a worker that has placed a job is lost",),
    ),
    Mutation(
        "how a job ended comes back before its copy goes",
        decisions,
        "_finish",
        lambda group, copy: decisions._end(copy, copy.condition("Finished")),
        ("a placed job ends",),
    ),
)
