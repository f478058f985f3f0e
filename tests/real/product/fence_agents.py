"""The agents of the workers, as processes with the shipped roles, each with its own way to the hub that can be cut."""

import asyncio
import signal
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import yaml

from fleetqueue import clock
from fleetqueue.api import errors
from fleetqueue.api.conditions import micro_timestamp
from fleetqueue.api.coordination_v1 import Lease
from fleetqueue.api.core_v1 import Namespace, Pod
from fleetqueue.api.fence import LEASE
from fleetqueue.client import Client
from fleetqueue.lab import forwarder, ports
from fleetqueue.runtime.informer import Informer

DEPLOY = Path(__file__).parents[3] / "deploy" / "kustomize"
NAMESPACE = "fleetqueue-system"
ACCOUNT = "fleetqueue-score-agent"
JOB_NAME = "batch.kubernetes.io/job-name"
AFTER = 12
"""Seconds that the agents' Leases are for."""


class WayToHub:
    """What a worker's agent reaches the hub through."""

    def __init__(self, target: int, log: Path) -> None:
        self.port = ports.assign(["way"], {})["way"]
        self.target = target
        self.log = log
        self._process: asyncio.subprocess.Process | None = None
        self._holder: Any = None

    async def open(self) -> None:
        command = (sys.executable, "-I", "-S", forwarder.__file__, str(self.port), str(self.target))
        with self.log.open("a") as log:
            self._process = await asyncio.create_subprocess_exec(*command, stderr=log)

    async def cut(self, how: str = "refuse") -> None:
        assert self._process is not None
        if how == "hang":
            self._process.send_signal(signal.SIGSTOP)
            return
        self._process.kill()
        await self._process.wait()
        self._holder = ports.hold(self.port)

    async def heal(self) -> None:
        assert self._process is not None
        if self._holder is not None:
            self._holder.close()
            self._holder = None
            await self.open()
        elif self._process.returncode is None:
            self._process.send_signal(signal.SIGCONT)

    async def close(self) -> None:
        await self.heal()
        if self._process is not None and self._process.returncode is None:
            self._process.kill()
            await self._process.wait()


class Agent:
    """`fleetqueue score-agent` on one worker."""

    def __init__(self, world: Any, name: str) -> None:
        self.world = world
        self.name = name
        folder = world.fleet.data_dir / f"agent-{name}"
        folder.mkdir(exist_ok=True)
        self.log = folder / "agent.log"
        self.kubeconfigs = folder / "worker.kubeconfig", folder / "hub.kubeconfig"
        self.way = WayToHub(world.fleet.clusters["hub"].ports["kube-apiserver"], folder / "way.log")
        self.process: asyncio.subprocess.Process | None = None

    async def set_up(self) -> None:
        """Give it an account on both clusters, with exactly the roles under deploy/."""
        await self.way.open()
        world, worker = self.world, self.world.workers[self.name]
        await world.ensure(worker, Namespace.manifest(NAMESPACE), Namespace)
        for path in ("score_agent.yaml", "rbac/score_agent_worker_cluster_role.yaml"):
            for manifest in yaml.safe_load_all((DEPLOY / path).read_text()):
                if manifest["kind"] != "Deployment":
                    await world.apply(manifest, worker)
        for manifest in yaml.safe_load_all((DEPLOY / "rbac/score_agent_hub_role.yaml").read_text()):
            await world.apply(manifest)
        await world.ensure(world.hub, Namespace.manifest(self.name), Namespace)
        await world.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata(self.name)})
        binding = {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": metadata(self.name),
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "fleetqueue-score-agent-hub",
            },
            "subjects": [{"kind": "ServiceAccount", "name": ACCOUNT, "namespace": self.name}],
        }
        await world.apply(binding)
        at_home, at_hub = self.kubeconfigs
        at_home.write_text(await world.account_kubeconfig(self.name, NAMESPACE, ACCOUNT))
        address = f"https://127.0.0.1:{self.way.port}"
        at_hub.write_text(await world.account_kubeconfig("hub", self.name, ACCOUNT, address))

    async def start(self, **more: Any) -> None:
        """Start the agent; `more` is of its settings."""
        at_home, at_hub = self.kubeconfigs
        arguments = (f"--kubeconfig={at_home}", f"--hub-kubeconfig={at_hub}", f"--cluster={self.name}")
        given = {"fence.after": AFTER, "probes.port": 0, **more}
        settings = [f"--set={name}={value}" for name, value in given.items()]
        command = (sys.executable, "-m", "fleetqueue", "score-agent", *arguments, *settings)
        with self.log.open("a") as log:
            self.process = await asyncio.create_subprocess_exec(*command, stderr=log)

    async def kill(self) -> None:
        assert self.process is not None
        if self.process.returncode is None:
            self.process.kill()
            await self.process.wait()

    def pause(self) -> None:
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        assert self.process is not None
        if self.process.returncode is None:
            self.process.send_signal(signal.SIGCONT)

    async def close(self) -> None:
        await self.kill()
        await self.way.close()


async def renew_once(hub: Client, name: str) -> None:
    """Renew the Lease of a worker for ten minutes, as its agent would; no agent runs."""
    with suppress(errors.AlreadyExists):
        await hub.create(Namespace.resource, Namespace.manifest(name))
    spec = {"leaseDurationSeconds": 600, "renewTime": micro_timestamp(clock.now())}
    await hub.create(Lease.resource, Lease.manifest(LEASE, name, spec=spec))


class PodWitness:
    """Watches the pods on all workers, and remembers every job that had live ones on two of them at once."""

    def __init__(self, clients: dict[str, Client], namespace: str) -> None:
        self.clients = clients
        self.namespace = namespace
        self.doubles: list[str] = []
        self._live: dict[str, dict[str, set[str]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    async def start(self) -> None:
        for name, client in self.clients.items():
            informer = Informer(client, Pod, cluster=name)
            informer.subscribe(lambda old, new, name=name: self._see(name, old, new))
            self._tasks.add(asyncio.create_task(informer.run()))
            await informer.synced.wait()

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.wait(self._tasks)

    def live_on(self, job: str) -> set[str]:
        return {worker for worker, pods in self._live.get(job, {}).items() if pods}

    def _see(self, worker: str, old: Pod | None, new: Pod | None) -> None:
        pod = new or old
        assert pod is not None
        job = pod.metadata.labels.get(JOB_NAME, "")
        if pod.namespace != self.namespace or not job:
            return
        pods = self._live.setdefault(job, {}).setdefault(worker, set())
        (pods.add if new is not None and is_live(new) else pods.discard)(pod.name)
        if len(self.live_on(job)) > 1:
            self._tasks.add(asyncio.create_task(self._confirm(job)))

    async def _confirm(self, job: str) -> None:
        """Ask the workers: two watches may tell of a move in the wrong order."""
        live = []
        for worker, client in self.clients.items():
            page = await client.list(Pod.resource, self.namespace, labels=f"{JOB_NAME}={job}")
            if any(is_live(Pod.view(raw)) for raw in page.items):
                live.append(worker)
        if len(live) > 1:
            self.doubles.append(f"pods of {job} are live on {live}")


def is_live(pod: Pod) -> bool:
    return pod.status.phase not in ("Succeeded", "Failed")


def metadata(namespace: str) -> dict[str, str]:
    return {"name": ACCOUNT, "namespace": namespace}
