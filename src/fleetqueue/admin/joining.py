"""Bring a worker into the fleet, and let one go.

A worker that an OCM agent has registered is adopted: only what is missing is added. Otherwise it is registered here,
from its kubeconfig alone; then nobody keeps its conditions, which Placements do not need.
"""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final

from fleetqueue import clock
from fleetqueue.admin import worker_identity
from fleetqueue.admin.cluster_sets import create_set
from fleetqueue.admin.creation import ensure_namespace
from fleetqueue.admin.hub_state import controller_silence
from fleetqueue.admin.portable_kubeconfig import CannotJoin, encoded, self_contained
from fleetqueue.admin.waiting import NotInTime, Observed
from fleetqueue.api import core_v1 as core
from fleetqueue.api import errors
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.cluster_v1 import CLUSTER_SET_LABEL, ManagedCluster, ManagedClusterSet
from fleetqueue.api.events_v1 import WARNING, Event
from fleetqueue.api.fleetqueue import (
    CLUSTER_LABEL,
    CREDENTIALS_ANNOTATION,
    KUBECONFIG_KEY,
    KUEUE_NAMESPACE,
    NAMESPACE,
    admin_secret,
    credentials_secret,
    is_refused,
    refused_mark,
)
from fleetqueue.api.meta import changes
from fleetqueue.api.scheme import Manifest
from fleetqueue.client import Client
from fleetqueue.client.kubeconfig import Connection, parse
from fleetqueue.controllers.credentials.endpoints import is_same_server
from fleetqueue.controllers.credentials.proofs import NOT_ACCEPTED, Dial
from fleetqueue.controllers.credentials.secret_content import Issued
from fleetqueue.controllers.credentials.secret_content import read as read_credential
from fleetqueue.controllers.processes.capabilities import known_identity
from fleetqueue.runtime.cluster import OURS, is_ours

LEASE_SECONDS: Final = 60
"""How often an OCM agent, should one come later, renews its lease; OCM's own default."""

AT_WORK: Final = (
    "the controller is at work; where the hub serves ManagedServiceAccounts, it gives OCM's agents 30 s before it uses"
    " the kubeconfig; see `fleetqueue get clusters`, or run this again with a longer --timeout"
)

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Newcomer:
    """A worker as it is to be joined."""

    name: str
    connection: Connection = field(repr=False)
    cluster_set: str = ""
    labels: Mapping[str, str] = field(default_factory=dict)
    namespace: str = NAMESPACE
    """Where its admin kubeconfig is kept on the hub."""
    kueue_namespace: str = KUEUE_NAMESPACE
    uid: str = ""
    """Who it is; empty where that is not known."""


async def inspect(worker: Client, name: str) -> str:
    """Return the worker's version; raises CannotJoin where Kueue is missing there."""
    version = await worker.read("/version")
    if not await worker.serves(kueue.Workload.resource):
        raise CannotJoin(
            f'worker "{name}" does not serve {kueue.Workload.resource} {kueue.VERSION}; install Kueue there first'
        )
    return str(version.get("gitVersion", "unknown"))


async def join(hub: Client, newcomer: Newcomer, report: Report) -> None:
    """Write everything on the hub that a worker needs to be selected and reached; does nothing where it is there.

    Raises CannotJoin, before anything is written, where the kubeconfig opens another cluster than it should.
    """
    kubeconfig = self_contained(newcomer.name, newcomer.connection)
    server, namespace = newcomer.connection.server, newcomer.kueue_namespace
    if said := await worker_identity.check(hub, newcomer.name, server, newcomer.uid, kueue_namespace=namespace):
        report(said)
    await ensure_namespace(hub, newcomer.name)
    await ensure_namespace(hub, newcomer.namespace)
    if newcomer.cluster_set and await create_set(hub, newcomer.cluster_set):
        report(f'made {ManagedClusterSet.resource.kind} "{newcomer.cluster_set}"')
    await _ensure_secret(hub, newcomer, kubeconfig)
    report(await _ensure_cluster(hub, newcomer))


async def wait_for_credentials(hub: Client, newcomer: Newcomer, *, limit: float) -> str:
    """Wait until Kueue can be let in; return until when. Raises NotInTime with what the controller says."""
    name, namespace = credentials_secret(newcomer.name), newcomer.kueue_namespace
    async with Observed({"hub": hub}) as seen:
        seen.follow("hub", core.Secret, namespace=namespace, fields=f"metadata.name={name}")

        def renewed() -> Issued | None:
            """Return the credential that our controller keeps; one that is not ours nobody renews."""
            secret = seen["hub"].get(core.Secret, name, namespace)
            is_kept = secret is not None and is_ours(secret) and not is_refused(secret)
            credential = read_credential(secret) if is_kept else None
            return credential if credential is not None and may_open(credential, newcomer) else None

        try:
            credential = await seen.until(
                renewed,
                limit=limit,
                what=f'secret "{namespace}/{name}"',
                why_not=lambda: why_not_renewed(seen["hub"].get(core.Secret, name, namespace)),
            )
        except NotInTime as late:
            failure = await _last_failure(hub, newcomer.name)
            hint = await _hint_of_address(hub, newcomer) if NOT_ACCEPTED in failure else ""
            reason = f"{failure}{hint}" or await controller_silence(hub) or AT_WORK
            raise NotInTime(f"the worker is registered, but Kueue has no credentials yet: {late}; {reason}") from None
    return f"{credential.expires:%Y-%m-%d %H:%M:%S} UTC"


async def mark_refused(hub: Client, newcomer: Newcomer, dial: Dial) -> None:
    """Ask the worker whether it accepts the credential that stands on the hub from before, and mark it where not.

    The controller replaces a marked one at once; otherwise it may go on for minutes with what it proved before.
    """
    live = await hub.find(core.Secret.resource, credentials_secret(newcomer.name), newcomer.kueue_namespace)
    if live is None:
        return
    secret = core.Secret.view(live)
    credential = read_credential(secret) if is_ours(secret) and not is_refused(secret) else None
    if credential is None or not may_open(credential, newcomer):
        return
    worker = dial(with_token(newcomer.connection, parse(credential.kubeconfig).token))
    try:
        await known_identity(worker)
    except errors.Unauthorized:
        with suppress(errors.Conflict, errors.NotFound):  # the controller was faster
            await hub.merge(secret.resource, secret.name, secret.namespace, refused_mark(secret, clock.now()))
    finally:
        await worker.close()


def may_open(credential: Issued, newcomer: Newcomer) -> bool:
    """Tell whether a credential is for this very worker, as far as both are known."""
    return not credential.cluster_uid or newcomer.uid in ("", credential.cluster_uid)


def with_token(connection: Connection, token: str) -> Connection:
    """Return the way to the same server for the holder of a token."""
    return Connection(
        connection.server,
        ca=connection.ca,
        token=token,
        tls_server_name=connection.tls_server_name,
        insecure=connection.insecure,
        proxy_url=connection.proxy_url,
    )


def why_not_renewed(secret: core.Secret | None) -> str:
    if secret is None or is_ours(secret):
        return ""
    return f"{secret} was not made by fleetqueue, so nobody renews it; rename or delete it"


def cluster_manifest(newcomer: Newcomer) -> Manifest:
    """Build the ManagedCluster of a worker that no agent registers."""
    connection = newcomer.connection
    config = {"url": connection.server}
    if connection.ca:
        config["caBundle"] = encoded(connection.ca)
    return ManagedCluster.manifest(
        newcomer.name,
        labels={**OURS, **wanted_labels(newcomer)},
        annotations={CREDENTIALS_ANNOTATION: "true"},
        spec={
            "hubAcceptsClient": True,
            "leaseDurationSeconds": LEASE_SECONDS,
            "managedClusterClientConfigs": [config],
        },
    )


def adoption(live: Manifest, newcomer: Newcomer) -> Manifest:
    """Return the patch that adds what a registered cluster lacks; what its agent wrote stays."""
    whole = cluster_manifest(newcomer)
    spec: dict[str, Any] = {"hubAcceptsClient": True}
    if not live.get("spec", {}).get("managedClusterClientConfigs"):
        spec["managedClusterClientConfigs"] = whole["spec"]["managedClusterClientConfigs"]
    metadata = {"labels": wanted_labels(newcomer), "annotations": whole["metadata"]["annotations"]}
    return changes(live, {"metadata": metadata, "spec": spec})


def wanted_labels(newcomer: Newcomer) -> dict[str, str]:
    chosen = {CLUSTER_SET_LABEL: newcomer.cluster_set} if newcomer.cluster_set else {}
    return {**newcomer.labels, **chosen}


async def _ensure_cluster(hub: Client, newcomer: Newcomer) -> str:
    name = newcomer.name
    try:
        live = await hub.get(ManagedCluster.resource, name)
    except errors.NotFound:
        await hub.create(ManagedCluster.resource, cluster_manifest(newcomer))
        return f'made ManagedCluster "{name}"'
    patch = adoption(live, newcomer)
    if not patch:
        return f'ManagedCluster "{name}" is as it shall be'
    await hub.merge(ManagedCluster.resource, name, "", patch)
    return f'completed ManagedCluster "{name}"'


async def _ensure_secret(hub: Client, newcomer: Newcomer, kubeconfig: str) -> None:
    name, namespace = admin_secret(newcomer.name), newcomer.namespace
    labels = {**OURS, CLUSTER_LABEL: newcomer.name}
    manifest = core.secret(name, namespace, {KUBECONFIG_KEY: kubeconfig}, labels=labels)
    try:
        live = await hub.get(core.Secret.resource, name, namespace)
    except errors.NotFound:
        await hub.create(core.Secret.resource, manifest)
        return
    if not is_ours(core.Secret.view(live)):
        raise CannotJoin(f'Secret "{namespace}/{name}" was not made by fleetqueue; rename or delete it')
    if patch := changes(live, manifest):
        await hub.merge(core.Secret.resource, name, namespace, patch)


async def _last_failure(hub: Client, cluster: str) -> str:
    """Return the last warning that was said about a cluster."""
    page = await hub.list(Event.resource, "default")
    about = [event for event in page.items if (event.get("regarding") or {}).get("name") == cluster]
    warnings = [event for event in about if event.get("type") == WARNING]
    return str(max(warnings, key=lambda event: event.get("eventTime") or "").get("note", "")) if warnings else ""


async def _hint_of_address(hub: Client, newcomer: Newcomer) -> str:
    """Say where the token was made and where it was tried, if these are two addresses: they may be two clusters."""
    server = newcomer.connection.server
    url = worker_identity.advertised(ManagedCluster.view(await hub.get(ManagedCluster.resource, newcomer.name)))
    if not url or is_same_server(url, server):
        return ""
    return (
        f'; the kubeconfig is for {server}, and ManagedCluster "{newcomer.name}" says {url}'
        " (spec.managedClusterClientConfigs): do both lead to the same cluster?"
    )
