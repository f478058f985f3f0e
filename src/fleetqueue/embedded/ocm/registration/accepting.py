"""Accept a cluster, as an administrator does with `clusteradm accept`: approve its agent's certificate, let it in."""

from collections.abc import Sequence
from typing import Final

from fleetqueue.api.certificates_v1 import CertificateSigningRequest
from fleetqueue.api.cluster_v1 import CLUSTER_NAME_LABEL, ManagedCluster
from fleetqueue.client import Client
from fleetqueue.client.certificates import subject_of_request
from fleetqueue.embedded.ocm.registration.hub.certificate_approvals import approved

SYSTEM: Final = "open-cluster-management"
BOOTSTRAP_ACCOUNT: Final = f"system:serviceaccount:{SYSTEM}:agent-registration-bootstrap"
USERS: Final = ("system:bootstrap:", BOOTSTRAP_ACCOUNT)
"""With whom agents begin: a bootstrap token, or this service account."""
GROUPS: Final = {
    "system:bootstrappers:managedcluster",
    f"system:serviceaccounts:{SYSTEM}",
    f"system:serviceaccounts:{SYSTEM}-hub",
}
REASON: Final = "fleetqueue Approve"
MESSAGE: Final = "This CSR was approved by fleetqueue certificate approve."


class CannotAccept(Exception):
    """It is not clear whom to let in; the text says why."""


async def accept(hub: Client, cluster: str, *, requesters: Sequence[str] = ()) -> list[str]:
    """Approve what the cluster's agent asks for and accept the cluster; return the names of approved requests.

    Raises NotFound where the cluster has not introduced itself, and CannotAccept where several agents ask for it.

    Args:
        requesters: users whose requests are approved too, however many agents ask.
    """
    live = ManagedCluster.view(await hub.get(ManagedCluster.resource, cluster))
    page = await hub.list(CertificateSigningRequest.resource, labels=f"{CLUSTER_NAME_LABEL}={cluster}")
    chosen = pending([CertificateSigningRequest.view(raw) for raw in page.items], requesters)
    raws = {raw["metadata"]["name"]: raw for raw in page.items}
    for request in chosen:
        manifest = approved(raws[request.name], reason=REASON, message=MESSAGE)
        await hub.update(CertificateSigningRequest.resource, manifest, "approval")
    if not live.spec.hub_accepts_client:
        await hub.merge(ManagedCluster.resource, cluster, "", {"spec": {"hubAcceptsClient": True}})
    return [request.name for request in chosen]


def pending(
    requests: Sequence[CertificateSigningRequest], requesters: Sequence[str]
) -> list[CertificateSigningRequest]:
    """Return the requests of agents that begin, and that nobody has decided."""
    beginners = [request for request in requests if is_beginner(request) or request.spec.username in requesters]
    names = {subject.name for request in beginners if (subject := subject_of_request(request.request)) is not None}
    if len(names) > 1 and not requesters:
        raise CannotAccept(f"several agents ask for one cluster: {', '.join(sorted(names))}; delete what is not wanted")
    return [request for request in beginners if not request.is_decided]


def is_beginner(request: CertificateSigningRequest) -> bool:
    """Tell whether somebody asks who may introduce clusters."""
    return request.spec.username.startswith(USERS) and bool(GROUPS & set(request.spec.groups))
