"""What an operator can choose about placement admission."""

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class PlacementAdmissionSettings:
    kueue_namespace: str = "kueue-system"
    """Where Kueue runs; Placements, kubeconfig secrets and Kueue's configuration are looked for there."""

    kueue_config_map: str = ""
    """The ConfigMap in Kueue's namespace with Kueue's configuration; empty finds it by Kueue's Deployment, and takes
    `kueue-manager-config` where there is none."""

    naming: str = "placement"
    """`placement`: a MultiKueueCluster `<placement>-<cluster>` per Placement; `cluster`: one of the cluster's own
    name."""

    access: Literal["secret", "profile"] = "secret"
    """`secret`: MultiKueueClusters name the kubeconfig secret of their cluster; `profile`: its ClusterProfile, which
    Kueue 0.16 and newer follows with the gate MultiKueueClusterProfile and an access provider named fleetqueue."""

    secret_name: str = "kueue-admin-{cluster}-kubeconfig"
    """The secret, in Kueue's namespace, with which Kueue reaches a cluster."""

    drain_timeout: float = 0.0
    """Seconds after which jobs that still run on a dropped cluster are taken back and started elsewhere; 0 lets them
    end."""

    drain_poll: float = 15.0
    """Seconds between two questions to a draining cluster; when the last job there has left, it is asked at once."""

    linger: float = 3.0
    """Seconds that the connection to an unlisted cluster is kept, to look once more; Kueue acts on a change within
    one."""

    nomination_timeout: float = 60.0
    """Seconds until a further cluster is nominated for a Workload that no nominated one has admitted; five times as
    long while Kueue has not brought the copy to a connected cluster, or the job to one that has admitted it."""

    lost_timeout: float = 900.0
    """Seconds that a Workload waits for a nominated cluster that cannot be reached, since it may run there, and that a
    drain waits for one whose ManagedCluster is gone. Kueue's own workerLostTimeout has the same default: after it, a
    job may be started elsewhere although it still runs."""

    fence_slack: float = 60.0
    """Seconds beyond the Lease of a silent cluster, and beyond the time that a job's pods have to stop, until a job
    with `fleetqueue.dev/lost-worker: fence` is started elsewhere. The agent needs 36 of them at most, and 51 after a
    restart on another machine."""

    settle: float = 10.0
    """Seconds until a job that was just admitted shows in the scores and the usage of its cluster."""

    min_score_gain: int = 0
    """Points by which a cluster must beat the one that it replaces; 0 follows every decision."""

    min_dwell: float = 0.0
    """Seconds that a selection stands before a better score may change it; 0 follows every decision."""

    max_moves_per_hour: int = 0
    """How often better scores may change a selection in an hour; 0 means as often as they do."""

    def member(self, placement: str, cluster: str) -> str:
        """Return the name of the MultiKueueCluster for a cluster that a Placement selected."""
        return cluster if self.naming == "cluster" else f"{placement}-{cluster}"

    def cluster(self, placement: str, member: str) -> str:
        """Return the cluster that a member of this name is for: the other way round."""
        return member if self.naming == "cluster" else member.removeprefix(f"{placement}-")

    def secret(self, cluster: str) -> str:
        return self.secret_name.format(cluster=cluster)
