"""Cluster sets: make one, put clusters into it, and let the Placements of a namespace choose from it."""

from collections.abc import Sequence
from typing import Final

from fleetqueue.admin.creation import created
from fleetqueue.admin.table_text import TABLE, told
from fleetqueue.api import errors
from fleetqueue.api.cluster_v1 import CLUSTER_SET_LABEL, ManagedCluster, ManagedClusterSet, ManagedClusterSetBinding
from fleetqueue.client import Client

BY_ITS_LABEL: Final = "ExclusiveClusterSetLabel"


class ChosenByLabels(Exception):
    """Nothing can be put into the set; the text says why."""


async def create_set(hub: Client, name: str) -> bool:
    """Make a set whose members are the clusters with its label; False where it is there."""
    spec = {"clusterSelector": {"selectorType": BY_ITS_LABEL}}
    return await created(hub, ManagedClusterSet, ManagedClusterSet.manifest(name, spec=spec))


async def put_into(hub: Client, name: str, clusters: Sequence[str]) -> dict[str, str]:
    """Put clusters into a set; return in which each was before, by name, empty for none.

    Raises NotFound where the set or one of the clusters is missing, and ChosenByLabels; then nothing is changed.
    """
    found = ManagedClusterSet.view(await hub.get(ManagedClusterSet.resource, name))
    if found.spec.cluster_selector.selector_type != BY_ITS_LABEL:
        raise ChosenByLabels(f'clusterset "{name}" chooses its clusters by their labels: nothing can be put into it')
    before = {}
    for cluster in clusters:
        labels = ManagedCluster.view(await hub.get(ManagedCluster.resource, cluster)).metadata.labels
        before[cluster] = labels.get(CLUSTER_SET_LABEL, "")
    for cluster in (cluster for cluster, old in before.items() if old != name):
        await hub.merge(ManagedCluster.resource, cluster, "", {"metadata": {"labels": {CLUSTER_SET_LABEL: name}}})
    return before


async def bind(hub: Client, name: str, namespace: str) -> bool:
    """Let a namespace use a set; False where it does already. Raises NotFound where there is no such set."""
    await hub.get(ManagedClusterSet.resource, name)
    manifest = ManagedClusterSetBinding.manifest(name, namespace, spec={"clusterSet": name})
    return await created(hub, ManagedClusterSetBinding, manifest)


async def unbind(hub: Client, name: str, namespace: str) -> bool:
    """Take a set away from a namespace; False where it had none."""
    try:
        await hub.delete(ManagedClusterSetBinding.resource, name, namespace)
    except errors.NotFound:
        return False
    return True


# What `fleetqueue clusterset` does, and says that it did.


def change_of_set(
    name: str, *, changed: bool, cluster: str = "", before: str = "", namespace: str = ""
) -> dict[str, object]:
    """Return what programs read of a change of a set, of a cluster in it, or of a namespace that may use it."""
    return {"set": name, "cluster": cluster, "before": before, "namespace": namespace, "changed": changed}


async def create_command(hub: Client, name: str, output: str = TABLE) -> str:
    is_new = await create_set(hub, name)
    said = f"clusterset {name} {'created' if is_new else 'is there already'}"
    return told([change_of_set(name, changed=is_new)], output, said)


async def set_command(hub: Client, name: str, clusters: Sequence[str], output: str = TABLE) -> str:
    before = await put_into(hub, name, clusters)
    rows = [change_of_set(name, changed=old != name, cluster=cluster, before=old) for cluster, old in before.items()]
    said = "\n".join(f"cluster {cluster} {_put(old, name)}" for cluster, old in before.items())
    return told(rows, output, said)


def _put(old: str, name: str) -> str:
    if old == name:
        return f"is in clusterset {name} already"
    return f"moved from clusterset {old} to {name}" if old else f"put into clusterset {name}"


async def bind_command(hub: Client, name: str, namespace: str, output: str = TABLE) -> str:
    is_new = await bind(hub, name, namespace)
    said = f"clusterset {name} {'bound' if is_new else 'is bound already'} to namespace {namespace}"
    return told([change_of_set(name, changed=is_new, namespace=namespace)], output, said)


async def unbind_command(hub: Client, name: str, namespace: str, output: str = TABLE) -> str:
    was_bound = await unbind(hub, name, namespace)
    said = f"clusterset {name} {'unbound' if was_bound else 'was not bound'} from namespace {namespace}"
    return told([change_of_set(name, changed=was_bound, namespace=namespace)], output, said)
