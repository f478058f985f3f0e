"""What the stories must show: the acceptance checklist, and the record of what held.

The ids are those of the walkthroughs' checklist. Where an engine shows something in another form than their pages, the
sentence says what is expected here; docs/en/reference/stories.md says which engine shows what, and how.
"""

from dataclasses import dataclass, field
from typing import Final

CHECKLIST: Final = {
    "ENV-1": "the ManagedClusters are accepted, joined and available",
    "ENV-2": "every worker has the add-ons managed-serviceaccount and resource-usage-collect, and they are available",
    "ENV-3": "Kueue's manager is up on the hub and on every worker",
    "ENV-4": "OCM brought the queues to every worker, and where its add-ons are pods, those and their permissions",
    "ENV-5": "OCM keeps one ClusterProfile per worker in each namespace with a bound set",
    "ENV-6": "each ClusterProfile in Kueue's namespace names exactly one way in, ours",
    "ENV-7": "there is one Opaque secret per worker with the single key kubeconfig",
    "ENV-8": "each kubeconfig is whole and small: one cluster with the worker's URL and CA, one user with a token",
    "ENV-9": "placement-spoke is satisfied and selects every worker of the set",
    "S1-1": "the MultiKueueClusters are Active: Connected",
    "S1-2": "the MultiKueue check is Active: The admission check is active",
    "S1-3": "the ClusterQueue is Active: Can admit new workloads",
    "S1-4": "copies of the job appear on both workers; one admits it, the other ends with none",
    "S1-5": "the job finishes on the worker and on the hub, and nothing of it stays on the workers",
    "S1-6": "our controller has changed nothing of what was written by hand",
    "S2-1": "the decision lists exactly the labelled clusters",
    "S2-2": "the MultiKueueConfig lists exactly their MultiKueueClusters",
    "S2-3": "exactly those MultiKueueClusters were made, each with the credentials of its cluster",
    "S2-4": "the placement check is Active: MultiKueueConfig and MultiKueueCluster generated",
    "S2-5": "clusters are Connected, the MultiKueue check is active, the ClusterQueue is Ready",
    "S2-6": "the job is admitted on exactly one of the labelled clusters, never elsewhere; the config is unchanged",
    "S2-7": "a check before its Placement waits (PlacementNotFound) and converges by itself when it comes",
    "S2-8": "an unlabelled cluster leaves the config; the check stays active, the config stays the same object",
    "S2-9": "without any cluster there is no config: NoClustersAvailable, BadConfig, and the queue says so",
    "S2-10": "a cluster that is labelled again brings everything back",
    "S2-11": "unbinding the set empties the selection; binding it again brings everything back",
    "S2-12": "deleting the placement check removes its config and clusters, and the check goes when unused",
    "S2-13": "of two checks on one Placement, deleting one leaves the shared config alone",
    "S3-1": "without jobs the GPU scores are -100, -70 and -70, for the cluster as for its best node",
    "S3-2": "a job with one GPU lowers the score of its cluster to -80, and no other",
    "S3-3": "the decision moves to the freer cluster; the config serves exactly that, and drains the one with the job",
    "S3-4": "a new job goes to the freer cluster",
    "S3-5": "the job on the dropped cluster is undisturbed, runs to its end, and the hub knows",
    "S3-6": "the decision follows the scores: strictly higher wins, on a tie the first name; the config follows",
    "S3-7": "scores are listed in the order of the contract: number 5 is gpuClusterAvailable",
    "S3-8": "a cluster whose score agent is silent gets the lowest score and is not chosen; heard again, it is",
    "K-1": "the placement check of the job's Workload became Ready, so that MultiKueue dispatched it",
    "D-1": "after kubectl delete -f everything that was made is gone, without a stuck finalizer",
    "ONCE": "at no moment did a job run on two workers",
}

PAGES: Final = {
    "A-1": "OCM installs the score add-on on every cluster by itself",
    "A-2": "every cluster gets one score object",
    "A-3": "a Placement follows the free memory, also as the v1alpha1 of the page",
    "A-4": "uninstalling the score add-on leaves nothing",
    "B-1": "the tree of cluster sets is that of clusteradm",
    "B-2": "GPUs that are written into a node's status outlast what its kubelet reports",
    "C-1": "a rotated token reaches the kubeconfig secret, and the MultiKueueCluster stays connected",
    "C-2": "a deleted token secret takes the kubeconfig secret with it",
    "C-3": "deleted permissions take the kubeconfig secret with them, and come back",
    "C-4": "a token secret without token or CA is named, and nothing is written",
    "C-5": "a cluster without a URL is named, and nothing is written",
    "C-6": "of two URLs the first is used",
    "C-7": "a proxy in front of the workers is used, with the hub's CA",
    "C-8": "with cluster profiles, members refer to the profile, and one that is lost is told of",
    "D-2": "a deleted cluster loses its account, permissions, secret and MultiKueueCluster",
    "DOC-1": "the manual path of Kueue's page gives its three lines",
    "M-1": "the contexts of Kueue's page work",
    "P-1": "with gate, provider and clusterProfileRef a cluster is connected",
}
"""Ids of the walkthroughs' smaller pages; tests tell those on embedded clusters as the stories are told."""

SHOWN_BY_TESTS: Final = "tests marked with the id show it"
NOT_SHOWN: Final = dict.fromkeys(PAGES, SHOWN_BY_TESTS)
"""Ids of the checklist that the stories do not show, and why."""

ONLY_WITH_PODS: Final = {
    "ENV-2": "no kubelet runs here, so the stories have no add-ons; see ENV-7 and S3-1 for what they would do",
}
"""Ids that need parts which are pods, and why others do not show them."""

ONLY_WITH_AGENTS: Final = ("ENV-1", "ENV-2", "ENV-4", "ENV-5", "ENV-6")
"""Ids that need OCM's agents; with the placement controller alone nobody reports on the workers."""


@dataclass(frozen=True, slots=True)
class ExpectationOutcome:
    """One expectation that was looked at."""

    id: str
    held: bool
    seconds: float
    """How long it took to become true, or was waited for."""
    note: str = ""
    """What was seen instead, where it did not hold."""
    part: str = ""
    """Which part of the expectation this is, where it is looked at in several."""

    @property
    def sentence(self) -> str:
        return self.part or {**CHECKLIST, **PAGES}[self.id]


class ExpectationFailed(Exception):
    """What a story promises did not happen; the rest of the stories cannot be told."""

    def __init__(self, outcome: ExpectationOutcome) -> None:
        super().__init__(f"{outcome.id} did not hold: {outcome.sentence}; {outcome.note}")
        self.outcome = outcome


@dataclass(slots=True)
class Record:
    """What held so far, in the order in which it was looked at."""

    outcomes: list[ExpectationOutcome] = field(default_factory=list)

    def add(self, outcome: ExpectationOutcome) -> None:
        """Write down an outcome; an id that is looked at several times holds if it held each time."""
        self.outcomes.append(outcome)

    def of(self, expectation: str) -> ExpectationOutcome | None:
        """Return what is known of an id: its failure, or when it last held; None where it was not looked at."""
        outcomes = [outcome for outcome in self.outcomes if outcome.id == expectation]
        return next((outcome for outcome in outcomes if not outcome.held), outcomes[-1] if outcomes else None)

    @property
    def all_held(self) -> bool:
        return bool(self.outcomes) and all(outcome.held for outcome in self.outcomes)
