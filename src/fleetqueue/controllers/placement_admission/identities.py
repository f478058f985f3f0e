"""Which cluster stands behind a name, and which selected ones must not be listed because of it.

A cluster is who it is, by the uid of its namespace kube-system, and not what it is called. The credentials ask for it
and write it on the kubeconfig secret; of a secret that somebody else made it is not known, and nothing is said.

- The hub must never be its own worker: Kueue would take the hub's own Workloads for copies, and delete them.
- One cluster must not be listed twice in a config: Kueue would take the one copy for two, and remove it as the loser.
- A name under which another cluster answers by now must be drained first: the old one may still run jobs.
"""

from collections.abc import Collection, Mapping

from fleetqueue.api.fleetqueue import CLUSTER_UID
from fleetqueue.controllers.placement_admission.hub_objects import HubObjects
from fleetqueue.runtime.cluster import is_ours


class Identities:
    def __init__(self, objects: HubObjects, hub_uid: str) -> None:
        """`hub_uid` is empty where we may not know who the hub is."""
        self.objects = objects
        self.hub_uid = hub_uid

    def of(self, cluster: str) -> str:
        """Return which cluster a name stands for; empty where that is not known."""
        secret = self.objects.secret(cluster)
        return secret.metadata.annotations.get(CLUSTER_UID, "") if secret is not None and is_ours(secret) else ""

    def of_member(self, member: str, config: str) -> str:
        return self.of(self.objects.cluster_of(member, config))

    def is_hub(self, member: str, config: str) -> bool:
        return bool(self.hub_uid) and self.of_member(member, config) == self.hub_uid

    def why_unknown(self, cluster: str) -> str:
        """Say of a cluster whose identity we can know, but do not know yet, that it waits for that."""
        secret = self.objects.secret(cluster)
        if secret is None or not is_ours(secret) or self.of(cluster):
            return ""
        return "its identity is not known yet"

    def mistakes(self, members: Collection[str]) -> dict[str, str]:
        """Return which members of a hand-written config Kueue cannot use without harm, and why, as far as we know."""
        secrets = {member: self.objects.kubeconfig_of(member) for member in members}
        uids = {m: s.metadata.annotations.get(CLUSTER_UID, "") for m, s in secrets.items() if s and is_ours(s)}
        return refusals(uids, listed=members, selected=members, replaced=(), hub_uid=self.hub_uid)

    def refused(self, selected: Mapping[str, str], listed: Collection[str], config: str) -> dict[str, str]:
        """Return the selected members that must not be listed, and why. `selected` has the cluster of each."""
        clusters = {member: self.objects.cluster_of(member, config) for member in listed} | dict(selected)
        replaced = {member for member, name in clusters.items() if self.objects.is_replaced(name)}
        uids = {member: self.of(name) for member, name in clusters.items()}
        reasons = refusals(uids, listed=listed, selected=selected, replaced=replaced, hub_uid=self.hub_uid)
        return {member: why for member, why in reasons.items() if member in selected}


def refusals(
    uids: Mapping[str, str],
    *,
    listed: Collection[str],
    selected: Collection[str],
    replaced: Collection[str],
    hub_uid: str,
) -> dict[str, str]:
    """Choose who must not be listed: of two that are one cluster, the one that is listed stays, then the first by name.

    `uids` are the identities of all members, empty where unknown; a member in `replaced` opens a cluster whose name
    another one has by now.
    """
    first: dict[str, str] = {}
    refused = {}
    for member in sorted(uids, key=lambda m: (m not in listed, m not in selected, m)):
        uid = uids[member]
        if not uid:
            continue
        if uid == hub_uid:
            refused[member] = "it is this hub itself, which cannot be its own worker"
        elif member in replaced:
            refused[member] = "another cluster has its name by now; the old one is drained first"
        elif uid in first:
            refused[member] = f"it is the same cluster as {first[uid]}"
        else:
            first[uid] = member
    return refused
