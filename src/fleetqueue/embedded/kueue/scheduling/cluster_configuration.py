"""What the owners of a cluster have set up: ClusterQueues, flavors, checks, and the namespaces that may queue.

Whoever changes something here is told which ClusterQueues that concerns.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.kueue_topology import Topology
from fleetqueue.api.quantity import Quantity
from fleetqueue.embedded.kueue.scheduling.pod_template_adjustments import Summary
from fleetqueue.embedded.kueue.scheduling.queue_topology import QueueTopology
from fleetqueue.embedded.kueue.scheduling.queue_usage import InactiveReason
from fleetqueue.embedded.kueue.scheduling.readiness import is_multikueue, problems, provisioned_flavors
from fleetqueue.embedded.kueue.topology.topologies import Topologies

UNKNOWN = kueue.ClusterQueueSpec()


class ClusterConfiguration:
    def __init__(self, topologies: Topologies) -> None:
        self.topologies = topologies
        self.queues: dict[str, kueue.ClusterQueue] = {}
        self.flavors: dict[str, kueue.ResourceFlavor] = {}
        self.overheads: dict[str, Mapping[str, Quantity]] = {}
        """What each RuntimeClass adds to a pod."""
        self._checks: dict[str, kueue.AdmissionCheck] = {}
        self._namespaces: dict[str, Mapping[str, str]] = {}
        self._limits: dict[str, Summary] = {}
        self._problems: dict[str, Sequence[InactiveReason]] = {}

    def spec(self, name: str) -> kueue.ClusterQueueSpec:
        queue = self.queues.get(name)
        return queue.spec if queue is not None else UNKNOWN

    def problems(self, name: str) -> Sequence[InactiveReason]:
        return self._problems.get(name, ())

    def is_open(self, name: str) -> bool:
        """Tell whether a ClusterQueue may admit, as far as it is up to itself."""
        queue = self.queues.get(name)
        return queue is not None and not queue.is_deleting and not self.problems(name)

    def labels(self, namespace: str) -> Mapping[str, str] | None:
        return self._namespaces.get(namespace)

    def limits(self, namespace: str) -> Summary:
        return self._limits.get(namespace, {})

    def selects(self, name: str, namespace: str) -> bool:
        """Tell whether a ClusterQueue takes Workloads of a namespace."""
        labels, selector = self.labels(namespace), self.spec(name).namespace_selector
        return labels is not None and selector is not None and selector.matches(labels)

    def topology(self, name: str) -> QueueTopology:
        """Return what topologies mean for a ClusterQueue."""
        queue = self.queues.get(name)
        if queue is None:
            return QueueTopology()
        aware = [self.flavors[one].spec.topology_name if one in self.flavors else "" for one in queue.flavors]
        if aware and not any(aware):
            return QueueTopology()
        return QueueTopology(
            flavors={one: self.topologies[one] for one in queue.flavors if one in self.topologies},
            is_only=all(aware),  # also of a queue without flavors, which therefore admits nobody: so does Kueue's
            runs_elsewhere=is_multikueue(queue, self._checks.get),
            provisioned=provisioned_flavors(queue, self._checks.get),
        )

    def set_queue(self, queue: kueue.ClusterQueue) -> bool:
        """Take a ClusterQueue; return whether it now wants something else."""
        old = self.queues.get(queue.name)
        self.queues[queue.name] = queue
        self._judge(queue)
        return old is None or (old.spec, old.is_deleting) != (queue.spec, queue.is_deleting)

    def drop_queue(self, name: str) -> None:
        self.queues.pop(name, None)
        self._problems.pop(name, None)

    def set_flavor(self, flavor: kueue.ResourceFlavor) -> list[str]:
        self.flavors[flavor.name] = flavor
        self.topologies.set_flavor(flavor)
        return self._judge_those(lambda queue: flavor.name in queue.flavors)

    def drop_flavor(self, name: str) -> list[str]:
        self.flavors.pop(name, None)
        self.topologies.drop_flavor(name)
        return self._judge_those(lambda queue: name in queue.flavors)

    def set_topology(self, topology: Topology) -> list[str]:
        return self._judge_those_of(topology.name) if self.topologies.set_topology(topology) else []

    def drop_topology(self, name: str) -> list[str]:
        return self._judge_those_of(name) if self.topologies.drop_topology(name) else []

    def using(self, flavors: Iterable[str]) -> list[str]:
        """Return the ClusterQueues that have some of these flavors."""
        wanted = {*flavors}
        return [queue.name for queue in self.queues.values() if not wanted.isdisjoint(queue.flavors)]

    def set_check(self, check: kueue.AdmissionCheck) -> list[str]:
        old = self._checks.get(check.name)
        self._checks[check.name] = check
        if old is not None and old.is_active == check.is_active:
            return []
        return self._judge_those(lambda queue: check.name in queue.checks)

    def drop_check(self, name: str) -> list[str]:
        self._checks.pop(name, None)
        return self._judge_those(lambda queue: name in queue.checks)

    def set_namespace(self, name: str, labels: Mapping[str, str]) -> list[str]:
        old = self._namespaces.get(name)
        self._namespaces[name] = labels
        return [] if old == labels else [queue for queue in self.queues if self.selects(queue, name)]

    def drop_namespace(self, name: str) -> None:
        self._namespaces.pop(name, None)

    def set_limits(self, namespace: str, limits: Summary) -> None:
        self._limits[namespace] = limits

    def set_overhead(self, runtime_class: str, overhead: Mapping[str, Quantity] | None) -> None:
        if overhead is None:
            self.overheads.pop(runtime_class, None)
        else:
            self.overheads[runtime_class] = overhead

    def _judge_those(self, concerns: Callable[[kueue.ClusterQueue], bool]) -> list[str]:
        concerned = [queue for queue in self.queues.values() if concerns(queue)]
        for queue in concerned:
            self._judge(queue)
        return [queue.name for queue in concerned]

    def _judge_those_of(self, topology: str) -> list[str]:
        of_topology = {flavor.name for flavor in self.flavors.values() if flavor.spec.topology_name == topology}
        return self._judge_those(lambda queue: not of_topology.isdisjoint(queue.flavors))

    def _judge(self, queue: kueue.ClusterQueue) -> None:
        self._problems[queue.name] = problems(queue, self.flavors.get, self._checks.get, self.topologies.__contains__)
