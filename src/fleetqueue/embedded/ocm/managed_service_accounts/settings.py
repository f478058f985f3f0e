"""What an operator can choose about managed service accounts."""

from dataclasses import dataclass

from fleetqueue.api.managed_service_account_v1beta1 import AGENT_NAMESPACE


@dataclass(frozen=True, slots=True)
class HubAccountSettings:
    ephemeral_identity: bool = True
    """Whether an account with `ttlSecondsAfterCreation` is deleted at its time."""

    cluster_profiles: bool = True
    """Whether tokens of accounts that ask for it are copied to the namespaces of their cluster's ClusterProfiles."""


@dataclass(frozen=True, slots=True)
class AgentAccountSettings:
    namespace: str = AGENT_NAMESPACE
    """Where the accounts stand on the worker; the add-on runs there, too."""

    ca: str = ""
    """PEM, by which clients of the worker trust its API; it goes to the hub beside each token."""

    lease_seconds: float = 60.0
    """How often the agent says that it is alive; after five times as long OCM takes it for gone."""
