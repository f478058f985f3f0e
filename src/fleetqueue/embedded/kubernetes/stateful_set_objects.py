"""StatefulSets as their controller sees them, and the pods that it makes of them."""

import re
from datetime import datetime
from typing import Any, ClassVar, Final

import msgspec

from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.meta import Object, View
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.api.selectors import LabelSelector
from fleetqueue.embedded.kubernetes.controller_revisions import POD_REVISION
from fleetqueue.embedded.kubernetes.pods import from_template, is_available

POD_NAME: Final = "statefulset.kubernetes.io/pod-name"
POD_INDEX: Final = "apps.kubernetes.io/pod-index"
RETAIN: Final = "Retain"
ORDINAL: Final = re.compile(r"(.*)-([0-9]+)", re.DOTALL)
LARGEST: Final = 2**31 - 1


class Ordinals(View):
    start: int = 0


class StatefulRollingUpdate(View):
    partition: int = 0
    """Ordinals below it, counted from the first one, keep the revision that they have."""


class StatefulSetStrategy(View):
    type: str = "RollingUpdate"
    rolling_update: StatefulRollingUpdate | None = None


class ClaimRetention(View):
    when_deleted: str = RETAIN
    when_scaled: str = RETAIN

    @property
    def keeps_all(self) -> bool:
        return self.when_deleted == self.when_scaled == RETAIN


class StatefulSetSpec(View):
    replicas: int = 1
    service_name: str = ""
    min_ready_seconds: int = 0
    revision_history_limit: int = 10
    pod_management_policy: str = "OrderedReady"
    ordinals: Ordinals = Ordinals()
    update_strategy: StatefulSetStrategy = StatefulSetStrategy()
    persistent_volume_claim_retention_policy: ClaimRetention = ClaimRetention()
    selector: LabelSelector = LabelSelector()
    template: dict[str, Any] = msgspec.field(default_factory=dict)
    volume_claim_templates: tuple[dict[str, Any], ...] = ()


class StatefulSetStatus(View):
    current_replicas: int = 0
    current_revision: str = ""
    collision_count: int = 0


class StatefulSet(Object):
    resource: ClassVar = Resource("apps", "v1", "StatefulSet", "statefulsets")

    spec: StatefulSetSpec = StatefulSetSpec()
    status: StatefulSetStatus = StatefulSetStatus()

    @property
    def is_ordered(self) -> bool:
        """Whether its pods come and go one after the other."""
        return self.spec.pod_management_policy != "Parallel"

    @property
    def rolls(self) -> bool:
        return self.spec.update_strategy.type == "RollingUpdate"

    @property
    def retention(self) -> ClaimRetention:
        return self.spec.persistent_volume_claim_retention_policy

    @property
    def ordinals(self) -> range:
        start = self.spec.ordinals.start
        return range(start, start + self.spec.replicas)

    @property
    def partition(self) -> int:
        """Below which ordinal, counted from the first one, pods are not updated."""
        rolling = self.spec.update_strategy.rolling_update
        return rolling.partition if rolling is not None else 0

    def keeps_revision(self, ordinal: int) -> bool:
        """Tell whether a new pod of an ordinal gets the revision from before an update."""
        rolling = self.spec.update_strategy.rolling_update
        kept = self.status.current_replicas if rolling is None and self.rolls else self.partition
        return ordinal - self.spec.ordinals.start < kept

    def pod_name(self, ordinal: int) -> str:
        return f"{self.name}-{ordinal}"

    def ordinal_of(self, pod: Pod) -> int | None:
        """Return the ordinal of a pod; None where its name is not one that this set gives."""
        match = ORDINAL.fullmatch(pod.name)
        if match is None or match[1] != self.name or int(match[2]) > LARGEST:
            return None
        return int(match[2])

    def has_available(self, pod: Pod, now: datetime) -> bool:
        return is_available(pod, self.spec.min_ready_seconds, now)


def revision_of(pod: Pod) -> str:
    return pod.metadata.labels.get(POD_REVISION, "")


def is_running_and_ready(pod: Pod) -> bool:
    return pod.status.phase == "Running" and pod.is_ready


def identity(name: str, ordinal: int) -> dict[str, str]:
    """Return the labels by which a pod is known to be the one of an ordinal."""
    return {POD_NAME: name, POD_INDEX: str(ordinal)}


def claim_name(stateful_set: StatefulSet, template: Manifest, ordinal: int) -> str:
    return f"{template['metadata']['name']}-{stateful_set.pod_name(ordinal)}"


def claim_manifests(stateful_set: StatefulSet, ordinal: int) -> list[Manifest]:
    """Build the claims of a pod, of the set's templates."""
    return [_claim(stateful_set, template, ordinal) for template in stateful_set.spec.volume_claim_templates]


def _claim(stateful_set: StatefulSet, template: Manifest, ordinal: int) -> Manifest:
    given = template["metadata"]
    labels = {**(given.get("labels") or {}), **stateful_set.spec.selector.match_labels}
    metadata = {
        **given,
        "name": claim_name(stateful_set, template, ordinal),
        "namespace": stateful_set.namespace,
        "labels": labels,
    }
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata, "spec": template["spec"]}


def pod_manifest(stateful_set: StatefulSet, template: Manifest, revision: str, ordinal: int) -> Manifest:
    """Build the pod of an ordinal, of a template that the set has or had."""
    name = stateful_set.pod_name(ordinal)
    manifest = from_template(stateful_set, template, name, f"{stateful_set.name}-")
    metadata, spec = manifest["metadata"], dict(manifest["spec"])
    metadata["labels"] = {**(metadata.get("labels") or {}), **identity(name, ordinal), POD_REVISION: revision}
    spec |= {"hostname": name, "subdomain": stateful_set.spec.service_name}
    if stateful_set.spec.volume_claim_templates:
        spec["volumes"] = _volumes(stateful_set, spec, ordinal)
    return {**manifest, "spec": spec}


def _volumes(stateful_set: StatefulSet, spec: Manifest, ordinal: int) -> list[Manifest]:
    """Return the volumes of a pod: its claims, and those of its template with other names."""
    claims = {
        template["metadata"]["name"]: claim_name(stateful_set, template, ordinal)
        for template in stateful_set.spec.volume_claim_templates
    }
    mounted = [{"name": name, "persistentVolumeClaim": {"claimName": claim}} for name, claim in claims.items()]
    return [*mounted, *(volume for volume in spec.get("volumes") or () if volume["name"] not in claims)]
