"""What the hub serves: whether Kueue and Open Cluster Management are there, and what their versions can do."""

from dataclasses import dataclass, field
from typing import Any, Final

from fleetqueue.api import cluster_v1 as cluster
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.apiextensions_v1 import CustomResourceDefinition
from fleetqueue.api.meta import Object
from fleetqueue.client import Client
from fleetqueue.controllers.credentials.hub_apis import CredentialApis, discover
from fleetqueue.controllers.credentials.proofs import identity
from fleetqueue.runtime.logs import Log

OLD_LIMIT: Final = 10
"""How many clusters a MultiKueueConfig may list before Kueue 0.16; no Kueue refuses so many."""

NEEDED: Final[dict[str, tuple[type[Object], ...]]] = {
    "Kueue 0.15 or newer; see https://kueue.sigs.k8s.io/docs/installation": (
        kueue.AdmissionCheck,
        kueue.ClusterQueue,
        kueue.LocalQueue,
        kueue.MultiKueueCluster,
        kueue.MultiKueueConfig,
        kueue.Workload,
    ),
    "Open Cluster Management; see https://open-cluster-management.io/docs/getting-started": (
        cluster.ManagedCluster,
        cluster.Placement,
        cluster.PlacementDecision,
        cluster.AddOnPlacementScore,
    ),
}
"""What must be served, by what to install where it is not."""

log = Log("capabilities")


class NotInstalled(Exception):
    """The hub lacks what we work with; the text says what to install."""


@dataclass(frozen=True, slots=True)
class HubCapabilities:
    listed_clusters: int = OLD_LIMIT
    """How many clusters a MultiKueueConfig may list."""
    is_limit_read: bool = True
    """False where we may not read the CRD that says so: then it is what every Kueue takes."""
    credentials: CredentialApis = field(default_factory=CredentialApis)
    hub_uid: str = ""
    """Who the hub is, by the uid of its namespace kube-system; empty where we may not know."""

    @property
    def limit(self) -> str:
        """Say how many clusters a MultiKueueConfig may list."""
        if self.is_limit_read:
            return f"a MultiKueueConfig may list {self.listed_clusters} clusters"
        return "this kubeconfig may not read how many clusters a MultiKueueConfig may list"


async def detect(hub: Client) -> HubCapabilities:
    """Ask the hub what it serves; raises NotInstalled where we could not work at all."""
    for what, kinds in NEEDED.items():
        wanted = [kind.resource for kind in kinds]
        served = {version: await hub.served(version) for version in sorted({r.api_version for r in wanted})}
        missing = [str(resource) for resource in wanted if resource.plural not in served[resource.api_version]]
        if missing:
            raise NotInstalled(f"the hub does not serve {', '.join(missing)}; install {what}")
    limit = await _listed_clusters(hub)
    uid = await known_identity(hub)
    if not uid:
        log.warning("the hub is not known where it is a managed cluster itself")
    return HubCapabilities(limit or OLD_LIMIT, limit is not None, await discover(hub), uid)


async def known_identity(cluster: Client) -> str:
    """Return who a cluster is, by the uid of its namespace kube-system; empty where we may not know."""
    try:
        return await identity(cluster)
    except (errors.Forbidden, errors.NotFound):
        return ""


async def _listed_clusters(hub: Client) -> int | None:
    """Return how many clusters a MultiKueueConfig may list; None where we may not know."""
    name = str(kueue.MultiKueueConfig.resource)
    try:
        raw = await hub.get(CustomResourceDefinition.resource, name)
    except errors.Forbidden as error:
        log.warning("limit of listed clusters not read", limit=OLD_LIMIT, error=error)
        return None
    return listed_clusters(raw["spec"])


def listed_clusters(crd: dict[str, Any]) -> int:
    """Read from the CRD of MultiKueueConfig how many clusters it may list."""
    node: Any = next((v for v in crd.get("versions") or () if v.get("name") == kueue.VERSION), {})
    for step in ("schema", "openAPIV3Schema", "properties", "spec", "properties", "clusters", "maxItems"):
        node = node.get(step, {}) if isinstance(node, dict) else {}
    return node if isinstance(node, int) else OLD_LIMIT
