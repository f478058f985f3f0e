"""Make a kubeconfig for MultiKueue on a worker by hand: what Kueue's own script does, with least privilege."""

from collections.abc import Iterable
from typing import Final

from fleetqueue.api.authentication_v1 import SHORTEST_SECONDS
from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection
from fleetqueue.controllers.credentials.accounts import WorkerAccount, grant, issue
from fleetqueue.controllers.credentials.endpoints import Endpoint, refusal
from fleetqueue.controllers.credentials.problems import CredentialProblem
from fleetqueue.controllers.credentials.worker_rules import rules_for

BY_HAND: Final = "fleetqueue-kubeconfig"
"""Another account than the controller's, which is removed when the controller no longer needs it."""


async def create_kubeconfig(
    client: Client,
    connection: Connection,
    *,
    cluster: str = "",
    job_kinds: Iterable[str] = ("batch/job",),
    lifetime: int = 24 * 3600,
    namespace: str = KUEUE_NAMESPACE,
) -> str:
    """Return a kubeconfig that Kueue takes, for a worker that is open as an admin.

    `lifetime`: seconds, 600 or more; the worker may shorten it. Nobody renews it, so a MultiKueueCluster that shall
    stay needs a long one, or the controller.
    """
    if lifetime < SHORTEST_SECONDS:
        raise CredentialProblem(
            f"lifetime is {lifetime} s, and Kubernetes issues no token for less than {SHORTEST_SECONDS} s (10 minutes)"
        )
    if why := refusal(connection.server):
        raise CredentialProblem(f"Kueue would refuse this kubeconfig: {why}")
    account = WorkerAccount(BY_HAND, namespace)
    await grant(client, account, rules_for(job_kinds))
    token = await issue(client, account, lifetime)
    where = Endpoint(connection.server, connection.ca or b"", connection.tls_server_name, connection.proxy_url)
    return where.kubeconfig(cluster or connection.name or "worker", token=token.token, user=account.name)
