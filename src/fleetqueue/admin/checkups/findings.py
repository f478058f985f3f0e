"""What `fleetqueue doctor` can find: a stable code for each, how bad it is, what follows from it, and what mends it."""

import json
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple

from fleetqueue.admin.causes import joined
from fleetqueue.admin.lost_connections import Way, given_up
from fleetqueue.api.meta import Object
from fleetqueue.api.scheme import Manifest

HUB: Final = "hub"
"""What the hub is called in findings; a worker has the name of its ManagedCluster."""


class Severity(StrEnum):
    ERROR = "error"
    """Jobs wait, or go wrong."""
    WARNING = "warning"
    """Jobs run, but something is not as it should be, or will go wrong later."""


class Ailment(NamedTuple):
    """What a code stands for."""

    severity: Severity
    wrong: str
    consequence: str
    remedy: str


E, W = Severity.ERROR, Severity.WARNING

AILMENTS: Final[Mapping[str, Ailment]] = {
    # What is installed
    "KindMissing": Ailment(
        E,
        "The hub or a worker does not serve a kind of Kueue or of Open Cluster Management that fleetqueue works with",
        "fleetqueue does not work there at all",
        "Install Kueue 0.15 or newer, or Open Cluster Management",
    ),
    "KueueElsewhere": Ailment(
        E,
        "Nothing of Kueue's is in the namespace in which it is looked for",
        "Nothing else was judged, since Placements and credentials are looked for there as well",
        "Name the namespace of Kueue with --kueue-namespace, or install Kueue",
    ),
    "VersionUntested": Ailment(
        W,
        "Kubernetes, Kueue or Open Cluster Management has a version that fleetqueue was not tested with",
        "Some capabilities may be missing, or behave in another way",
        "Compare with the page on versions, and upgrade",
    ),
    "KueueDown": Ailment(
        E,
        "No pod of Kueue's manager is available on the hub or on a worker",
        "Jobs cannot be created there, since their webhook does not answer, and nothing is admitted",
        "Start Kueue",
    ),
    "KueueSilent": Ailment(
        E,
        "Kueue's webhook does not answer on the hub or on a worker, and no pod of Kueue's is known to be down",
        "Jobs cannot be created there, and unless its webhook alone is out of reach nothing is admitted",
        "Start Kueue, or look at its log and at what its webhook needs",
    ),
    "ControllerSilent": Ailment(
        E,
        "Nobody keeps the Lease of fleetqueue's controller, and jobs depend on it",
        "Placement checks are not answered, and where Kueue leaves dispatching to fleetqueue no MultiKueue job starts",
        "Start the controller, or look at its log",
    ),
    "DispatcherNotInForce": Ailment(
        E,
        "Kueue runs with another dispatcher than its ConfigMap says, or may do so",
        "Jobs wait for a dispatcher that does not act, or are dispatched by another one than intended",
        "Restart Kueue",
    ),
    "KueueRestartNeeded": Ailment(
        W,
        "Kueue's ConfigMap was changed after Kueue had started",
        "Kueue goes on with the old configuration, which it reads only at its start",
        "Restart Kueue, or revert the change",
    ),
    "OtherDispatcher": Ailment(
        W,
        "There are placement checks, and one of Kueue's own dispatchers sends the jobs",
        "Jobs are not sent to the best cluster first, `fence` does not hold, and a drain may not end",
        "Let Kueue leave dispatching to fleetqueue",
    ),
    "UnknownDispatcher": Ailment(
        E,
        "Kueue leaves dispatching to somebody who is neither Kueue nor fleetqueue",
        "MultiKueue jobs wait for ever, unless such a dispatcher runs",
        "Let Kueue leave dispatching to fleetqueue",
    ),
    # Checks, Placements and sets
    "CheckWithoutPlacement": Ailment(
        E,
        "A check of fleetqueue's names no Placement",
        "The check is not Active, and jobs of its queues wait",
        "Name a Placement of Kueue's namespace in spec.parameters",
    ),
    "PlacementNotFound": Ailment(
        E,
        "A check names a Placement that does not exist",
        "New jobs of its queues wait; its clusters are drained",
        "Create the Placement in Kueue's namespace, or name another one",
    ),
    "PlacementInOtherNamespace": Ailment(
        E,
        "A check names a Placement that exists only outside of Kueue's namespace",
        "The Placement is not found, and jobs of its queues wait",
        "Create the Placement in Kueue's namespace, and bind its cluster sets there",
    ),
    "PlacementCheckAlone": Ailment(
        E,
        "A ClusterQueue has a placement check and no MultiKueue check",
        "Its jobs run on the hub itself",
        "Add a MultiKueue check whose config has the name of the Placement",
    ),
    "MultiKueueCheckAlone": Ailment(
        W,
        "A ClusterQueue has a MultiKueue check on what a Placement chose, and no placement check",
        "A job cannot be taken back from a cluster: drains, `wait` and `fence` do not work for it",
        "Add the placement check to the queue",
    ),
    "CheckMissing": Ailment(
        E,
        "A ClusterQueue names an AdmissionCheck that does not exist",
        "The queue is inactive, and its jobs wait",
        "Create the check, or take it off the queue",
    ),
    "CheckInactive": Ailment(
        E,
        "An AdmissionCheck that a queue uses is not Active",
        "The queue is inactive, and its jobs wait",
        "Do what the condition of the check asks for",
    ),
    "SetNotBound": Ailment(
        E,
        "A Placement chooses from a cluster set that is not bound in its namespace",
        "It selects no cluster of the set",
        "Bind the set in the namespace of the Placement",
    ),
    "SetMissing": Ailment(
        E,
        "A Placement or a binding names a cluster set that does not exist",
        "The Placement selects no cluster of it",
        "Create the set, and put clusters into it",
    ),
    "NothingSelected": Ailment(
        E,
        "A Placement that a check names selects no cluster",
        "New jobs of the check's queues wait",
        "Look at the labels and claims that it asks for, and at the clusters of its sets",
    ),
    # Clusters
    "ClusterNotAccepted": Ailment(
        W,
        "A ManagedCluster is not accepted by the hub",
        "It gets no jobs",
        "Accept it, or delete it",
    ),
    "ClusterUnavailable": Ailment(
        E,
        "A ManagedCluster is not available: its agent is silent, or reports that its API server does not answer",
        "Placements drop it unless they tolerate that, and jobs on it may be lost",
        "Look at the cluster, at its agent and at the network between it and the hub",
    ),
    "ClusterLeftOut": Ailment(
        W,
        "A Placement selects a cluster, and fleetqueue leaves it out",
        "It gets no jobs",
        "Do what the message of the check says",
    ),
    "ClusterTainted": Ailment(
        W,
        "A ManagedCluster has a taint that no Placement with a check tolerates",
        "It gets no jobs, and what runs there is drained",
        "Take the taint off, by fleetqueue undrain where it is that of a drain, or let a Placement tolerate it",
    ),
    "ClusterJoinedTwice": Ailment(
        E,
        "One cluster is joined under two names",
        "It is used under one of them only: Kueue would take one copy of a job for two, and remove it",
        "Let one of the two go",
    ),
    "HubIsWorker": Ailment(
        E,
        "The hub is joined as its own worker",
        "It is never used as one: Kueue would take the hub's own Workloads for copies, and delete them",
        "Let it go",
    ),
    "ClockSkew": Ailment(
        W,
        "The clocks of the hub and of a worker, or of the hub and this machine, differ",
        "Tokens may be refused as not valid yet, and times in messages mislead",
        "Synchronise the clocks",
    ),
    # Credentials and connections
    "CredentialMissing": Ailment(
        E,
        "There is no secret with which Kueue could reach a cluster that it shall use",
        "Kueue is not connected to it, and no job goes there",
        "Join the worker with an administrator's kubeconfig, or make the secret",
    ),
    "CredentialExpiring": Ailment(
        W,
        "A credential ends soon, and was not renewed in its time",
        "When it ends, Kueue loses the worker",
        "Look why it is not renewed; one that was made by hand must be made anew",
    ),
    "CredentialExpired": Ailment(
        E,
        "A credential has ended",
        "Kueue does not reach the worker",
        "Look why it was not renewed; one that was made by hand must be made anew",
    ),
    "CredentialRefused": Ailment(
        E,
        "A worker does not accept the token of its credential",
        "Kueue does not reach the worker",
        "Look why it is not replaced; one that was made by hand must be made anew",
    ),
    "RightMissing": Ailment(
        E,
        "A credential may not do on its worker what Kueue does there",
        "Kueue refuses the whole worker where it may not watch a kind, and fails where it may not write",
        "Grant the rights on the worker",
    ),
    "JobKindMissing": Ailment(
        E,
        "A worker does not serve a kind of jobs that the hub's Kueue is configured for",
        "Kueue refuses the whole worker, also for jobs of other kinds",
        "Install the kind on the worker, or take it off Kueue's configuration on the hub and restart Kueue",
    ),
    "NotConnected": Ailment(
        E,
        "Kueue is not connected to a worker",
        "It gets no new jobs, and those on it may be lost",
        "Do what Kueue's message says",
    ),
    "MemberMissing": Ailment(
        E,
        "A MultiKueueConfig lists a MultiKueueCluster that does not exist",
        "The cluster gets no jobs, and where none is left the check is inactive",
        "Create the MultiKueueCluster, or take it off the config when no job runs there",
    ),
    "DrainStuck": Ailment(
        W,
        "A cluster drains and cannot be asked whether it is empty",
        "It stays listed until it answers, or is given up",
        "Repair the cluster; give it up only if it is gone for good: its jobs then start elsewhere",
    ),
    # Queues
    "QueueStopped": Ailment(
        W,
        "A queue is stopped by its stopPolicy",
        "No new job is admitted through it",
        "Set spec.stopPolicy to None",
    ),
    "QueueInactive": Ailment(
        E,
        "A ClusterQueue is not Active",
        "No job is admitted through it",
        "Do what the condition of the queue asks for",
    ),
    "FlavorMissing": Ailment(
        E,
        "A ClusterQueue names a ResourceFlavor that does not exist",
        "The queue is inactive, and its jobs wait",
        "Create the flavor",
    ),
    "ClusterQueueMissing": Ailment(
        E,
        "A LocalQueue names a ClusterQueue that does not exist",
        "Its jobs wait",
        "Create the ClusterQueue, or name another one",
    ),
    "NamespaceMissing": Ailment(
        E,
        "A worker lacks a namespace from which the hub sends jobs",
        "Jobs of that namespace cannot be copied to the worker",
        "Create the namespace and its LocalQueue on the worker",
    ),
    "LocalQueueMissing": Ailment(
        E,
        "A worker lacks a LocalQueue through which the hub sends jobs",
        "The copies of jobs are not admitted there",
        "Create the LocalQueue on the worker",
    ),
    # Scores and the fence
    "ScoreAgentSilent": Ailment(
        W,
        "Nobody measures a cluster any more, or ever did",
        "It counts as full: Placements and the dispatcher that look at scores avoid it",
        "Start the score agent, or look at its log",
    ),
    "ScoreExpired": Ailment(
        W,
        "The scores of a cluster have expired",
        "Open Cluster Management counts them as 0, which is better than those of a nearly full cluster",
        "Start the score agent, and fleetqueue's controller, which watches over it",
    ),
    "FenceTooLong": Ailment(
        W,
        "The fence of a worker needs longer than Kueue's workerLostTimeout",
        "Jobs with `fence` wait on after Kueue has given up a lost worker",
        "Shorten fence.after of the agents, or give Kueue a longer multiKueue.workerLostTimeout",
    ),
    "FenceSilent": Ailment(
        W,
        "The agent of a worker does not renew its Lease, although the cluster is available",
        "New jobs with `fence` are sent there without a promise, and its older ones are stopped",
        "Start the score agent, or look at its log",
    ),
    # Monitoring
    "AlertsWithoutMetrics": Ailment(
        W,
        "Alerts are installed, and nothing that can be seen lets Prometheus scrape the controller",
        "The alert FleetqueueNobodyLeads fires for ever, and no other one ever does",
        "Install the ServiceMonitor, or scrape the controller's pods",
    ),
}


@dataclass(frozen=True, slots=True)
class RepairStep:
    """One thing to do: a command, or a sentence where no command does it alone."""

    words: tuple[str, ...] = ()
    cluster: str = HUB
    """Where the command acts."""
    stdin: str = ""
    """What the command reads."""
    sentence: str = ""

    def line(self, options: Mapping[str, Sequence[str]]) -> str:
        """Write it as it can be typed; `options` say how each cluster is named to kubectl and fleetqueue."""
        if not self.words:
            return self.sentence
        program, *rest = self.words
        named = options.get(self.cluster, ())
        line = shlex.join([program, *named, *rest] if program == KUBECTL else [program, *rest, *named])
        return f"{line} <<'EOF'\n{self.stdin}\nEOF" if self.stdin else line


KUBECTL: Final = "kubectl"


def kubectl(*words: str, cluster: str = HUB, stdin: str = "") -> RepairStep:
    return RepairStep((KUBECTL, *words), cluster, stdin)


def applied(*manifests: Manifest, cluster: str = HUB) -> RepairStep:
    """Create or complete objects."""
    return kubectl("apply", "-f", "-", cluster=cluster, stdin="\n---\n".join(map(_text, manifests)))


def merged(obj: Object, patch: Manifest, cluster: str = HUB) -> RepairStep:
    """Change an object by a merge patch."""
    return kubectl(
        "patch", *named(obj), "--type=merge", "-p", json.dumps(patch, separators=(",", ":")), cluster=cluster
    )


def fleetqueue(*words: str) -> RepairStep:
    """Run a command of ours on the hub."""
    return RepairStep(("fleetqueue", *words))


def by_hand(sentence: str) -> RepairStep:
    return RepairStep(sentence=sentence)


def repaired(way: Way, *looks: str) -> RepairStep:
    """Say what to look at on a cluster that does not answer, and last how to give it up, with what that does."""
    return by_hand(joined(*looks, given_up(way)))


def named(obj: Object) -> list[str]:
    """Name an object as kubectl wants it."""
    resource = obj.resource
    plural = f"{resource.plural}.{resource.group}" if "." in resource.group else resource.plural
    return [plural, obj.name, *(["-n", obj.namespace] if obj.namespace else [])]


@dataclass(frozen=True, slots=True)
class Finding:
    code: str
    """One of AILMENTS; it never changes its meaning."""
    wrong: str
    """What is wrong with this very object."""
    steps: tuple[RepairStep, ...]
    """What to do, one after the other."""
    cluster: str = HUB
    """Where the object is."""
    kind: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def ailment(self) -> Ailment:
        return AILMENTS[self.code]

    @property
    def severity(self) -> Severity:
        return self.ailment.severity

    @property
    def where(self) -> str:
        """Name the object: `AdmissionCheck gpu`, `Lease ns/name`."""
        return f"{self.kind} {self.namespace + '/' if self.namespace else ''}{self.name}".strip()


def found(code: str, obj: Object, wrong: str, *steps: RepairStep, cluster: str = HUB) -> Finding:
    """Say what is wrong with an object."""
    return Finding(code, wrong, steps, cluster, obj.resource.kind, obj.namespace, obj.name)


def _text(manifest: Manifest) -> str:
    import yaml

    return str(yaml.safe_dump(manifest, sort_keys=False)).rstrip("\n")
