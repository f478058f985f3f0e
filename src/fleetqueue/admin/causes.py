"""Why something is as it is: a code that programs can rely on, a sentence for people, and what to do about it."""

from dataclasses import dataclass
from typing import Final

CODES: Final = {
    # Over, or on the way out
    "Succeeded": "The job has succeeded.",
    "Failed": "The job has failed.",
    "Finished": "The job is over, and Kueue does not say how.",
    "Deleting": "Its Workload is being deleted.",
    "Evicted": "Kueue takes it back, and it is queued again.",
    # On a cluster
    "Admitted": "Nothing is wrong: it was admitted.",
    "PodsNotReady": "It was admitted, and not all of its pods are ready.",
    "RunsOnHub": "It runs on the hub, since its queue has no MultiKueue check.",
    "NotChecked": "It asks for nothing, so Kueue has asked no check about it, and it is not sent.",
    "TemplateChanged": "A set was changed after it was sent; its copy does not follow.",
    "WorkerLost": "The cluster that has it, or may have it, cannot be reached.",
    # No Workload, or no queue
    "NoQueue": "It has no queue label, so Kueue leaves it alone.",
    "NoWorkload": "It has a queue label, and Kueue has made no Workload for it.",
    "NotLookedAt": "No queue has looked at it yet; mostly it was created just now.",
    "LocalQueueMissing": "The LocalQueue that it names does not exist in its namespace.",
    "LocalQueueStopped": "Its LocalQueue is stopped.",
    "ClusterQueueMissing": "Its LocalQueue leads to a ClusterQueue that does not exist.",
    "ClusterQueueStopped": "Its ClusterQueue is stopped.",
    "ClusterQueueInactive": "Its ClusterQueue admits nothing, for a reason that it says itself.",
    "FlavorMissing": "Its ClusterQueue names a ResourceFlavor that does not exist.",
    "NamespaceNotAllowed": "Its ClusterQueue takes no jobs of its namespace.",
    # No quota
    "Deactivated": "Its Workload has spec.active: false.",
    "CheckRejected": "An AdmissionCheck has rejected it.",
    "RequeuedLater": "It was evicted, and is queued again at a later time.",
    "ExceedsQuota": "It asks for more than its ClusterQueue can ever give.",
    "QuotaShort": "It waits until others give quota back.",
    "PreemptionPending": "Others are being stopped to make room for it.",
    "NoFlavorFits": "No flavor fits its node selector and tolerations, or the topology that it asks for.",
    "AdmissionGated": "An annotation holds it back.",
    "Queued": "It waits in its queue, and Kueue does not say what for.",
    "Pending": "Kueue says itself what it waits for.",
    # Checks and Placements
    "CheckMissing": "Its ClusterQueue names an AdmissionCheck that does not exist.",
    "CheckParametersInvalid": "A placement check names no Placement.",
    "CheckNotLookedAt": "Nobody has looked at an AdmissionCheck yet.",
    "CheckInactive": "An AdmissionCheck is not Active, for a reason that it says itself.",
    "CheckWaits": "An AdmissionCheck has not let it pass yet, and says why.",
    "ControllerSilent": "fleetqueue's controller does not answer.",
    "PlacementMissing": "The Placement that a check names does not exist in Kueue's namespace.",
    "SetNotBound": "The Placement may choose from no cluster set: a binding is missing.",
    "SetMissing": "The cluster set that the Placement may choose from does not exist.",
    "SetEmpty": "No cluster is in the sets that the Placement chooses from.",
    "NoClusterMatches": "No cluster has the labels or claims that the Placement asks for.",
    "TaintNotTolerated": "The Placement does not tolerate a taint of the clusters that it could choose.",
    "NumberIsZero": "The Placement asks for no cluster at all.",
    "PlacementNotDecided": "OCM's placement controller has not decided yet.",
    "ClustersLeftOut": "fleetqueue leaves out all clusters that the Placement chose, and says why.",
    "ConfigMissing": "The MultiKueueConfig that a check names does not exist.",
    # Sending
    "ClusterNotConnected": "Kueue is not connected to a cluster that could take it.",
    "KindNotServed": "A cluster does not serve a kind that Kueue watches there, so Kueue does not connect to it.",
    "CredentialRefused": "A cluster does not accept the credential that the hub has for it.",
    "PinnedToNobody": "The job allows only clusters that it cannot be sent to.",
    "ClusterDraining": "The clusters that could take it are being drained.",
    "WorkerQueueMissing": "The worker has no such namespace or LocalQueue.",
    "WorkerQueueStopped": "The queue on the worker is stopped.",
    "WorkerQuotaTooSmall": "It asks for more than the queue on any worker can ever give.",
    "WorkerQuotaShort": "It was nominated for a worker whose queue is full.",
    "NotNominated": "No cluster was nominated for it yet.",
    "Nominated": "A cluster was nominated for it, and has not admitted it yet.",
    "NominationRefused": "Kueue has refused the nomination.",
    "JobRefused": "A worker has admitted it, and its job could not be created there.",
    "WaitsForItsGroup": "It goes where the first Workload of its job goes.",
    "WaitsForLostWorker": "It must not run twice, and waits for a cluster that does not answer.",
    "WaitsForFence": "It waits until the agent of a silent cluster has stopped it there.",
    "AboutToBeAdmitted": "All checks are Ready.",
    # Queues, Placements and clusters
    "Open": "Nothing that the hub shows keeps the queue from admitting jobs; whether Kueue answers was not asked.",
    "Decided": "The Placement has chosen clusters, or nobody may see what it chose.",
    "NotAccepted": "The hub has not accepted the cluster.",
    "ClusterUnavailable": "The hub hears nothing of the cluster, or nothing good.",
    "NotChosen": "No Placement chooses the cluster.",
    "LeftOut": "A Placement chooses the cluster, and fleetqueue leaves it out, for a reason that it says.",
    "Serving": "Jobs are sent to the cluster.",
}
"""All codes, and what each means. They are stable: programs read them."""
NOTHING_TO_DO: Final = frozenset({"Succeeded", "Finished", "Admitted", "Open", "Decided", "Serving"})
"""Codes of what is well or over; every other cause has a step."""


@dataclass(frozen=True, slots=True)
class Cause:
    code: str
    """One of the codes above."""
    sentence: str
    step: str = ""
    """What to do; never empty but where there is nothing to do."""

    def __post_init__(self) -> None:
        if self.code not in CODES:
            raise ValueError(f"{self.code} is no code of a cause")
        if not self.step and self.code not in NOTHING_TO_DO:
            raise ValueError(f"a cause with the code {self.code} needs a step")

    def with_details(self, *details: str) -> "Cause":
        """Return the same cause, with more to its sentence."""
        return Cause(self.code, joined(self.sentence, *details), self.step)


def joined(*parts: str) -> str:
    return "; ".join(part for part in parts if part)
