"""What the controllers of a cluster are told by whoever puts it together."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class KubernetesSettings:
    ca: str = ""
    """The certificate, as PEM, that clients trust the API server by; empty publishes none."""
