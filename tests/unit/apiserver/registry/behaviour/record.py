"""Do the cases to a real kube-apiserver and write what it answers to `recorded.json`.

Run it after a change of the cases: `python -m tests.unit.apiserver.registry.behaviour.record`. It needs the real engine
(`fleetqueue engine build`) and starts only etcd and the API server, for some seconds.
"""

import asyncio
import dataclasses
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import orjson

from fleetqueue.engine import find, ports
from fleetqueue.engine.cluster import Cluster
from fleetqueue.engine.cluster_api import ClusterApi
from fleetqueue.engine.control_plane import PORTS, etcd, kube_apiserver
from fleetqueue.engine.layout import Layout
from fleetqueue.engine.pki import ensure_pki
from fleetqueue.engine.processes import Processes
from tests.unit.apiserver.registry.behaviour.running import CASES, HERE, Ask, run

# What kinds do by themselves is judged, not what admission adds to it.
NO_ADMISSION = (
    "--disable-admission-plugins=ServiceAccount,Priority,DefaultTolerationSeconds,LimitRanger,ResourceQuota,"
    "DefaultStorageClass,StorageObjectInUseProtection,RuntimeClass,DefaultIngressClass,PodSecurity,"
    "MutatingAdmissionPolicy,ValidatingAdmissionPolicy,PersistentVolumeClaimResize"
)


@asynccontextmanager
async def real_server(layout: Layout, folder: Path) -> AsyncIterator[ClusterApi]:
    """An API server with its etcd, and nothing else."""
    cluster = Cluster("cases", folder / "cases", ports.assign(PORTS, {}), layout)
    processes = Processes(folder / "processes.json")
    cluster.folder.mkdir(mode=0o700)
    ensure_pki(cluster.name, cluster.pki)
    command = kube_apiserver(cluster)
    try:
        processes.start(etcd(cluster, fsync=False))
        await processes.up(dataclasses.replace(command, arguments=(*command.arguments, NO_ADMISSION)))
        async with cluster.api() as api:
            yield api
    finally:
        await processes.stop_all()


def asking(api: ClusterApi) -> Ask:
    async def ask(method: str, path: str, body: Any, media_type: str) -> tuple[int, Any]:
        code, answer = await api.request(method, path, body, media_type)
        return code, orjson.loads(answer)

    return ask


async def record_all(api: ClusterApi) -> dict[str, Any]:
    ask = asking(api)
    return {case["name"]: await run(ask, case, f"case-{number}") for number, case in enumerate(CASES)}


def written(recorded: dict[str, Any]) -> bytes:
    text = b"\n".join(orjson.dumps(name) + b":" + orjson.dumps(steps) + b"," for name, steps in recorded.items())
    return b"{\n" + text.removesuffix(b",") + b"\n}\n"


async def main() -> None:
    layout = find()
    if layout is None:
        sys.exit("the real engine is not built: run `fleetqueue engine build`")
    with tempfile.TemporaryDirectory() as folder:
        async with real_server(layout, Path(folder)) as api:
            recorded = await record_all(api)
    (HERE / "recorded.json").write_bytes(written(recorded))


if __name__ == "__main__":
    asyncio.run(main())
