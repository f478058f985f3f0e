"""The numbers of this package, for Prometheus."""

from prometheus_client import CollectorRegistry, Gauge

from fleetqueue.controllers.credentials.issued import Issued


class Measures:
    def __init__(self, registry: CollectorRegistry) -> None:
        self.expiry = Gauge(
            "fleetqueue_credential_expiry_timestamp_seconds",
            "When the credential of a cluster ends, in seconds since 1970; renewal comes well before",
            ["cluster"],
            registry=registry,
        )

    def holds(self, cluster: str, credential: Issued | None) -> None:
        if credential is not None:
            self.expiry.labels(cluster).set(credential.expires.timestamp())

    def forget(self, cluster: str) -> None:
        self.expiry.remove(cluster)
