"""Rules of the pods of placed jobs: how they leave the topology gate, and how their nodes are replaced."""

from collections.abc import Mapping, Sequence

from fleetqueue.api.kueue_pods import has_ended, is_deleting
from fleetqueue.api.kueue_topology import TopologyRequest
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue.scheduling.cache import Cache
from fleetqueue.embedded.kueue.topology import workload_placement
from fleetqueue.embedded.kueue.topology_pods import topology_ungater, ungating
from fleetqueue.embedded.kueue.topology_pods.failed_nodes import FailedNodeController
from fleetqueue.embedded.kueue.topology_pods.node_health import PodsOfNode, ReplacementGates
from fleetqueue.embedded.kueue.topology_pods.ranks import Ranks

from .mutation import Mutation, always
from .topology_nodes import not_lost

of, ungated = Ranks.of, ungating.ungated


def _backwards(self: Ranks, request: TopologyRequest, pods: Sequence[Manifest]) -> dict[int, Manifest]:
    return {self.pods - 1 - rank: pod for rank, pod in of(self, request, pods).items()}


def _without_labels(pod: Manifest, selector: Mapping[str, str]) -> Manifest:
    return ungated(pod, {})


MUTATIONS = (
    Mutation(
        "pods leave the gate",
        topology_ungater,
        "pods_to_ungate",
        always(()),
        (
            "pods that ask for nothing leave the gate, too",
            "a single pod leaves the gate",
            "a pod takes the place of one that has stopped",
        ),
    ),
    Mutation(
        "pods are told where to run",
        ungating,
        "ungated",
        _without_labels,
        (
            "pods leave the gate for their host",
            "pods are told their rack where hosts are no level",
            "a single pod leaves the gate",
        ),
    ),
    Mutation(
        "pods go by their ranks",
        Ranks,
        "of",
        _backwards,
        ("pods of an indexed job go by their index", "pods of a JobSet go by their job and their index"),
    ),
    Mutation(
        "pod sets of a group go together",
        workload_placement,
        "_groups",
        lambda pod_sets: [[one] for one in pod_sets],
        ("a driver and its workers go together",),
    ),
    Mutation(
        "a pod that has ended takes no place",
        ungating,
        "has_ended",
        always(False),
        ("the next pod goes where one has ended",),
    ),
    Mutation(
        "a pod that stops keeps its place",
        ungating,
        "has_ended",
        lambda pod: has_ended(pod) or is_deleting(pod),
        ("a pod waits at the gate while the one before it stops",),
    ),
    Mutation(
        "a node that fails is noted",
        FailedNodeController,
        "_lose",
        not_lost,
        (
            "a node is not ready and its pods stop",
            "a node is not ready, its pods stop, and there is no other",
            "pods that have stopped on a lost node leave no place there",
            "a node is deleted under pods that run",
            "pods go to the node that came in place of a deleted one",
            "a node is tainted and its pods stop",
            "two nodes are deleted one after the other",
        ),
    ),
    Mutation(
        "a node is not lost while pods run there",
        PodsOfNode,
        "go_on",
        property(always(False)),
        ("a node is not ready while its pods run", "a node is tainted while its pods run"),
    ),
    Mutation(
        "a taint makes a node fail",
        ReplacementGates,
        "of",
        classmethod(lambda cls, gates: cls(on_taints=False)),
        ("a node is tainted and its pods stop",),
    ),
    Mutation(
        "who gets no other node goes",
        Cache,
        "evicts_without_replacement",
        property(always(False)),
        ("a node is not ready, its pods stop, and there is no other",),
    ),
)
