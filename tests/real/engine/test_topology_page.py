"""The topology set-up of Kueue's page on MultiKueue, typed on a real hub and two real workers, with our examples.

No kubelet runs there: kwok plays the nodes that are applied, and a command labels them as a kubelet would.
"""

import asyncio
import json
from pathlib import Path

import pytest
import pytest_asyncio

from fleetqueue import clock
from fleetqueue.client.kubeconfig import load, render
from fleetqueue.real.fleet import RealFleet
from fleetqueue.real.kubectl import Kubectl, KubectlFailed

pytestmark = [pytest.mark.real, pytest.mark.asyncio(loop_scope="module"), pytest.mark.timeout(300)]
EXAMPLES = Path(__file__).parents[3] / "examples"
ADDRESSES = {"worker1": "cluster1", "worker2": "cluster2"}
HOST = "kubernetes.io/hostname"
NODES = ("tas-node-1", "tas-node-2")
PATIENCE = 90.0
"""Seconds that anything may take on two busy cores."""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def fleet(layout, tmp_path_factory):
    folder = tmp_path_factory.mktemp("topology")
    async with RealFleet(folder, workers=2, ocm="none", frameworks=("batch/job",)) as running:
        await set_up(running)
        yield running


def kubectl(fleet, cluster):
    return Kubectl(fleet.clusters[cluster].kubeconfig)


async def set_up(fleet):
    hub = kubectl(fleet, "hub")
    for name, cluster in ADDRESSES.items():
        worker = kubectl(fleet, cluster)
        for file in ("topology-nodes.yaml", "topology-worker-setup.yaml"):
            await until(lambda worker=worker, file=file: applied(worker, file), f"{cluster} takes {file}")
        for node in NODES:
            await worker.run("label", "node", node, f"{HOST}={node}")
        kubeconfig = fleet.data_dir / f"{name}.kubeconfig"
        kubeconfig.write_text(await account_kubeconfig(fleet, cluster))
        await hub.run(
            "create",
            "secret",
            "generic",
            f"{name}-secret",
            "-n",
            "kueue-system",
            f"--from-file=kubeconfig={kubeconfig}",
        )
    await until(lambda: applied(hub, "topology-manager-setup.yaml"), "the hub takes its set-up")
    waited = ("multikueuecluster/worker1", "multikueuecluster/worker2", "clusterqueue/cluster-queue")
    await hub.run("wait", "--for=condition=Active", "--timeout=50s", *waited)


async def applied(kubectl, file):
    """Apply a file; Kueue's webhooks may not answer yet."""
    try:
        return await kubectl.run("apply", "-f", str(EXAMPLES / file))
    except KubectlFailed:
        return ""


async def account_kubeconfig(fleet, cluster):
    worker = kubectl(fleet, cluster)
    await worker.run("create", "serviceaccount", "multikueue-sa", "-n", "kueue-system")
    account = "--serviceaccount=kueue-system:multikueue-sa"
    await worker.run("create", "clusterrolebinding", "multikueue-crb", "--clusterrole=cluster-admin", account)
    token = await worker.run("create", "token", "multikueue-sa", "-n", "kueue-system", "--duration=1h")
    connection = load(fleet.clusters[cluster].remote_kubeconfig)
    return render(cluster, server=connection.server, ca=connection.ca or b"", token=token.strip(), user="multikueue-sa")


async def until(question, what):
    deadline = clock.monotonic() + PATIENCE
    while not (answer := await question()):
        assert clock.monotonic() < deadline, what
        await asyncio.sleep(0.5)
    return answer


async def listed(kubectl, kind):
    return json.loads(await kubectl.run("get", kind, "-o", "json"))["items"]


async def test_both_jobs_of_the_page_are_placed_by_their_workers(fleet):
    hub = kubectl(fleet, "hub")
    await hub.run("create", "-f", str(EXAMPLES / "topology-jobs.yaml"))
    await hub.run("wait", "--for=condition=Admitted", "--timeout=50s", "workloads", "--all")

    for local in await listed(hub, "workloads"):
        (part,) = local["status"]["admission"]["podSetAssignments"]
        assert (part["delayedTopologyRequest"], part.get("topologyAssignment")) == ("Ready", None)
        worker = kubectl(fleet, ADDRESSES[local["status"]["clusterName"]])
        name = local["metadata"]["ownerReferences"][0]["name"]
        pods = await until(lambda worker=worker, name=name: scheduled(worker, name), f"the pods of {name} have nodes")
        places = {pod["spec"]["nodeSelector"][HOST] for pod in pods}
        assert places == {pod["spec"]["nodeName"] for pod in pods}
        assert places <= set(NODES)
        assert name != "tas-sample-job" or len(places) == 1


async def scheduled(worker, job):
    pods = [pod for pod in await listed(worker, "pods") if pod["metadata"]["labels"].get("job-name") == job]
    return pods if pods and all(pod["spec"].get("nodeName") for pod in pods) else []
