"""A real API server as a test holds it: asked at once, made to forget, and cleaned when the test has ended."""

import http.client
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import orjson

from fleetqueue.api.core_v1 import Namespace
from fleetqueue.api.requests import MERGE_PATCH, Request, Response
from fleetqueue.api.scheme import Manifest
from fleetqueue.embedded.apiserver.registry.resources import Resources
from fleetqueue.real.cluster import RealCluster
from fleetqueue.testing.blocking_connection import BlockingConnection
from fleetqueue.testing.deliveries import Deliveries
from fleetqueue.testing.real_door import RealDoor

NAMESPACES: Final = Namespace.resource.path()
MANY: Final = 20
"""From so many objects on a whole collection is deleted at once."""
COMPACTION: Final = "/v3/kv/compaction"


class RealServer:
    """One test's hold of a server that all tests share."""

    def __init__(
        self, cluster: RealCluster, connection: BlockingConnection, resources: Resources, namespaces: Sequence[str]
    ) -> None:
        self.namespaces = namespaces
        self.deliveries = Deliveries()
        self.door = RealDoor(cluster.kubeconfig, self.deliveries, resources)
        self._cluster = cluster
        self._connection = connection

    def ask(self, request: Request) -> Response:
        before = self.deliveries.newest
        response = self._connection.ask(request)
        self.deliveries.answered(request, response, before)
        return response

    def compact(self) -> None:
        """Let etcd forget; without a watch cache the API server then knows no more than etcd."""
        etcd = _UnixConnection(self._cluster.folder / "etcd.sock:0")
        revision = self.ask(Request("GET", NAMESPACES)).body["metadata"]["resourceVersion"]
        etcd.request("POST", COMPACTION, orjson.dumps({"revision": revision, "physical": True}))
        assert etcd.getresponse().status == 200
        etcd.close()

    def end(self) -> None:
        """Delete all that was made, and let no finalizer hold it."""
        made: dict[str, dict[str, Manifest]] = {}
        for (path, name), obj in self.deliveries.objects.items():
            made.setdefault(path, {})[name] = obj
        for path in sorted(made, key=lambda path: path == NAMESPACES):  # which are the last to go
            _remove(self._connection, path, made[path])
        self.deliveries.objects.clear()


class _UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: Path) -> None:
        super().__init__("localhost", timeout=10)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self._path))


def _remove(connection: BlockingConnection, path: str, objects: Mapping[str, Manifest]) -> None:
    """Delete objects of one collection: one by one, or many at a time where none is anybody else's."""
    for name, obj in objects.items():
        if obj["metadata"].get("finalizers"):
            patch = {"metadata": {"finalizers": None}}
            connection.ask(Request("PATCH", f"{path}/{name}", {}, patch, MERGE_PATCH))
    is_ours_alone = "/namespaces/" in path and "/namespaces/kube-" not in path
    at_once = [path] if is_ours_alone and len(objects) > MANY else [f"{path}/{name}" for name in objects]
    for target in at_once:
        connection.ask(Request("DELETE", target, {}, {"gracePeriodSeconds": 0, "propagationPolicy": "Background"}))
    for name in objects if path == NAMESPACES else ():
        body = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}, "spec": {"finalizers": []}}
        response = connection.ask(Request("PUT", f"{path}/{name}/finalize", {}, body))
        assert response.status < 400, response.body
