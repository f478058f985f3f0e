"""Jobs whose pods are placed on nodes by topology, in two queues that share fairly, while faults happen.

Each worker has four nodes in two racks for them. The two queues are a cohort: each borrows what the other leaves, and
who has less takes it back. The same queues on the hub lead to the workers by the checks of the second story.
"""

import random
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import NamedTuple

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import Node
from fleetqueue.api.kueue_topology import HOSTNAME, Topology
from fleetqueue.api.quantity import Amounts, add, parse
from fleetqueue.api.scheme import Manifest
from fleetqueue.api.taints import NO_EXECUTE, NOT_READY, UNREACHABLE
from fleetqueue.api.topology_names import PREFERRED, REQUIRED, SLICE_REQUIRED, SLICE_SIZE, UNCONSTRAINED
from fleetqueue.rules.run_times import RUN_FOR

RACK = "example.com/rack"
POOL = {"example.com/pool": "racks"}
COHORT = "fair"
QUEUES = ("fair-a", "fair-b")
CPUS = 2
"""Of a node."""
RACKS = {"x11": "r1", "x12": "r1", "x21": "r2", "x22": "r2"}
"""The rack of each node of a worker."""
QUOTA = CPUS * len(RACKS) // len(QUEUES)
"""The cpus of each queue of a worker."""
WORKERS = 2
"""So many workers the hub's queues are made for: those that the second story selects at first."""
SHARING = "fairSharing:\n  preemptionStrategies: [LessThanOrEqualToFinalShare, LessThanInitialShare]\n"
"""What the configuration of every Kueue says more."""
CHECKS = {"admissionChecks": [{"name": "multikueue-demo2"}, {"name": "placement-demo2"}]}
IN_PAIRS = {SLICE_REQUIRED: HOSTNAME, SLICE_SIZE: "2"}
TAINT = {"key": "example.com/racks", "effect": "NoSchedule"}
"""Keeps all others off these nodes: the flavor tolerates it."""
SOON = [
    {"key": key, "operator": "Exists", "effect": NO_EXECUTE, "tolerationSeconds": 10}
    for key in (NOT_READY, UNREACHABLE)
]
"""Lets pods leave a node that is not ready; others stay there for five minutes."""


class Ask(NamedTuple):
    """What a job asks of the topology, and how many pods of one cpu it has."""

    annotations: Mapping[str, str]
    pods: int


ASKS = (
    Ask({REQUIRED: HOSTNAME}, 2),
    Ask({REQUIRED: RACK}, 3),
    Ask({REQUIRED: RACK}, 4),
    Ask({PREFERRED: RACK}, 5),
    Ask({UNCONSTRAINED: "true"}, 3),
    Ask({PREFERRED: RACK, **IN_PAIRS}, 4),
    Ask({}, 1),
)


def of_hub() -> list[Manifest]:
    return [*_queues(QUOTA * WORKERS, admissionChecksStrategy=CHECKS)]


def of_worker(worker: str) -> list[Manifest]:
    return [*nodes(worker), *_queues(QUOTA)]


def nodes(worker: str) -> Iterator[Manifest]:
    room = {"cpu": str(CPUS), "memory": "16Gi", "pods": "110"}
    for name, rack in RACKS.items():
        labels, status = {HOSTNAME: f"{worker}-{name}", RACK: rack, **POOL}, {"capacity": room, "allocatable": room}
        yield Node.manifest(f"{worker}-{name}", labels=labels, spec={"taints": [TAINT]}, status=status)


def some_job(name: str, seconds: int, chance: random.Random) -> Manifest:
    ask = chance.choice(ASKS)
    tolerations = chance.choice([SOON, SOON, []])
    return job(name, seconds, chance.choice(QUEUES), ask, tolerations)


def job(name: str, seconds: int, queue: str, ask: Ask, tolerations: Sequence[Manifest] = ()) -> Manifest:
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    template = {
        "metadata": {"annotations": {RUN_FOR: f"{seconds}s", **ask.annotations}},
        "spec": {"containers": [container], "restartPolicy": "Never", "tolerations": [*tolerations]},
    }
    spec = {"parallelism": ask.pods, "completions": ask.pods, "suspend": True, "template": template}
    return Job.manifest(name, "default", labels={kueue.QUEUE_LABEL: queue}, spec=spec)


def overcommitted(workloads: Sequence[Manifest], quota: int) -> Iterator[str]:
    """Say of which nodes, and of the cohort, Workloads hold more than there is."""
    held = [view for view in map(kueue.Workload.view, workloads) if _is_held(view)]
    on_nodes = add(_on_nodes(part) for view in held for part in _parts(view))
    yield from (
        f"{name} has {CPUS} cpus, of which {cpus} are assigned" for name, cpus in on_nodes.items() if cpus > CPUS
    )
    total = sum(_cpus(view, part) for view in held for part in _parts(view))
    if total > quota * len(QUEUES):
        yield f"cohort {COHORT} has {quota * len(QUEUES)} cpus, of which {total} are reserved"


def _is_held(view: kueue.Workload) -> bool:
    """Tell whether a Workload is one of ours, and holds what it was given."""
    admission = view.status.admission
    is_ours = admission is not None and admission.cluster_queue in QUEUES
    return is_ours and view.is_true(kueue.QUOTA_RESERVED) and view.is_live


def _cpus(view: kueue.Workload, part: kueue.PodSetAssignment) -> Decimal:
    """Return the quota that a pod set holds: pods that will not come again have given theirs back, not their nodes."""
    gone = next((pods.count for pods in view.status.reclaimable_pods if pods.name == part.name), 0)
    return parse(part.resource_usage["cpu"]) * (part.count - gone) / part.count


def _parts(view: kueue.Workload) -> Sequence[kueue.PodSetAssignment]:
    return view.status.admission.pod_set_assignments if view.status.admission is not None else ()


def _on_nodes(part: kueue.PodSetAssignment) -> Amounts:
    """Return the cpus that a pod set was assigned on each node."""
    domains = part.topology_assignment.domains if part.topology_assignment is not None else ()
    pods = Counter(domain.values[-1] for domain in domains for _ in range(domain.pods))
    return {node: parse(part.resource_usage["cpu"]) * count / pods.total() for node, count in pods.items()}


def _queues(quota: int, **more: object) -> Iterator[Manifest]:
    levels = [{"nodeLabel": RACK}, {"nodeLabel": HOSTNAME}]
    yield Topology.manifest("racks", spec={"levels": levels})
    tolerations = [{"key": TAINT["key"], "operator": "Exists"}]
    flavor = {"nodeLabels": POOL, "topologyName": "racks", "tolerations": tolerations}
    yield kueue.ResourceFlavor.manifest("racks", spec=flavor)
    group = {
        "coveredResources": ["cpu"],
        "flavors": [{"name": "racks", "resources": [{"name": "cpu", "nominalQuota": quota}]}],
    }
    for weight, name in enumerate(QUEUES, start=1):
        spec = {
            "cohortName": COHORT,
            "namespaceSelector": {},
            "resourceGroups": [group],
            "preemption": {"reclaimWithinCohort": "Any", "withinClusterQueue": "LowerPriority"},
            "fairSharing": {"weight": weight},
            **more,
        }
        yield kueue.ClusterQueue.manifest(name, spec=spec)
        yield kueue.LocalQueue.manifest(name, "default", spec={"clusterQueue": name})
