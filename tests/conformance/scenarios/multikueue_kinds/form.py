"""The form of these scenarios, which is that of `multikueue.form` with some words more.

name: a PyTorchJob ends
classes: {low: 1}                             # WorkloadPriorityClasses of every cluster
beside: [{...}]                               # more objects that every cluster has
steps:                                        # what is refused is part of what comes out
  - make: {hub: [{...}]}                      # objects of any kind
  - patch: {cluster1 pytorchjob a: {...}}     # an object of any kind
"""

from collections.abc import Iterator

from fleetqueue.api import job_kinds
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apps_v1 import StatefulSet
from fleetqueue.api.core_v1 import Pod
from fleetqueue.api.leaderworkerset_v1 import LeaderWorkerSet
from fleetqueue.api.meta import Object
from fleetqueue.api.priority_classes import WorkloadPriorityClass
from fleetqueue.api.scheme import Manifest

from ..kueue_integrations.form import Pipeline  # noqa: TID252
from ..multikueue import form  # noqa: TID252 - these scenarios are made of the same steps
from ..world import Described  # noqa: TID252

SENT: dict[str, type[Object]] = {
    kind.resource.kind.lower(): kind
    for kind in (
        job_kinds.PyTorchJob,
        job_kinds.TFJob,
        job_kinds.XGBoostJob,
        job_kinds.PaddleJob,
        job_kinds.JAXJob,
        job_kinds.MPIJob,
        job_kinds.RayCluster,
        job_kinds.RayJob,
        job_kinds.RayService,
        job_kinds.TrainJob,
        job_kinds.AppWrapper,
        Pod,
        StatefulSet,
        LeaderWorkerSet,
        Pipeline,
    )
}
"""The kinds that are sent, by the words that stand for them."""
KINDS = {**form.KINDS, **SENT}


def connections(kubeconfigs: dict[str, str]) -> Iterator[Manifest]:
    """Return what connects the hub with its workers; all scenarios share it, since it is not what they are about."""
    for name in form.WORKERS:
        secret = form.source(name, "good", "", kubeconfigs)
        assert secret is not None
        yield secret
        source = {"kubeConfig": {"location": name, "locationType": "Secret"}}
        yield kueue.MultiKueueCluster.manifest(name, spec={"clusterSource": source})


def surroundings(said: Described, prefix: str) -> Iterator[tuple[str, Manifest]]:
    """Return what is there before the first step, and on which cluster."""
    for where, manifest in form.surroundings({**said, "clusters": {}}, prefix, {}):
        if manifest["kind"] == kueue.MultiKueueConfig.resource.kind:
            manifest["spec"]["clusters"] = [*form.WORKERS]
        yield where, manifest
    for where in ("hub", *form.WORKERS):
        for name, value in said.get("classes", {}).items():
            yield where, WorkloadPriorityClass.manifest(prefix + name, value=value)
        for manifest in said.get("beside", ()):
            yield where, placed(manifest, prefix)


def placed(manifest: Manifest, prefix: str) -> Manifest:
    """Return an object in the namespace of its scenario."""
    return {**manifest, "metadata": {**manifest["metadata"], "namespace": form.namespace(prefix)}}
