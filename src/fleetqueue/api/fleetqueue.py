"""The labels, annotations and names by which our own parts find each other's objects."""

from datetime import datetime
from typing import Final

from fleetqueue.api.cluster_v1 import GROUP as CLUSTER_GROUP
from fleetqueue.api.conditions import timestamp
from fleetqueue.api.core_v1 import Secret
from fleetqueue.api.kueue_v1beta2 import AdmissionCheck
from fleetqueue.api.scheme import Manifest

GROUP: Final = "fleetqueue.dev"
NAMESPACE: Final = "fleetqueue-system"
"""Where our own parts run on the hub, unless they are told otherwise."""
KUEUE_NAMESPACE: Final = "kueue-system"
"""Where Kueue runs, unless we are told otherwise."""

CLUSTER_LABEL: Final = "fleetqueue.dev/cluster"
"""On secrets and MultiKueueClusters: the name of the ManagedCluster that they are for."""
CREDENTIALS_ANNOTATION: Final = "fleetqueue.dev/credentials"
"""On a ManagedCluster: "true" asks for credentials although no Placement selects it."""
DRAIN_TAINT: Final = "fleetqueue.dev/drain"
"""The key of a ManagedCluster's taint with which `fleetqueue drain` makes every Placement drop it."""
GIVEN_UP: Final = "fleetqueue.dev/given-up"
"""On a MultiKueueCluster: "true" ends its drain without waiting for jobs; `fleetqueue unjoin --force` sets it."""
RELEASED: Final = "fleetqueue.dev/released"
"""On what `fleetqueue uninstall --purge` let go while queues used it: JSON, the labels by which it was ours. A later
installation that needs the object takes it back; who keeps the object takes this off."""
HUB: Final = "fleetqueue.dev/hub"
"""On what we make on a worker: the hub that it is for, by the uid of the hub's namespace `kube-system`."""
ORIGIN: Final = "fleetqueue.dev/origin"
"""On our account on a worker: the `multiKueue.origin` of its hub, by which copies are told apart."""
CLUSTER_UID: Final = "fleetqueue.dev/cluster-uid"
"""On a kubeconfig secret: which cluster it opens, by the uid of its namespace `kube-system`."""
REPLACED_BY: Final = "fleetqueue.dev/replaced-by"
"""On a kubeconfig secret: the uid of another cluster that has the name by now; the secret opens the old one still."""
IDENTITY_NAMESPACE: Final = "kube-system"
"""The namespace whose uid tells which cluster it is: it is made with the cluster, and nobody can delete it."""
CHECK_CONTROLLER: Final = "open-cluster-management.io/placement"
"""The controllerName of the AdmissionChecks that are ours to serve: each names a Placement."""
DISPATCHER_NAME: Final = "fleetqueue.dev/dispatcher"
"""The value of `multiKueue.dispatcherName` with which Kueue leaves nominations to us."""

MISSING_KINDS: Final = "fleetqueue.dev/missing-kinds"
"""On the secret with which Kueue reaches a cluster: which kinds of jobs are missing there, so that Kueue refuses it."""

REFUSED: Final = "fleetqueue.dev/refused"
"""On the secret with which Kueue reaches a cluster, and on a ManagedServiceAccount: when the worker answered the token
with 401. A secret has it until it holds a token that the worker accepts."""

KUBECONFIG_KEY: Final = "kubeconfig"
"""The one entry of a secret that holds a kubeconfig; Kueue looks for this name."""
ACCESS_PROVIDER: Final = "fleetqueue"
"""Our entry among the access providers of a ClusterProfile; Kueue's configuration has a plugin of the same name."""


def credentials_secret(cluster: str) -> str:
    """Name the secret, in Kueue's namespace on the hub, with which Kueue reaches a cluster."""
    return f"kueue-admin-{cluster}-kubeconfig"


def admin_secret(cluster: str) -> str:
    """Name the secret, in our namespace on the hub, that holds the admin kubeconfig given at `join`."""
    return f"{cluster}-admin"


def is_refused(secret: Secret | None) -> bool:
    """Tell whether somebody has marked a secret as one whose token the worker does not accept."""
    return secret is not None and REFUSED in secret.metadata.annotations


def refused_mark(secret: Secret, moment: datetime | None) -> Manifest:
    """Build the patch that marks a secret as refused since a moment, or takes the mark off where that is None."""
    value = timestamp(moment) if moment is not None else None
    return {"metadata": {**secret.precondition, "annotations": {REFUSED: value}}}


def placement_of(check: AdmissionCheck) -> str:
    """Return the Placement that a check of ours names; empty where it is not ours, or names none."""
    parameters = check.spec.parameters
    if check.spec.controller_name != CHECK_CONTROLLER or parameters is None:
        return ""
    is_placement = (parameters.api_group, parameters.kind) == (CLUSTER_GROUP, "Placement")
    return parameters.name if is_placement else ""
