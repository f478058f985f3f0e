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
        self._requests: dict[tuple[str, str, int], Counter] = {}
        """The counter of each sort of request, looked up once."""

    def count(self, cluster: str, request: Request, status: int) -> None:
        sort = (cluster, "WATCH" if "watch" in request.query else request.method, status)
        counter = self._requests.get(sort)
        if counter is None:
            counter = self._requests[sort] = self.requests.labels(*sort)
        counter.inc()
