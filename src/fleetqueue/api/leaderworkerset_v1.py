"""LeaderWorkerSet: groups of pods, each of a leader and its workers."""

from typing import ClassVar, Final

from fleetqueue.api.meta import Object, View
from fleetqueue.api.scheme import Resource

DOMAIN: Final = "leaderworkerset.sigs.k8s.io"
SET_NAME: Final = f"{DOMAIN}/name"
GROUP_INDEX: Final = f"{DOMAIN}/group-index"
GROUP_KEY: Final = f"{DOMAIN}/group-key"
WORKER_INDEX: Final = f"{DOMAIN}/worker-index"
REVISION: Final = f"{DOMAIN}/template-revision-hash"
"""Labels of pods and StatefulSets."""
SIZE: Final = f"{DOMAIN}/size"
LEADER_NAME: Final = f"{DOMAIN}/leader-name"
"""Annotations of pods; only workers know their leader."""
REPLICAS: Final = f"{DOMAIN}/replicas"
"""An annotation of the leaders' StatefulSet."""


class LeaderWorkerSetSpec(View):
    replicas: int = 1


class LeaderWorkerSet(Object):
    resource: ClassVar = Resource("leaderworkerset.x-k8s.io", "v1", "LeaderWorkerSet", "leaderworkersets")

    spec: LeaderWorkerSetSpec = LeaderWorkerSetSpec()
