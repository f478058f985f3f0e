"""What to do about a worker that Kueue does not reach: where to look, what prints it, and how it is given up for good.

`explain` says it as a step and `doctor` as the repair of what it finds, in the same words. Pure functions.
"""

import re
from typing import Final, NamedTuple

from fleetqueue.admin.causes import joined
from fleetqueue.admin.hub_state import HubState
from fleetqueue.admin.step_commands import CONTEXT, kubectl
from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.fence import FENCE, LOST_WORKER, RERUN
from fleetqueue.api.fleetqueue import CLUSTER_LABEL, KUEUE_NAMESPACE, NAMESPACE, credentials_secret
from fleetqueue.controllers.credentials.who_needs_one import clusters_of_member
from fleetqueue.controllers.placement_admission.lost_workers import policy_of
from fleetqueue.controllers.placement_admission.names import FENCED

SEE_CONTROLLER: Final = f"`kubectl -n {NAMESPACE} get pods,leases`, and read the log of fleetqueue's controller"
NO_KIND: Final = "no matches for kind"
UNAUTHORIZED: Final = "Unauthorized"
NO_SECRET: Final = re.compile(r'secrets? "[^"]*" not found', re.IGNORECASE)
"""Parts of what Kueue says of a connection that failed."""
LOST_TIMEOUT: Final = "Kueue's workerLostTimeout (15 minutes by default)"


class Way(NamedTuple):
    """How Kueue reaches a worker."""

    cluster: str
    """Its ManagedCluster; that of the MultiKueueCluster where nobody can tell."""
    secret: str = ""
    """That with the kubeconfig; empty where it is reached in another way, or nobody can tell."""
    namespace: str = KUEUE_NAMESPACE
    """Where the secret is."""
    by_hand: str = ""
    """The MultiKueueCluster where it leads to no ManagedCluster that is known."""

    @property
    def is_ours(self) -> bool:
        """Tell whether our controller keeps the credential."""
        return self.secret == credentials_secret(self.cluster)


class Repair(NamedTuple):
    """What brings a worker back."""

    code: str
    """The cause of a job that waits for it."""
    first: str
    last: str = ""
    """What to do when it never comes back."""

    def step(self, meanwhile: str = "") -> str:
        """Write it; `meanwhile`: what becomes of a job until then."""
        return joined(self.first, meanwhile, self.last)


def way_to(member: kueue.MultiKueueCluster, namespace: str) -> Way:
    """Return how Kueue reaches the worker of a MultiKueueCluster."""
    labelled = member.metadata.labels.get(CLUSTER_LABEL)
    cluster = labelled or next(iter(clusters_of_member(member)), "")
    source = member.spec.cluster_source
    if source.cluster_profile_ref is not None:
        secret = credentials_secret(cluster or source.cluster_profile_ref.name)
    else:
        config = source.kube_config
        secret = config.location if config is not None and config.location_type == "Secret" else ""
    return Way(cluster or member.name, secret, namespace, "" if cluster else member.name)


def repair_of(name: str, hub: HubState) -> Repair:
    """Say what brings the worker of a MultiKueueCluster back, by what Kueue says of the connection."""
    member = (hub.members or {}).get(name)
    if member is None:
        return _unreachable(Way(name, by_hand=name)) if hub.members is None else _deleted(name, hub)
    way = way_to(member, hub.kueue_namespace)
    if member.is_connected and hub.trouble(name):
        return _silent(way, hub)
    if NO_KIND in member.refusal:
        step = f"install that kind on {way.cluster}; `fleetqueue doctor` names all that are missing"
        return Repair("KindNotServed", step)
    if UNAUTHORIZED in member.refusal:
        return refused(way)
    if way.secret and NO_SECRET.search(member.refusal):
        return Repair("ClusterNotConnected", _with_secret(way), given_up(way))
    return _unreachable(way)


def refused(way: Way) -> Repair:
    """Say what replaces a credential that its worker does not accept."""
    return Repair("CredentialRefused", renewed(way) if way.is_ours or not way.secret else made_by_hand(way))


def repair_of_refused(name: str, hub: HubState) -> Repair:
    """Say what replaces the credential of a MultiKueueCluster, of which somebody else than Kueue has said so."""
    member = (hub.members or {}).get(name)
    return refused(way_to(member, hub.kueue_namespace) if member is not None else Way(name, by_hand=name))


def repair_of_unreachable(name: str, hub: HubState) -> Repair:
    """Say what brings back a worker that does not answer, whatever Kueue says of it."""
    member = (hub.members or {}).get(name)
    return _unreachable(way_to(member, hub.kueue_namespace) if member is not None else Way(name, by_hand=name))


def look_at(way: Way) -> str:
    """Say what to look at of a worker that does not answer, and which command prints where it is looked for."""
    look = f"look whether {way.cluster} is up and reachable from the hub at the address of its credential"
    return f"{look}, which `{_address(way)}` prints" if way.secret else look


def look_at_agent(cluster: str) -> str:
    """Say what to look at where Open Cluster Management hears nothing of a cluster."""
    look = f"{kubectl('open-cluster-management-agent', CONTEXT)} get pods"
    return f"read the log of its agent, where that runs: `{look}`, with your context of {cluster}"


def given_up(way: Way) -> str:
    """Say how a worker is given up, and what that does."""
    how = f"`fleetqueue unjoin {way.cluster} --force`"
    if way.by_hand:
        how = f"take MultiKueueCluster {way.by_hand} off its MultiKueueConfig, and delete it"
    what_it_does = "which starts its jobs elsewhere: if it is not gone, they run twice"
    return f"only if {way.cluster} is gone for good: {how}, {what_it_does}"


def joined_again(cluster: str) -> str:
    """Say how a cluster comes to have a credential that our controller keeps."""
    return (
        f"join {cluster} with an administrator's kubeconfig of it: fleetqueue join {cluster} --kubeconfig FILE; the"
        " controller then makes the secret"
    )


def made_by_hand(way: Way) -> str:
    """Say how a credential is made that nobody renews; also over one that is there."""
    return (
        f"make one with an administrator's kubeconfig of {way.cluster}: fleetqueue kubeconfig create --kubeconfig FILE"
        f" > worker.kubeconfig, then kubectl create secret generic {way.secret} -n {way.namespace}"
        " --from-file=kubeconfig=worker.kubeconfig --dry-run=client -o yaml | kubectl apply -f -"
    )


def renewed(way: Way) -> str:
    """Say where to look why our controller does not renew a credential that it keeps."""
    return (
        "fleetqueue's controller renews it: look why it does not: `kubectl get events -n default --field-selector"
        f" involvedObject.name={way.cluster}` (CredentialsFailed), and whether the controller runs"
    )


def meanwhile(workload: kueue.Workload, hub: HubState) -> str:
    """Say what becomes of a job on a worker that Kueue does not reach; empty where nobody can tell.

    See docs/en/guides/lost-workers.md.
    """
    member = (hub.members or {}).get(workload.status.cluster_name)
    if not workload.status.cluster_name or hub.members is None:
        return ""
    if member is not None and member.is_connected:
        return "Kueue is still connected to it, so the job goes on there"
    queue, own = hub.queue_of(workload), workload.annotation(LOST_WORKER)
    if not own and queue is None:
        return ""
    asked = own or (queue.metadata.annotations.get(LOST_WORKER, "") if queue is not None else "")
    policy = policy_of(asked)
    if policy == RERUN:
        return f"the job starts elsewhere after {LOST_TIMEOUT}, and may still run there then"
    if policy == FENCE and workload.is_true(FENCED):
        return f"the job starts elsewhere after {LOST_TIMEOUT}, as soon as the agent there has surely stopped it"
    return f"until it answers or is given up, the job does not start elsewhere ({LOST_WORKER} is {asked!r})"


def _unreachable(way: Way) -> Repair:
    return Repair("ClusterNotConnected", f"{look_at(way)}; when it answers, Kueue connects by itself", given_up(way))


def _silent(way: Way, hub: HubState) -> Repair:
    """Say what to look at where Kueue is connected, and Open Cluster Management hears nothing of the cluster."""
    managed = hub.fleet.clusters_by_name
    if managed is not None and way.cluster not in managed:
        first = joined_again(way.cluster)
    else:
        first = look_at_agent(way.cluster)
    return Repair("ClusterNotConnected", first, given_up(way))


def _deleted(name: str, hub: HubState) -> Repair:
    first = (
        f"create MultiKueueCluster {name} again; fleetqueue does that for each cluster that a Placement of"
        f" {hub.kueue_namespace} chooses, and `fleetqueue get placements --why` tells why one does not"
    )
    return Repair("ClusterNotConnected", first)


def _with_secret(way: Way) -> str:
    return joined_again(way.cluster) if way.is_ours else made_by_hand(way)


def _address(way: Way) -> str:
    """Write a command that prints where a kubeconfig leads, and nothing that is secret."""
    encoded = f"{kubectl(way.namespace)} get secret {way.secret} -o jsonpath='{{.data.kubeconfig}}'"
    return f"{encoded} | base64 -d | grep -o 'https*://[^\", ]*'"
