"""What is said of a job for each cause, word for word: on embedded clusters and on real ones the same."""

from fnmatch import fnmatchcase
from typing import Final

from fleetqueue.admin.causes import Cause

SENTENCES: Final = {
    "Succeeded": "Reached expected number of succeeded pods",
    "Admitted": "The workload is admitted",
    "NoWorkload": (
        "Kueue has made no Workload for it: its configuration on this hub does not list kubeflow.org/pytorchjob"
    ),
    "LocalQueueMissing": "there is no LocalQueue {queue} in namespace {name}",
    "LocalQueueStopped": "LocalQueue {queue} is stopped",
    "ClusterQueueMissing": "LocalQueue {queue} leads to ClusterQueue {name}, which does not exist",
    "ClusterQueueStopped": "ClusterQueue {name} is stopped",
    "FlavorMissing": "ClusterQueue {name} is inactive: there is no ResourceFlavor absent",
    "NamespaceNotAllowed": "workload namespace doesn't match ClusterQueue selector",
    "ExceedsQuota": (
        "couldn't assign flavors to pod set main: insufficient quota for {resource} in flavor {name}, previously"
        " considered podsets requests (0) + current podset request ({needs}) > maximum capacity ({has})"
    ),
    "QuotaShort": (
        "couldn't assign flavors to pod set main: insufficient unused quota for {resource} in flavor {name}, {short}"
        " more needed"
    ),
    "NoFlavorFits": "couldn't assign flavors to pod set main: flavor fast doesn't match node affinity",
    "Deactivated": "it is deactivated (spec.active is false)",
    "CheckRejected": (
        "AdmissionCheck {name}-mk has rejected it: The owner is not managed by Kueue: Expecting spec.managedBy to be"
        ' "kueue.x-k8s.io/multikueue" not "", Previously: "Pending"'
    ),
    "CheckMissing": "ClusterQueue {name} is inactive: AdmissionCheck absent does not exist",
    "PlacementMissing": (
        "ClusterQueue {name} is inactive: Placement {name} not found in namespace kueue-system; so AdmissionCheck"
        " {name} is not Active"
    ),
    "SetNotBound": (
        "ClusterQueue {name} is inactive: Placement {name} may not choose from set {set}: no ManagedClusterSetBinding"
        " in kueue-system; so AdmissionCheck {name} is not Active"
    ),
    "SetMissing": (
        "ClusterQueue {name} is inactive: Placement {name} chooses from set {name}, which does not exist;"
        " so AdmissionCheck {name} is not Active"
    ),
    "CheckParametersInvalid": (
        "ClusterQueue {name} is inactive: AdmissionCheck {name}: spec.parameters must name a Placement: apiGroup"
        " cluster.open-cluster-management.io, kind Placement, and its name"
    ),
    "SetEmpty": (
        "ClusterQueue {name} is inactive: Placement {name} chooses from set {name}, and no ManagedCluster is in there;"
        " so AdmissionCheck {name} is not Active"
    ),
    "NoClusterMatches": (
        "ClusterQueue {name} is inactive: no cluster matches the predicates of Placement {name}; cluster1: label"
        " {label} must be 'yes' and is not set; so AdmissionCheck {name} is not Active"
    ),
    "TaintNotTolerated": (
        "ClusterQueue {name} is inactive: Placement {name} drops cluster3: taint maintenance:NoSelect is not tolerated;"
        " so AdmissionCheck {name} is not Active"
    ),
    "NumberIsZero": (
        "ClusterQueue {name} is inactive: Placement {name} has numberOfClusters 0; so AdmissionCheck {name} is not"
        " Active"
    ),
    "ConfigMissing": (
        "ClusterQueue {name} is inactive: AdmissionCheck {name}-mk names MultiKueueConfig absent, which does not exist"
    ),
    "RunsOnHub": (
        "The workload is admitted; its ClusterQueue has a placement check and no MultiKueue check, so it runs on the"
        " hub"
    ),
    "PinnedToNobody": (
        "no cluster can take it: fleetqueue.dev/clusters names cluster9, and there is no such cluster;"
        " {name}-cluster1: not among fleetqueue.dev/clusters; {name}-cluster2: not among fleetqueue.dev/clusters;"
        " {name}-cluster3: not among fleetqueue.dev/clusters"
    ),
    "WorkerQueueMissing": (
        "no cluster can take it: {name}-cluster1: has no LocalQueue {queue} in namespace {name};"
        " {name}-cluster2: has no LocalQueue {queue} in namespace {name};"
        " {name}-cluster3: has no LocalQueue {queue} in namespace {name}"
    ),
    "WorkerQueueStopped": (
        "no cluster can take it: {name}-cluster1: its ClusterQueue {name} is stopped (spec.stopPolicy);"
        " {name}-cluster2: its ClusterQueue {name} is stopped (spec.stopPolicy);"
        " {name}-cluster3: its ClusterQueue {name} is stopped (spec.stopPolicy)"
    ),
    "ClusterDraining": (
        "no cluster can take it: {name}-cluster1: draining; {name}-cluster2: not among fleetqueue.dev/clusters;"
        " {name}-cluster3: not among fleetqueue.dev/clusters"
    ),
    "ClusterDraining, and nobody else": (
        "ClusterQueue {name} is inactive: Placement {name} drops cluster1, cluster2, cluster3: tainted with"
        " fleetqueue.dev/drain, to be drained; so AdmissionCheck {name} is not Active"
    ),
    "CredentialRefused by hand": (
        "ClusterQueue {name} is inactive: Kueue reaches no cluster of MultiKueueConfig {name}-by-hand: {name}: Kueue is"
        " not connected to it: ClientConnectionFailed: Unauthorized"
    ),
    "ClusterNotConnected by hand": (
        "ClusterQueue {name} is inactive: Kueue reaches no cluster of MultiKueueConfig {name}-by-hand: {name}: Kueue is"
        " not connected to it: ClientConnectionFailed: {refusal}"
    ),
    "CredentialRefused": (
        "no cluster can take it: {name}-cluster1: answers Unauthorized to the credential of secret"
        " kueue-admin-cluster1-kubeconfig, which is replaced as soon as that can be done"
    ),
    "WorkerQuotaTooSmall": (
        "no cluster can take it: no selected cluster's quota holds this job; {name}-cluster1: has {has} {resource}, and"
        " the job needs {needs}; {name}-cluster2: has {has} {resource}, and the job needs {needs}; {name}-cluster3: has"
        " {has} {resource}, and the job needs {needs}"
    ),
    "WorkerQuotaShort": (
        "{name}-mk is Pending: nominated for {name}-cluster1, not recorded as admitted there yet: there was no room for"
        " it, and it waits until others end"
    ),
    "PodsNotReady": "The workload is admitted; Not all pods are ready or succeeded",
    "WorkerLost": (
        "The workload is admitted; {name}-cluster3 may be lost: Kueue is not connected to it: ClientConnectionFailed:"
        " {refusal}"
    ),
    "Evicted": "it is being evicted: The workload is deactivated",
    "WaitsForLostWorker": (
        "waits for {name}-cluster1, which may run it and does not answer since ????-??-??T*Z;"
        " fleetqueue.dev/lost-worker is 'wait': until it answers, or `fleetqueue unjoin --force` gives the cluster up"
    ),
    "ClusterNotConnected": (
        "ClusterQueue {name} is inactive: Kueue reaches no cluster of MultiKueueConfig {name}: {name}-cluster3: Kueue"
        " is not connected to it: ClientConnectionFailed: {refusal}"
    ),
    "ControllerSilent": "nobody answers for AdmissionCheck {name}: {silence}; does a fleetqueue controller run?",
    "Failed": "it has failed: Job has reached the specified backoff limit",
    "CheckInactive": (
        "ClusterQueue {name} is inactive: AdmissionCheck budget is not Active: NoBudget: nobody has named a budget"
    ),
    "CheckWaits": "spending is Pending: the month is not over",
    "Nominated": "{name}-mk is Pending: nominated for {name}-cluster3, not recorded as admitted there yet",
    "JobRefused": (
        "no cluster can take it: admitted on {name}-cluster3 since ????-??-??T*Z, but its job was not created there:"
        " the log of Kueue on the hub says why; look at the webhooks of {name}-cluster3, and at what the job needs"
        " there"
    ),
    "KindNotServed": (
        "ClusterQueue {name} is inactive: Kueue reaches no cluster of MultiKueueConfig {name}: {name}-cluster3: Kueue"
        ' is not connected to it: ClientConnectionFailed: no matches for kind "JobSet" in version'
        ' "jobset.x-k8s.io/v1alpha2"'
    ),
    "WaitsForFence": (
        "waits for {name}-cluster1, which may run it and does not answer since ????-??-??T*Z;"
        " fleetqueue.dev/lost-worker is 'fence': until it answers: its agent renews Lease fleetqueue-fence, so the job"
        " may go on there"
    ),
    "PinnedToNobody by score": (
        "no cluster can take it: fleetqueue.dev/clusters names cluster3, which placement {name} does not offer;"
        " {name}-cluster1: not among fleetqueue.dev/clusters; cluster3: the Placement takes 1, and others come first by"
        " score or name"
    ),
}
"""By code: {name} is what a test calls its objects, other words are what differs, and * and ? are another each time."""


def says(cause: Cause, how: str = "", **words: object) -> bool:
    """Tell whether a cause says what its code always says, with these words in it; `how` where it says it otherwise."""
    return fnmatchcase(cause.sentence, SENTENCES[cause.code + how].format(**words))
