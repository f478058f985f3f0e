"""Do the cases of `cases.yaml` to a real kube-apiserver and write what it answers to `recorded.json`.

Run it after a change of the cases: `python tests/unit/apiserver/patching/record.py`. It needs the real engine
(`fleetqueue engine build`) and starts only etcd and the API server, for some seconds.
"""

import asyncio
import sys
import tempfile
from pathlib import Path
from typing import Any

import orjson
import yaml

from fleetqueue.engine import find, ports
from fleetqueue.engine.cluster import Cluster
from fleetqueue.engine.cluster_api import ClusterApi
from fleetqueue.engine.control_plane import PORTS, etcd, kube_apiserver
from fleetqueue.engine.pki import ensure_pki
from fleetqueue.engine.processes import Processes

HERE = Path(__file__).parent
COLLECTIONS = {
    "ConfigMap": ("v1", "/api/v1/namespaces/{}/configmaps"),
    "Pod": ("v1", "/api/v1/namespaces/{}/pods"),
    "Service": ("v1", "/api/v1/namespaces/{}/services"),
    "Deployment": ("apps/v1", "/apis/apps/v1/namespaces/{}/deployments"),
    "Widget": ("cases.example/v1", "/apis/cases.example/v1/namespaces/{}/widgets"),
}
PATCHES = {
    "merge": "application/merge-patch+json",
    "json": "application/json-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}


async def main() -> None:
    layout = find()
    if layout is None:
        sys.exit("the real engine is not built: run `fleetqueue engine build`")
    with tempfile.TemporaryDirectory() as folder:
        cluster = Cluster("cases", Path(folder) / "cases", ports.assign(PORTS, {}), layout)
        processes = Processes(Path(folder) / "processes.json")
        cluster.folder.mkdir(mode=0o700)
        ensure_pki(cluster.name, cluster.pki)
        try:
            processes.start(etcd(cluster, fsync=False))
            await processes.up(kube_apiserver(cluster))
            async with cluster.api() as api:
                recorded = await record_all(api)
        finally:
            await processes.stop_all()
    text = b"\n".join(orjson.dumps(name) + b":" + orjson.dumps(steps) + b"," for name, steps in recorded.items())
    (HERE / "recorded.json").write_bytes(b"{\n" + text.removesuffix(b",") + b"\n}\n")


async def record_all(api: ClusterApi) -> dict[str, Any]:
    crd = yaml.safe_load((HERE / "widget_crd.yaml").read_text())
    await api.ensure(crd)
    await api.wait_served([crd])
    await asyncio.sleep(2)  # the schema of a new kind reaches its apply a little later than discovery
    recorded = {}
    for number, case in enumerate(yaml.safe_load((HERE / "cases.yaml").read_text())):
        namespace = f"c{number}"
        await api.ensure({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}})
        account = {"name": "default", "namespace": namespace}
        await api.ensure(
            {
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": account,
                "automountServiceAccountToken": False,
            }
        )
        recorded[case["name"]] = [await record(api, case["kind"], namespace, step) for step in case["steps"]]
    return recorded


async def record(api: ClusterApi, kind: str, namespace: str, step: dict[str, Any]) -> dict[str, Any]:
    """Do one step; what was answered, and what is stored then if that is something else."""
    version, collection = COLLECTIONS[kind]
    path = collection.format(namespace) + "/x"
    verb = next(verb for verb in ("create", "update", *PATCHES) if verb in step)
    body = step[verb]
    if verb in ("create", "update", "apply"):
        metadata = {"name": "x", **body.get("metadata", {})}
        body = {"apiVersion": version, "kind": kind, **body, "metadata": metadata}
    if verb == "update":
        live = await api.get(path)
        assert live is not None
        body["metadata"]["resourceVersion"] = live["metadata"]["resourceVersion"]
    method, where = {"create": ("POST", path[:-2]), "update": ("PUT", path)}.get(verb, ("PATCH", path))
    query = f"?fieldManager={step['as']}" + ("&force=true" if step.get("force") else "")
    subresource = "/status" if step.get("status") else ""
    content = orjson.Fragment(b"null") if body is None else body  # `request` sends no body for None
    media_type = PATCHES.get(verb, "application/json")
    code, answer = await api.request(method, where + subresource + query, content, media_type)
    return {"code": code, "body": orjson.loads(answer)}


asyncio.run(main())
