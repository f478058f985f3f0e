"""DaemonSets as their controller sees them, and the pods that it makes of them."""

from typing import Any, ClassVar, Final

import msgspec

from fleetqueue.api.core_v1 import Node, Pod
from fleetqueue.api.meta import Object, View
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.api.selectors import LabelSelector
from fleetqueue.api.taints import NO_EXECUTE, NO_SCHEDULE, NOT_READY, UNREACHABLE, UNSCHEDULABLE, is_tolerated
from fleetqueue.embedded.kubernetes.controller_revisions import POD_REVISION
from fleetqueue.embedded.kubernetes.deployment_objects import part_of
from fleetqueue.embedded.kubernetes.pods import from_template
from fleetqueue.rules.node_affinity import is_chosen, required_terms

TEMPLATE_GENERATION: Final = "deprecated.daemonset.template.generation"
POD_GENERATION: Final = "pod-template-generation"
TOLERATED: Final = (
    (NOT_READY, NO_EXECUTE),
    (UNREACHABLE, NO_EXECUTE),
    ("node.kubernetes.io/disk-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/memory-pressure", NO_SCHEDULE),
    ("node.kubernetes.io/pid-pressure", NO_SCHEDULE),
    (UNSCHEDULABLE, NO_SCHEDULE),
)
"""What a pod of a DaemonSet puts up with in any case: taints that nodes get by themselves."""
NO_NETWORK: Final = ("node.kubernetes.io/network-unavailable", NO_SCHEDULE)
"""What one in the node's own network puts up with, too."""
NAME_FIELD: Final = "metadata.name"


class DaemonRollingUpdate(View):
    max_unavailable: int | str = 1
    max_surge: int | str = 0


class DaemonSetStrategy(View):
    type: str = "RollingUpdate"
    rolling_update: DaemonRollingUpdate = DaemonRollingUpdate(max_unavailable=0)


class DaemonSetSpec(View):
    min_ready_seconds: int = 0
    revision_history_limit: int = 10
    update_strategy: DaemonSetStrategy = DaemonSetStrategy()
    selector: LabelSelector = LabelSelector()
    template: dict[str, Any] = msgspec.field(default_factory=dict)


class DaemonSetStatus(View):
    observed_generation: int = 0
    collision_count: int | None = None


class DaemonSet(Object):
    resource: ClassVar = Resource("apps", "v1", "DaemonSet", "daemonsets")

    spec: DaemonSetSpec = DaemonSetSpec()
    status: DaemonSetStatus = DaemonSetStatus()

    @property
    def rolls(self) -> bool:
        return self.spec.update_strategy.type == "RollingUpdate"

    @property
    def surges(self) -> bool:
        """Whether a node may have a new pod beside its old one."""
        return self.max_surge(1) > 0

    @property
    def generation_mark(self) -> str:
        """Counts its templates, in an annotation of old; empty where that is no number."""
        text = self.metadata.annotations.get(TEMPLATE_GENERATION, "")
        return str(int(text)) if text.isdecimal() else ""

    def max_surge(self, nodes: int) -> int:
        rolling = self.spec.update_strategy.rolling_update
        return part_of(rolling.max_surge, nodes, up=True) if self.rolls else 0

    def max_unavailable(self, nodes: int) -> int:
        """How many nodes may be without a pod; where neither that nor a surge were allowed, nothing could ever move."""
        count = part_of(self.spec.update_strategy.rolling_update.max_unavailable, nodes, up=True)
        return 1 if nodes and not count and not self.max_surge(nodes) else count

    def is_updated(self, pod: Pod, mark: str) -> bool:
        """Tell whether a pod is of the present template."""
        labels = pod.metadata.labels
        by_generation = bool(self.generation_mark) and labels.get(POD_GENERATION) == self.generation_mark
        return by_generation or labels.get(POD_REVISION) == mark


class DaemonPlaces:
    """Where the pods of a DaemonSet may be."""

    def __init__(self, daemon_set: DaemonSet) -> None:
        spec = daemon_set.spec.template.get("spec") or {}
        self._pod = Pod.view({"metadata": {}, "spec": {**spec, "tolerations": tolerations(spec)}})

    def wants(self, node: Node) -> bool:
        """Tell whether a node shall have a pod."""
        return self._is_meant(node) and self._tolerates(node, NO_SCHEDULE, NO_EXECUTE)

    def keeps(self, node: Node) -> bool:
        """Tell whether a pod that a node has may stay."""
        return self._is_meant(node) and self._tolerates(node, NO_EXECUTE)

    def _is_meant(self, node: Node) -> bool:
        return self._pod.spec.node_name in ("", node.name) and is_chosen(self._pod, node)

    def _tolerates(self, node: Node, *effects: str) -> bool:
        taints = (taint for taint in node.spec.taints if taint.effect in effects)
        return all(is_tolerated(taint, self._pod.spec.tolerations) for taint in taints)


def target_node(pod: Pod) -> str:
    """Return the node that a pod has, or was made for; empty where neither is known."""
    if pod.spec.node_name:
        return pod.spec.node_name
    fields = [field for term in required_terms(pod) or () for field in term.match_fields]
    named = [field.values for field in fields if field.key == NAME_FIELD and field.operator == "In"]
    return named[0][0] if named and len(named[0]) == 1 else ""


def tolerations(spec: Manifest) -> list[Manifest]:
    """Return what the pods of a template tolerate; where it says the same for a limited time, that is left out."""
    found = list(spec.get("tolerations") or ())
    for key, effect in (*TOLERATED, *((NO_NETWORK,) if spec.get("hostNetwork") else ())):
        ours = {"key": key, "operator": "Exists", "effect": effect}
        if any(_is_alike(one, ours) for one in found):
            found = [ours if _is_alike(one, ours) else one for one in found]
        else:
            found.append(ours)
    return found


def _is_alike(one: Manifest, other: Manifest) -> bool:
    return {field: value for field, value in one.items() if field != "tolerationSeconds" and value} == other


def pod_manifest(daemon_set: DaemonSet, mark: str, node: str, name: str, prefix: str) -> Manifest:
    """Build the pod of a node: the scheduler puts it there, since it may run nowhere else."""
    manifest = from_template(daemon_set, daemon_set.spec.template, name, prefix)
    metadata, spec = manifest["metadata"], manifest["spec"]
    generation = {POD_GENERATION: daemon_set.generation_mark} if daemon_set.generation_mark else {}
    metadata["labels"] = {**(metadata.get("labels") or {}), **generation, POD_REVISION: mark}
    return {**manifest, "spec": {**spec, "tolerations": tolerations(spec), "affinity": _affinity(spec, node)}}


def _affinity(spec: Manifest, node: str) -> Manifest:
    affinity = spec.get("affinity") or {}
    of_nodes = affinity.get("nodeAffinity") or {}
    term = {"matchFields": [{"key": NAME_FIELD, "operator": "In", "values": [node]}]}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}
    return {**affinity, "nodeAffinity": {**of_nodes, **required}}
