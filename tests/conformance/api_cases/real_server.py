"""A real kube-apiserver with its etcd, and nothing else: what judges the table."""

import asyncio
import base64
import dataclasses
import ssl
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import orjson

from fleetqueue.lab import ports
from fleetqueue.lab.pki import ensure_pki
from fleetqueue.lab.processes import Processes
from fleetqueue.real.cluster import RealCluster
from fleetqueue.real.control_plane import PORTS, etcd, kube_apiserver
from fleetqueue.real.layout import Layout
from tests.conformance.api_cases.http_door import OverHttp, session_of
from tests.conformance.api_cases.running import DEFINITIONS, define

# What the server and the kinds do by themselves is judged, not what these add to it.
NO_ADMISSION = (
    "--disable-admission-plugins=ServiceAccount,Priority,DefaultTolerationSeconds,LimitRanger,ResourceQuota,"
    "DefaultStorageClass,StorageObjectInUseProtection,RuntimeClass,DefaultIngressClass,PodSecurity,"
    "MutatingAdmissionPolicy,ValidatingAdmissionPolicy,PersistentVolumeClaimResize,TaintNodesByCondition"
)

LEARNT_SECONDS = 17.0
"""It looks every 15 seconds how far etcd was compacted."""


@asynccontextmanager
async def real_server(layout: Layout, folder: Path) -> AsyncIterator[OverHttp]:
    """Start it, with the custom kinds of the cases; the door is the administrator's."""
    cluster = RealCluster("cases", folder / "cases", ports.assign(PORTS, {}), layout)
    processes = Processes(folder / "processes.json")
    cluster.folder.mkdir(mode=0o700)
    ensure_pki(cluster.name, cluster.pki)
    command = kube_apiserver(cluster)
    arguments = [one for one in command.arguments if not one.startswith("--disable-admission-plugins")]
    try:
        processes.start(etcd(cluster, fsync=False))
        await processes.up(dataclasses.replace(command, arguments=(*arguments, NO_ADMISSION)))
        async with _door(cluster) as door:
            await define(door, DEFINITIONS)
            yield door
    finally:
        await processes.stop_all()


@asynccontextmanager
async def _door(cluster: RealCluster) -> AsyncIterator[OverHttp]:
    nobody = ssl.create_default_context(cafile=str(cluster.pki / "ca.crt"))
    admin = ssl.create_default_context(cafile=str(cluster.pki / "ca.crt"))
    admin.load_cert_chain(cluster.pki / "admin.crt", cluster.pki / "admin.key")

    async def forget() -> None:
        await _compact(cluster.folder / "etcd.sock:0")

    async with session_of(admin) as first, session_of(nobody) as second:
        yield OverHttp(cluster.server, first, second, forget)


async def _compact(socket: Path) -> None:
    """Let etcd forget all revisions up to now, and wait until the API server has learnt of it."""
    connector = aiohttp.UnixConnector(str(socket))
    async with aiohttp.ClientSession("http://etcd", connector=connector) as session:
        revision = (await _etcd(session, "range", key=_COMPACTED))["header"]["revision"]
        await _etcd(session, "put", key=_COMPACTED, value=_text(revision))
        await _etcd(session, "compaction", revision=revision, physical=True)
    await asyncio.sleep(LEARNT_SECONDS)


async def _etcd(session: aiohttp.ClientSession, verb: str, **body: Any) -> Any:
    async with session.post(f"/v3/kv/{verb}", data=orjson.dumps(body)) as answer:
        assert answer.status == 200, await answer.text()
        return orjson.loads(await answer.read())


def _text(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


_COMPACTED = _text("compact_rev_key")
"""Where API servers tell each other what one of them compacted."""
