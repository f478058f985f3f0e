"""What can be set about add-ons."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AddOnAgentSettings:
    cluster: str
    """The worker's name, which is its namespace on the hub."""
    hub_kubeconfig: str
    """The kubeconfig, without a user, that agents of add-ons are given for the hub, as text."""
    lease_interval: float = 30.0
    """Seconds after which the leases of add-ons are looked at again."""
    lease_grace: float = 300.0
    """Seconds after its last renewal for which an add-on counts as available: five times its lease."""
