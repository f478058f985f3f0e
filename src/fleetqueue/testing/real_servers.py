"""Real API servers for tests: etcd and kube-apiserver each, with the custom kinds, and nothing that lives in them.

They run as children of a thread of their own, which lives as long as the tests do.
"""

import asyncio
import threading
from collections.abc import Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypeVar

from fleetqueue.api.core_v1 import Namespace
from fleetqueue.embedded.apiserver.server import Secrets
from fleetqueue.lab.pki import ensure_pki
from fleetqueue.lab.ports import assign
from fleetqueue.lab.processes import Command, Processes
from fleetqueue.manifests.custom_kinds import crds
from fleetqueue.real import control_plane
from fleetqueue.real.cluster import RealCluster
from fleetqueue.real.cluster_api import ClusterApi
from fleetqueue.real.layout import Layout
from fleetqueue.testing.blocking_connection import BlockingConnection
from fleetqueue.testing.real_server import RealServer
from fleetqueue.testing.templates import SYSTEMS, at_once, template

ADMISSION: Final = "--disable-admission-plugins="
SERVERS_OWN: Final = ("extension-apiserver-authentication", "kube-apiserver-legacy-service-account-token-tracking")
POLICY: Final = [
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": "servers-own"},
        "spec": {
            "matchConstraints": {
                "resourceRules": [
                    {
                        "apiGroups": [""],
                        "apiVersions": ["v1"],
                        "operations": ["CREATE"],
                        "resources": ["configmaps"],
                        "resourceNames": list(SERVERS_OWN),
                    }
                ]
            },
            "validations": [{"expression": "false"}],
        },
    },
    {
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": "servers-own"},
        "spec": {"policyName": "servers-own", "validationActions": ["Deny"]},
    },
]
T = TypeVar("T")


class RealServers:
    def __init__(self, layout: Layout, folder: Path, namespaces: Sequence[str] = ()) -> None:
        self.layout = layout
        self.namespaces = namespaces
        self.folder = folder
        self._started: list[tuple[RealCluster, BlockingConnection]] = []
        self._resources = at_once(template().copy(Secrets())).resources
        self._processes = Processes(folder / "processes.json")
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="real servers")
        self._thread.start()

    def __getitem__(self, number: int) -> RealServer:
        """Give a test its hold of a server, which is started when it is first asked for."""
        while len(self._started) <= number:
            cluster = self._do(self._start(f"server{len(self._started)}"))
            self._started.append((cluster, BlockingConnection(cluster.server, cluster.pki)))
        return RealServer(*self._started[number], self._resources, self.namespaces)

    def stop(self) -> None:
        for _, connection in self._started:
            connection.close()
        self._processes.kill_all()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _start(self, name: str) -> RealCluster:
        folder = self.folder / name
        folder.mkdir(mode=0o700)
        cluster = RealCluster(name, folder, assign(["kube-apiserver"], {}), self.layout)
        ensure_pki(name, cluster.pki)
        cluster.write_kubeconfigs()
        self._processes.start(control_plane.etcd(cluster, fsync=False))
        await self._processes.up(bare(control_plane.kube_apiserver(cluster)))
        definitions = [definition for system in SYSTEMS for definition in crds(system)]
        async with cluster.api() as api:
            await api.ensure_all([*(Namespace.manifest(name) for name in self.namespaces), *definitions])
            await api.wait_served(definitions)
            await _keep_out_the_servers_own(api)
        return cluster

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


async def _keep_out_the_servers_own(api: ClusterApi) -> None:
    """Remove the ConfigMaps that an API server keeps for itself, and refuse them when it makes them again.

    Tests that follow all ConfigMaps would otherwise see them come and go.
    """
    await api.ensure_all(POLICY)
    for name in SERVERS_OWN:
        path = f"/api/v1/namespaces/kube-system/configmaps/{name}"
        while await api.get(path) is not None or await _may_be_made(api, name):
            await api.request("DELETE", path)
            await asyncio.sleep(0.1)


async def _may_be_made(api: ClusterApi, name: str) -> bool:
    manifest = {"metadata": {"name": name}}
    status, _ = await api.request("POST", "/api/v1/namespaces/kube-system/configmaps?dryRun=All", manifest)
    return status == 201


def bare(command: Command) -> Command:
    """Let pods do without the service account that a controller would have made, and let watches expire with etcd."""
    arguments = [
        f"{argument},ServiceAccount" if argument.startswith(ADMISSION) else argument for argument in command.arguments
    ]
    return replace(command, arguments=(*arguments, "--watch-cache=false"))
