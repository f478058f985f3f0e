"""The numbers that every process of ours exposes; one registry per process, none of the library's global one."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from fleetqueue.api.requests import Request


class Metrics:
    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self.reconciles = Counter(
            "fleetqueue_reconciles_total", "Reconciles by result", ["controller", "result"], registry=self.registry
        )
        self.reconcile_seconds = Histogram(
            "fleetqueue_reconcile_seconds", "How long a reconcile takes", ["controller"], registry=self.registry
        )
        self.queue_length = Gauge(
            "fleetqueue_queue_length", "Keys that wait to be worked on", ["controller"], registry=self.registry
        )
        self.requests = Counter(
            "fleetqueue_api_requests_total",
            "Requests to API servers",
            ["cluster", "verb", "code"],
            registry=self.registry,
        )
        self.leading = Gauge("fleetqueue_leading", "1 while this process acts", registry=self.registry)

    def count(self, cluster: str, request: Request, status: int) -> None:
        verb = "WATCH" if "watch" in request.query else request.method
        self.requests.labels(cluster, verb, str(status)).inc()
