"""An API of others for tests: its queues have a line, which can be read and says who asked for what."""

from fleetqueue.api import errors
from fleetqueue.api.aggregated_apis import AggregatedApi, AggregatedResource
from fleetqueue.api.scheme import Resource

GROUP = "queues.example.com"
API_SERVICES = Resource("apiregistration.k8s.io", "v1", "APIService", "apiservices", namespaced=False)
SERVICES = Resource("", "v1", "Service", "services")


def api_service(version="v1", group=GROUP, **spec):
    return {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"{version}.{group}"},
        "spec": {
            "group": group,
            "version": version,
            "groupPriorityMinimum": 100,
            "versionPriority": 100,
            "insecureSkipTLSVerify": True,
            "service": {"name": "queue-server", "namespace": "default"},
            **spec,
        },
    }


def service(port=443):
    metadata = {"name": "queue-server", "namespace": "default"}
    return {"metadata": metadata, "spec": {"ports": [{"name": "https", "port": port}]}}


def queue_api(said="", versions=("v1",)):
    def answer(request):
        if request.name == "missing":
            raise errors.NotFound('queue "missing" not found', reason="NotFound", details={"name": "missing"})
        return {"kind": "Line", "asked": list(request[:-1]), "query": dict(request.query), "said": said}

    resources = (
        AggregatedResource("queues", "queue", "Line", namespaced=False, subresources={"line": ("get",)}),
        AggregatedResource("tickets", "ticket", "Ticket", namespaced=True, verbs=("get", "list")),
    )
    return AggregatedApi(GROUP, versions, resources, answer)


async def register(client, *versions):
    await client.create(SERVICES, service())
    for version in versions or ("v1",):
        await client.create(API_SERVICES, api_service(version))
