"""The YAML form of a topology scenario: that of `kueue_queues`, and what the pods of a Workload may be put on.

    levels: [block, rack, host]                     # of the Topology `default`
    topologies: {default: null, flat: [host]}       # where there are others
    nodes:                                          # by default with 4 cpus, 16Gi and 110 pods, ready, for `default`
      x1: {at: b1/r1, cpu: 8, memory: 1Gi, gpu: 1, pods: 2}
      x2: {at: b1/r2, pool: other, ready: false, cordoned: true, labels: {disk: ssd}, taints: [{key: k, effect: _}]}
    flavors:                                        # by default one: `default`, of the nodes of its name
      other: {topology: default, pool: other, tolerations: [...], taints: [...]}
      plain: {topology: null}                       # one without a topology
    pods: {p: {node: x1, cpu: 2, phase: Succeeded}} # that are not Kueue's
    arrive:                                         # one of the first three, of a pod set or of the only one
      - a: {cpu: 1, count: 4, required: rack}
      - b: {cpu: 1, count: 4, preferred: block}
      - c: {cpu: 1, count: 4, unconstrained: true}
      - d: {cpu: 1, count: 8, preferred: block, slices: {rack: 4, host: 2}}      # from the widest to the narrowest
      - e: {sets: {driver: {cpu: 1, required: rack, group: g}, worker: {cpu: 1, count: 3, required: rack, group: g}}}

Names of nodes, blocks and racks get the prefix of the scenario, so that all scenarios stand side by side.
"""

from collections.abc import Iterable, Iterator
from typing import Any, ClassVar

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.core_v1 import Node, Pod, ServiceAccount
from fleetqueue.api.kueue_topology import Topology
from fleetqueue.api.scheme import Manifest

from ..kueue_queues import form as queues  # noqa: TID252 - what the rooms share stands above them
from ..world import Described  # noqa: TID252

HOST = "kubernetes.io/hostname"
LEVELS = {
    "zone": "topology.kubernetes.io/zone",
    "block": "cloud.provider.com/topology-block",
    "rack": "cloud.provider.com/topology-rack",
    "host": HOST,
}
"""What levels are called in scenarios; other names stand for themselves."""
POOL = "cloud.provider.com/node-group"
"""The label by which a flavor knows its nodes."""
ROOM = {"cpu": 4, "memory": "16Gi", "pods": 110}
"""What a node has that says nothing else."""
PLACED = ("required", "preferred", "unconstrained", "slices", "group")
"""What is said of a pod set about its place."""
OF_NODE = ("at", "pool", "labels", "taints", "ready", "cordoned")
"""What is said of a node that is no resource."""
ACCOUNT = "pods"
"""The ServiceAccount of pods; no other is sure to be there."""
MOMENT = "2026-01-01T00:00:00Z"


class Maker(queues.Maker):
    kinds: ClassVar = (*queues.KINDS, "topologies", "levels", "nodes", "pods")
    at_first: ClassVar[Described] = {
        "flavors": {"default": {}},
        "workloads": {},
        "levels": ["block", "rack", "host"],
        "topologies": {"default": []},
        "nodes": {},
        "pods": {},
    }

    def further(self) -> Iterable[tuple[Any, Manifest]]:
        return [*self._topologies(), *self._nodes(), *self._pods()]

    def _pod_set(self, name: str, said: Described) -> Manifest:
        made = super()._pod_set(name, {key: value for key, value in said.items() if key not in PLACED})
        request = topology_request(said)
        return {**made, "topologyRequest": request} if request else made

    def _flavors(self) -> Iterator[tuple[Any, Manifest]]:
        for name, said in self.state["flavors"].items():
            topology = said.get("topology", "default")
            spec: Manifest = {"nodeLabels": {POOL: self.prefix + said.get("pool", name)}}
            if topology:
                spec["topologyName"] = self.prefix + topology
            words = {"tolerations": "tolerations", "taints": "nodeTaints"}
            spec |= {field: said[word] for word, field in words.items() if word in said}
            yield kueue.ResourceFlavor, kueue.ResourceFlavor.manifest(self.prefix + name, spec=spec)

    def _topologies(self) -> Iterator[tuple[Any, Manifest]]:
        for name, levels in self.state["topologies"].items():
            spec = {"levels": [{"nodeLabel": _level(each)} for each in levels or self.state["levels"]]}
            yield Topology, Topology.manifest(self.prefix + name, spec=spec)

    def _nodes(self) -> Iterator[tuple[Any, Manifest]]:
        for name, said in self.state["nodes"].items():
            room = {**ROOM, **{key: value for key, value in said.items() if key not in OF_NODE}}
            amounts = {queues.GPU if key == "gpu" else key: str(value) for key, value in room.items()}
            spec = {"unschedulable": True} if said.get("cordoned") else {}
            if said.get("taints"):
                spec["taints"] = said["taints"]
            status = {"capacity": amounts, "allocatable": amounts, "conditions": [_readiness(said.get("ready", True))]}
            labels = self._node_labels(name, said)
            yield Node, Node.manifest(self.prefix + name, labels=labels, spec=spec, status=status)

    def _node_labels(self, name: str, said: Described) -> dict[str, str]:
        places = zip(self.state["levels"], said.get("at", "").split("/"), strict=False)
        above = {_level(level): self.prefix + place for level, place in places if place and level != "host"}
        pool = self.prefix + said.get("pool", "default")
        return {POOL: pool, HOST: self.prefix + name, **above, **said.get("labels", {})}

    def _pods(self) -> Iterator[tuple[Any, Manifest]]:
        namespace = queues.namespace(self.prefix)
        if self.state["pods"]:
            yield ServiceAccount, ServiceAccount.manifest(ACCOUNT, namespace)
        for name, said in self.state["pods"].items():
            requests = {key: str(value) for key, value in said.items() if key not in ("node", "phase")}
            spec = {
                "serviceAccountName": ACCOUNT,
                "automountServiceAccountToken": False,
                "nodeName": self.prefix + said["node"],
                "containers": [{"name": "c", "image": "i", "resources": {"requests": requests}}],
            }
            status = {"phase": said.get("phase", "Running")}
            yield Pod, Pod.manifest(self.prefix + name, namespace, spec=spec, status=status)


def topology_request(said: Described) -> Manifest:
    """Return what a pod set asks of a topology; nothing where it asks nothing."""
    request: Manifest = {word: _level(said[word]) for word in ("required", "preferred") if word in said}
    if "unconstrained" in said:
        request["unconstrained"] = said["unconstrained"]
    if "group" in said:
        request["podSetGroupName"] = said["group"]
    layers = [(_level(level), size) for level, size in said.get("slices", {}).items()]
    if len(layers) == 1:
        [(request["podSetSliceRequiredTopology"], request["podSetSliceSize"])] = layers
    elif layers:
        request["podsetSliceRequiredTopologyConstraints"] = [{"topology": at, "size": size} for at, size in layers]
    return request


def _level(name: str) -> str:
    return LEVELS.get(name, name)


def _readiness(is_ready: bool) -> Manifest:
    return {
        "type": "Ready",
        "status": str(is_ready),
        "reason": "ByTest",
        "message": "by test",
        "lastHeartbeatTime": MOMENT,
        "lastTransitionTime": MOMENT,
    }
