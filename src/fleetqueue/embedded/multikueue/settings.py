"""What the owner of a hub can choose about MultiKueue; the pod that runs it reads it from Kueue's configuration."""

from dataclasses import dataclass
from pathlib import Path

from fleetqueue.api import kueue_v1beta2 as kueue
from fleetqueue.api.scheme import Manifest


@dataclass(frozen=True, slots=True)
class MultiKueueSettings:
    namespace: str = "kueue-system"
    """Where the Secrets with kubeconfigs, and the ClusterProfiles, are."""
    origin: str = "multikueue"
    """The value of the origin label on all that this hub makes on workers."""
    frameworks: tuple[str, ...] = ("batch/job",)
    """The kinds of jobs that are sent. A worker that does not serve one of them cannot be connected."""
    external_frameworks: tuple[str, ...] = ()
    """Further kinds that are sent, by their names: `Kind.version.group`."""
    served: tuple[str, ...] | None = None
    """Those of them that the hub serves, of which alone there can be jobs here; None means all."""
    worker_lost_timeout: float = 900.0
    """Seconds for which a worker that does not answer keeps its jobs; then they are started elsewhere."""
    gc_interval: float = 60.0
    """Seconds between two looks for leftovers on workers; 0 never looks."""
    dispatcher: str = kueue.ALL_AT_ONCE
    """Who nominates clusters for a Workload; any name but Kueue's own two leaves it to somebody else."""
    step_size: int = 3
    """How many clusters the incremental dispatcher adds in a round."""
    serves_profiles: bool = False
    """Whether a MultiKueueCluster may name a ClusterProfile (the gate MultiKueueClusterProfile)."""
    access_providers: tuple[Manifest, ...] = ()
    """The programs that give credentials for ClusterProfiles: `{name, execConfig}`, the preferred one first."""
    kubeconfig_folder: Path | None = None
    """Where kubeconfig files must be (the gate MultiKueueKubeConfigPathValidation); None allows any place."""
    replica_role: str = "standalone"
    """What the numbers say of who tells them."""
    old_conditions: bool = False
    """Whether a check also has the two conditions that Kueue 0.7 and 0.8 wrote."""
