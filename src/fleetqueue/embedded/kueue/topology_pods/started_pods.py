"""The pods that Kueue has started, by the Workload that they are of.

Mirrors: Kueue pkg/controller/core/indexer (IndexPodWorkloadSliceName)
"""

from collections.abc import Iterable, Mapping
from typing import Final

from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.meta import key_of
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.kueue import names
from fleetqueue.rules.workload_slices import SLICE_NAME, slice_name
from fleetqueue.runtime.cluster import Cluster

STARTED: Final = names.POD_SET
"""The pods whose templates Kueue has written into, by a label."""
BY_WORKLOAD: Final = "workload"


class StartedPods:
    def __init__(self, hub: Cluster) -> None:
        self.store = hub.informer(Pod, labels=STARTED).store
        self.store.add_index(BY_WORKLOAD, _workload_of)

    def of(self, workload: Manifest) -> list[Manifest]:
        """Return the pods of a Workload, and of the slices before it, in the order of their names."""
        key = key_of(workload["metadata"]["namespace"], slice_name(workload))
        views = sorted(self.store.by_index(BY_WORKLOAD, key), key=lambda pod: pod.name)
        return [raw for view in views if (raw := self.store.raw(view.key)) is not None]


def by_pod_set(pods: Iterable[Manifest]) -> Mapping[str, list[Manifest]]:
    sets: dict[str, list[Manifest]] = {}
    for pod in pods:
        sets.setdefault(pod["metadata"]["labels"][STARTED], []).append(pod)
    return sets


def _workload_of(pod: Pod) -> Iterable[str]:
    annotations = pod.metadata.annotations
    name = annotations.get(SLICE_NAME) or annotations.get(names.WORKLOAD)
    return [key_of(pod.namespace, name)] if name else []
