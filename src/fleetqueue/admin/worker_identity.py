"""Which cluster a kubeconfig given at `join` opens, beside what the hub knows: by the uid of the namespace kube-system.

A cluster that was rebuilt at its address may come again under its name: the controllers know how to treat it. What is
refused can only be a mistake, or would not work. A second name for a member is one: no job would be sent by it.
"""

from fleetqueue.admin.portable_kubeconfig import CannotJoin
from fleetqueue.api import core_v1 as core
from fleetqueue.api.cluster_v1 import ManagedCluster
from fleetqueue.api.fleetqueue import CLUSTER_LABEL, CLUSTER_UID, IDENTITY_NAMESPACE
from fleetqueue.client import Client
from fleetqueue.controllers.credentials.endpoints import is_same_server
from fleetqueue.controllers.processes.capabilities import known_identity
from fleetqueue.runtime.cluster import LABELLED_OURS


async def check(hub: Client, name: str, server: str, uid: str, *, kueue_namespace: str) -> str:
    """Return what to tell of the worker's identity, empty where it is the expected one; raises CannotJoin.

    `uid` and `server`: who the worker is that the kubeconfig opens, and where; an empty uid is not known.
    """
    if not uid:
        return ""
    if uid == await known_identity(hub):
        raise CannotJoin(
            f'the kubeconfig for "{name}" opens this hub itself, which cannot be its own worker;'
            " give an administrator's kubeconfig of the worker"
        )
    raw = await hub.find(ManagedCluster.resource, name)
    known = await known_uids(hub, kueue_namespace)
    own = known.pop(name, "")
    others = sorted(other for other, its in known.items() if its == uid)
    if own == uid or not (own or others):
        return ""
    url = advertised(ManagedCluster.view(raw)) if raw is not None else ""
    is_moved = raw is not None and not is_same_server(url, server)
    if is_moved or (own and others):
        raise CannotJoin(_mistaken(name, url, server, uid, own, others))
    if others:
        raise CannotJoin(_member_already(name, uid, others[0]))
    return f'"{name}" is another cluster than before: what runs on the old one is drained first'


def advertised(cluster: ManagedCluster) -> str:
    """Return the URL under which a cluster is reached; empty where none is written."""
    configs = cluster.spec.managed_cluster_client_configs
    return configs[0].url if configs else ""


async def known_uids(hub: Client, kueue_namespace: str) -> dict[str, str]:
    """Return who each cluster is whose kubeconfig secret we made."""
    page = await hub.list(core.Secret.resource, kueue_namespace, labels=LABELLED_OURS)
    secrets = [core.Secret.view(raw) for raw in page.items]
    return {
        secret.metadata.labels.get(CLUSTER_LABEL, ""): secret.metadata.annotations.get(CLUSTER_UID, "")
        for secret in secrets
    }


def _member_already(name: str, uid: str, other: str) -> str:
    return (
        f'the kubeconfig for "{name}" opens "{other}", which is in the fleet already: {IDENTITY_NAMESPACE} of both has'
        f" uid {uid}; give a kubeconfig of another cluster, or, to rename it, run `fleetqueue unjoin {other}` first"
    )


def _mistaken(name: str, url: str, server: str, uid: str, own: str, others: list[str]) -> str:
    opened = " and ".join(f'"{other}"' for other in others) or f"another cluster, at {server}"
    known = f", where it has uid {own}" if own else ""
    return (
        f'the kubeconfig for "{name}" opens {opened}, where {IDENTITY_NAMESPACE} has uid {uid}; "{name}" is known as'
        f" the cluster at {url or 'an unknown address'}{known}; give a kubeconfig of that one, or, if it was really"
        f" replaced, run `fleetqueue unjoin {name}` first"
    )
