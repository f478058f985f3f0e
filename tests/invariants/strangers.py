"""Objects of somebody else, with names and labels close to ours: nobody has any business with them.

Some are of kinds whose status Kueue or OCM rightly keep, whoever wrote them: of those only status and finalizers may
change. A cluster gets those whose kind and namespace it has.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.addon_v1alpha1 import ClusterManagementAddOn
from fleetqueue.api.batch_v1 import Job
from fleetqueue.api.core_v1 import ConfigMap, ServiceAccount, secret
from fleetqueue.api.inventory_v1alpha1 import ClusterProfile
from fleetqueue.api.meta import Object, key_of
from fleetqueue.api.scheme import Manifest, Resource
from fleetqueue.client import Client
from fleetqueue.testing.arranged_objects import resource_of
from fleetqueue.testing.builders import pod_template

NAME: Final = "stranger"
ORIGIN: Final = {kueue.ORIGIN_LABEL: "somebody-else"}
LABELS: Final = {"app.kubernetes.io/managed-by": "somebody-else"}
NAMESPACES: Final = ("default", "kueue-system", "fleetqueue-system")
KEPT: Final = ("status", "resourceVersion", "managedFields", "finalizers")
"""What Kueue or OCM may write into an object of anybody; of finalizers, only their own."""
KEEPERS: Final = ("kueue.x-k8s.io/", "cluster.open-cluster-management.io/")


@dataclass(frozen=True)
class Stranger:
    manifest: Manifest
    is_kept: bool = False
    """Whether its status is rightly kept by Kueue or OCM."""

    @property
    def resource(self) -> Resource:
        return resource_of(self.manifest)

    @property
    def name(self) -> str:
        return str(self.manifest["metadata"]["name"])

    @property
    def namespace(self) -> str:
        return str(self.manifest["metadata"].get("namespace", ""))

    def __str__(self) -> str:
        return f"{self.resource.kind} {key_of(self.namespace, self.name)}"

    def touched(self, before: Manifest, now: Manifest | None) -> str:
        """Say how somebody touched it; nothing where nobody did."""
        if now is None or now["metadata"]["uid"] != before["metadata"]["uid"]:
            return f"{self} was deleted"
        if now["metadata"]["resourceVersion"] == before["metadata"]["resourceVersion"]:
            return ""
        if self.is_kept and body(now) == body(before):
            return ""
        managers = sorted({entry["manager"] for entry in now["metadata"].get("managedFields", ())})
        return f"{self} was changed by one of {', '.join(managers)}: {body(before)} became {body(now)}"


def body(manifest: Manifest) -> Manifest:
    """Return what belongs to whoever wrote an object."""
    metadata = {name: value for name, value in manifest["metadata"].items() if name not in KEPT}
    metadata["finalizers"] = [f for f in manifest["metadata"].get("finalizers", ()) if not f.startswith(KEEPERS)]
    return {**{part: value for part, value in manifest.items() if part not in KEPT}, "metadata": metadata}


def of_kubernetes() -> Iterable[Stranger]:
    for namespace in NAMESPACES:
        yield Stranger(ConfigMap.manifest(f"fleetqueue-{NAME}", namespace, data={"theirs": "true"}))
        yield Stranger(secret(f"kueue-admin-{NAME}-kubeconfig", namespace, {"kubeconfig": "theirs"}))
        yield Stranger(ServiceAccount.manifest(f"kueue-admin-{NAME}", namespace, labels=LABELS))
    spec = {"suspend": True, "managedBy": f"example.com/{NAME}", "template": pod_template()}
    yield Stranger(Job.manifest(NAME, "kueue-system", labels=ORIGIN, spec=spec))


def of_kueue() -> Iterable[Stranger]:
    check = {"controllerName": f"example.com/{NAME}"}
    yield Stranger(kueue.AdmissionCheck.manifest(f"placement-{NAME}", spec=check), is_kept=True)
    yield Stranger(kueue.MultiKueueConfig.manifest(f"placement-{NAME}", spec={"clusters": [NAME]}))
    source = {"kubeConfig": {"location": f"kueue-admin-{NAME}-kubeconfig", "locationType": "Secret"}}
    yield Stranger(kueue.MultiKueueCluster.manifest(NAME, spec={"clusterSource": source}), is_kept=True)
    yield Stranger(kueue.ResourceFlavor.manifest(NAME, spec={}), is_kept=True)
    yield Stranger(kueue.ClusterQueue.manifest(NAME, spec={"namespaceSelector": {}}), is_kept=True)
    pods = [{"name": "main", "count": 1, "template": pod_template()}]
    workload = kueue.Workload.manifest(f"job-{NAME}", "default", labels=ORIGIN, spec={"active": False, "podSets": pods})
    yield Stranger(workload, is_kept=True)


def of_ocm() -> Iterable[Stranger]:
    yield Stranger(cluster.Placement.manifest(f"placement-{NAME}", "default", spec={}), is_kept=True)
    yield Stranger(cluster.ManagedClusterSet.manifest(NAME, spec={}), is_kept=True)
    yield Stranger(ClusterManagementAddOn.manifest(NAME, spec={}), is_kept=True)
    score = {"scores": [{"name": "gpuClusterAvailable", "value": 1}]}
    yield Stranger(cluster.AddOnPlacementScore.manifest(NAME, "default", status=score))
    manager = {"displayName": NAME, "clusterManager": {"name": NAME}}
    yield Stranger(ClusterProfile.manifest(NAME, "default", labels=LABELS, spec=manager))


def everybody() -> list[Stranger]:
    return [*of_kubernetes(), *of_kueue(), *of_ocm()]


class Strangers:
    """The strangers of some clusters, each by its cluster's name."""

    def __init__(self, clients: Mapping[str, Client], *more: Stranger, without: Sequence[type[Object]] = ()) -> None:
        """Take more that are there already, such as what a person wrote by hand, and kinds that a test counts."""
        self._clients = clients
        left_out = [kind.resource for kind in without]
        self._all = [one for one in (*everybody(), *more) if one.resource not in left_out]
        self._known: list[tuple[str, Stranger, Manifest]] = []

    async def arrive(self) -> None:
        for name, client in self._clients.items():
            for stranger in self._all:
                try:
                    made = await client.create(stranger.resource, stranger.manifest)
                except (errors.NotFound, errors.Forbidden):
                    continue  # no such kind, or no such namespace
                except errors.AlreadyExists:
                    continue  # somebody else has put it there, and looks after it
                self._known.append((name, stranger, made))

    async def remember(self) -> None:
        """Take note of those who are there already."""
        for name in self._clients:
            for stranger in self._all:
                found = await self._find(name, stranger)
                if found is not None:
                    self._known.append((name, stranger, found))

    async def touched(self) -> list[str]:
        """Say of every one whom somebody touched what happened to it."""
        assert self._known, "nobody has arrived"
        said = [
            (name, stranger.touched(before, await self._find(name, stranger))) for name, stranger, before in self._known
        ]
        return [f"on {name}, {what}" for name, what in said if what]

    async def _find(self, name: str, stranger: Stranger) -> dict[str, Any] | None:
        try:
            return await self._clients[name].get(stranger.resource, stranger.name, stranger.namespace)
        except errors.NotFound:
            return None
