"""Everything that an operator can choose: one tree for the hub's process and one for a worker's.

The tree is frozen and handed down as it is; `settings_file.py` reads it from YAML and flags. Each section has the
settings of one package, with the names of namespaces and of the ConfigMap filled in from the top.
"""

from dataclasses import dataclass, field, replace
from string import Formatter
from typing import Any, Final, Literal

from fleetqueue.api.fleetqueue import KUEUE_NAMESPACE, NAMESPACE
from fleetqueue.controllers.credentials.settings import CredentialsSettings
from fleetqueue.controllers.credentials.worker_rules import rules_for
from fleetqueue.controllers.fence.settings import FenceSettings
from fleetqueue.controllers.placement_admission.settings import PlacementAdmissionSettings
from fleetqueue.controllers.usage_scores.settings import ScoreAgentSettings, SilenceSettings
from fleetqueue.runtime.leader_election import LeaseSettings

NAMINGS: Final = ("placement", "cluster")
FROM_ABOVE: Final = frozenset({"kueue_namespace", "kueue_config_map", "namespace"})
"""Fields of a section that are chosen once, at the top; a section of a file does not know them."""


@dataclass(frozen=True, slots=True)
class ProbeSettings:
    """Where health and metrics are served."""

    host: str = "127.0.0.1"
    """The address to listen on; 0.0.0.0 in a pod, where the kubelet and Prometheus ask from outside."""

    port: int = 8080
    """The TCP port; 0 takes any free one, which the log then names."""

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65535:
            raise ValueError(f"port is {self.port} but must be between 0 and 65535")


@dataclass(frozen=True, slots=True)
class LogSettings:
    """What is logged, and how; always to standard error."""

    format: Literal["text", "json"] = "text"
    """`text` for people, `json` for log collectors."""

    level: Literal["debug", "info", "warning"] = "info"
    """The least serious lines that are written."""


@dataclass(frozen=True, slots=True)
class LeaderElectionSettings(LeaseSettings):
    """How replicas agree who acts: a Lease in our namespace."""

    enabled: bool = True
    """False starts acting at once: for a lab with a single replica. Two such replicas would disturb each other. The
    Lease is renewed all the same, so that `fleetqueue get` sees that the controller runs."""

    def __post_init__(self) -> None:
        if not 0 < self.retry < self.renew_deadline < self.duration:
            raise ValueError("retry must be less than renew_deadline, and that less than duration")


@dataclass(frozen=True, slots=True)
class HubSettings:
    """What `fleetqueue controller` is told."""

    kueue_namespace: str = KUEUE_NAMESPACE
    """Where Kueue runs on the hub; Placements and kubeconfig secrets are there."""

    kueue_config_map: str = ""
    """The ConfigMap with Kueue's configuration, in Kueue's namespace; empty finds it by Kueue's Deployment, and takes
    `kueue-manager-config` where there is none."""

    namespace: str = NAMESPACE
    """Where our own Lease and the admin kubeconfigs given at `join` are kept on the hub."""

    recheck: float = 300.0
    """Seconds between two looks at which APIs the hub serves; a new one, such as managed service accounts, is then
    used."""

    probes: ProbeSettings = field(default_factory=ProbeSettings)
    logs: LogSettings = field(default_factory=LogSettings)
    leader_election: LeaderElectionSettings = field(default_factory=LeaderElectionSettings)
    placement_admission: PlacementAdmissionSettings = field(default_factory=PlacementAdmissionSettings)
    credentials: CredentialsSettings = field(default_factory=CredentialsSettings)
    silent_agents: SilenceSettings = field(default_factory=SilenceSettings)

    def __post_init__(self) -> None:
        rules_for(self.credentials.job_kinds)  # refuses kinds that nobody knows
        if self.placement_admission.naming not in NAMINGS:
            raise ValueError(f"placement_admission.naming must be one of {', '.join(NAMINGS)}")
        names = {name for _, name, _, _ in Formatter().parse(self.placement_admission.secret_name) if name is not None}
        if names != {"cluster"}:
            raise ValueError("placement_admission.secret_name must have {cluster} in it, and no other field")

    def filled(self) -> "HubSettings":
        """Give every section the names that were chosen at the top."""
        kueue: dict[str, Any] = {"kueue_namespace": self.kueue_namespace, "kueue_config_map": self.kueue_config_map}
        return replace(
            self,
            leader_election=replace(self.leader_election, namespace=self.namespace),
            placement_admission=replace(self.placement_admission, **kueue),
            credentials=replace(self.credentials, **kueue, namespace=self.namespace),
        )


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """What `fleetqueue score-agent` is told."""

    cluster: str = ""
    """The name of the worker's ManagedCluster; its namespace on the hub has the same name."""

    namespace: str = NAMESPACE
    """The agent's own namespace on the worker, where it keeps in a Lease what it has promised to the hub."""

    probes: ProbeSettings = field(default_factory=ProbeSettings)
    logs: LogSettings = field(default_factory=LogSettings)
    scores: ScoreAgentSettings = field(default_factory=ScoreAgentSettings)
    fence: FenceSettings = field(default_factory=FenceSettings)
