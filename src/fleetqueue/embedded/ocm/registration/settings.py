"""What can be set about registration, on the hub and for an agent."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from fleetqueue.embedded.ocm.registration.names import AGENT_NAMESPACE


@dataclass(frozen=True, slots=True)
class RegistrationHubSettings:
    auto_accept: bool = False
    """Whether every new cluster is accepted, once; who is denied later stays denied."""
    auto_approved_users: Sequence[str] = ()
    """Whose first requests for a certificate are approved; counts only with `auto_accept`, as in OCM."""
    built_in_sets: bool = True
    """Whether the sets `default` and `global` are kept, and clusters without a set are put into `default`."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """Put on namespaces and rights of clusters."""


@dataclass(frozen=True, slots=True)
class RegistrationAgentSettings:
    cluster: str
    """Under which name the worker is known on the hub."""
    agent: str = ""
    """Which of the worker's agents this is; empty: as the certificate says, or any."""
    namespace: str = AGENT_NAMESPACE
    """Where the secrets with the kubeconfigs are."""
    urls: Sequence[str] = ()
    """Where others reach the worker's API."""
    ca: bytes = b""
    """By what they know it, as PEM."""
    annotations: Mapping[str, str] = field(default_factory=dict)
    """For the new ManagedCluster; only those with the agents' own prefix are used."""
    health_seconds: float = 60.0
    """How often the worker's API is asked whether it is well. Longer, and the hub hears of an outage later."""
    certificate_seconds: int = 0
    """How long a certificate shall be valid, at least an hour; 0: as long as the hub's signer likes."""
    custom_claims: int = 20
    """How many claims are shown beside the reserved ones."""
    reserved_suffixes: Sequence[str] = ()
    """Claims whose names end so are always shown, too."""
